#include "sandbox-host/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"

#define LOOPBACK     1 /* its index in every network namespace */
#define BATCH_BYTES  1024
#define ANSWER_BYTES 4096
#define BACKLOG	     1024

/* Netlink requests that are sent together. */
struct batch {
	char bytes[BATCH_BYTES];
	size_t len;
	unsigned count;
	struct nlmsghdr *last;
};

static struct nlmsghdr *batch_begin(struct batch *batch, uint16_t type,
				    uint16_t flags)
{
	struct nlmsghdr *header =
		mnl_nlmsg_put_header(batch->bytes + batch->len);

	header->nlmsg_type = type;
	header->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	header->nlmsg_seq = ++batch->count;
	batch->last = header;
	return header;
}

static void batch_end(struct batch *batch)
{
	batch->len += MNL_ALIGN(batch->last->nlmsg_len);
}

static void add_link_up(struct batch *batch)
{
	struct nlmsghdr *header = batch_begin(batch, RTM_NEWLINK, 0);
	struct ifinfomsg *link =
		mnl_nlmsg_put_extra_header(header, sizeof(*link));

	link->ifi_family = AF_UNSPEC;
	link->ifi_index = LOOPBACK;
	link->ifi_flags = IFF_UP;
	link->ifi_change = IFF_UP;
	batch_end(batch);
}

static void add_address(struct batch *batch, uint8_t family, const char *text)
{
	struct nlmsghdr *header =
		batch_begin(batch, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	struct ifaddrmsg *message =
		mnl_nlmsg_put_extra_header(header, sizeof(*message));
	size_t len = family == AF_INET ? 4 : 16;
	uint8_t address[16];

	(void)inet_pton(family, text, address);
	message->ifa_family = family;
	message->ifa_prefixlen = (uint8_t)(len * 8);
	message->ifa_flags = family == AF_INET6 ? IFA_F_NODAD : 0;
	message->ifa_scope = RT_SCOPE_UNIVERSE;
	message->ifa_index = LOOPBACK;
	mnl_attr_put(header, IFA_LOCAL, len, address);
	mnl_attr_put(header, IFA_ADDRESS, len, address);
	batch_end(batch);
}

static void add_default_route(struct batch *batch, uint8_t family)
{
	struct nlmsghdr *header =
		batch_begin(batch, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
	struct rtmsg *route =
		mnl_nlmsg_put_extra_header(header, sizeof(*route));

	route->rtm_family = family;
	route->rtm_table = RT_TABLE_MAIN;
	route->rtm_protocol = RTPROT_BOOT;
	route->rtm_scope =
		family == AF_INET ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
	route->rtm_type = RTN_UNICAST;
	mnl_attr_put_u32(header, RTA_OIF, LOOPBACK);
	batch_end(batch);
}

static bool has_ipv6(void)
{
	auto_fd int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0;
}

static int batch_run(struct mnl_socket *socket, const struct batch *batch,
		     struct err *err)
{
	char answer[ANSWER_BYTES];
	unsigned port = mnl_socket_get_portid(socket);
	unsigned done = 0;

	if (mnl_socket_sendto(socket, batch->bytes, batch->len) < 0)
		return err_system(err, "network: ask for addresses");
	while (done < batch->count) {
		ssize_t len =
			mnl_socket_recvfrom(socket, answer, sizeof(answer));
		const struct nlmsghdr *header =
			(const struct nlmsghdr *)(const void *)answer;
		int left = (int)len;

		if (len < 0)
			return err_system(err, "network: read the answer");
		for (; mnl_nlmsg_ok(header, left);
		     header = mnl_nlmsg_next(header, &left), done++)
			if (mnl_cb_run(header, header->nlmsg_len, 0, port, NULL,
				       NULL) < 0)
				return err_system(err,
						  "network: set up lo (%u)",
						  header->nlmsg_seq);
	}
	return 0;
}

static int network_address(struct err *err)
{
	struct batch batch = {.len = 0};
	struct mnl_socket *socket = mnl_socket_open(NETLINK_ROUTE);
	int rc;

	if (!socket || mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0) {
		err_system(err, "network: open netlink");
		if (socket)
			(void)mnl_socket_close(socket);
		return -1;
	}
	add_link_up(&batch);
	add_address(&batch, AF_INET, SANDBOX_ADDRESS4);
	add_default_route(&batch, AF_INET);
	if (has_ipv6()) {
		add_address(&batch, AF_INET6, SANDBOX_ADDRESS6);
		add_default_route(&batch, AF_INET6);
	}
	rc = batch_run(socket, &batch, err);
	(void)mnl_socket_close(socket);
	return rc;
}

/* A bound socket, listening unless it is a datagram one; -1. */
static int bind_socket(int family, int type, const char *text, uint16_t port,
		       struct err *err)
{
	const int on = 1;
	struct sockaddr_in v4 = {.sin_family = AF_INET,
				 .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
				  .sin6_port = htons(port)};
	auto_fd int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return err_system(err, "network: make a listener");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET6) {
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on,
				 sizeof(on));
		rc = bind(fd, (struct sockaddr *)&v6, sizeof(v6));
	} else {
		(void)inet_pton(AF_INET, text, &v4.sin_addr);
		rc = bind(fd, (struct sockaddr *)&v4, sizeof(v4));
	}
	if (rc < 0 || (type == SOCK_STREAM && listen(fd, BACKLOG) < 0))
		return err_system(err, "network: listen on port %u", port);
	return take_fd(&fd);
}

static int network_listen(struct sandbox_listeners *listeners, struct err *err)
{
	*listeners = (struct sandbox_listeners){-1, -1, -1, -1};
	listeners->tcp4 = bind_socket(AF_INET, SOCK_STREAM, "0.0.0.0",
				      SANDBOX_PROXY_PORT, err);
	/* Bound to the one address, so that answers leave from there: that
	 * is what the address translation waits for. */
	listeners->udp = bind_socket(AF_INET, SOCK_DGRAM, SANDBOX_ADDRESS4,
				     SANDBOX_DNS_PORT, err);
	listeners->tcp_dns = bind_socket(AF_INET, SOCK_STREAM, SANDBOX_ADDRESS4,
					 SANDBOX_DNS_PORT, err);
	if (has_ipv6())
		listeners->tcp6 = bind_socket(AF_INET6, SOCK_STREAM,
					      "::", SANDBOX_PROXY_PORT, err);
	if (listeners->tcp4 < 0 || listeners->udp < 0 ||
	    listeners->tcp_dns < 0 || (listeners->tcp6 < 0 && has_ipv6())) {
		network_close(listeners);
		return -1;
	}
	return 0;
}

void network_close(struct sandbox_listeners *listeners)
{
	int *fds[] = {&listeners->tcp4, &listeners->tcp6, &listeners->udp,
		      &listeners->tcp_dns};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			(void)close(*fds[i]);
		*fds[i] = -1;
	}
}

int network_make(struct sandbox_listeners *listeners, struct err *err)
{
	if (network_address(err) < 0 || network_listen(listeners, err) < 0)
		return -1;
	if (network_firewall(err) == 0)
		return 0;
	network_close(listeners);
	return -1;
}
