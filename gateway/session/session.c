/* What found no room has no hh.tbl then. */
#define HASH_NONFATAL_OOM 1

#include "gateway/session/session.h"

#include <stdlib.h>
#include <string.h>

/* uthash's hash function falls through its cases and says so to gcc only. */
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"

struct session *session_find(const struct session_table *table, struct bytes id)
{
	struct session *session;

	if (id.len == 0 || id.len > SESSION_ID_MAX)
		return NULL;
	HASH_FIND(hh, table->head, id.data, id.len, session);
	return session;
}

struct session *session_add(struct session_table *table,
			    struct package *package, struct err *err)
{
	struct bytes id = package->session.id;
	struct session *session = session_find(table, id);

	if (session) {
		session->package->session.expires_ms =
			package->session.expires_ms;
		package_free(package);
		return session;
	}
	if (id.len > SESSION_ID_MAX ||
	    HASH_COUNT(table->head) >= SESSIONS_MAX) {
		(void)err_set(err, ERR_TOO_LARGE, "open session: too many");
		return NULL;
	}
	session = calloc(1, sizeof(*session));
	if (!session) {
		(void)err_system(err, "open session");
		return NULL;
	}
	memcpy(session->id, id.data, id.len);
	session->package = package;
	HASH_ADD_KEYPTR(hh, table->head, session->id, id.len, session);
	if (!session->hh.tbl) {
		free(session);
		(void)err_set(err, ERR_SYSTEM, "open session: no memory");
		return NULL;
	}
	return session;
}

struct session *session_change(struct session_table *table,
			       struct package *package)
{
	const struct session_package *to = &package->session;
	struct session *session = session_find(table, to->id);

	if (!session ||
	    !bytes_equal(session->package->session.lease_hash, to->lease_hash))
		return NULL;
	package_free(session->package);
	session->package = package;
	return session;
}

void session_remove(struct session_table *table, struct session *session)
{
	HASH_DEL(table->head, session);
	package_free(session->package);
	free(session);
}

void session_table_release(struct session_table *table)
{
	while (table->head)
		session_remove(table, table->head);
}

bool session_is_expired(const struct session *session, uint64_t wall_ms)
{
	return wall_ms >= session->package->session.expires_ms;
}

bool session_lease_is(const struct session *session, struct bytes lease)
{
	uint8_t hash[DIGEST_LEN];

	digest_sha256(lease, bytes_from(NULL, 0), hash);
	return bytes_equal_constant_time(bytes_from(hash, sizeof(hash)),
					 session->package->session.lease_hash);
}
