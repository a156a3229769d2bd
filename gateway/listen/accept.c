#include "gateway/listen/accept.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>

#define MAPPED_PREFIX_LEN 12 /* of ::ffff:0:0/96 */

static int take_ipv4(const struct in_addr *address, in_port_t port,
		     struct arrival *arrival)
{
	(void)inet_ntop(AF_INET, address, arrival->host, sizeof(arrival->host));
	arrival->host_kind = HOST_IPV4;
	arrival->port = ntohs(port);
	return 0;
}

static int take_ipv6(const struct sockaddr_in6 *from, struct arrival *arrival)
{
	struct in_addr mapped;

	if (IN6_IS_ADDR_V4MAPPED(&from->sin6_addr)) {
		memcpy(&mapped, from->sin6_addr.s6_addr + MAPPED_PREFIX_LEN,
		       sizeof(mapped));
		return take_ipv4(&mapped, from->sin6_port, arrival);
	}
	(void)inet_ntop(AF_INET6, &from->sin6_addr, arrival->host,
			sizeof(arrival->host));
	arrival->host_kind = HOST_IPV6;
	arrival->port = ntohs(from->sin6_port);
	return 0;
}

int arrival_from(const struct sockaddr_storage *original, bool was_redirected,
		 struct arrival *arrival)
{
	const void *address = original;
	const struct sockaddr_in *ipv4 = address;

	*arrival = (struct arrival){
		.kind = was_redirected ? ARRIVAL_REDIRECTED : ARRIVAL_PROXY,
	};
	if (original->ss_family != AF_INET && original->ss_family != AF_INET6)
		return -1;
	if (!was_redirected)
		return 0;
	return original->ss_family == AF_INET
		       ? take_ipv4(&ipv4->sin_addr, ipv4->sin_port, arrival)
		       : take_ipv6(address, arrival);
}

void arrival_set_name(struct arrival *arrival, struct bytes name)
{
	assert(name.len <= HOST_NAME_MAX_LEN);
	(void)snprintf(arrival->host, sizeof(arrival->host), "%.*s",
		       BYTES_ARGS(name));
	arrival->host_kind = HOST_NAME;
}

static void set_host(struct target *target, const char *host,
		     enum host_kind kind)
{
	size_t len = strlen(host);

	assert(len < sizeof(target->host));
	memcpy(target->host, host, len + 1);
	target->kind = kind;
}

/* The server name against what was wanted before it came. */
static enum constraint join_name(const struct wanted *wanted, const char *name,
				 struct target *target)
{
	if (name[0] == '\0')
		return CONSTRAINT_none;
	if (wanted->kind == HOST_NAME || wanted->from_connect)
		return strcmp(wanted->host, name) == 0
			       ? CONSTRAINT_none
			       : CONSTRAINT_host_mismatch;
	set_host(target, name, HOST_NAME);
	return CONSTRAINT_none;
}

enum constraint target_from(const struct wanted *wanted,
			    const struct hello *hello, struct target *target)
{
	assert(hello->kind != HELLO_MORE);
	set_host(target, wanted->host, wanted->kind);
	target->port = wanted->port;
	target->scheme = SCHEME_HTTPS;
	switch (hello->kind) {
	case HELLO_TLS:
		return join_name(wanted, hello->name, target);
	case HELLO_HTTP:
		target->scheme = SCHEME_HTTP;
		return CONSTRAINT_none;
	case HELLO_INVALID:
		return CONSTRAINT_tls_client_failed;
	case HELLO_OTHER:
	case HELLO_MORE:
	case HELLO_KIND_MAX:
		break;
	}
	target->scheme = SCHEME_TCP;
	return CONSTRAINT_none;
}
