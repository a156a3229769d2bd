#include <stdio.h>

#include "common/cleanup.h"
#include "gateway/vault/database.h"
#include "gateway/vault/store.h"
#include "policies/policy_credential.h"

static const struct bytes prefix = BYTES_LITERAL(POLICY_LENT);

bool lent_is_named(struct bytes secret)
{
	return bytes_equal(bytes_slice(secret, 0, prefix.len), prefix);
}

struct bytes lent_key(struct bytes session, struct bytes secret,
		      char key[LENT_KEY_MAX + 1])
{
	if (lent_is_named(secret))
		secret = bytes_slice(secret, prefix.len, secret.len);
	if (session.len == 0 || session.len > SESSION_ID_MAX ||
	    secret.len == 0 || secret.len > LENT_NAME_MAX)
		return bytes_from(NULL, 0);
	(void)snprintf(key, LENT_KEY_MAX + 1, "%.*s/%.*s", BYTES_ARGS(session),
		       BYTES_ARGS(secret));
	return bytes_str(key);
}

/* Of one session, or of all (empty), without that name. */
static int64_t count(struct vault_store *store, struct bytes session,
		     struct bytes but)
{
	auto_type(database_done) struct statement select = {0};

	if (database_prepare(store->db,
			     "SELECT count(*) FROM secret WHERE name <> ?2"
			     " AND instr(name, '/') > 0"
			     " AND (?1 = '' OR name GLOB ?1 || '/*')",
			     &select, NULL) < 0)
		return -1;
	database_bind_text(&select, 1, session);
	database_bind_text(&select, 2, but);
	return database_step(&select, NULL) > 0 ? database_number(&select, 0)
						: -1;
}

int vault_store_lend(struct vault_store *store, struct bytes session,
		     struct bytes name, struct bytes value, uint64_t now_ms,
		     struct err *err)
{
	char room[LENT_KEY_MAX + 1];
	struct bytes key = lent_key(session, name, room);
	int64_t own = count(store, session, key);
	int64_t all = count(store, bytes_str(""), key);

	if (key.len == 0 || own < 0 || all < 0)
		return err_set(err, ERR_LIBRARY, "count what is lent");
	if (own >= LENT_OF_SESSION_MAX || all >= LENT_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "lend a secret: there are too many already");
	return vault_store_write(store, key, value, now_ms, err);
}

int vault_store_end_session(struct vault_store *store, struct bytes session,
			    struct err *err)
{
	auto_type(database_done) struct statement delete = {0};

	if (database_prepare(store->db,
			     "DELETE FROM secret WHERE name GLOB ?1 || '/*'",
			     &delete, err) < 0)
		return -1;
	database_bind_text(&delete, 1, session);
	return database_run(&delete, err);
}

bool vault_store_next_session(struct vault_store *store, struct bytes after,
			      char id[SESSION_ID_MAX + 1])
{
	auto_type(database_done) struct statement select = {0};
	struct bytes found;

	/* '0' comes right after '/'. */
	if (database_prepare(store->db,
			     "SELECT substr(name, 1, instr(name, '/') - 1)"
			     " FROM secret WHERE instr(name, '/') > 0"
			     " AND name >= ?1 || '0' ORDER BY name LIMIT 1",
			     &select, NULL) < 0)
		return false;
	database_bind_text(&select, 1, after);
	if (database_step(&select, NULL) <= 0)
		return false;
	found = database_blob(&select, 0);
	(void)snprintf(id, SESSION_ID_MAX + 1, "%.*s", BYTES_ARGS(found));
	return found.len > 0;
}
