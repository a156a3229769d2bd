/*
 * A pack that must prove a fast-forward: spooled, given to packcheck, and
 * where its own commits do not reach, helped by an ancestry fetch.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/edge/git_lane.h"
#include "gateway/git/endpoint.h"
#include "gateway/upstream/dial.h"

#define AHEAD_BYTES (2 * 1024 * 1024)

/* gitformat-pack(5): of version 2, without objects, and its SHA-1. */
static const uint8_t empty_pack[] = {
	'P',  'A',  'C',  'K',	0,    0,    0,	  2,	0,    0,    0,
	0,    0x02, 0x9d, 0x08, 0x82, 0x3b, 0xd8, 0xa8, 0xea, 0xb5, 0x10,
	0xad, 0x6a, 0xc7, 0x5c, 0x82, 0x3c, 0xfd, 0x3e, 0xd3, 0x1e,
};

/* ---- memory files ---- */

static int write_all(int fd, struct bytes bytes)
{
	while (bytes.len > 0) {
		ssize_t put = write(fd, bytes.data, bytes.len);

		if (put <= 0)
			return -1;
		bytes = bytes_slice(bytes, (size_t)put, bytes.len);
	}
	return 0;
}

/* Nobody can change it any more under whoever reads it. */
static int seal(int fd)
{
	return fcntl(fd, F_ADD_SEALS,
		     F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
}

static int new_memory(struct conn *conn, const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		conn_refuse(conn, CONSTRAINT_internal,
			    "no memory to hold the pack");
	return fd;
}

/* Append to a memory file, within what a session may hold. */
static int spool(struct conn *conn, int fd, struct bytes bytes)
{
	struct edge *edge = conn->edge;

	if (bytes.len > PUSH_SPOOL_BYTES_MAX - edge->spooled ||
	    write_all(fd, bytes) < 0)
		return -1;
	edge->spooled += bytes.len;
	conn->git->spooled += bytes.len;
	return 0;
}

/* ---- SPOOL ---- */

/* A large pack is indexed while it arrives; what this does not achieve is
 * done at its end. */
static void tell_ahead(struct conn *conn)
{
	const struct wire_empty empty = {0};
	struct git_work *work = conn->git;
	struct err err;

	if (work->pack_len - work->told_ahead < AHEAD_BYTES)
		return;
	if (work->packcheck)
		(void)rpc_tell(work->packcheck, MSG_PACK_AHEAD,
			       &wire_empty_schema, &empty, work->pack_fd, &err);
	else if (work->told_ahead == 0 && !work->starting)
		(void)git_packcheck_start(conn);
	work->told_ahead = work->pack_len;
}

static int sink_spool(struct conn *conn, struct bytes bytes)
{
	struct git_work *work = conn->git;

	if (pack_gate_feed(&work->gate, bytes) < 0) {
		conn_refuse(conn, work->gate.verdict.constraint, "%.*s",
			    BYTES_ARGS(work->gate.verdict.reason));
		return -1;
	}
	if (spool(conn, work->pack_fd, bytes) < 0) {
		conn_refuse(conn, CONSTRAINT_push_too_large,
			    "no memory to hold the pack beside the others of "
			    "this session");
		return -1;
	}
	work->pack_len += bytes.len;
	tell_ahead(conn);
	return 0;
}

static bool never_full(struct conn *conn)
{
	(void)conn;
	return false;
}

static int begin_spool(struct conn *conn)
{
	struct git_work *work = conn->git;
	struct git_pack_bounds bounds = git_pack_bounds(work->repo);

	work->pack_fd = new_memory(conn, "sallyport-pack");
	if (work->pack_fd < 0)
		return -1;
	pack_gate_init(&work->gate, &work->commands.push, bounds.bytes_max,
		       (uint32_t)bounds.objects_max);
	if (sink_spool(conn, buf_view(&work->held)) < 0)
		return -1;
	buf_release(&work->held);
	return 0;
}

enum step git_step_spool(struct conn *conn, enum lane_event event)
{
	struct git_work *work = conn->git;

	if (event == EV_ENTER && begin_spool(conn) < 0)
		return git_refuse_push(conn);
	if (conn_pump_body(conn, sink_spool, never_full) < 0)
		return git_refuse_push(conn);
	if (!conn->body_done)
		return STEP_STAY;
	if (pack_gate_end(&work->gate) < 0) {
		conn_refuse(conn, work->gate.verdict.constraint, "%.*s",
			    BYTES_ARGS(work->gate.verdict.reason));
		return git_refuse_push(conn);
	}
	if (seal(work->pack_fd) < 0) {
		conn_refuse(conn, CONSTRAINT_internal, "seal the pack");
		return git_refuse_push(conn);
	}
	return STEP_NEXT;
}

/* ---- PROVE ---- */

static int keep_wants(struct git_work *work,
		      const struct msg_pack_verdict *verdict)
{
	work->wants = arena_array(&work->arena, verdict->wants_count + 1,
				  sizeof(*work->wants));
	if (!work->wants)
		return -1;
	for (size_t i = 0; i < verdict->wants_count; i++)
		work->wants[i].oid =
			arena_copy(&work->arena, verdict->wants[i].oid);
	work->wants_count = verdict->wants_count;
	work->wants_kind = (enum pack_wants)verdict->wants_kind;
	return 0;
}

static void take_verdict(struct conn *conn, struct rpc_outcome *outcome)
{
	const struct msg_pack_verdict *verdict = outcome->message;
	struct git_work *work = conn->git;

	if (outcome->err) {
		conn_refuse(conn,
			    outcome->err->code == ERR_DENIED
				    ? constraint_of_outcome(outcome)
				    : CONSTRAINT_push_pack_invalid,
			    "the pack could not be checked: %s",
			    outcome->err->text);
		return;
	}
	work->result = (enum pack_result)verdict->result;
	work->result_index = verdict->index;
	work->against = verdict->constraint < CONSTRAINT_MAX
				? (enum constraint)verdict->constraint
				: CONSTRAINT_none;
	if (keep_wants(work, verdict) < 0) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return;
	}
	conn->refusal.detail = arena_copy(&work->arena, verdict->detail);
	work->has_verdict = true;
}

