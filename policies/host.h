/*
 * Host names and patterns in one canonical form (security B6, B7, C11).
 */
#ifndef POLICIES_HOST_H
#define POLICIES_HOST_H

#include "common/arena.h"
#include "common/bytes.h"
#include "common/err.h"

#define HOST_NAME_MAX_LEN 253

enum host_kind { HOST_INVALID, HOST_NAME, HOST_IPV4, HOST_IPV6 };

/* Canonical form of an untrusted host into out[254], terminated: LDH labels
 * (1..63, no leading or trailing '-', '_' refused) in lower case, one
 * trailing dot dropped; or an address literal (dotted quad or RFC 5952;
 * brackets accepted around IPv6; ::ffff:a.b.c.d is a.b.c.d) as inet_ntop
 * writes it. Anything that is neither (0x7f.1, 0177.0.0.1,
 * 2130706433, zone ids, percent escapes, 8-bit, a name whose last label is all
 * digits) is HOST_INVALID. */
enum host_kind host_canonical(struct bytes host,
			      char out[HOST_NAME_MAX_LEN + 1]);

/* Does pattern ("a.b": exact, "*.a.b": any name below, not a.b itself,
 * "*": any name but no address; a range of addresses: host_range.h) match
 * the canonical host? */
bool host_matches(struct bytes pattern, struct bytes host);

/* Check a pattern of a policy and give its canonical form in arena: IDN to
 * A-labels, no '*' but a first label alone, no wildcard on a public suffix
 * (libpsl). 0, or -1 with *err. */
int host_pattern(struct arena *arena, struct bytes text, struct bytes *pattern,
		 struct err *err);

/* A-labels in arena of a host beyond ASCII in words of an operator's own
 * (IDNA 2008, UTS 46 non-transitional), as host_pattern() makes them; any
 * other stays itself. What bytes from a sandbox name is never converted. 0, or
 * -1 with *err. */
int host_to_ascii(struct arena *arena, struct bytes text, struct bytes *out,
		  struct err *err);

#endif
