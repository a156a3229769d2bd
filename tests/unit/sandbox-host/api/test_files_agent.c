/*
 * The handlers for files against an agent that somebody inside has taken
 * over: the exchange is a fake one, the agent's end of the channel is ours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/api/files.h"

#define TURNS_MAX 200

#define LONG_NAME  4000
#define LONG_NAMES 12 /* in a page */
#define LONG_PAGES 200
_Static_assert(LONG_NAME *LONG_NAMES *LONG_PAGES > FILES_LISTED_BYTES_MAX &&
		       LONG_NAMES * LONG_PAGES < FILES_LISTED_MAX,
	       "too many bytes, not too many files");

/* ---- the fake exchange ---- */

static struct {
	struct io_loop *loop;
	struct exchange exchange;
	struct arena arena;
	struct bytes path;
	struct bytes content_type, json;
	int agent; /* its end */
	unsigned status;
	char code[32];
	struct buf body;
	bool is_broken, has_ended, is_paused;
	exchange_answer_fn *on_channel, *on_shown;
	enum host_state sandbox; /* as the daemon says it is */
} fake;

static void end(void)
{
	exchange_fn *on_end = fake.exchange.on_end;

	assert_false(fake.has_ended);
	fake.has_ended = true;
	fake.exchange.on_end = NULL;
	if (on_end)
		on_end(&fake.exchange);
}

bool exchange_query(struct exchange *exchange, const char *name,
		    struct bytes *value)
{
	(void)exchange;
	*value = fake.path;
	return !strcmp(name, "path");
}

size_t exchange_query_all(struct exchange *exchange, const char *name,
			  struct bytes *values, size_t max)
{
	assert_true(max > 0);
	return exchange_query(exchange, name, values);
}

bool exchange_query_number(struct exchange *exchange, const char *name,
			   uint64_t max, uint64_t *value)
{
	(void)exchange;
	(void)name;
	(void)max;
	(void)value;
	return true;
}

bool exchange_query_flag(struct exchange *exchange, const char *name,
			 bool *value)
{
	(void)exchange;
	(void)name;
	*value = true;
	return true;
}

struct bytes exchange_field(const struct exchange *exchange, const char *name)
{
	(void)exchange;
	return strcmp(name, "Content-Type") == 0 ? fake.content_type
						 : bytes_from(NULL, 0);
}

json_t *exchange_json(struct exchange *exchange)
{
	(void)exchange;
	return json_loadb((const char *)fake.json.data, fake.json.len, 0, NULL);
}

void exchange_body_pause(struct exchange *exchange, bool is_paused)
{
	(void)exchange;
	fake.is_paused = is_paused;
}

void exchange_add_field(struct exchange *exchange, const char *name,
			struct bytes value)
{
	(void)exchange;
	(void)name;
	(void)value;
}

void exchange_reply_json(struct exchange *exchange, unsigned status,
			 json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT);

	(void)exchange;
	fake.status = status;
	assert_non_null(text);
	(void)buf_add_str(&fake.body, text);
	free(text);
	json_decref(value);
	end();
}

void exchange_reply_empty(struct exchange *exchange, unsigned status)
{
	(void)exchange;
	fake.status = status;
	end();
}

void exchange_fail(struct exchange *exchange, unsigned status, const char *code,
		   const char *format, ...)
{
	va_list args;
	char text[EXCHANGE_FAIL_MAX];

	(void)exchange;
	va_start(args, format);
	assert_true(vsnprintf(text, sizeof(text), format, args) > 0);
	va_end(args);
	fake.status = status;
	(void)snprintf(fake.code, sizeof(fake.code), "%s", code);
	end();
}

void exchange_fail_memory(struct exchange *exchange)
{
	exchange_fail(exchange, 500, "INTERNAL", "no memory");
}

int exchange_stream_begin(struct exchange *exchange, unsigned status,
			  const char *content_type, uint64_t len)
{
	(void)exchange;
	(void)content_type;
	(void)len;
	fake.status = status;
	return 0;
}

int exchange_stream_write(struct exchange *exchange, struct bytes bytes)
{
	(void)exchange;
	return buf_add(&fake.body, bytes);
}

bool exchange_stream_is_full(const struct exchange *exchange)
{
	(void)exchange;
	return false;
}

void exchange_stream_end(struct exchange *exchange)
{
	(void)exchange;
	end();
}

