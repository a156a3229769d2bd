/* What found no room has no hh.tbl then. */
#define HASH_NONFATAL_OOM 1

#include "gateway/door/visitors.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* uthash's hash function falls through its cases and says so to gcc only. */
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"

#define PREFIX_LEN 8 /* of an IPv6 /64 */

/* IPv4 as an IPv4-mapped address; of IPv6 the network. */
static void address_of(const struct sockaddr_storage *from,
		       uint8_t out[VISITOR_ADDRESS_SIZE])
{
	static const uint8_t mapped[] = {0, 0, 0, 0, 0,	   0,
					 0, 0, 0, 0, 0xff, 0xff};
	const void *room = from;
	const struct sockaddr_in *v4 = room;
	const struct sockaddr_in6 *v6 = room;

	memset(out, 0, VISITOR_ADDRESS_SIZE);
	if (from->ss_family == AF_INET) {
		memcpy(out, mapped, sizeof(mapped));
		memcpy(out + sizeof(mapped), &v4->sin_addr,
		       sizeof(v4->sin_addr));
	} else if (from->ss_family == AF_INET6) {
		bool is_mapped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);

		memcpy(out, &v6->sin6_addr,
		       is_mapped ? VISITOR_ADDRESS_SIZE : PREFIX_LEN);
	}
}

static void forget(struct visitors *visitors, struct visitor *visitor)
{
	HASH_DEL(visitors->head, visitor);
	free(visitor);
}

static bool is_forgiven(const struct visitor *visitor, uint64_t now_ms)
{
	return visitor->failures == 0 ||
	       now_ms - visitor->failed_ms > VISITOR_FORGIVEN_MS;
}

/* The one that has been here longest and has nothing open makes room. */
static void make_room(struct visitors *visitors)
{
	struct visitor *visitor, *next;

	if (HASH_COUNT(visitors->head) < VISITORS_MAX)
		return;
	HASH_ITER (hh, visitors->head, visitor, next) {
		if (visitor->conns == 0) {
			forget(visitors, visitor);
			return;
		}
	}
}

static struct visitor *add(struct visitors *visitors,
			   const uint8_t address[VISITOR_ADDRESS_SIZE])
{
	struct visitor *visitor = calloc(1, sizeof(*visitor));

	if (!visitor)
		return NULL;
	make_room(visitors);
	memcpy(visitor->address, address, VISITOR_ADDRESS_SIZE);
	HASH_ADD(hh, visitors->head, address, VISITOR_ADDRESS_SIZE, visitor);
	if (!visitor->hh.tbl) {
		free(visitor);
		return NULL;
	}
	return visitor;
}

struct visitor *visitors_enter(struct visitors *visitors,
			       const struct sockaddr_storage *from,
			       uint64_t now_ms)
{
	uint8_t address[VISITOR_ADDRESS_SIZE];
	struct visitor *visitor;

	address_of(from, address);
	HASH_FIND(hh, visitors->head, address, VISITOR_ADDRESS_SIZE, visitor);
	if (!visitor)
		visitor = add(visitors, address);
	if (!visitor || visitor->conns >= VISITOR_CONNS_MAX)
		return NULL;
	if (is_forgiven(visitor, now_ms))
		visitor->failures = 0;
	visitor->conns++;
	return visitor;
}

void visitors_leave(struct visitors *visitors, struct visitor *visitor,
		    uint64_t now_ms)
{
	visitor->conns--;
	if (visitor->conns == 0 && is_forgiven(visitor, now_ms))
		forget(visitors, visitor);
}

unsigned visitor_failed(struct visitor *visitor, uint64_t now_ms)
{
	unsigned hold = VISITOR_HOLD_MS;

	visitor->failed_ms = now_ms;
	if (++visitor->failures <= VISITOR_FREE_FAILS)
		return 0;
	for (unsigned i = VISITOR_FREE_FAILS + 1; i < visitor->failures; i++) {
		hold *= 2;
		if (hold >= VISITOR_HOLD_MAX_MS)
			return VISITOR_HOLD_MAX_MS;
	}
	return hold;
}

void visitors_release(struct visitors *visitors)
{
	struct visitor *visitor, *next;

	HASH_ITER (hh, visitors->head, visitor, next)
		forget(visitors, visitor);
}
