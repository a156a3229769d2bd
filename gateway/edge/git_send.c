/*
 * An allowed push on its way: approved commands, then the pack, then
 * upstream's report back to the client.
 */
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/edge/git_lane.h"
#include "gateway/git/endpoint.h"

#define PACK_PIECE_BYTES (64 * 1024)

/* ---- the commands ---- */

/* A repository without a credential has no courier: the edge writes the
 * command list itself. */
static int send_direct(struct conn *conn, const struct leg_push *push)
{
	struct field items[2] = {
		{bytes_str("User-Agent"), bytes_str("git/sallyport")},
		{bytes_str("Content-Type"),
		 bytes_str(git_request_type(GIT_RECEIVE_PACK))},
	};
	const struct request request = {
		.method = bytes_str("POST"),
		.path = conn->errand->request.path,
		.fields = {.items = items, .count = 2, .room = 2},
		.framing = FRAMING_CHUNKED,
		.keep_alive = true,
	};
	const struct upstream_labels labels = {push->request_id, push->rule};
	auto_type(buf_release) struct buf commands;
	struct err err;

	buf_init(&commands, 2 * PUSH_COMMANDS_BYTES_MAX);
	if (commands_write(push, &commands, &err) < 0 ||
	    upstream_send(conn->up, &request, &labels, &err) < 0)
		return -1;
	return upstream_body(conn->up, buf_view(&commands));
}

static int send_commands(struct conn *conn)
{
	struct git_work *work = conn->git;
	struct leg_push push = {0};
	struct err err;
	int result;

	if (commands_to_leg(&work->commands.push, &work->arena, &push) < 0) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return -1;
	}
	push.request_id = bytes_str(conn->request_id);
	push.rule = conn->verdict.rule;
	push.repo_path = work->repo->path;
	push.url_path = work->url_path;
	if (work->repo->credential.len)
		result = upstream_send_push(conn->up, &push, &err);
	else
		result = send_direct(conn, &push);
	if (result < 0)
		conn_refuse(conn, CONSTRAINT_internal,
			    "the push could not be sent on");
	else
		conn->is_ready = work->owes_report = true;
	return result;
}

/* ---- the pack ---- */

static int sink_send(struct conn *conn, struct bytes bytes)
{
	if (upstream_body(conn->up, bytes) == 0)
		return 0;
	conn_refuse(conn, CONSTRAINT_upstream_closed,
		    "upstream takes no more of the pack");
	return -1;
}

/* Through the gate: the first bytes wait until the pack's head is sound. */
static int sink_stream(struct conn *conn, struct bytes bytes)
{
	struct git_work *work = conn->git;
	bool was_open = work->gate.head_len == PACK_HEAD_LEN;

	if (pack_gate_feed(&work->gate, bytes) < 0) {
		conn_refuse(conn, work->gate.verdict.constraint, "%.*s",
			    BYTES_ARGS(work->gate.verdict.reason));
		return -1;
	}
	if (was_open)
		return sink_send(conn, bytes);
	if (buf_add(&work->held, bytes) < 0) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return -1;
	}
	if (work->gate.head_len < PACK_HEAD_LEN)
		return 0;
	if (sink_send(conn, buf_view(&work->held)) < 0)
		return -1;
	buf_release(&work->held);
	return 0;
}

static bool upstream_full(struct conn *conn)
{
	return upstream_is_full(conn->up);
}

static int begin_stream(struct conn *conn)
{
	struct git_work *work = conn->git;
	auto_type(buf_release) struct buf first = work->held;

	buf_init(&work->held, GIT_HELD_MAX);
	pack_gate_init(&work->gate, &work->commands.push, PUSH_STREAM_BYTES_MAX,
		       PUSH_OBJECTS_MAX);
	return buf_len(&first) ? sink_stream(conn, buf_view(&first)) : 0;
}

static int pack_ended(struct conn *conn)
{
	struct git_work *work = conn->git;

	if (work->pack_fd < 0 && pack_gate_end(&work->gate) < 0) {
		conn_refuse(conn, work->gate.verdict.constraint, "%.*s",
			    BYTES_ARGS(work->gate.verdict.reason));
		return -1;
	}
	work->is_sent = true;
	if (upstream_body_end(conn->up) == 0)
		return 0;
	conn_refuse(conn, CONSTRAINT_upstream_closed,
		    "upstream closed before the pack's end");
	return -1;
}

static int send_spooled(struct conn *conn)
{
	struct git_work *work = conn->git;
	auto_free uint8_t *piece = malloc(PACK_PIECE_BYTES);

	while (piece && work->pack_sent < work->pack_len) {
		ssize_t got;

		if (upstream_is_full(conn->up))
			return 0;
		got = pread(work->pack_fd, piece, PACK_PIECE_BYTES,
			    (off_t)work->pack_sent);
		if (got <= 0)
			break;
		if (sink_send(conn, bytes_from(piece, (size_t)got)) < 0)
			return -1;
		work->pack_sent += (uint64_t)got;
	}
	if (work->pack_sent == work->pack_len)
		return pack_ended(conn);
	conn_refuse(conn, CONSTRAINT_internal, "read the held pack");
	return -1;
}

static int send_pack(struct conn *conn)
{
	struct git_work *work = conn->git;

	if (!conn->is_ready || work->is_sent)
		return 0;
	if (work->pack_fd >= 0)
		return send_spooled(conn);
	if (conn_pump_body(conn, sink_stream, upstream_full) < 0)
		return -1;
	return conn->body_done ? pack_ended(conn) : 0;
}