static int ask_check(struct conn *conn)
{
	struct git_work *work = conn->git;
	const struct rpc_call call = {
		.type = MSG_PACK_CHECK,
		.schema = &msg_pack_check_schema,
		.message = &work->proof,
		.fd = work->pack_fd,
		.reply_schema = &msg_pack_verdict_schema,
		.timeout_ms = PROVE_TIMEOUT_MS,
	};

	if (push_proof_ask(&work->commands.push, work->looks, &work->arena,
			   &work->proof, &work->proof_indexes) < 0) {
		conn_refuse(conn, CONSTRAINT_push_too_large,
			    "more than 256 refs of one push must be looked at");
		return -1;
	}
	if (git_ask_content(conn) < 0)
		return -1;
	return conn_ask(conn, work->packcheck, &call, take_verdict);
}

static int ask_again(struct conn *conn)
{
	const struct wire_empty empty = {0};
	struct git_work *work = conn->git;
	const struct rpc_call call = {
		.type = MSG_PACK_ADD,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = work->ancestry_fd,
		.reply_schema = &msg_pack_verdict_schema,
		.timeout_ms = PROVE_TIMEOUT_MS,
	};

	return conn_ask(conn, work->packcheck, &call, take_verdict);
}

static enum step disproven(struct conn *conn, enum constraint constraint)
{
	struct git_work *work = conn->git;
	struct push *push = &work->commands.push;
	size_t index = work->result_index < work->proof.updates_count
			       ? work->proof_indexes[work->result_index]
			       : push->update_count;

	conn->refusal.constraint = constraint;
	push_disproven(push, index, constraint, conn->refusal.detail,
		       &work->ruling);
	(void)git_record_push(conn);
	return STEP_DENY;
}

static enum step proven(struct conn *conn)
{
	struct git_work *work = conn->git;

	/* Others wait for one. */
	git_packcheck_release(work);
	push_proven(&work->commands.push, work->repo, &work->ruling);
	if (!work->ruling.is_allowed || git_record_push(conn) < 0) {
		conn_refuse(conn, CONSTRAINT_audit_unavailable, "%s",
			    constraint_text(CONSTRAINT_audit_unavailable));
		return git_refuse_push(conn);
	}
	return STEP_NEXT;
}

/* What it is that cannot be known without what is wanted. */
static enum constraint without_wants(const struct git_work *work)
{
	switch (work->wants_kind) {
	case WANTS_STATES:
	case WANTS_TREES:
	case WANTS_KNOWN:
		return CONSTRAINT_push_path_protected;
	case WANTS_BASES:
		return CONSTRAINT_push_pack_invalid;
	case WANTS_COMMITS:
	case PACK_WANTS_MAX:
		break;
	}
	return CONSTRAINT_push_not_fast_forward;
}

