/*
 * Who knocks: an address outside, how many of its connections are not yet
 * handed on, and how often it brought a wrong lease lately. One IPv4
 * address, or one IPv6 /64, is one visitor. A right lease never waits for
 * another's failures from the same address: only the answer to a wrong one
 * is held back.
 */
#ifndef GATEWAY_DOOR_VISITORS_H
#define GATEWAY_DOOR_VISITORS_H

#include <sys/socket.h>
#include <uthash.h>

#define VISITORS_MAX	     4096
#define VISITOR_CONNS_MAX    128 /* of one visitor, at one time */
#define VISITOR_FREE_FAILS   3	 /* answered at once */
#define VISITOR_HOLD_MS	     250 /* the next; then twice that, and so on */
#define VISITOR_HOLD_MAX_MS  8000
#define VISITOR_FORGIVEN_MS  60000
#define VISITOR_ADDRESS_SIZE 16

struct visitor {
	uint8_t address[VISITOR_ADDRESS_SIZE];
	unsigned conns;
	unsigned failures;
	uint64_t failed_ms; /* the last */
	UT_hash_handle hh;
};

struct visitors {
	struct visitor *head;
};

/* A connection came from there: count it. NULL when it is one too many of
 * that visitor's, or memory is out. */
struct visitor *visitors_enter(struct visitors *visitors,
			       const struct sockaddr_storage *from,
			       uint64_t now_ms);
/* It was handed on, or is over. */
void visitors_leave(struct visitors *visitors, struct visitor *visitor,
		    uint64_t now_ms);
/* It brought a wrong lease: how long its answer is held back. */
unsigned visitor_failed(struct visitor *visitor, uint64_t now_ms);
void visitors_release(struct visitors *visitors);

#endif
