#include "gateway/control/again.h"

#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "gateway/control/ledger_query.h"

#define UID_FORMAT    "uid %u: "
#define CHANGE_FORMAT UID_FORMAT "%71s to %71s"
#define CREATE_FORMAT UID_FORMAT "%71s lease %71[^,]"
#define LINK_FORMAT   UID_FORMAT "%32s"

void policy_hash(struct bytes text, char out[POLICY_HASH_SIZE])
{
	uint8_t hash[DIGEST_LEN];
	size_t at = (size_t)snprintf(out, POLICY_HASH_SIZE, "sha256:");

	digest_sha256(text, bytes_from(NULL, 0), hash);
	for (size_t i = 0; i < sizeof(hash); i++)
		at += (size_t)snprintf(out + at, POLICY_HASH_SIZE - at, "%02x",
				       hash[i]);
}

/* ---- rows ---- */

static void forget_change(struct again *again, size_t at)
{
	struct again_change *change = &again->changes[at];

	again->changes_count--;
	memmove(change, change + 1,
		(again->changes_count - at) * sizeof(*change));
}

static void add_change(struct again *again, const struct again_change *change)
{
	if (again->changes_count == AGAIN_CHANGES_MAX) {
		memcpy(again->policy, again->changes[0].after,
		       sizeof(again->policy));
		forget_change(again, 0);
	}
	again->changes[again->changes_count++] = *change;
}

/* Others may have been tried, and made, meanwhile: it alone was not. */
static void take_back(struct again *again, const struct again_change *change)
{
	size_t at = again->changes_count;

	while (at > 0)
		if (!memcmp(&again->changes[--at], change, sizeof(*change))) {
			forget_change(again, at);
			return;
		}
	again->was_ended = true;
}

/* What was tried is on record, and once more when it was not done. */
static void take_change(struct again *again, const char *detail, bool is_done)
{
	struct again_change change = {0};
	unsigned uid;

	if (sscanf(detail, CHANGE_FORMAT, &uid, change.before, change.after) !=
	    3)
		again->was_ended = true;
	else if (is_done)
		add_change(again, &change);
	else
		take_back(again, &change);
}

/* The one that held last. */
static const char *policy_of(const struct again *again)
{
	return again->changes_count
		       ? again->changes[again->changes_count - 1].after
		       : again->policy;
}

static void take_create(struct again *again, const char *detail)
{
	unsigned uid;

	again->was_made = sscanf(detail, CREATE_FORMAT, &uid, again->policy,
				 again->lease) == 3 &&
			  uid == again->uid;
}

/* One that can not be looked at may have been ended. */
static void take_link(struct again *again, const char *detail)
{
	unsigned uid;

	if (again->links_count == AGAIN_LINKS_MAX)
		again->has_more_links = true;
	else if (sscanf(detail, LINK_FORMAT, &uid,
			again->links[again->links_count]) != 2)
		again->was_ended = true;
	else
		again->links_count++;
}

bool again_follow(struct again *again)
{
	if (!again->was_made || again->links_taken == again->links_count ||
	    strcmp(again->lease, again->given) != 0)
		return false;
	again->was_made = false;
	again->changes_count = 0;
	memcpy(again->id, again->links[again->links_taken++],
	       sizeof(again->id));
	return true;
}

static void take_admin(struct again *again, const char *method,
		       const char *detail, bool is_done)
{
	if (!strcmp(method, "session.create") && is_done)
		take_create(again, detail);
	if (!strcmp(method, "session.create") && !is_done)
		again->was_made = false;
	if (!strcmp(method, "session.end") && is_done)
		again->was_ended = true;
	if (!strcmp(method, "session.policy"))
		take_change(again, detail, is_done);
	if (!strcmp(method, AGAIN_METHOD))
		take_link(again, detail);
}

/* "ended": its holder hung up, or the gateway went. Every other end was
 * somebody's will, or a policy's. */
static void take_end(struct again *again, const char *detail)
{
	if (!strcmp(detail, "expired"))
		again->was_over = true;
	else if (strcmp(detail, "ended") != 0)
		again->was_ended = true;
}

void again_take(struct again *again, struct bytes row)
{
	const char *activity = "", *method = "", *detail = "", *session = "";
	int allowed = 0;
	json_t *root = json_loadb((const char *)row.data, row.len, 0, NULL);

	if (!root ||
	    json_unpack(root, "{s:s, s?s, s?s, s?s, s:b}", "activity",
			&activity, "method", &method, "detail", &detail,
			"session", &session, "allowed", &allowed) < 0)
		again->was_ended = true;
	else if (strcmp(session, again->id) != 0)
		;
	else if (!strcmp(activity, "admin"))
		take_admin(again, method, detail, allowed);
	else if (!strcmp(activity, "session.ended"))
		take_end(again, detail);
	json_decref(root);
}

const char *again_judge(const struct again *again, const char *policy,
			unsigned *status)
{
	*status = 403;
	if (!again->was_made)
		return "again: no session of that id that you have made is on "
		       "record";
	if (again->was_ended)
		return "again: that session was ended, or revoked";
	if (again->was_over)
		return "again: the time of that session is over";
	if (again->has_more_links)
		return "again: that session was made anew so often that the "
		       "record is not searched for what became of it: create "
		       "one without `again`";
	if (strcmp(again->lease, again->given) != 0)
		return "again: that session had another lease";
	*status = 409;
	if (strcmp(policy_of(again), policy) != 0)
		return "again: that session had another policy at last";
	return NULL;
}

/* ---- the question ---- */

static const char *const kinds[] = {"admin", "session.ended"};

struct asking {
	struct again *again;
	struct msg_ledger_query query;
	size_t kind;
	again_fn *fn;
	char policy[POLICY_HASH_SIZE];
};

static void ask_rows(struct conn *conn, struct asking *asking);

/* Of this session's or the next one's rows. False: there are no more. */
static bool has_kind(struct asking *asking)
{
	if (asking->kind < ARRAY_SIZE(kinds))
		return true;
	if (!again_follow(asking->again))
		return false;
	asking->kind = 0;
	return true;
}

static void on_rows(struct conn *conn, const void *message)
{
	const struct msg_ledger_rows *rows = message;
	struct asking *asking = conn->task;
	const char *wrong;
	unsigned status;

	for (size_t i = 0; i < rows->rows_count; i++) {
		asking->query.after = rows->rows[i].sequence;
		again_take(asking->again, rows->rows[i].json);
	}
	if (!rows->more || rows->rows_count == 0) {
		asking->kind++;
		asking->query.after = 0;
	}
	if (has_kind(asking)) {
		ask_rows(conn, asking);
		return;
	}
	wrong = again_judge(asking->again, asking->policy, &status);
	if (wrong)
		conn_refuse(conn, status, "%s", wrong);
	else
		asking->fn(conn);
}

static void ask_rows(struct conn *conn, struct asking *asking)
{
	struct question question = ledger_question(&asking->query);

	asking->query.kind = bytes_str(kinds[asking->kind]);
	conn_ask(conn, &question, on_rows);
}

void again_ask(struct conn *conn, struct again *again, const char *policy,
	       again_fn *fn)
{
	struct asking *asking = arena_alloc(&conn->http.arena, sizeof(*asking));

	if (!asking) {
		conn_refuse(conn, 503, "no memory");
		return;
	}
	*asking = (struct asking){
		.again = again,
		.query = {.session = bytes_str(again->id),
			  .limit = LEDGER_ROWS_MAX},
		.fn = fn,
	};
	(void)snprintf(asking->policy, sizeof(asking->policy), "%s", policy);
	conn->task = asking;
	ask_rows(conn, asking);
}
