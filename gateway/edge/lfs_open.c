/*
 * Batches and locks: the body is held, decided, and written anew.
 */
#include "common/cleanup.h"
#include "gateway/edge/lfs_lane.h"

/* ---- refusals ---- */

static int refuse_fault(struct conn *conn, const struct lfs_fault *fault)
{
	conn_refuse(conn, fault->constraint, "%s", fault->err.text);
	return -1;
}

/* Which branches and tags it may bring objects to. */
static void tell_allowed(struct conn *conn)
{
	const struct policy_repo *repo = conn->lfs->repo;
	size_t count = repo->branches.count < REFUSAL_ALLOWED_MAX
			       ? repo->branches.count
			       : REFUSAL_ALLOWED_MAX;

	conn->refusal.allowed = repo->branches.items;
	conn->refusal.allowed_count = count;
	if (count > 0)
		conn->refusal.try_instead = bytes_str(arena_format(
			&conn->lfs->arena, "git push origin HEAD:%.*s",
			BYTES_ARGS(repo->branches.items[0])));
}

/* Where something is changed, the ref says in whose name. */
static int check_ref(struct conn *conn, struct bytes ref)
{
	struct verdict verdict = decide_lfs_ref(conn->lfs->repo, ref);

	if (verdict.kind == VERDICT_ALLOW)
		return 0;
	conn->verdict.rule = verdict.rule;
	conn_refuse(conn, verdict.constraint,
		    ref.len ? "the session may not bring LFS objects or locks "
			      "to \"%.*s\""
			    : "the request names no ref (\"ref\": "
			      "{\"name\": \"refs/heads/...\"})%.*s",
		    BYTES_ARGS(ref));
	tell_allowed(conn);
	return -1;
}

/* ---- batches ---- */

static int check_sizes(struct conn *conn, const struct lfs_batch *batch)
{
	const struct push_checks checks = push_checks_of(conn->lfs->repo);

	for (size_t i = 0; checks.file_bytes_max && i < batch->count; i++) {
		const struct lfs_object *object = &batch->objects[i];

		if (object->size <= checks.file_bytes_max)
			continue;
		conn_refuse(conn, CONSTRAINT_lfs_too_large,
			    "object %.12s has %llu bytes: push.limits.file "
			    "is %llu",
			    object->oid, (unsigned long long)object->size,
			    (unsigned long long)checks.file_bytes_max);
		return -1;
	}
	if (!checks.pack_bytes_max || batch->total <= checks.pack_bytes_max)
		return 0;
	conn_refuse(conn, CONSTRAINT_lfs_too_large,
		    "the batch has %llu bytes: push.limits.pack is %llu",
		    (unsigned long long)batch->total,
		    (unsigned long long)checks.pack_bytes_max);
	return -1;
}

static int check_download(struct conn *conn)
{
	struct verdict verdict = decide_fetch(conn->lfs->repo);

	if (verdict.kind == VERDICT_ALLOW)
		return 0;
	conn->verdict.rule = verdict.rule;
	conn_refuse(conn, verdict.constraint, "%s",
		    constraint_text(verdict.constraint));
	return -1;
}

static int decide_batch(struct conn *conn)
{
	struct lfs_work *work = conn->lfs;
	struct lfs_batch *batch = &work->batch;
	struct lfs_fault fault;
	bool is_upload;

	if (lfs_batch_parse(buf_view(&work->body), &work->arena, batch,
			    &fault) < 0)
		return refuse_fault(conn, &fault);
	is_upload = batch->operation == LFS_UPLOAD;
	if (is_upload ? check_ref(conn, batch->ref) < 0 ||
				check_sizes(conn, batch) < 0
		      : check_download(conn) < 0)
		return -1;
	conn->verdict.reason = bytes_str(arena_format(
		&work->arena, "lfs %s of %zu objects, %llu bytes%s%.*s",
		is_upload ? "upload" : "download", batch->count,
		(unsigned long long)batch->total, is_upload ? ", to " : "",
		BYTES_ARGS(is_upload ? batch->ref : bytes_from(NULL, 0))));
	buf_clear(&work->body);
	return lfs_batch_write(batch, &work->body);
}

/* ---- locks ---- */

static int decide_lock(struct conn *conn)
{
	struct lfs_work *work = conn->lfs;
	struct lfs_lock lock;
	struct lfs_fault fault;

	if (lfs_lock_parse(work->endpoint, buf_view(&work->body), &work->arena,
			   &lock, &fault) < 0)
		return refuse_fault(conn, &fault);
	if (work->endpoint != LFS_LOCKS_VERIFY && check_ref(conn, lock.ref) < 0)
		return -1;
	if (lock.force) {
		conn_refuse(conn, CONSTRAINT_lfs_not_allowed,
			    "locks of others are not taken away, by any rule");
		conn->refusal.try_instead = bytes_str(
			"git lfs unlock without --force for a lock of one's "
			"own, and ask a person for another's");
		return -1;
	}
	buf_clear(&work->body);
	return lfs_lock_write(work->endpoint, &lock, &work->body);
}

