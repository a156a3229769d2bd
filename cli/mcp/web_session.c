#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "cli/mcp/web_parts.h"
#include "common/cleanup.h"
#include "common/digest.h"

static const struct io_limits limits = {
	.in_max = WEB_ANSWER_MAX,
	.out_high = STDIO_LINE_MAX,
	.out_max = 2 * STDIO_LINE_MAX,
};

/* ---- who waits ---- */

static void wait_free(struct web_wait *wait)
{
	struct web_session *session = wait->session;

	if (wait->conn)
		wait->conn->wait = NULL;
	DL_DELETE(session->waits, wait);
	session->wait_count--;
	json_decref(wait->id);
	free(wait);
}

/* From when on does nobody use it? */
static void touch(struct web_session *session)
{
	if (session->is_over)
		return;
	io_timer_set(session->idle,
		     session->wait_count > 0 || session->stream
			     ? 0
			     : session->web->config->idle_s * 1000);
}

/* line: the answer, or one that says why there is none. */
static void deliver(struct web_wait *wait, struct bytes line)
{
	struct web_session *session = wait->session;
	struct web_conn *conn = wait->conn;
	const char *told = session->is_told ? NULL : session->id;

	wait_free(wait);
	touch(session);
	if (!conn) {
		/* Its id was never told: nobody will come back. */
		if (!session->is_told)
			web_session_end(session);
		return;
	}
	if (conn->http.state == HTTP_CONN_STREAM) {
		web_conn_event(conn, line);
		http_conn_stream_end(&conn->http);
	} else {
		session->is_told = true;
		web_conn_reply(conn, 200, "application/json", line, told);
	}
}

void web_session_cancel(struct web_session *session, const json_t *id)
{
	struct web_wait *wait, *next;
	struct web_conn *conn;

	DL_FOREACH_SAFE(session->waits, wait, next)
	{
		if (!json_equal(wait->id, id))
			continue;
		conn = wait->conn;
		wait_free(wait);
		touch(session);
		if (conn && conn->http.state == HTTP_CONN_STREAM)
			http_conn_stream_end(&conn->http);
		else if (conn)
			web_conn_reply(conn, 202, NULL, bytes_from(NULL, 0),
				       NULL);
		return;
	}
}

void web_session_listen(struct web_session *session, struct web_conn *conn)
{
	struct web_conn *older = session->stream;

	session->stream = conn;
	conn->listening = session;
	if (older) {
		older->listening = NULL;
		http_conn_stream_end(&older->http);
	}
	touch(session);
}

void web_session_leave(void *owner)
{
	struct web_conn *conn = owner;
	struct web_session *session = conn->listening;

	if (conn->wait)
		conn->wait->conn = NULL;
	conn->wait = NULL;
	conn->listening = NULL;
	if (!session)
		return;
	session->stream = NULL;
	touch(session);
}

/* ---- the end ---- */

static void fail_waits(struct web_session *session)
{
	struct web_wait *wait, *next;

	DL_FOREACH_SAFE(session->waits, wait, next)
	{
		json_t *message =
			message_error(wait->id, MESSAGE_INTERNAL_ERROR,
				      "the session has ended");
		auto_free char *text =
			message ? json_dumps(message, JSON_COMPACT) : NULL;

		json_decref(message);
		deliver(wait, bytes_str(text));
	}
}

void web_session_end(struct web_session *session)
{
	struct web_conn *stream = session->stream;

	if (session->is_over)
		return;
	session->is_over = true;
	io_timer_set(session->idle, 0);
	/* It ends its sandboxes, and then itself. */
	if (session->io)
		io_close(session->io);
	session->io = NULL;
	fail_waits(session);
	if (stream) {
		web_session_leave(stream);
		http_conn_stream_end(&stream->http);
	}
}

static void session_free(struct web_session *session)
{
	struct web *web = session->web;

	web_session_end(session);
	io_watch_free(session->watch);
	io_timer_free(session->idle);
	(void)close(session->pidfd);
	DL_DELETE(web->sessions, session);
	web->session_count--;
	free(session);
}

static void on_exit_of(int fd, bool readable, bool writable, void *owner)
{
	struct web_session *session = owner;

	(void)fd;
	(void)readable;
	(void)writable;
	session_free(session);
}

static void on_idle(void *owner)
{
	web_session_end(owner);
}

/* ---- what it says ---- */

static void take_line(struct web_session *session, struct bytes line)
{
	struct message message;
	struct web_wait *wait;

	message_read(&message, line);
	DL_FOREACH(session->waits, wait)
	if (message.kind == MESSAGE_RESPONSE &&
	    json_equal(wait->id, message.id))
		break;
	if (wait)
		deliver(wait, line);
	message_release(&message);
}

