/*
 * Where does an accepted connection want to go? Joins what is known from
 * the socket (redirected, and from which address), from CONNECT, and from
 * the first bytes, into one target, or says which constraint they violate.
 */
#ifndef GATEWAY_LISTEN_ACCEPT_H
#define GATEWAY_LISTEN_ACCEPT_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "gateway/flow/target.h"
#include "gateway/listen/hello.h"
#include "policies/constraint.h"

enum arrival_kind {
	ARRIVAL_PROXY,	   /* to our own address: an explicit proxy client */
	ARRIVAL_REDIRECTED /* to another address; host and port are set */
};

struct arrival {
	enum arrival_kind kind;
	char host[HOST_NAME_MAX_LEN + 1]; /* address literal, canonical */
	enum host_kind host_kind;
	uint16_t port;
};

/* Take what io_accept_fn was given. IPv4-mapped IPv6 counts as IPv4. 0, or
 * -1 when original is neither IPv4 nor IPv6. */
int arrival_from(const struct sockaddr_storage *original, bool was_redirected,
		 struct arrival *arrival);

/* The name that stands behind a redirected arrival's synthetic address
 * (gateway/dns/names.h), canonical. */
void arrival_set_name(struct arrival *arrival, struct bytes name);

/* What is known before the first inner byte: of a redirected connection, or
 * of a CONNECT (then from_connect, with the authority's host and port). */
struct wanted {
	const char *host; /* canonical */
	enum host_kind kind;
	uint16_t port;
	bool from_connect;
};

/* The target of a tunnel whose first bytes are known (hello not MORE).
 * TLS: the SNI must equal the wanted name (host_mismatch, security B1);
 * behind an address it takes the address's place unless a CONNECT named the
 * address; without SNI the wanted host stands. Anything but TLS: the wanted
 * host stands. INVALID: tls_client_failed. CONSTRAINT_none, or why not;
 * *target is filled in either way, for the record. */
enum constraint target_from(const struct wanted *wanted,
			    const struct hello *hello, struct target *target);

#endif
