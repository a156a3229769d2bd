#include "gateway/ledger/follow.h"

#include "common/cleanup.h"
#include "common/log.h"

#define ROWS_ARENA_MAX (256 * 1024)

static void set_timer(struct follow *follow)
{
	if (follow->is_timed)
		return;
	follow->is_timed = true;
	io_timer_set(follow->timer, FOLLOW_EVERY_MS);
}

/* Tell the next rows. True when there is, or may be, more to tell. */
static bool tell_some(struct follow *follow, struct follower *follower)
{
	auto_type(arena_release) struct arena arena = {0};
	uint64_t head = follow->store->head.sequence;
	struct msg_ledger_rows rows;
	struct err err;

	if (follower->told >= head)
		return false;
	arena_init(&arena, ROWS_ARENA_MAX);
	follower->query.after = follower->told;
	if (store_query(follow->store, &follower->query, &arena, &rows, &err) <
	    0) {
		log_warn("a follower waits: %s", err.text);
		return true;
	}
	if (rows.rows_count > 0 &&
	    rpc_tell(follower->rpc, MSG_LEDGER_ROWS, &msg_ledger_rows_schema,
		     &rows, -1, &err) < 0)
		return true;
	follower->told =
		rows.more ? rows.rows[rows.rows_count - 1].sequence : head;
	return rows.more;
}

static bool tell(struct follow *follow, struct follower *follower)
{
	for (int i = 0; i < FOLLOW_MESSAGES_MAX; i++) {
		if (rpc_queued(follower->rpc) > FOLLOW_QUEUED_MAX)
			return true;
		if (!tell_some(follow, follower))
			return false;
	}
	return true;
}

static void on_timer(void *owner)
{
	struct follow *follow = owner;
	bool more = false;

	follow->is_timed = false;
	for (size_t i = 0; i < FOLLOWERS_MAX; i++)
		if (follow->followers[i].rpc &&
		    tell(follow, &follow->followers[i]))
			more = true;
	if (more)
		set_timer(follow);
}

int follow_init(struct follow *follow, struct io_loop *loop,
		struct store *store, struct err *err)
{
	*follow = (struct follow){.store = store};
	follow->timer = io_timer_new(loop, on_timer, follow);
	if (!follow->timer)
		return err_set(err, ERR_SYSTEM, "follow: no memory");
	return 0;
}

void follow_release(struct follow *follow)
{
	io_timer_free(follow->timer);
}

static struct follower *find(struct follow *follow, const struct rpc *rpc)
{
	for (size_t i = 0; i < FOLLOWERS_MAX; i++)
		if (follow->followers[i].rpc == rpc)
			return &follow->followers[i];
	return NULL;
}

int follow_add(struct follow *follow, struct rpc *rpc,
	       const struct msg_ledger_query *query, struct err *err)
{
	struct follower *follower = find(follow, rpc);
	uint64_t head = follow->store->head.sequence;

	if (!follower)
		follower = find(follow, NULL);
	if (!follower)
		return err_set(err, ERR_TOO_LARGE, "follow: too many do");
	if (query->session.len > sizeof(follower->session) ||
	    query->kind.len > sizeof(follower->kind) ||
	    (query->kind.len &&
	     record_kind_from_name(query->kind) == RECORD_KIND_MAX))
		return err_set(err, ERR_INVALID, "follow: no such rows");
	*follower = (struct follower){
		.rpc = rpc,
		.query = *query,
		.told = query->newest ? head : query->after,
	};
	follower->query.newest = false;
	follower->query.limit = STORE_ROWS_MAX;
	if (query->session.len)
		memcpy(follower->session, query->session.data,
		       query->session.len);
	if (query->kind.len)
		memcpy(follower->kind, query->kind.data, query->kind.len);
	follower->query.session =
		bytes_from(follower->session, query->session.len);
	follower->query.kind = bytes_from(follower->kind, query->kind.len);
	set_timer(follow);
	return 0;
}

void follow_remove(struct follow *follow, const struct rpc *rpc)
{
	struct follower *follower = find(follow, rpc);

	if (follower)
		follower->rpc = NULL;
}

void follow_wake(struct follow *follow)
{
	for (size_t i = 0; i < FOLLOWERS_MAX; i++) {
		if (!follow->followers[i].rpc)
			continue;
		set_timer(follow);
		return;
	}
}