/* False: there is no whole line. */
static bool read_line(struct web_session *session)
{
	struct buf *in = io_in(session->io);
	struct bytes text = buf_view(in);
	ptrdiff_t end = bytes_find(text, '\n', 0);
	auto_free uint8_t *copy = NULL;

	if (end < 0)
		return false;
	/* Whoever gets it may end the session, and its buffer with it. */
	copy = malloc((size_t)end + 1);
	if (!copy) {
		web_session_end(session);
		return false;
	}
	memcpy(copy, text.data, (size_t)end + 1);
	buf_consume(in, (size_t)end + 1);
	take_line(session, bytes_from(copy, (size_t)end));
	return session->io != NULL;
}

/* Owned by the web: what is released may outlive its session. */
static void on_event(struct io *io, enum io_event event, void *owner)
{
	struct web *web = owner;
	struct web_session *session;

	if (event == IO_RELEASED) {
		web->io_count--;
		return;
	}
	DL_SEARCH_SCALAR(web->sessions, session, io, io);
	if (!session)
		return;
	while (read_line(session))
		;
	if (event == IO_EOF || event == IO_FAILED)
		web_session_end(session);
}

int web_session_tell(struct web_session *session, const struct message *message,
		     struct err *err)
{
	auto_free char *text = json_dumps(message->root, JSON_COMPACT);

	if (!text || strlen(text) > WEB_BODY_MAX)
		return err_set(err, ERR_INVALID, "the message is too large");
	if (!session->io || io_is_full(session->io) ||
	    io_write(session->io, bytes_str(text)) < 0 ||
	    io_write(session->io, bytes_str("\n")) < 0)
		return err_set(err, ERR_TOO_LARGE, "the session does not read");
	touch(session);
	return 0;
}

int web_session_ask(struct web_session *session, struct web_conn *conn,
		    const struct message *message, struct err *err)
{
	auto_free struct web_wait *wait = calloc(1, sizeof(*wait));
	struct web_wait *other;

	DL_FOREACH(session->waits, other)
	if (json_equal(other->id, message->id))
		return err_set(err, ERR_INVALID,
			       "a request with this id waits already");
	if (!wait || session->wait_count == WEB_WAITS_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "too many requests of this session wait");
	if (web_session_tell(session, message, err) < 0)
		return -1;
	*wait = (struct web_wait){.session = session,
				  .conn = conn,
				  .id = json_incref(message->id)};
	conn->wait = wait;
	session->wait_count++;
	DL_APPEND(session->waits, wait);
	wait = NULL;
	touch(session);
	return 0;
}

/* ---- begin ---- */

struct web_session *web_session_find(struct web *web, struct bytes id)
{
	struct web_session *session;

	DL_FOREACH(web->sessions, session)
	if (!session->is_over &&
	    bytes_equal_constant_time(bytes_str(session->id), id))
		return session;
	return NULL;
}

/* The process runs: from here on it ends by on_exit_of(). */
static int attend(struct web_session *session, int fd, struct err *err)
{
	struct web *web = session->web;

	session->io = io_new(web->loop, fd, &limits, on_event, web);
	if (session->io)
		web->io_count++;
	session->watch =
		io_watch_new(web->loop, session->pidfd, on_exit_of, session);
	session->idle = io_timer_new(web->loop, on_idle, session);
	if (!session->io || !session->watch || !session->idle)
		return err_set(err, ERR_SYSTEM, "memory is out");
	io_watch_set(session->watch, true, false);
	io_read_start(session->io);
	random_id(session->id);
	return 0;
}

/* It could not be attended to, and is not known to anybody yet: it ends when
 * its input does. */
static void abandon(struct web_session *session)
{
	session->is_over = true;
	if (session->io)
		io_close(session->io);
	session->io = NULL;
	if (session->watch)
		io_watch_free(session->watch);
	if (session->idle)
		io_timer_free(session->idle);
	(void)close(session->pidfd);
	free(session);
}

struct web_session *web_session_new(struct web *web, struct err *err)
{
	struct web_session *session;
	auto_fd int end = -1;
	int ends[2];

	if (web->session_count == WEB_SESSIONS_MAX) {
		(void)err_set(err, ERR_TOO_LARGE,
			      "there are %d sessions: end one first",
			      WEB_SESSIONS_MAX);
		return NULL;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		(void)err_system(err, "make a socket");
		return NULL;
	}
	end = ends[1];
	session = calloc(1, sizeof(*session));
	if (session) {
		session->web = web;
		session->pidfd = web_starter_start(web, end, err);
	} else {
		(void)err_set(err, ERR_SYSTEM, "memory is out");
	}
	if (!session || session->pidfd < 0) {
		(void)close(ends[0]);
		free(session);
		return NULL;
	}
	if (attend(session, ends[0], err) < 0) {
		abandon(session);
		return NULL;
	}
	DL_APPEND(web->sessions, session);
	web->session_count++;
	touch(session);
	return session;
}
