/*
 * sallyport-ledger: the tamper-evident record. Every process tells it what
 * happened; control alone may ask. It writes its own directory and nothing
 * else, parses only typed messages, and has no network.
 */
#include <inttypes.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/io_rest.h"
#include "common/log.h"
#include "common/secret.h"
#include "gateway/keeper/keeper.h"
#include "gateway/ledger/approvals.h"
#include "gateway/ledger/batch.h"
#include "gateway/ledger/export.h"
#include "gateway/ledger/follow.h"
#include "gateway/ledger/permit.h"
#include "gateway/ledger/rest.h"
#include "gateway/ledger/retain.h"

/* How often the head is logged, as an anchor outside the store. */
#define ANCHOR_EVERY_MS	     (3600 * 1000)
#define QUIET_MS	     1000 /* then the store keeps no pages */
#define ANSWER_ARENA_MAX     (256 * 1024)
#define RECORDS_PER_SECOND   100000
#define QUERIES_PER_SECOND   200
#define PROPOSALS_PER_SECOND 100 /* of one edge, or of control */
#define COMMANDS_PER_SECOND  500 /* of control, for all supervisors */

struct ledger {
	struct store store;
	struct batch batch;
	struct batch_hooks hooks;
	struct rest rest;
	struct follow follow;
	struct exports exports;
	struct approvals approvals;
	struct io_timer *anchor;
	struct io_timer *retain;
	struct io_timer *quiet;
	uint64_t anchored; /* the sequence that was logged last */
};

/* ---- records ---- */

/* Whose records they are: an edge speaks for its session alone. */
static const char *session_of(const struct keeper_peer *peer)
{
	return peer->role == ROLE_EDGE ? peer->session : NULL;
}

static void answer_records(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	const struct msg_records *records = message;
	struct keeper_peer *peer = owner;
	struct ledger *ledger = peer->keeper->owner;
	const char *why = permit_check(peer->role, message);

	(void)ticket;
	(void)fd;
	if (why) {
		keeper_drop_peer(peer, why);
		return;
	}
	batch_add(&ledger->batch, records, session_of(peer), NULL);
	if (peer->role == ROLE_EDGE)
		rest_note(&ledger->rest, peer, records->records_count);
	if (peer->role == ROLE_WARDEN)
		approvals_note_ends(&ledger->approvals, message);
}

static void answer_durable(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	struct keeper_peer *peer = owner;
	struct ledger *ledger = peer->keeper->owner;
	const char *why = permit_check(peer->role, message);

	(void)fd;
	rpc_ticket_hold(ticket);
	if (why) {
		rpc_refuse(ticket, CONSTRAINT_request_malformed, "%s", why);
		keeper_drop_peer(peer, why);
		return;
	}
	batch_add(&ledger->batch, message, session_of(peer), &ticket);
}

