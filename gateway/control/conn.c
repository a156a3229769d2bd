#include "gateway/control/conn.h"

#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/secret.h"
#include "gateway/control/answer.h"
#include "gateway/control/attach.h"
#include "gateway/control/session_check.h"
#include "gateway/http/head.h"
#include "gateway/http/write.h"

#define ARENA_MAX (HEAD_ARENA_BYTES + CONN_BODY_MAX)

static const struct io_limits limits = {
	.in_max = 64 * 1024,
	.out_high = 256 * 1024,
	.out_max = CONN_ANSWER_MAX + 64 * 1024,
};

/* ---- the end ---- */

/* What is not part of the bytes held may be what is left of a secret. */
static void wipe_spare(struct buf *buf)
{
	if (!buf->data)
		return;
	secret_wipe(buf->data, buf->start);
	secret_wipe(buf->data + buf->end, buf->size - buf->end);
}

static void forget_body(struct conn *conn)
{
	if (conn->route && conn->route->is_secret) {
		buf_clear(&conn->body);
		wipe_spare(&conn->body);
		wipe_spare(io_in(conn->io));
	}
	buf_release(&conn->body);
}

static void forget_request(struct conn *conn)
{
	if (conn->on_end)
		conn->on_end(conn);
	conn->on_end = conn->on_room = NULL;
	conn->is_late = false;
	ask_leave(conn->ask);
	conn->ask = NULL;
	conn->task = NULL;
	forget_body(conn);
	conn->route = NULL;
	arena_reset(&conn->arena);
}

static void let_go(struct conn *conn)
{
	forget_request(conn);
	conn->state = CONN_CLOSED;
	if (conn->held[0])
		attach_end_session(conn->control, &conn->who, conn->held);
	conn->held[0] = '\0';
}

void conn_close(struct conn *conn)
{
	if (conn->state == CONN_CLOSED)
		return;
	let_go(conn);
	io_close(conn->io);
}

void conns_close(struct control *control)
{
	struct conn *conn, *next;

	DL_FOREACH_SAFE(control->conns, conn, next)
	conn_close(conn);
}

void conns_unhold(struct control *control, const char *session)
{
	struct conn *conn;

	DL_FOREACH(control->conns, conn)
	if (!strcmp(conn->held, session))
		conn->held[0] = '\0';
}

void conns_go_on(struct control *control)
{
	struct conn *conn, *next;

	DL_FOREACH_SAFE(control->conns, conn, next)
	{
		if (!conn->is_late || conn->state != CONN_STREAM)
			continue;
		conn->is_late = false;
		conn->on_room(conn);
	}
}

static void conn_free(struct conn *conn)
{
	struct control *control = conn->control;

	arena_release(&conn->arena);
	buf_release(&conn->body);
	DL_DELETE(control->conns, conn);
	control->conn_count--;
	if (control->http)
		io_listener_pause(control->http, false);
	free(conn);
}

/* ---- requests, one after the other ---- */

static void next_request(struct conn *conn)
{
	guard_init(&conn->guard, GUARD_REQUEST);
	conn->request = (struct request){0};
	conn->state = CONN_HEAD;
	conn->has_begun = false;
	io_deadline(conn->io, CONN_IDLE_MS);
}

static void refuse_fault(struct conn *conn, const struct http_fault *fault)
{
	conn->request.keep_alive = false;
	conn_refuse(conn, constraint_status(fault->constraint), "%s",
		    fault->reason);
}

/* An answer now leaves a body unread: the connection ends with it. */
static void refuse_early(struct conn *conn, unsigned status, const char *detail)
{
	if (conn->request.framing != FRAMING_NONE)
		conn->request.keep_alive = false;
	conn_refuse(conn, status, "%s", detail);
}

static bool find_route(struct conn *conn)
{
	const struct request *request = &conn->request;
	char allow[ROUTE_ALLOW_SIZE];
	char detail[128];

	conn->route = route_find(control_routes, request->method, request->path,
				 &conn->name, allow);
	if (conn->route)
		return true;
	if (allow[0] == '\0') {
		refuse_early(conn, 404, "there is nothing at this path");
		return false;
	}
	(void)snprintf(detail, sizeof(detail), "this path has %s", allow);
	refuse_early(conn, 405, detail);
	return false;
}

static bool may_begin(struct conn *conn)
{
	const struct request *request = &conn->request;
	struct err err;

	if (request->form != FORM_ORIGIN) {
		refuse_early(conn, 400, "this is no proxy");
		return false;
	}
	if (!find_route(conn))
		return false;
	if (params_read(request->query, conn->route->params, &conn->params,
			&err) < 0) {
		refuse_early(conn, 400, err.text);
		return false;
	}
	if (conn->route->may == ROUTE_ADMIN && !conn->who.is_admin) {
		log_warn("uid %u may not %s %s", conn->who.uid,
			 conn->route->method, conn->route->path);
		refuse_early(conn, 403, "only administrators may do this");
		return false;
	}
	if (request->framing == FRAMING_LENGTH &&
	    request->body_len > conn->route->body_max) {
		refuse_early(conn, 413, "the body is too large");
		return false;
	}
	return true;
}

static void begin_body(struct conn *conn)
{
	const struct request *request = &conn->request;

	conn->state = CONN_BODY;
	io_deadline(conn->io, CONN_BODY_MS);
	buf_init(&conn->body, conn->route->body_max);
	/* At once in its whole size: a body that grew would leave copies. */
	if (conn->route->is_secret &&
	    !buf_reserve(&conn->body, conn->route->body_max)) {
		refuse_early(conn, 503, "no memory");
		return;
	}
	body_decoder_init(&conn->decoder, request->framing, request->body_len);
	if (request->expects_continue && request->framing != FRAMING_NONE &&
	    io_write(conn->io, bytes_str(WRITE_CONTINUE)) < 0)
		conn_close(conn);
}