static int decide_verify(struct conn *conn)
{
	struct lfs_work *work = conn->lfs;
	struct lfs_object object;
	struct lfs_fault fault;

	if (lfs_verify_parse(buf_view(&work->body), &object, &fault) < 0)
		return refuse_fault(conn, &fault);
	if (object.size != work->object.size ||
	    strcmp(object.oid, work->object.oid) != 0) {
		conn_refuse(conn, CONSTRAINT_lfs_malformed,
			    "this permission is for another object");
		return -1;
	}
	buf_clear(&work->body);
	return lfs_verify_write(&object, &work->body);
}

int lfs_decide_body(struct conn *conn)
{
	struct lfs_work *work = conn->lfs;
	int result = 0;

	switch (work->endpoint) {
	case LFS_BATCH:
		result = decide_batch(conn);
		break;
	case LFS_LOCK:
	case LFS_LOCKS_VERIFY:
	case LFS_UNLOCK:
		result = decide_lock(conn);
		break;
	case LFS_TRANSFER:
		result = decide_verify(conn);
		break;
	case LFS_LOCKS:
		/* A list is asked for without a body. */
		buf_clear(&work->body);
		break;
	case LFS_NONE:
	case LFS_OTHER:
	case LFS_ENDPOINT_MAX:
	default:
		break;
	}
	if (result < 0 && conn->refusal.constraint == CONSTRAINT_none)
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
	return result;
}

/* ---- OPEN ---- */

static int hold(struct conn *conn, struct bytes bytes)
{
	if (buf_add(&conn->lfs->body, bytes) == 0)
		return 0;
	conn_refuse(conn, CONSTRAINT_lfs_too_large,
		    "the body is larger than %d bytes", LFS_REQUEST_BYTES_MAX);
	return -1;
}

static bool never_full(struct conn *conn)
{
	(void)conn;
	return false;
}

static int permit_request(struct conn *conn, uint64_t upload)
{
	if (rate_begin(conn, upload) < 0 ||
	    conn_record_request(conn, &conn->verdict) < 0)
		return -1;
	return 0;
}

static int begin_hold(struct conn *conn)
{
	const struct request *request = &conn->errand->request;

	if (fields_find(&request->fields, "Content-Encoding")) {
		conn_refuse(conn, CONSTRAINT_lfs_malformed,
			    "LFS requests are not encoded");
		return -1;
	}
	if (request->framing == FRAMING_LENGTH &&
	    request->body_len > LFS_REQUEST_BYTES_MAX) {
		conn_refuse(conn, CONSTRAINT_lfs_too_large,
			    "the body is larger than %d bytes",
			    LFS_REQUEST_BYTES_MAX);
		return -1;
	}
	if (conn->edge->lfs_asks >= LFS_ASKS_MAX) {
		conn_refuse(conn, CONSTRAINT_limit_connections, "%s",
			    constraint_text(CONSTRAINT_limit_connections));
		return -1;
	}
	conn->edge->lfs_asks++;
	conn->lfs->is_ask = true;
	conn_continue(conn);
	return 0;
}

/* NEXT: it streams; OTHER: what it brings is held first. */
static enum step begin_transfer(struct conn *conn)
{
	const struct lfs_permit *permit = lfs_permit_of(conn);
	bool streams = permit && permit->kind != LFS_ACT_VERIFY;

	if (!permit || lfs_take_permit(conn, permit) < 0)
		return STEP_DENY;
	if (!streams)
		return STEP_OTHER;
	return permit_request(conn, conn->errand->request.body_len) < 0
		       ? STEP_DENY
		       : STEP_NEXT;
}

enum step lfs_step_open(struct conn *conn, enum lane_event event)
{
	if (event == EV_ENTER && conn->lfs->endpoint == LFS_TRANSFER) {
		enum step step = begin_transfer(conn);

		if (step != STEP_OTHER)
			return step;
	}
	if (event == EV_ENTER && begin_hold(conn) < 0)
		return STEP_DENY;
	if (conn_pump_body(conn, hold, never_full) < 0)
		return STEP_DENY;
	if (!conn->body_done)
		return STEP_STAY;
	if (lfs_decide_body(conn) < 0 ||
	    permit_request(conn, buf_len(&conn->lfs->body)) < 0)
		return STEP_DENY;
	return STEP_OTHER;
}
