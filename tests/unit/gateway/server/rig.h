/*
 * A server of the fake loop whose service notes what it is told, and answers
 * as the request's path says.
 */
#ifndef TESTS_SERVER_RIG_H
#define TESTS_SERVER_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/io_fake.h"
#include "gateway/server/http_conn.h"

#define H	 "Host: localhost\r\n"
#define CHUNKED	 "Transfer-Encoding: chunked\r\n\r\n"
#define RIG_BODY 32 /* what a body may have */

struct rig {
	struct io_loop *loop;
	struct http_server server;
	struct http_conn *conn; /* the one that was opened last */
	int client;
	unsigned forgotten, released;
	bool is_complete;
	bool ends_at_piece; /* its service closes it there */
	bool keeps_silent;  /* it does not answer */
	struct buf got;	    /* what it was given of bodies */
};

static struct rig *rig;
static const struct fields no_fields;

static inline void rig_reply(struct http_conn *conn, unsigned status,
			     const char *body)
{
	http_conn_reply(conn, status, &no_fields, bytes_str(body));
}

/* "/whole" collects a body, "/pass" is given it in pieces; to everything else
 * it answers at once, to "/none" with a status that has no body. */
static inline void rig_on_head(void *owner)
{
	struct http_conn *conn = owner;
	struct bytes path = conn->request.path;

	if (bytes_is(path, "/whole"))
		http_conn_collect(conn, RIG_BODY);
	else if (bytes_is(path, "/pass"))
		http_conn_pass(conn, RIG_BODY);
	else if (bytes_is(path, "/all"))
		http_conn_pass(conn, HTTP_UNBOUNDED);
	else
		rig_reply(conn, bytes_is(path, "/none") ? 204 : 200, "now");
}

static inline void rig_serve(void *owner)
{
	struct http_conn *conn = owner;

	if (!bytes_is(conn->request.path, "/whole"))
		return;
	assert_int_equal(buf_add(&rig->got, buf_view(&conn->body)), 0);
	rig_reply(conn, 200, "whole");
}

static inline void rig_on_piece(void *owner, struct bytes piece)
{
	struct http_conn *conn = owner;

	assert_int_equal(buf_add(&rig->got, piece), 0);
	if (rig->ends_at_piece)
		http_conn_close(conn);
}

static inline void rig_on_complete(void *owner)
{
	struct http_conn *conn = owner;

	rig->is_complete = true;
	if (conn->state == HTTP_CONN_SERVED && !rig->keeps_silent)
		rig_reply(conn, 200, "passed");
}

static inline void rig_refuse(void *owner, unsigned status, const char *why)
{
	rig_reply(owner, status, why);
}

static inline void rig_forget(void *owner)
{
	(void)owner;
	rig->forgotten++;
}

static inline void rig_on_released(void *owner)
{
	rig->released++;
	free(owner);
}

static const struct http_service rig_service = {
	.answer_max = 1024 * 1024,
	.makes_room = true,
	.on_head = rig_on_head,
	.serve = rig_serve,
	.on_piece = rig_on_piece,
	.on_complete = rig_on_complete,
	.refuse = rig_refuse,
	.forget = rig_forget,
	.on_released = rig_on_released,
};

static inline void rig_accept(int fd)
{
	rig->conn = calloc(1, sizeof(*rig->conn));
	assert_non_null(rig->conn);
	assert_int_equal(http_conn_open(rig->conn, &rig->server, fd, rig->conn),
			 0);
}

/* Another connection; the test's side. */
static inline int rig_connect(void)
{
	int fds[2];

	fake_stream_pair(fds);
	rig_accept(fds[0]);
	return fds[1];
}

static inline int set_up(void **state)
{
	struct err err;

	(void)state;
	rig = calloc(1, sizeof(*rig));
	assert_non_null(rig);
	rig->loop = io_loop_new(&err);
	assert_non_null(rig->loop);
	buf_init(&rig->got, 1024 * 1024);
	http_server_init(&rig->server, &rig_service, rig->loop, 8);
	rig->client = rig_connect();
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	http_server_stop(&rig->server);
	http_server_close(&rig->server);
	fake_run(rig->loop);
	assert_int_equal(rig->server.conn_count, 0);
	buf_release(&rig->got);
	io_loop_free(rig->loop);
	fake_reset_all();
	free(rig);
	return 0;
}

#define rig_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static inline void rig_send(const char *text)
{
	fake_send(rig->client, bytes_str(text));
	fake_run(rig->loop);
}

/* What was answered since it was asked last. */
static inline const char *rig_take(void)
{
	static char text[64 * 1024];
	struct buf *got = fake_received(rig->client);

	assert_true(buf_len(got) < sizeof(text));
	(void)snprintf(text, sizeof(text), "%.*s", BYTES_ARGS(buf_view(got)));
	buf_clear(got);
	return text;
}

static inline const char *rig_ask(const char *text)
{
	rig_send(text);
	return rig_take();
}

static inline bool rig_is_closed(void)
{
	return rig->released > 0 || rig->conn->state == HTTP_CONN_CLOSED;
}

#define assert_begins(text, part)                                              \
	assert_int_equal(strncmp(text, part, strlen(part)), 0)

#endif