void exchange_break(struct exchange *exchange)
{
	(void)exchange;
	fake.is_broken = true;
	end();
}

void exchange_channel(struct exchange *exchange, enum host_channel_kind kind,
		      exchange_answer_fn *on_answer)
{
	(void)exchange;
	assert_int_equal(kind, HOST_CHANNEL_AGENT);
	fake.on_channel = on_answer;
}

static void show(void *owner)
{
	const struct host_sandbox sandbox = {.state = (uint8_t)fake.sandbox};
	int fd = -1;

	(void)owner;
	if (!fake.has_ended)
		fake.on_shown(&fake.exchange, &sandbox, &fd);
}

void exchange_ask(struct exchange *exchange,
		  const struct exchange_question *question,
		  exchange_answer_fn *on_answer)
{
	(void)exchange;
	assert_int_equal(question->type, MSG_HOST_SHOW);
	fake.on_shown = on_answer;
	assert_int_equal(io_loop_defer(fake.loop, show, NULL), 0);
}

void exchange_fail_outcome(struct exchange *exchange,
			   const struct rpc_outcome *outcome)
{
	(void)exchange;
	(void)outcome;
	fail_msg("of a file it says more");
}

struct io_loop *exchange_loop(const struct exchange *exchange)
{
	(void)exchange;
	return fake.loop;
}

/* ---- the hostile agent ---- */

enum lie {
	LIE_NONE,
	LIE_HANG_UP,
	LIE_OTHER_SHAPE,
	LIE_HUGE_SIZE,
	LIE_PATH_OUT,
	LIE_TOO_DEEP,
	LIE_MORE_BYTES,
	LIE_FEWER_BYTES,
	LIE_DESCRIPTOR,
	LIE_COUNT,
	LIE_LONG_NAMES,
	LIE_REFUSAL,
	LIE_ODD_REFUSAL
};

struct agent {
	struct rpc *rpc;
	enum lie lie;
	unsigned answered;
};

static void reply_entry(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	struct agent *agent = owner;
	struct file_entry entry = {.size = 100000, .mode = 0644};
	const struct wire_empty empty = {0};

	(void)message;
	(void)fd;
	if (agent->lie == LIE_HUGE_SIZE)
		entry.size = UINT64_MAX;
	if (agent->lie == LIE_REFUSAL)
		rpc_refuse(ticket, HOST_REFUSED_MISSING, "gone");
	else if (agent->lie == LIE_ODD_REFUSAL)
		rpc_refuse(ticket, 60000, "what");
	else if (agent->lie == LIE_OTHER_SHAPE)
		rpc_reply(ticket, &wire_empty_schema, &empty, -1);
	else if (agent->lie == LIE_DESCRIPTOR)
		rpc_reply(ticket, &file_entry_schema, &entry, STDERR_FILENO);
	else
		rpc_reply(ticket, &file_entry_schema, &entry, -1);
}

static void reply_piece(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	static uint8_t bytes[FILE_PIECE_MAX];
	const struct file_span *span = message;
	struct agent *agent = owner;
	struct file_piece piece = {.bytes = bytes_from(bytes, span->len)};

	(void)fd;
	agent->answered++;
	if (agent->lie == LIE_MORE_BYTES && span->len < FILE_PIECE_MAX)
		piece.bytes.len = span->len + 1;
	if (agent->lie == LIE_FEWER_BYTES)
		piece.bytes.len = span->len - 1;
	rpc_reply(ticket, &file_piece_schema, &piece, -1);
}

/* Few files, whose names are more than an answer holds. */
static void add_long_names(struct file_page *page, struct file_entry *entries)
{
	static char name[LONG_NAME];

	memset(name, 'a', sizeof(name));
	page->entries_count = LONG_NAMES;
	for (size_t i = 0; i < LONG_NAMES; i++)
		entries[i].path = bytes_from(name, sizeof(name));
}

