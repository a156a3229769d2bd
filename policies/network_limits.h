/*
 * The limits of a session's traffic that its policy may set: network.limits.
 * A policy moves them between min and cap; without a word from it they have
 * their defaults, in a guardrail their caps. The limits that no policy can
 * move stand beside these in gateway/flow/limits.h.
 */
#ifndef POLICIES_NETWORK_LIMITS_H
#define POLICIES_NETWORK_LIMITS_H

#include <stdint.h>

enum network_limit_kind { LIMIT_COUNT, LIMIT_BYTES, LIMIT_MS };

/* X(field, key, kind, default, min, cap, what it bounds) */
#define NETWORK_LIMITS(X)                                                      \
	X(connections, "connections", LIMIT_COUNT, 100000, 1, 100000,          \
	  "connections at one time; the gateway's own bound holds as well")    \
	X(header_bytes, "header", LIMIT_BYTES, 32 * 1024, 1024, 32 * 1024,     \
	  "bytes of a request's head")                                         \
	X(fields, "fields", LIMIT_COUNT, 100, 10, 100,                         \
	  "header fields of a request")                                        \
	X(held_bytes, "held", LIMIT_BYTES, 128 << 20, 64 * 1024, 256 << 20,    \
	  "bytes of bodies under inspection, of all connections together")     \
	X(idle_ms, "idle", LIMIT_MS, 120000, 1000, 3600000,                    \
	  "until a connection's next request head is complete")                \
	X(handshake_ms, "handshake", LIMIT_MS, 15000, 1000, 60000,             \
	  "for a client's TLS handshake")                                      \
	X(response_ms, "response", LIMIT_MS, 300000, 1000, 300000,             \
	  "silence of an upstream that owes an answer")                        \
	X(dns_names, "dns-names", LIMIT_COUNT, 600, 1, 6000,                   \
	  "new names a minute that are looked up or connected to")             \
	X(minted_names, "minted-names", LIMIT_COUNT, 600, 1, 6000,             \
	  "new names a minute that get a certificate")                         \
	X(wildcard_names, "wildcard-names", LIMIT_COUNT, 120, 1, 6000,         \
	  "of the new names those that a wildcard alone allows, a minute")     \
	X(wildcard_bits, "wildcard-bits", LIMIT_COUNT, 8192, 64, 1 << 20,      \
	  "bits of entropy a minute that those names may tell")                \
	X(wildcard_label_bits, "wildcard-label-bits", LIMIT_COUNT, 200, 32,    \
	  512, "bits of entropy in one of their labels")

struct network_limits {
#define X(field, ...) uint64_t field;
	NETWORK_LIMITS(X)
#undef X
};

#endif
