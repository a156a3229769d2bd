#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/warden/config_text.h"
#include "gateway/warden/warden.h"

#define PROXY_BACKLOG	 512
#define ADDRESS_TEXT_MAX 64
#define PORT_DIGITS	 5

/* The host of "host:port" or "[host]:port", in place. NULL: it is neither. */
static char *split_port(char *text, char **port)
{
	char *colon = strrchr(text, ':');

	if (!colon || colon == text)
		return NULL;
	*colon = '\0';
	*port = colon + 1;
	if (text[0] != '[')
		return strchr(text, ':') ? NULL : text;
	if (colon[-1] != ']')
		return NULL;
	colon[-1] = '\0';
	return text + 1;
}

int config_listener_parse(const char *text, struct sockaddr_storage *address)
{
	void *room = address;
	struct sockaddr_in *v4 = room;
	struct sockaddr_in6 *v6 = room;
	char copy[ADDRESS_TEXT_MAX];
	char *host, *port = NULL;
	uint64_t number;

	*address = (struct sockaddr_storage){0};
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return -1;
	host = split_port(copy, &port);
	if (!host || bytes_to_u64(bytes_str(port), PORT_DIGITS, &number) < 0 ||
	    number == 0 || number > UINT16_MAX)
		return -1;
	if (text[0] != '[' && inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)number);
		return 0;
	}
	if (text[0] == '[' && inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)number);
		return 0;
	}
	return -1;
}

static int listen_tcp(const char *text, struct err *err)
{
	struct sockaddr_storage address;
	const int on = 1;
	auto_fd int fd = -1;

	if (config_listener_parse(text, &address) < 0)
		return err_set(err, ERR_INVALID, "listen on %s", text);
	fd = socket(address.ss_family,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* What is accepted inherits TCP_NODELAY; an edge may set nothing. */
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
		return err_system(err, "make socket for %s", text);
	if (bind(fd, (const struct sockaddr *)&address,
		 address.ss_family == AF_INET
			 ? sizeof(struct sockaddr_in)
			 : sizeof(struct sockaddr_in6)) < 0 ||
	    listen(fd, PROXY_BACKLOG) < 0)
		return err_system(err, "listen on %s", text);
	return take_fd(&fd);
}

int warden_listen_proxy(struct warden *warden, struct err *err)
{
	const struct gateway_config *config = &warden->config.gateway;
	char text[ADDRESS_TEXT_MAX];

	for (size_t i = 0; i < config->proxy_listeners_count; i++) {
		int fd;

		(void)snprintf(text, sizeof(text), "%.*s",
			       BYTES_ARGS(config->proxy_listeners[i].address));
		fd = listen_tcp(text, err);
		if (fd < 0)
			return -1;
		warden->proxy_fds[warden->proxy_count++] = fd;
		log_info("proxy port %s", text);
	}
	return 0;
}