static void reply_page(struct rpc_ticket ticket, const void *message, int *fd,
		       void *owner)
{
	struct agent *agent = owner;
	struct file_entry entries[FILE_PAGE_MAX];
	struct file_page page = {.entries = entries, .entries_count = 1};

	(void)message;
	(void)fd;
	for (size_t i = 0; i < FILE_PAGE_MAX; i++)
		entries[i] = (struct file_entry){.path = bytes_str("a"),
						 .mode = 0644};
	if (agent->lie == LIE_PATH_OUT)
		entries[0].path = bytes_str("../../etc/passwd");
	if (agent->lie == LIE_TOO_DEEP)
		entries[0].path = bytes_str("a/b");
	if (agent->lie == LIE_COUNT) {
		page.entries_count = FILE_PAGE_MAX;
		page.more = true;
	}
	if (agent->lie == LIE_LONG_NAMES) {
		add_long_names(&page, entries);
		page.more = ++agent->answered < LONG_PAGES;
	}
	rpc_reply(ticket, &file_page_schema, &page, -1);
}

static void reply_count(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct agent *agent = owner;
	const struct file_count count = {
		.count = agent->lie == LIE_COUNT ? UINT64_MAX : 3};

	(void)message;
	(void)fd;
	rpc_reply(ticket, &file_count_schema, &count, -1);
}

static void reply_empty(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct wire_empty empty = {0};

	(void)message;
	(void)fd;
	(void)owner;
	rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

static const struct rpc_permit permits[] = {
	{MSG_FILE_SHOW, &file_ref_schema, reply_entry, false, 0},
	{MSG_FILE_OPEN, &file_ref_schema, reply_entry, false, 0},
	{MSG_FILE_READ, &file_span_schema, reply_piece, false, 0},
	{MSG_FILE_WALK, &file_walk_schema, reply_page, false, 0},
	{MSG_FILE_WALK_ON, &wire_empty_schema, reply_page, false, 0},
	{MSG_FILE_REPLACE, &wire_empty_schema, reply_count, true, 0},
	{MSG_FILE_CREATE, &file_access_schema, reply_empty, false, 0},
	{MSG_FILE_WRITE, &file_piece_schema, reply_empty, false, 0},
	{MSG_FILE_COMMIT, &wire_empty_schema, reply_empty, false, 0},
};

static void agent_gone(struct rpc *rpc, const char *why, void *owner)
{
	(void)rpc;
	(void)why;
	((struct agent *)owner)->rpc = NULL;
}

/* ---- a request ---- */

static void set_up(void)
{
	struct err err;

	memset(&fake, 0, sizeof(fake));
	fake.loop = io_loop_new(&err);
	assert_non_null(fake.loop);
	arena_init(&fake.arena, EXCHANGE_ARENA_MAX);
	buf_init(&fake.body, EXCHANGE_ANSWER_MAX);
	fake.exchange.arena = &fake.arena;
	fake.exchange.sandbox = bytes_str("sb-x");
	fake.path = bytes_str("/tmp/x");
}

static void tear_down(void)
{
	struct err err;

	(void)io_loop_turn(fake.loop, 0, &err);
	io_loop_free(fake.loop);
	arena_release(&fake.arena);
	buf_release(&fake.body);
}

static void turn_until_ended(void)
{
	struct err err;

	for (int i = 0; i < TURNS_MAX && !fake.has_ended; i++)
		assert_int_equal(io_loop_turn(fake.loop, 50, &err), 0);
	assert_true(fake.has_ended);
}

static void give_channel(struct agent *agent)
{
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = agent,
		.on_closed = agent_gone,
	};
	const struct wire_empty empty = {0};
	struct err err;
	int ends[2];

	assert_int_equal(io_message_pair(ends, &err), 0);
	agent->rpc = rpc_new(fake.loop, ends[0], &config, &err);
	assert_non_null(agent->rpc);
	if (agent->lie == LIE_HANG_UP) {
		rpc_close(agent->rpc);
		agent->rpc = NULL;
	}
	fake.on_channel(&fake.exchange, &empty, &ends[1]);
}

static void (*const handlers[])(struct exchange *exchange) = {
	files_info, files_download, files_list, files_replace};

