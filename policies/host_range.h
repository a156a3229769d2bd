/*
 * Ranges of addresses as patterns of hosts: "10.2.0.0/16", "2001:db8::/32".
 * They match addresses that a client names itself, never names.
 */
#ifndef POLICIES_HOST_RANGE_H
#define POLICIES_HOST_RANGE_H

#include "common/arena.h"
#include "common/bytes.h"
#include "common/err.h"

/* Does it look like one? Of canonical patterns: it is one. */
bool host_is_range(struct bytes pattern);

/* The canonical form of a range of a policy (RFC 4632 3.1, RFC 4291 2.3), in
 * arena: the address as inet_ntop writes it, and a prefix that leaves no bit
 * after it set. 0, or -1 with *err. */
int host_range_pattern(struct arena *arena, struct bytes text,
		       struct bytes *pattern, struct err *err);

/* The first and the last address of a range (untrusted; an address is one of
 * itself), as IPv6 ones: IPv4 mapped. 0, or -1: it is none, or has bits set
 * after its prefix. */
int host_range_ends(struct bytes range, uint8_t first[16], uint8_t last[16]);

/* Is a canonical address, or all of another canonical range, in this one?
 * IPv4 addresses in IPv6 ones (::ffff:a.b.c.d) are IPv4 ones. */
bool host_range_covers(struct bytes range, struct bytes inner);

#endif
