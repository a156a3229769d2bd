/*
 * A session as one process knows it: the package it was given, and the time
 * it ends. Every keeper has its own table, filled by the warden alone; who
 * asks is known by the channel, never by what a message says.
 */
#ifndef GATEWAY_SESSION_SESSION_H
#define GATEWAY_SESSION_SESSION_H

#include <uthash.h>

#include "gateway/flow/package.h"

#define SESSIONS_MAX 10000

struct session {
	char id[SESSION_ID_MAX + 1];
	struct package *package;
	void *owner; /* what this process keeps for it */
	UT_hash_handle hh;
};

struct session_table {
	struct session *head;
};

/* Add the session of a package (taken). A session of that id is renewed:
 * it takes the package's end and keeps all else, of which others may hold
 * views. NULL when there are too many. */
struct session *session_add(struct session_table *table,
			    struct package *package, struct err *err);
/* Put a package (taken) in the place of the one that the session of its id
 * has; what held views of that one must be done with it. NULL: there is no such
 * session, or it is a package of somebody else (not taken). */
struct session *session_change(struct session_table *table,
			       struct package *package);
struct session *session_find(const struct session_table *table,
			     struct bytes id);
/* Remove and free it; owner is the caller's. */
void session_remove(struct session_table *table, struct session *session);
void session_table_release(struct session_table *table);

static inline const struct scope *session_scope(const struct session *session)
{
	return &session->package->session.scope;
}

/* Has it expired by the wall clock? */
bool session_is_expired(const struct session *session, uint64_t wall_ms);
/* The lease (untrusted) against its hash, in constant time. */
bool session_lease_is(const struct session *session, struct bytes lease);

#endif
