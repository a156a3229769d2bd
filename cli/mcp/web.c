#include "cli/mcp/web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "cli/mcp/web_parts.h"
#include "common/cleanup.h"
#include "common/digest.h"

#define BACKLOG	     64
#define ADDRESS_SIZE 64

/* ---- the address ---- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int wrong_address(const char *text, struct err *err)
{
	return err_set(err, ERR_INVALID,
		       "%.64s must be an address of loopback and a port, as "
		       "127.0.0.1:8931 or [::1]:8931: for others, put a proxy "
		       "with TLS before it",
		       text);
}

static int parse_address(const char *text, union address *address,
			 socklen_t *len, struct err *err)
{
	const char *colon = strrchr(text, ':');
	char host[ADDRESS_SIZE];
	uint64_t port;

	*address = (union address){0};
	if (!colon || colon - text >= ADDRESS_SIZE ||
	    bytes_to_u64(bytes_str(colon + 1), 5, &port) < 0 ||
	    port > UINT16_MAX)
		return wrong_address(text, err);
	(void)snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	if (inet_pton(AF_INET, host, &address->v4.sin_addr) == 1 &&
	    ntohl(address->v4.sin_addr.s_addr) >> 24 == 127) {
		address->v4.sin_family = AF_INET;
		address->v4.sin_port = htons((uint16_t)port);
		*len = sizeof(address->v4);
		return 0;
	}
	*address = (union address){0};
	if (strcmp(host, "[::1]") != 0)
		return wrong_address(text, err);
	address->v6.sin6_family = AF_INET6;
	address->v6.sin6_port = htons((uint16_t)port);
	address->v6.sin6_addr = in6addr_loopback;
	*len = sizeof(address->v6);
	return 0;
}

/* The socket; *port: the one that it got. -1 with *err. */
static int listen_on(const char *text, uint16_t *port, struct err *err)
{
	union address address;
	auto_fd int fd = -1;
	const int on = 1;
	socklen_t len;

	if (parse_address(text, &address, &len, err) < 0)
		return -1;
	fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, &address.any, len) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, &address.any, &len) < 0)
		return err_system(err, "listen on %.64s", text);
	*port = ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port
						       : address.v6.sin6_port);
	return take_fd(&fd);
}

/* ---- the token ---- */

static void new_token(struct web *web)
{
	char halves[2][27];

	random_id(halves[0]);
	random_id(halves[1]);
	(void)snprintf(web->token, sizeof(web->token), "%s%s", halves[0],
		       halves[1]);
}

/* Nobody else may read it, or put another one there. */
static int read_token(struct web *web, const char *path, struct err *err)
{
	auto_fd int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char text[WEB_TOKEN_MAX + 3];
	struct bytes token;
	struct stat st;
	ssize_t len;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, ERR_INVALID, "read %s: %s", path,
			       strerror(errno));
	if (!S_ISREG(st.st_mode) || (st.st_mode & 077) ||
	    (st.st_uid != geteuid() && st.st_uid != 0))
		return err_set(err, ERR_INVALID,
			       "%s must be a file that its owner alone may "
			       "read: chmod 600",
			       path);
	len = read(fd, text, sizeof(text));
	if (len < 0)
		return err_system(err, "read %s", path);
	token = bytes_from(text, (size_t)len);
	while (token.len > 0 && (token.data[token.len - 1] == '\n' ||
				 token.data[token.len - 1] == '\r'))
		token.len--;
	if (!web_is_token(token))
		return err_set(err, ERR_INVALID,
			       "%s must hold one line of %d to %d letters, "
			       "digits and -._~+/=",
			       path, WEB_TOKEN_MIN, WEB_TOKEN_MAX);
	(void)snprintf(web->token, sizeof(web->token), "%.*s",
		       BYTES_ARGS(token));
	return 0;
}

/* ---- begin, serve, end ---- */

static void tell(const struct web *web, uint16_t port)
{
	const char *text = web->config->address;

	(void)printf("http://%.*s:%u/mcp\n", (int)(strrchr(text, ':') - text),
		     text, (unsigned)port);
	if (!web->config->token_file)
		(void)printf("Authorization: Bearer %s\n", web->token);
	(void)fflush(stdout);
}

static void on_accept(int fd, const struct sockaddr_storage *peer,
		      const struct sockaddr_storage *original,
		      bool was_redirected, void *owner)
{
	(void)peer;
	(void)original;
	(void)was_redirected;
	web_accept(owner, fd);
}

static void on_alive(void *owner)
{
	struct web *web = owner;
	struct http_conn *conn, *next;

	DL_FOREACH_SAFE(web->server.conns, conn, next)
	web_conn_alive(conn->owner);
	io_timer_set(web->alive, WEB_ALIVE_MS);
}

static void on_stop(void *owner)
{
	io_loop_stop(owner);
}

static int open_web(struct web *web, struct err *err)
{
	const struct web_config *config = web->config;
	uint16_t port = 0;
	int fd;

	if (!config->token_file)
		new_token(web);
	else if (read_token(web, config->token_file, err) < 0)
		return -1;
	fd = listen_on(config->address, &port, err);
	if (fd < 0)
		return -1;
	if (http_server_listen(&web->server, fd, on_accept, web, err) < 0)
		return -1;
	web->alive = io_timer_new(web->loop, on_alive, web);
	if (!web->alive ||
	    io_signal(web->loop, SIGTERM, on_stop, web->loop) < 0 ||
	    io_signal(web->loop, SIGINT, on_stop, web->loop) < 0)
		return err_set(err, ERR_SYSTEM, "memory is out");
	io_timer_set(web->alive, WEB_ALIVE_MS);
	if (web_confine(err) < 0)
		return -1;
	tell(web, port);
	return 0;
}

static bool is_busy(const struct web *web)
{
	return web->session_count > 0 || web->server.conn_count > 0 ||
	       web->io_count > 0;
}

/* The processes of sessions end their sandboxes first; one that takes too
 * long leaves them to their own time. */
static void close_web(struct web *web)
{
	const uint64_t last = io_loop_now_ms(web->loop) + WEB_FAREWELL_MS;
	struct web_session *session, *next_session;
	struct err err;

	http_server_stop(&web->server);
	if (web->alive)
		io_timer_free(web->alive);
	DL_FOREACH_SAFE(web->sessions, session, next_session)
	web_session_end(session);
	http_server_close(&web->server);
	while (is_busy(web) && io_loop_turn(web->loop, 100, &err) == 0)
		if (io_loop_now_ms(web->loop) >= last)
			web_starter_kill_all(web);
	web_starter_close(web);
}

int web_serve(const struct web_config *config, struct io_loop *loop,
	      struct err *err)
{
	static struct web web;
	int result;

	web = (struct web){.config = config, .loop = loop, .starter = -1};
	web_conns_open(&web);
	result = web_starter_open(&web, err);
	if (result == 0)
		result = open_web(&web, err);
	if (result == 0)
		result = io_loop_run(loop, err);
	close_web(&web);
	return result;
}