static enum step unproven(struct conn *conn)
{
	struct git_work *work = conn->git;

	if (++work->rounds <= ANCESTRY_ROUNDS_MAX && work->wants_count > 0 &&
	    work->repo->read)
		return STEP_OTHER;
	return disproven(conn, without_wants(work));
}

/* The question, or what was fetched for it. One packcheck a push: where it
 * died, so would the next. */
static int begin_proof(struct conn *conn)
{
	struct git_work *work = conn->git;

	if (work->rounds > 0)
		return ask_again(conn);
	if (work->has_packcheck)
		return ask_check(conn);
	if (!work->starting && git_packcheck_start(conn) < 0) {
		conn_refuse(conn, CONSTRAINT_internal,
			    "no packcheck could be asked for");
		return -1;
	}
	work->awaits_packcheck = true;
	return 0;
}

/* NEXT: proven; OTHER: the pack's commits do not reach. */
enum step git_step_prove(struct conn *conn, enum lane_event event)
{
	struct git_work *work = conn->git;
	int result;

	if (event == EV_ENTER)
		result = begin_proof(conn);
	else if (conn->refusal.constraint != CONSTRAINT_none)
		result = -1;
	else
		result = work->has_verdict ? 0 : ask_check(conn);
	if (result < 0)
		return git_refuse_push(conn);
	if (!work->has_verdict)
		return STEP_STAY;
	work->has_verdict = false;
	switch (work->result) {
	case PACK_PASSED:
		return proven(conn);
	case PACK_UNPROVEN:
		return unproven(conn);
	case PACK_REWRITE:
		return disproven(conn, CONSTRAINT_push_not_fast_forward);
	case PACK_REFUSED:
		return disproven(conn, work->against == CONSTRAINT_none
					       ? CONSTRAINT_push_pack_invalid
					       : work->against);
	case PACK_INVALID:
	case PACK_RESULT_MAX:
	default:
		return disproven(conn, CONSTRAINT_push_pack_invalid);
	}
}

/* ---- CAPABILITIES: does upstream offer filters? Asked once. ---- */

enum step git_step_capabilities(struct conn *conn, enum lane_event event)
{
	struct git_work *work = conn->git;
	struct err err;
	int result = 0;

	switch ((unsigned)event) {
	case EV_ENTER:
		if (work->knows_filter)
			return STEP_NEXT;
		result = conn_get_upstream(conn, work->repo->credential);
		break;
	case EV_UP_READY:
		result = git_send_own(conn, "info/refs",
				      "service=git-upload-pack",
				      bytes_from(NULL, 0));
		break;
	case EV_UP_HEAD:
		result = git_check_answer(conn,
					  git_answer_type(GIT_ADVERTISE_READ));
		break;
	case EV_UP_BODY:
		result = fetch_advertise_feed(
			&work->fetch_adv, upstream_span(conn->up), NULL, &err);
		if (result < 0)
			conn_refuse(conn, CONSTRAINT_response_malformed, "%s",
				    err.text);
		break;
	case EV_UP_END:
		result = fetch_advertise_end(&work->fetch_adv, &err);
		if (result < 0) {
			conn_refuse(conn, CONSTRAINT_response_malformed, "%s",
				    err.text);
			break;
		}
		work->knows_filter = true;
		work->has_filter = work->fetch_adv.has_filter;
		conn_put_upstream(conn);
		return STEP_NEXT;
	default:
		conn_refuse_upstream(conn);
		result = -1;
		break;
	}
	return result < 0 ? git_refuse_push(conn) : STEP_STAY;
}

/* ---- ANCESTRY ---- */

static struct bytes have_of(const struct git_work *work)
{
	if (work->wants_kind != WANTS_COMMITS ||
	    work->result_index >= work->proof.updates_count)
		return bytes_from(NULL, 0);
	return work->proof.updates[work->result_index].old_oid;
}

static int send_ancestry(struct conn *conn)
{
	struct git_work *work = conn->git;
	const struct ancestry_ask ask = {
		.wants = work->wants,
		.wants_count = work->wants_count,
		.have = have_of(work),
		.tips = work->refs.tips,
		.tips_count = work->wants_kind == WANTS_KNOWN
				      ? work->refs.tip_count
				      : 0,
		.oid_hex_len = work->commands.push.oid_hex_len,
		.kind = work->wants_kind,
		.has_filter = work->has_filter,
	};
	auto_type(buf_release) struct buf body;

	buf_init(&body, ANCESTRY_REQUEST_MAX);
	if (ancestry_write(&ask, &body) < 0) {
		conn_refuse(conn, without_wants(work),
			    "the proof needs too many objects");
		return -1;
	}
	return git_send_own(conn, "git-upload-pack", "", buf_view(&body));
}

