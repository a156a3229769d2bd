/*
 * Synthetic addresses: one IPv4 and one IPv6 per name and session, so that
 * a connection to the address tells the name, whatever its protocol. Owned
 * by the session's edge. The same name keeps its address as long as it is
 * in use; an address is given to another name only after it was not used
 * for NAMES_REST_MS.
 */
#ifndef GATEWAY_DNS_NAMES_H
#define GATEWAY_DNS_NAMES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "common/bytes.h"
#include "gateway/flow/limits.h"
#include "policies/host.h"

/* 198.18.0.0/15 is for tests of networks (RFC 2544): nothing real is there.
 * .0.1 is the gateway itself; names start at .0.2. fd00::/64 likewise, with
 * the IPv4 address in its last four bytes. */
#define NAMES_GATEWAY_IPV4 "198.18.0.1"
#define NAMES_GATEWAY_IPV6 "fd00::1"
#define NAMES_GATEWAY_HOST "sallyport.internal"

struct names;

/* NULL when memory is out. */
struct names *names_new(void);
void names_free(struct names *names);

/* The addresses of a canonical name, given now if it has none. 0, or -1
 * when the table is full of names in use. now_ms is monotonic. */
int names_address(struct names *names, struct bytes name, uint64_t now_ms,
		  struct in_addr *ipv4, struct in6_addr *ipv6);

/* The name behind an address (IPv4, IPv6 or IPv4-mapped), and count it as
 * used. Empty when there is none; else a NUL is behind it. Valid until the next
 * names_address(). */
struct bytes names_behind(struct names *names, const struct sockaddr *address,
			  uint64_t now_ms);
/* Has the (canonical) name an address by now? */
bool names_has(const struct names *names, struct bytes name);
/* Does the address lie in our synthetic ranges? */
bool names_is_synthetic(const struct sockaddr *address);
size_t names_count(const struct names *names);

#endif