/* True: go on, something else may be read now. */
static bool read_head(struct conn *conn)
{
	struct buf *in = io_in(conn->io);
	struct bytes proxy_authorization;
	struct http_fault fault;

	switch (head_take_request(&conn->arena, &conn->guard, in,
				  &conn->request, &proxy_authorization,
				  &fault)) {
	case GUARD_MORE:
		if (buf_len(in) > 0 && !conn->has_begun)
			io_deadline(conn->io, CONN_HEAD_MS);
		conn->has_begun = buf_len(in) > 0;
		return false;
	case GUARD_INVALID:
		refuse_fault(conn, &fault);
		return false;
	case GUARD_COMPLETE:
	default:
		break;
	}
	if (may_begin(conn))
		begin_body(conn);
	return true;
}

static void handle(struct conn *conn)
{
	conn->state = CONN_WAIT;
	io_deadline(conn->io, 0);
	if (session_must_be_checked(conn))
		session_check(conn);
	else
		conn->route->handle(conn);
}

static bool read_body(struct conn *conn)
{
	struct buf *in = io_in(conn->io);
	struct bytes input, payload;
	enum body_result result;

	do {
		input = buf_view(in);
		result = body_decode(&conn->decoder, &input, &payload);
		if (buf_add(&conn->body, payload) < 0) {
			refuse_early(conn, 413, "the body is too large");
			return true;
		}
		buf_consume(in, buf_len(in) - input.len);
	} while (result == BODY_MORE && input.len > 0);
	if (result == BODY_MORE)
		return false;
	if (result == BODY_END)
		handle(conn);
	else
		refuse_early(conn, 400, conn->decoder.reason);
	return true;
}

static void turn(struct conn *conn)
{
	bool more = true;

	if (conn->is_turning)
		return;
	conn->is_turning = true;
	while (more && (conn->state == CONN_HEAD || conn->state == CONN_BODY))
		more = conn->state == CONN_HEAD ? read_head(conn)
						: read_body(conn);
	conn->is_turning = false;
}

void conn_request_done(struct conn *conn)
{
	bool keep_alive = conn->request.keep_alive;

	if (conn->state == CONN_CLOSED)
		return;
	if (!keep_alive) {
		let_go(conn);
		io_end(conn->io);
		io_close_flushed(conn->io, CONN_LINGER_MS);
		return;
	}
	forget_request(conn);
	next_request(conn);
	turn(conn);
}

/* ---- events ---- */

static void on_drained(struct conn *conn)
{
	if (conn->state != CONN_STREAM)
		return;
	io_deadline(conn->io, 0);
	if (conn->on_room)
		conn->on_room(conn);
}

static void on_timeout(struct conn *conn)
{
	conn->request.keep_alive = false;
	if (conn->state == CONN_BODY || conn->has_begun)
		conn_refuse(conn, 408, "the request took too long");
	else
		conn_close(conn);
}

/* Who ends its side does not wait for what is not answered yet. */
static void on_eof(struct conn *conn)
{
	bool is_answered = conn->state == CONN_HEAD;

	let_go(conn);
	if (is_answered)
		io_close_flushed(conn->io, CONN_LINGER_MS);
	else
		io_close(conn->io);
}

static void on_event(struct io *io, enum io_event event, void *owner)
{
	struct conn *conn = owner;

	if (event == IO_RELEASED) {
		conn_free(conn);
		return;
	}
	if (conn->state == CONN_CLOSED)
		return;
	switch (event) {
	case IO_DATA:
		turn(conn);
		break;
	case IO_DRAINED:
		on_drained(conn);
		break;
	case IO_TIMEOUT:
		on_timeout(conn);
		break;
	case IO_FAILED:
		log_debug("client: %s", io_error(io)->text);
		conn_close(conn);
		break;
	case IO_EOF:
		on_eof(conn);
		break;
	case IO_RELEASED:
	case IO_TLS_HELLO:
	case IO_TLS_READY:
	case IO_EVENT_MAX:
	default:
		break;
	}
}

/* ---- the beginning ---- */

static bool has_room_for(const struct control *control, const struct who *who)
{
	const struct conn *conn;
	size_t count = 0;

	if (who->is_admin)
		return true;
	DL_FOREACH(control->conns, conn)
	count += conn->who.uid == who->uid;
	return count < CONTROL_CONNS_OF_USER_MAX;
}

void conn_accept(struct control *control, int fd)
{
	auto_fd int client = fd;
	struct conn *conn;
	struct who who;
	struct err err;

	if (who_of(&control->rules, fd, &who, &err) < 0) {
		log_warn("%s", err.text);
		return;
	}
	conn = has_room_for(control, &who) ? calloc(1, sizeof(*conn)) : NULL;
	if (!conn)
		return;
	conn->control = control;
	conn->who = who;
	arena_init(&conn->arena, ARENA_MAX);
	buf_init(&conn->body, 0);
	conn->io = io_new(control->keeper->loop, take_fd(&client), &limits,
			  on_event, conn);
	if (!conn->io) {
		free(conn);
		return;
	}
	DL_APPEND(control->conns, conn);
	if (++control->conn_count >= CONTROL_CONNS_MAX && control->http)
		io_listener_pause(control->http, true);
	next_request(conn);
	io_read_start(conn->io);
}
