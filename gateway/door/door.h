/*
 * The door: a TCP proxy port for clients outside a sandbox of ours. It reads
 * the first request head of a connection (or what SOCKS 5 says before its
 * request) and nothing after it, finds whose lease its Proxy-Authorization
 * (or its password) brings, and gives the connection to that session's edge,
 * with the bytes that were read:
 *
 *	accept -> head (guard, llhttp) -> lease -> session -> its edge
 *	       -> SOCKS, asked for a password ->
 *
 * It keeps hashes of leases, of sessions made for proxy clients alone; it
 * cannot connect, and it has no channel to the edge of any other session.
 * What it read is untrusted: the edge reads it again, all of it, and checks
 * the lease again.
 */
#ifndef GATEWAY_DOOR_DOOR_H
#define GATEWAY_DOOR_DOOR_H

#include "gateway/door/visitors.h"
#include "gateway/keeper/keeper.h"

#define DOOR_CONNS_MAX	1024 /* whose head is being read, or answered */
#define DOOR_HEAD_MS	10000
#define DOOR_LINGER_MS	2000
#define DOOR_ARENA_SIZE (128 * 1024)

struct door {
	struct keeper *keeper;
	struct visitors visitors;
	size_t conn_count;
	struct io_listener *listeners[CONFIG_PROXY_LISTENERS_MAX];
	size_t listener_count;
};

/* The session of that lease (untrusted), or NULL: none that is open and not
 * expired. Compares with every hash there is, in constant time. */
struct session *door_find(const struct door *door, struct bytes lease);

/* An accepted connection (io_accept_fn; owner is the door). */
void door_accept(int fd, const struct sockaddr_storage *peer,
		 const struct sockaddr_storage *original, bool was_redirected,
		 void *owner);

/* The door as a keeper; its owner is a zeroed struct door. */
extern const struct keeper_spec door_spec;

#endif