static const struct {
	unsigned handler; /* of the above */
	enum lie lie;
	unsigned status;
	bool is_broken;
	bool ends; /* the sandbox does meanwhile */
} rows[] = {
	{0, LIE_NONE, 200, false, false},
	{1, LIE_NONE, 200, false, false},
	{2, LIE_NONE, 200, false, false},
	{3, LIE_NONE, 200, false, false},
	{0, LIE_HANG_UP, 503, false, false},
	{0, LIE_OTHER_SHAPE, 503, false, false},
	{0, LIE_HUGE_SIZE, 502, false, false},
	{0, LIE_DESCRIPTOR, 200, false, false},
	{0, LIE_REFUSAL, 404, false, false},
	{0, LIE_ODD_REFUSAL, 500, false, false},
	{1, LIE_HUGE_SIZE, 502, false, false},
	{1, LIE_MORE_BYTES, 200, true, false},
	{1, LIE_FEWER_BYTES, 200, true, false},
	{2, LIE_PATH_OUT, 502, false, false},
	{2, LIE_TOO_DEEP, 502, false, false},
	{2, LIE_COUNT, 413, false, false},
	{0, LIE_HANG_UP, 409, false, true},
	{0, LIE_OTHER_SHAPE, 409, false, true},
	{2, LIE_LONG_NAMES, 413, false, false},
	{3, LIE_COUNT, 502, false, false},
};

static void lies_of_an_agent_end_the_request_and_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct agent agent = {.lie = rows[i].lie};
		struct err err;

		set_up();
		fake.sandbox = rows[i].ends ? HOST_STOPPING : HOST_RUNNING;
		fake.json = bytes_str("{\"/tmp/x\":{\"old\":\"a\",\"new\":"
				      "\"b\"}}");
		handlers[rows[i].handler](&fake.exchange);
		give_channel(&agent);
		for (int k = 0; k < 20 * TURNS_MAX && !fake.has_ended; k++)
			assert_int_equal(io_loop_turn(fake.loop, 50, &err), 0);
		assert_true(fake.has_ended);
		assert_int_equal(fake.status, rows[i].status);
		assert_int_equal(fake.is_broken, rows[i].is_broken);
		if (agent.rpc)
			rpc_close(agent.rpc);
		tear_down();
	}
}

static void an_upload_takes_nothing_while_the_agent_is_busy(void **state)
{
	static const char head[] =
		"--b\r\nContent-Disposition: form-data; name=metadata\r\n\r\n"
		"{\"path\":\"/tmp/x\"}\r\n"
		"--b\r\nContent-Disposition: form-data; name=file\r\n\r\n";
	struct agent agent = {.lie = LIE_NONE};
	struct exchange *exchange = &fake.exchange;
	char block[16 * 1024];
	struct err err;
	size_t sent = 0;

	(void)state;
	set_up();
	memset(block, 'x', sizeof(block));
	fake.content_type = bytes_str("multipart/form-data; boundary=b");
	files_upload(exchange);
	assert_true(fake.is_paused);
	give_channel(&agent);
	assert_false(fake.is_paused);
	exchange->on_piece(exchange, bytes_str(head));
	assert_true(fake.is_paused);
	while (sent < 4 * 1024 * 1024) {
		size_t burst = 0;

		for (int i = 0; i < TURNS_MAX && fake.is_paused; i++)
			assert_int_equal(io_loop_turn(fake.loop, 50, &err), 0);
		for (; !fake.is_paused; burst += sizeof(block))
			exchange->on_piece(exchange,
					   bytes_from(block, sizeof(block)));
		assert_true(burst <= (FILES_IN_FLIGHT + 2) * FILE_PIECE_MAX);
		sent += burst;
	}
	for (int i = 0; i < TURNS_MAX && fake.is_paused; i++)
		assert_int_equal(io_loop_turn(fake.loop, 50, &err), 0);
	exchange->on_piece(exchange, bytes_str("\r\n--b--\r\n"));
	exchange->on_complete(exchange);
	turn_until_ended();
	assert_int_equal(fake.status, 200);
	rpc_close(agent.rpc);
	tear_down();
}

static void a_client_that_goes_away_ends_the_channel(void **state)
{
	struct agent agent = {.lie = LIE_NONE};
	struct err err;

	(void)state;
	set_up();
	files_download(&fake.exchange);
	give_channel(&agent);
	assert_int_equal(io_loop_turn(fake.loop, 50, &err), 0);
	exchange_break(&fake.exchange);
	for (int i = 0; i < TURNS_MAX && agent.rpc; i++)
		assert_int_equal(io_loop_turn(fake.loop, 50, &err), 0);
	assert_null(agent.rpc);
	tear_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			lies_of_an_agent_end_the_request_and_nothing_else),
		cmocka_unit_test(
			an_upload_takes_nothing_while_the_agent_is_busy),
		cmocka_unit_test(a_client_that_goes_away_ends_the_channel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