static int begin_send(struct conn *conn)
{
	struct git_work *work = conn->git;

	/* What came instead of no pack is refused before the commands go. */
	if (!work->commands.push.has_pack && buf_len(&work->held) > 0) {
		conn_refuse(conn, CONSTRAINT_push_malformed,
			    "bytes after commands that only delete");
		return -1;
	}
	if (send_commands(conn) < 0)
		return -1;
	if (work->pack_fd < 0 && begin_stream(conn) < 0)
		return -1;
	return send_pack(conn);
}

/* ---- the report ---- */

static int begin_report(struct conn *conn)
{
	struct git_work *work = conn->git;
	struct response reply = *upstream_response(conn->up);
	auto_type(buf_release) struct buf out = {0};

	if (git_check_answer(conn, git_answer_type(GIT_RECEIVE_PACK)) < 0)
		return -1;
	if (report_reader_init(&work->report, &work->commands.push,
			       &work->arena) < 0) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return -1;
	}
	work->has_report = true;
	edit_response(&reply, true);
	reply.framing = framing_for_client(&reply, &conn->errand->request);
	conn->reply_framing = reply.framing;
	buf_init(&out, 2 * HEAD_BYTES_MAX);
	conn->has_replied = true;
	conn->reply_status = reply.status;
	if (write_response(&out, &reply, conn->errand->request.keep_alive) < 0)
		return -1;
	return io_write(conn->client, buf_view(&out));
}

static int pass_report(struct conn *conn)
{
	struct bytes span = upstream_span(conn->up);
	auto_type(buf_release) struct buf out;

	report_reader_feed(&conn->git->report, span);
	conn->bytes_down += span.len;
	buf_init(&out, span.len + 64);
	if (body_encode(&out, conn->reply_framing, span) < 0 ||
	    io_write(conn->client, buf_view(&out)) < 0)
		return -1;
	if (io_is_full(conn->client))
		upstream_pause(conn->up);
	return 0;
}

static struct record report_record(const struct conn *conn,
				   const struct push_update *update)
{
	return (struct record){
		.kind = RECORD_PUSH_REPORT,
		.request_id = bytes_str(conn->request_id),
		.rule = update->verdict.rule,
		.host = bytes_str(conn->errand->target.host),
		.port = conn->errand->target.port,
		.method = bytes_str("unknown"),
		.path = update->ref,
		.bytes_up = conn->bytes_up,
		.old_oid = update->old_oid,
		.new_oid = update->new_oid,
	};
}

static void record_report(struct conn *conn)
{
	struct git_work *work = conn->git;
	const struct push *push = &work->commands.push;

	work->owes_report = false;
	for (size_t i = 0; i < push->update_count; i++) {
		struct record record = report_record(conn, &push->updates[i]);

		record.status = 200;
		if (work->report.outcomes[i] == REPORT_OK) {
			record.allowed = true;
			record.method = bytes_str("ok");
		} else if (work->report.outcomes[i] == REPORT_NG) {
			record.method = bytes_str("ng");
			record.detail = work->report.first_reason;
		}
		(void)edge_record(conn->edge, &record);
	}
}

void git_record_unheard(struct conn *conn)
{
	const struct push *push = &conn->git->commands.push;

	if (!conn->git->owes_report)
		return;
	conn->git->owes_report = false;
	for (size_t i = 0; i < push->update_count; i++) {
		struct record record = report_record(conn, &push->updates[i]);

		record.detail = bytes_str("ended before upstream's report");
		(void)edge_record(conn->edge, &record);
	}
}

static enum step report_done(struct conn *conn)
{
	bool keep = conn->errand->request.keep_alive && conn->body_done &&
		    conn->git->is_sent &&
		    conn->reply_framing != FRAMING_TO_CLOSE;

	record_report(conn);
	if (conn->reply_framing == FRAMING_CHUNKED &&
	    io_write(conn->client, bytes_str(CHUNK_LAST)) < 0)
		return STEP_OTHER;
	conn_put_upstream(conn);
	return keep ? STEP_NEXT : STEP_OTHER;
}

static enum step failed(struct conn *conn)
{
	return conn->has_replied ? STEP_OTHER : git_refuse_push(conn);
}

enum step git_step_send(struct conn *conn, enum lane_event event)
{
	enum constraint over;
	int result = 0;

	switch ((unsigned)event) {
	case EV_ENTER:
		/* Time has passed since the decision (security E23). */
		over = edge_over(conn->edge);
		io_read_stop(conn->client);
		if (over != CONSTRAINT_none)
			conn_refuse(conn, over, "%s", constraint_text(over));
		result = over != CONSTRAINT_none
				 ? -1
				 : conn_get_upstream(
					   conn, conn->git->repo->credential);
		break;
	case EV_UP_READY:
		result = begin_send(conn);
		break;
	case EV_DATA:
	case EV_EOF:
	case EV_UP_DRAINED:
		result = send_pack(conn);
		break;
	case EV_DRAINED:
		if (conn->up)
			upstream_resume(conn->up);
		break;
	case EV_UP_HEAD:
		result = begin_report(conn);
		/* Upstream has said no: nothing of the push was done. */
		if (result < 0 && !conn->has_replied)
			conn->git->owes_report = false;
		break;
	case EV_UP_BODY:
		result = pass_report(conn);
		break;
	case EV_UP_END:
		return report_done(conn);
	default:
		conn_refuse_upstream(conn);
		result = -1;
		break;
	}
	return result < 0 ? failed(conn) : STEP_STAY;
}