static void answer_asker(struct rpc_ticket ticket, const char *why)
{
	const struct wire_empty empty = {0};

	if (why)
		rpc_refuse(ticket, CONSTRAINT_audit_unavailable, "%s", why);
	else
		rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

static void on_stored(void *owner)
{
	struct ledger *ledger = owner;

	follow_wake(&ledger->follow);
	exports_wake(&ledger->exports);
	io_timer_set(ledger->quiet, QUIET_MS);
}

static void on_quiet(void *owner)
{
	struct ledger *ledger = owner;

	store_rest(&ledger->store);
	io_rest_soon(ledger->rest.loop);
}

static void on_collected(void *owner)
{
	struct ledger *ledger = owner;

	if (ledger->batch.first && !ledger->batch.failed_ms)
		(void)batch_flush(&ledger->batch);
}

/* What an edge told before comes before: no use of a secret before the
 * request, no row of a session after its end. */
static void on_waiting(struct keeper *keeper, struct keeper_peer *peer)
{
	struct ledger *ledger = keeper->owner;

	if (peer->role != ROLE_EDGE)
		rest_collect(&ledger->rest);
}

/* ---- proposals ---- */

static struct approvals *approvals_of(const struct keeper_peer *peer)
{
	struct ledger *ledger = peer->keeper->owner;

	return &ledger->approvals;
}

static void answer_take(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	(void)fd;
	approvals_take(approvals_of(owner), owner, ticket, message);
}

static void answer_ask(struct rpc_ticket ticket, const void *message, int *fd,
		       void *owner)
{
	(void)fd;
	approvals_ask(approvals_of(owner), owner, ticket, message);
}

static void answer_show(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	(void)fd;
	approvals_show(approvals_of(owner), owner, ticket, message);
}

static void answer_take_command(struct rpc_ticket ticket, const void *message,
				int *fd, void *owner)
{
	(void)fd;
	approvals_take_command(approvals_of(owner), ticket, message);
}

static void answer_get(struct rpc_ticket ticket, const void *message, int *fd,
		       void *owner)
{
	(void)fd;
	approvals_get(approvals_of(owner), ticket, message);
}

static void answer_list(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	(void)fd;
	approvals_list(approvals_of(owner), ticket, message);
}

static void answer_decide(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	(void)fd;
	approvals_decide(approvals_of(owner), ticket, message);
}

/* ---- control's questions ---- */

static void refuse(struct rpc_ticket ticket, const struct err *err)
{
	enum constraint constraint = CONSTRAINT_internal;

	if (err->code == ERR_INVALID)
		constraint = CONSTRAINT_request_malformed;
	else if (err->code == ERR_TIMEOUT || err->code == ERR_TOO_LARGE)
		constraint = CONSTRAINT_resource_limit;
	rpc_refuse(ticket, (uint16_t)constraint, "%s", err->text);
}

static void answer_query(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct keeper_peer *peer = owner;
	struct ledger *ledger = peer->keeper->owner;
	auto_type(arena_release) struct arena arena;
	struct msg_ledger_rows rows;
	struct err err;

	(void)fd;
	arena_init(&arena, ANSWER_ARENA_MAX);
	/* Whoever asks sees what was told before. */
	if (ledger->batch.first && !ledger->batch.failed_ms)
		(void)batch_flush(&ledger->batch);
	if (store_query(&ledger->store, message, &arena, &rows, &err) < 0)
		refuse(ticket, &err);
	else
		rpc_reply(ticket, &msg_ledger_rows_schema, &rows, -1);
}

static void answer_follow(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct keeper_peer *peer = owner;
	struct ledger *ledger = peer->keeper->owner;
	const struct wire_empty empty = {0};
	struct err err;

	(void)fd;
	if (follow_add(&ledger->follow, peer->rpc, message, &err) < 0)
		refuse(ticket, &err);
	else
		rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

static void answer_verify(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct msg_ledger_verify *verify = message;
	const struct keeper_peer *peer = owner;
	struct ledger *ledger = peer->keeper->owner;
	auto_type(arena_release) struct arena arena;
	struct msg_ledger_verified verified;
	char failing[BATCH_FAILING_MAX];
	struct err err;

	(void)fd;
	arena_init(&arena, ANSWER_ARENA_MAX);
	if (ledger->batch.first && !ledger->batch.failed_ms)
		(void)batch_flush(&ledger->batch);
	batch_failing(&ledger->batch, failing);
	if (store_verify(&ledger->store, verify->after, &arena, &verified,
			 &err) < 0) {
		refuse(ticket, &err);
		return;
	}
	verified.failing = bytes_str(failing);
	rpc_reply(ticket, &msg_ledger_verified_schema, &verified, -1);
}

static void on_peer_closed(struct keeper *keeper, struct keeper_peer *peer)
{
	struct ledger *ledger = keeper->owner;

	rest_forget(&ledger->rest, peer);
	follow_remove(&ledger->follow, peer->rpc);
}

/* ---- life ---- */

static void log_head(struct ledger *ledger)
{
	char hex[2 * DIGEST_LEN + 1];

	bytes_to_hex(bytes_from(ledger->store.head.hash, DIGEST_LEN), hex);
	log_info("ledger head sequence=%" PRIu64 " hash=%s",
		 ledger->store.head.sequence, hex);
	ledger->anchored = ledger->store.head.sequence;
}

static void on_anchor(void *owner)
{
	struct ledger *ledger = owner;

	if (ledger->anchored != ledger->store.head.sequence)
		log_head(ledger);
	io_timer_set(ledger->anchor, ANCHOR_EVERY_MS);
}

/* Some rows at a time: records are stored in between. */
static void on_retain(void *owner)
{
	struct keeper *keeper = owner;
	struct ledger *ledger = keeper->owner;
	uint64_t now_ms = clock_wall_ms();
	uint64_t keep_ms = keeper->config.audit_retain_ms;
	struct err err;
	int count = 0;

	if (now_ms > keep_ms)
		count = retain_cut(&ledger->store, now_ms - keep_ms, now_ms,
				   &err);
	if (count < 0)
		log_error("%s", err.text);
	if (count > 0)
		on_stored(ledger);
	io_timer_set(ledger->retain, count == RETAIN_ROWS_MAX
					     ? RETAIN_MORE_MS
					     : RETAIN_EVERY_MS);
}

static int start_retain(struct keeper *keeper)
{
	struct ledger *ledger = keeper->owner;

	if (!ledger->retain)
		ledger->retain = io_timer_new(keeper->loop, on_retain, keeper);
	if (!ledger->retain)
		return -1;
	io_timer_set(ledger->retain,
		     keeper->config.audit_retain_ms ? RETAIN_FIRST_MS : 0);
	return 0;
}

static int on_config(struct keeper *keeper, const struct gateway_config *before,
		     struct err *err)
{
	struct ledger *ledger = keeper->owner;

	(void)before;
	if (start_retain(keeper) < 0)
		return err_set(err, ERR_SYSTEM, "no memory");
	return exports_start(&ledger->exports, err);
}

static int prepare(struct keeper *keeper, struct confine_spec *confine,
		   struct err *err)
{
	struct ledger *ledger = keeper->owner;

	secret_protect_process();
	if (store_open(&ledger->store, keeper->state_fd,
		       confine->uid ? confine->uid : (uid_t)-1, err) < 0)
		return -1;
	if (exports_prepare(&ledger->store, err) < 0)
		return -1;
	return proposals_open(&ledger->store, err);
}

/* A store that does not end where its head says has been cut: its own next
 * row tells of it. */
static void record_gap(struct ledger *ledger)
{
	char detail[160];
	struct record record = {
		.kind = RECORD_PROCESS,
		.constraint = CONSTRAINT_internal,
		.host = bytes_str("ledger"),
	};
	const struct msg_records records = {&record, 1};

	(void)snprintf(detail, sizeof(detail),
		       "the store was changed: its rows ended at %" PRIu64
		       ", its head goes on from %" PRIu64,
		       ledger->store.gap.sequence, ledger->store.head.sequence);
	log_error("%s", detail);
	record.detail = bytes_str(detail);
	batch_add(&ledger->batch, &records, NULL, NULL);
}

static int start(struct keeper *keeper, struct err *err)
{
	struct ledger *ledger = keeper->owner;

	ledger->hooks = (struct batch_hooks){
		.answer = answer_asker,
		.on_stored = on_stored,
		.owner = ledger,
	};
	ledger->approvals =
		(struct approvals){keeper, &ledger->store, &ledger->batch};
	ledger->quiet = io_timer_new(keeper->loop, on_quiet, ledger);
	if (!ledger->quiet)
		return err_set(err, ERR_SYSTEM, "start: no memory");
	if (batch_init(&ledger->batch, keeper->loop, &ledger->store,
		       &ledger->hooks, err) < 0 ||
	    rest_init(&ledger->rest, keeper->loop, on_collected, ledger) < 0 ||
	    follow_init(&ledger->follow, keeper->loop, &ledger->store, err) < 0)
		return -1;
	ledger->exports = (struct exports){
		.keeper = keeper,
		.store = &ledger->store,
		.batch = &ledger->batch,
	};
	if (exports_start(&ledger->exports, err) < 0)
		return -1;
	ledger->anchor = io_timer_new(keeper->loop, on_anchor, ledger);
	if (!ledger->anchor || start_retain(keeper) < 0)
		return err_set(err, ERR_SYSTEM, "start: no memory");
	log_head(ledger);
	io_timer_set(ledger->anchor, ANCHOR_EVERY_MS);
	if (ledger->store.has_gap)
		record_gap(ledger);
	return 0;
}

static void on_drain(struct keeper *keeper)
{
	struct ledger *ledger = keeper->owner;

	(void)batch_flush(&ledger->batch);
	io_loop_stop(keeper->loop);
}

/* What was told is stored, also when the warden is gone. */
static void finish(struct ledger *ledger)
{
	if (ledger->rest.timer) {
		rest_collect(&ledger->rest);
		(void)batch_flush(&ledger->batch);
	}
	exports_finish(&ledger->exports);
	if (ledger->rest.timer)
		(void)batch_flush(&ledger->batch);
	store_close(&ledger->store);
}

static const struct rpc_permit record_permits[] = {
	{MSG_RECORDS, &msg_records_schema, answer_records, false,
	 RECORDS_PER_SECOND},
	{MSG_RECORDS_DURABLE, &msg_records_schema, answer_durable, false,
	 RECORDS_PER_SECOND},
};

static const struct rpc_permit edge_permits[] = {
	{MSG_RECORDS, &msg_records_schema, answer_records, false,
	 RECORDS_PER_SECOND},
	{MSG_RECORDS_DURABLE, &msg_records_schema, answer_durable, false,
	 RECORDS_PER_SECOND},
	{MSG_PROPOSAL_TAKE, &proposal_schema, answer_take, false,
	 PROPOSALS_PER_SECOND},
	{MSG_PROPOSAL_ASK, &proposal_schema, answer_ask, false,
	 PROPOSALS_PER_SECOND},
	{MSG_PROPOSAL_SHOW, &msg_proposal_ref_schema, answer_show, false,
	 PROPOSALS_PER_SECOND},
};

static const struct rpc_permit control_permits[] = {
	{MSG_RECORDS, &msg_records_schema, answer_records, false,
	 RECORDS_PER_SECOND},
	{MSG_RECORDS_DURABLE, &msg_records_schema, answer_durable, false,
	 RECORDS_PER_SECOND},
	{MSG_LEDGER_QUERY, &msg_ledger_query_schema, answer_query, false,
	 QUERIES_PER_SECOND},
	{MSG_LEDGER_FOLLOW, &msg_ledger_query_schema, answer_follow, false,
	 QUERIES_PER_SECOND},
	{MSG_LEDGER_VERIFY, &msg_ledger_verify_schema, answer_verify, false,
	 QUERIES_PER_SECOND},
	{MSG_PROPOSAL_TAKE, &proposal_schema, answer_take_command, false,
	 COMMANDS_PER_SECOND},
	{MSG_PROPOSAL_GET, &msg_proposal_ref_schema, answer_get, false,
	 PROPOSALS_PER_SECOND},
	{MSG_PROPOSAL_LIST, &msg_proposal_query_schema, answer_list, false,
	 PROPOSALS_PER_SECOND},
	{MSG_PROPOSAL_DECIDE, &msg_proposal_decide_schema, answer_decide, false,
	 PROPOSALS_PER_SECOND},
};

int main(void)
{
#define RECORDER(role) {role, record_permits, ARRAY_SIZE(record_permits)}
	static const struct keeper_service services[] = {
		RECORDER(ROLE_WARDEN),
		{ROLE_EDGE, edge_permits, ARRAY_SIZE(edge_permits)},
		RECORDER(ROLE_COURIER),
		RECORDER(ROLE_VAULT),
		{ROLE_CONTROL, control_permits, ARRAY_SIZE(control_permits)},
	};
#undef RECORDER
	/* What SQLite does with the two files that it holds open. */
	static const char *const syscalls[] = {
		"pread64", "pwrite64",	 "fsync", "fdatasync", "fcntl",
		"fstat",   "newfstatat", "lseek", "ftruncate", NULL,
	};
	static const struct keeper_spec spec = {
		.role = ROLE_LEDGER,
		.services = services,
		.service_count = ARRAY_SIZE(services),
		.prepare = prepare,
		.syscalls = syscalls,
		.start = start,
		.on_peer_closed = on_peer_closed,
		.on_waiting = on_waiting,
		.on_drain = on_drain,
		.on_config = on_config,
	};
	static struct ledger ledger;
	int code = keeper_main(&spec, &ledger);

	finish(&ledger);
	return code;
}