/* "not our ref": upstream has nothing of that name. */
static bool is_not_theirs(const struct conn *conn)
{
	const struct git_work *work = conn->git;

	return work->wants_kind == WANTS_KNOWN && work->reader.is_denied;
}

static int take_ancestry(struct conn *conn)
{
	struct git_work *work = conn->git;
	struct bytes span = upstream_span(conn->up);
	auto_type(buf_release) struct buf pack;
	struct err err;

	buf_init(&pack, span.len + 1);
	if (ancestry_reader_feed(&work->reader, span, &pack, &err) == 0) {
		if (spool(conn, work->ancestry_fd, buf_view(&pack)) == 0)
			return 0;
		(void)err_set(&err, ERR_TOO_LARGE, "there is no room");
	}
	if (is_not_theirs(conn))
		return -1;
	conn_refuse(conn, without_wants(work),
		    "what upstream has could not be fetched: %s", err.text);
	return -1;
}

static enum step ancestry_done(struct conn *conn)
{
	struct git_work *work = conn->git;
	struct err err;

	if (ancestry_reader_end(&work->reader, &err) < 0 ||
	    seal(work->ancestry_fd) < 0) {
		conn_refuse(conn, without_wants(work),
			    "the ancestry was cut short");
		return git_refuse_push(conn);
	}
	conn_put_upstream(conn);
	return STEP_NEXT;
}

/* What upstream need not be asked whether it has it. */
static void drop_tips(struct git_work *work)
{
	size_t kept = 0;

	for (size_t i = 0; i < work->wants_count; i++)
		if (!git_refs_is_tip(&work->refs, work->wants[i].oid))
			work->wants[kept++] = work->wants[i];
	work->wants_count = kept;
}

/* Whether upstream's branches lead to what is wanted is known, in the words in
 * which upstream tells. */
static enum step answer_known(struct conn *conn, bool is_known)
{
	struct git_work *work = conn->git;
	struct bytes pack = bytes_from(empty_pack, sizeof(empty_pack));

	if (work->ancestry_fd >= 0)
		(void)close(work->ancestry_fd);
	work->ancestry_fd = new_memory(conn, "sallyport-ancestry");
	if (!is_known)
		pack = bytes_slice(pack, 0, 4);
	if (work->ancestry_fd < 0 || spool(conn, work->ancestry_fd, pack) < 0 ||
	    seal(work->ancestry_fd) < 0) {
		conn_refuse(conn, CONSTRAINT_internal, "no memory for a pack");
		return git_refuse_push(conn);
	}
	conn_put_upstream(conn);
	return STEP_NEXT;
}

static int begin_ancestry(struct conn *conn)
{
	struct git_work *work = conn->git;

	if (work->ancestry_fd >= 0)
		(void)close(work->ancestry_fd);
	ancestry_reader_release(&work->reader);
	ancestry_reader_init(&work->reader);
	work->reader.may_be_shallow = work->wants_kind == WANTS_STATES;
	work->ancestry_fd = new_memory(conn, "sallyport-ancestry");
	if (work->ancestry_fd < 0)
		return -1;
	return conn_get_upstream(conn, work->repo->credential);
}

enum step git_step_ancestry(struct conn *conn, enum lane_event event)
{
	struct git_work *work = conn->git;
	int result;

	switch ((unsigned)event) {
	case EV_ENTER:
		if (work->wants_kind == WANTS_KNOWN)
			drop_tips(work);
		if (work->wants_count == 0)
			return answer_known(conn, true);
		result = begin_ancestry(conn);
		break;
	case EV_UP_READY:
		result = send_ancestry(conn);
		break;
	case EV_UP_HEAD:
		result = git_check_answer(conn,
					  git_answer_type(GIT_UPLOAD_PACK));
		break;
	case EV_UP_BODY:
		result = take_ancestry(conn);
		if (result < 0 && is_not_theirs(conn))
			return answer_known(conn, false);
		break;
	case EV_UP_END:
		return ancestry_done(conn);
	default:
		conn_refuse_upstream(conn);
		result = -1;
		break;
	}
	return result < 0 ? git_refuse_push(conn) : STEP_STAY;
}
