#include "gateway/door/conn.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/http/head.h"
#include "gateway/http/problem.h"
#include "gateway/session/lease.h"

/* IO_DRAINED tells when whatever was said has left. */
static const struct io_limits limits = {
	.in_max = CLIENT_READ_MAX,
	.out_high = 0,
	.out_max = PROBLEM_BYTES_MAX,
};

/* ---- answers ---- */

void door_conn_end(struct door_conn *conn, struct bytes words)
{
	if (words.len)
		(void)io_write(conn->io, words);
	conn->is_over = true;
	io_close_flushed(conn->io, DOOR_LINGER_MS);
}

static void answer(struct door_conn *conn, enum constraint constraint,
		   const char *detail)
{
	const struct refusal refusal = {
		.constraint = constraint,
		.rule = bytes_str("gateway"),
		.detail = bytes_str(detail),
	};
	const struct problem problem = {.refusal = &refusal, .close = true};
	auto_type(buf_release) struct buf out;

	buf_init(&out, PROBLEM_BYTES_MAX);
	(void)problem_write(&out, &problem);
	door_conn_end(conn, buf_view(&out));
}

static void answer_wrong_lease(struct door_conn *conn)
{
	if (conn->is_socks) {
		door_socks_refuse(conn);
		return;
	}
	answer(conn, CONSTRAINT_lease_invalid,
	       "this proxy wants a session's lease: as the password of Basic, "
	       "or as Bearer");
}

/* Who brings none has not seen the question yet: that is no failure. */
static void refuse_lease(struct door_conn *conn, bool brought_one)
{
	uint64_t now = io_loop_now_ms(conn->door->keeper->loop);
	unsigned hold = brought_one ? visitor_failed(conn->visitor, now) : 0;

	if (brought_one)
		log_info("a wrong lease was brought: failure %u",
			 conn->visitor->failures);
	if (hold == 0) {
		answer_wrong_lease(conn);
		return;
	}
	conn->is_held = true;
	io_read_stop(conn->io);
	io_deadline(conn->io, hold);
}

/* ---- to the edge ---- */

static void answer_internal(struct door_conn *conn, const char *detail)
{
	if (conn->is_socks)
		door_socks_refuse(conn);
	else
		answer(conn, CONSTRAINT_internal, detail);
}

static void hand_on(struct door_conn *conn, const struct session *session)
{
	const struct keeper_peer *edge = session->owner;
	auto_type(buf_release) struct buf read = {0};
	struct msg_client message;
	auto_fd int fd = -1;
	struct err err;

	if (!edge) {
		answer_internal(conn, "the session's edge is not there");
		return;
	}
	buf_init(&read, CLIENT_READ_MAX);
	if (buf_add(&read, buf_view(io_in(conn->io))) < 0) {
		answer_internal(conn, "memory is out");
		return;
	}
	message.read = buf_view(&read);
	conn->is_over = true;
	fd = io_detach(conn->io);
	if (rpc_tell(edge->rpc, MSG_CLIENT, &msg_client_schema, &message, fd,
		     &err) < 0)
		log_warn("session %s: %s", session->id, err.text);
}

void door_conn_bring(struct door_conn *conn, struct bytes lease, bool brought)
{
	const struct session *session = door_find(conn->door, lease);

	if (session)
		hand_on(conn, session);
	else
		refuse_lease(conn, brought);
}

/* ---- the head ---- */

static void on_head(struct door_conn *conn, size_t len)
{
	struct bytes head = bytes_slice(buf_view(io_in(conn->io)), 0, len);
	auto_type(arena_release) struct arena arena;
	struct bytes authorization = {NULL, 0};
	uint8_t room[LEASE_FIELD_MAX];
	struct request request;
	struct http_fault fault;

	arena_init(&arena, DOOR_ARENA_SIZE);
	if (head_request(&arena, &conn->guard, head, &request, &authorization,
			 &fault) < 0) {
		answer(conn, fault.constraint, fault.reason);
		return;
	}
	door_conn_bring(conn, lease_of_field(authorization, room),
			authorization.len > 0);
}

static void on_bytes(struct door_conn *conn)
{
	struct bytes read = buf_view(io_in(conn->io));
	size_t len;

	if (conn->is_socks || socks_begins(read)) {
		conn->is_socks = true;
		door_socks_step(conn);
		return;
	}
	switch (guard_scan(&conn->guard, read, &len)) {
	case GUARD_COMPLETE:
		on_head(conn, len);
		break;
	case GUARD_INVALID:
		answer(conn, conn->guard.fault.constraint,
		       conn->guard.fault.reason);
		break;
	case GUARD_MORE:
	default:
		break;
	}
}

static void on_deadline(struct door_conn *conn)
{
	if (conn->is_held)
		answer_wrong_lease(conn);
	else if (conn->is_socks)
		door_conn_end(conn, bytes_from(NULL, 0));
	else
		answer(conn, CONSTRAINT_timeout, "no request head came");
}

static void conn_free(struct door_conn *conn)
{
	struct door *door = conn->door;

	visitors_leave(&door->visitors, conn->visitor,
		       io_loop_now_ms(door->keeper->loop));
	door->conn_count--;
	free(conn);
}

static void on_client(struct io *io, enum io_event event, void *owner)
{
	struct door_conn *conn = owner;

	if (event == IO_RELEASED) {
		conn_free(conn);
		return;
	}
	if (conn->is_over)
		return;
	if ((event == IO_DATA || event == IO_DRAINED) && !conn->is_held) {
		on_bytes(conn);
	} else if (event == IO_TIMEOUT) {
		on_deadline(conn);
	} else if (event == IO_EOF || event == IO_FAILED) {
		conn->is_over = true;
		io_close(io);
	}
}

void door_accept(int fd, const struct sockaddr_storage *peer,
		 const struct sockaddr_storage *original, bool was_redirected,
		 void *owner)
{
	struct door *door = owner;
	struct io_loop *loop = door->keeper->loop;
	auto_fd int client = fd;
	auto_free struct door_conn *conn = NULL;

	(void)original;
	(void)was_redirected;
	if (door->conn_count >= DOOR_CONNS_MAX)
		return;
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return;
	conn->door = door;
	conn->visitor =
		visitors_enter(&door->visitors, peer, io_loop_now_ms(loop));
	if (!conn->visitor)
		return;
	guard_init(&conn->guard, GUARD_REQUEST);
	conn->socks.needs_password = true;
	conn->io = io_new(loop, take_fd(&client), &limits, on_client, conn);
	if (!conn->io) {
		visitors_leave(&door->visitors, conn->visitor,
			       io_loop_now_ms(loop));
		return;
	}
	door->conn_count++;
	io_deadline(conn->io, DOOR_HEAD_MS);
	io_read_start(conn->io);
	(void)take_ptr(&conn);
}
