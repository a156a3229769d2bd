/* The client's other end is played here, with real pipes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/commands/exec_client.h"

#define TURNS_MAX 2000
#define TURN_MS	  5

struct rig {
	struct io_loop *loop;
	struct exec_client *client;
	/* the supervisor's side */
	struct rpc *rpc;
	int stdio[3];
	struct rpc_ticket start;
	bool has_start;
	unsigned signals;
	uint8_t last_signal;
	bool holds_signal, has_signal;
	struct rpc_ticket signal;
	/* what was heard */
	bool has_started, was_refused, has_ended, was_drained;
	bool consumes, frees_at_output, writes_at_output;
	struct buf out;
};

static void answer_stdio(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct exec_stdio *stdio = message;
	struct rig *rig = owner;

	(void)ticket;
	rig->stdio[stdio->which] = take_fd(fd);
}

static void answer_start(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	struct rig *rig = owner;

	(void)message;
	(void)fd;
	rpc_ticket_hold(ticket);
	rig->start = ticket;
	rig->has_start = true;
}

static void answer_signal(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct exec_signal *wanted = message;
	const struct wire_empty empty = {0};
	struct rig *rig = owner;

	(void)fd;
	rig->signals++;
	rig->last_signal = wanted->number;
	assert_true(wanted->is_for_group);
	assert_false(wanted->answers_soon);
	rig->has_signal = rig->holds_signal;
	rig->signal = ticket;
	if (!rig->holds_signal)
		rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

static const struct rpc_permit permits[] = {
	{MSG_EXEC_STDIO, &exec_stdio_schema, answer_stdio, true, 0},
	{MSG_EXEC_START, &wire_empty_schema, answer_start, true, 0},
	{MSG_EXEC_SIGNAL, &exec_signal_schema, answer_signal, false, 0},
};

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct rig *rig = owner;

	(void)rpc;
	(void)why;
	rig->rpc = NULL;
}

static void consume(struct rig *rig)
{
	struct buf *from = exec_client_out(rig->client, 1);

	assert_int_equal(buf_add(&rig->out, buf_view(from)), 0);
	buf_clear(from);
	exec_client_go_on(rig->client);
}

static void on_event(struct exec_client *client, enum exec_event event,
		     void *owner)
{
	struct rig *rig = owner;

	assert_ptr_equal(client, rig->client);
	assert_false(rig->has_ended);
	if (event == EXEC_STARTED)
		rig->has_started = true;
	else if (event == EXEC_REFUSED)
		rig->was_refused = true;
	else if (event == EXEC_DRAINED)
		rig->was_drained = true;
	else if (event == EXEC_ENDED)
		rig->has_ended = true;
	if (event == EXEC_OUTPUT && rig->frees_at_output) {
		exec_client_free(client);
		rig->client = NULL;
		return;
	}
	if (event == EXEC_OUTPUT && rig->writes_at_output)
		assert_int_equal(write(rig->stdio[1], "x", 1), 1);
	if ((event == EXEC_OUTPUT || event == EXEC_ENDED) && rig->consumes)
		consume(rig);
}

static int set_up(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = rig,
		.on_closed = on_closed,
	};
	int ends[2];

	assert_non_null(rig);
	*rig = (struct rig){.consumes = true, .stdio = {-1, -1, -1}};
	buf_init(&rig->out, 8 * EXEC_OUT_MAX);
	rig->loop = io_loop_new(NULL);
	assert_int_equal(io_message_pair(ends, NULL), 0);
	rig->rpc = rpc_new(rig->loop, ends[0], &config, NULL);
	rig->client = exec_client_new(rig->loop, ends[1], on_event, rig, NULL);
	assert_non_null(rig->client);
	*state = rig;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	exec_client_free(rig->client);
	if (rig->rpc)
		rpc_close(rig->rpc);
	for (int i = 0; i < 3; i++)
		if (rig->stdio[i] >= 0)
			(void)close(rig->stdio[i]);
	(void)io_loop_turn(rig->loop, 0, NULL);
	io_loop_free(rig->loop);
	buf_release(&rig->out);
	free(rig);
	return 0;
}

/* Turns until it is so. */
static void wait_for(struct rig *rig, const bool *what)
{
	for (int i = 0; i < TURNS_MAX && !*what; i++)
		(void)io_loop_turn(rig->loop, TURN_MS, NULL);
	assert_true(*what);
}

static void ask(struct rig *rig, enum exec_input input)
{
	const struct text_item argv[] = {{BYTES_LITERAL("true")}};
	const struct exec_request request = {.argv = argv, .argv_count = 1};

	assert_int_equal(exec_client_start(rig->client, &request, input, NULL),
			 0);
	wait_for(rig, &rig->has_start);
}

static void begin(struct rig *rig, enum exec_input input)
{
	const struct exec_started started = {.pid = 7};

	ask(rig, input);
	rpc_reply(rig->start, &exec_started_schema, &started, -1);
	wait_for(rig, &rig->has_started);
	assert_int_equal(exec_client_pid(rig->client), 7);
}

static void say_ended(struct rig *rig, uint32_t code, const char *reason)
{
	const struct exec_ended ended = {.exit_code = code,
					 .reason = bytes_str(reason)};

	assert_int_equal(rpc_tell(rig->rpc, MSG_EXEC_ENDED, &exec_ended_schema,
				  &ended, -1, NULL),
			 0);
}

static void write_all(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* ---- tests ---- */

static void a_command_that_waits_for_a_person_goes_on(void **state)
{
	const struct exec_asked asked = {.id = bytes_str("p-abc"),
					 .words = bytes_str("EXEC true")};
	const struct exec_started started = {.pid = 7};
	struct rig *rig = *state;

	ask(rig, EXEC_NO_INPUT);
	assert_int_equal(rpc_tell(rig->rpc, MSG_EXEC_ASKED, &exec_asked_schema,
				  &asked, -1, NULL),
			 0);
	rpc_reply(rig->start, &exec_started_schema, &started, -1);
	wait_for(rig, &rig->has_started);
	say_ended(rig, 0, "");
	wait_for(rig, &rig->has_ended);
	assert_false(exec_client_end(rig->client).is_lost);
}

static void all_output_comes_before_the_end(void **state)
{
	struct rig *rig = *state;

	begin(rig, EXEC_NO_INPUT);
	assert_int_equal(rig->stdio[0], -1);
	write_all(rig->stdio[1], "before ");
	say_ended(rig, 3, "");
	/* A process that was left behind holds the pipe open. */
	write_all(rig->stdio[1], "the end");
	wait_for(rig, &rig->has_ended);
	assert_string_equal(buf_str(&rig->out), "before the end");
	assert_int_equal(exec_client_end(rig->client).exit_code, 3);
	assert_false(exec_client_end(rig->client).is_lost);
}

static void whoever_is_left_behind_and_writes_on_keeps_no_end_off(void **state)
{
	struct rig *rig = *state;

	begin(rig, EXEC_NO_INPUT);
	rig->writes_at_output = true;
	write_all(rig->stdio[1], "words");
	say_ended(rig, 0, "timeout");
	wait_for(rig, &rig->has_ended);
	assert_memory_equal(buf_str(&rig->out), "words", 5);
}

static void a_timeout_is_told_apart(void **state)
{
	struct rig *rig = *state;

	begin(rig, EXEC_NO_INPUT);
	say_ended(rig, 137, "timeout");
	wait_for(rig, &rig->has_ended);
	assert_true(exec_client_end(rig->client).has_timed_out);
	assert_string_equal(exec_client_end(rig->client).reason, "timeout");
}

static void a_refusal_has_its_reason(void **state)
{
	struct rig *rig = *state;

	ask(rig, EXEC_NO_INPUT);
	rpc_refuse(rig->start, HOST_REFUSED_FORBIDDEN, "commands: no");
	wait_for(rig, &rig->was_refused);
	assert_int_equal(exec_client_refusal(rig->client).code,
			 HOST_REFUSED_FORBIDDEN);
	assert_string_equal(exec_client_refusal(rig->client).text,
			    "commands: no");
}

static void a_supervisor_that_goes_before_the_start_is_a_refusal(void **state)
{
	struct rig *rig = *state;

	ask(rig, EXEC_NO_INPUT);
	rpc_close(rig->rpc);
	rig->rpc = NULL;
	wait_for(rig, &rig->was_refused);
	assert_int_equal(exec_client_refusal(rig->client).code,
			 HOST_REFUSED_UNREACHABLE);
	rpc_refuse(rig->start, HOST_REFUSED, "nobody hears it");
}

static void a_sandbox_that_goes_away_ends_the_command(void **state)
{
	struct rig *rig = *state;

	begin(rig, EXEC_NO_INPUT);
	write_all(rig->stdio[1], "last words");
	rpc_close(rig->rpc);
	rig->rpc = NULL;
	wait_for(rig, &rig->has_ended);
	assert_true(exec_client_end(rig->client).is_lost);
	assert_string_equal(buf_str(&rig->out), "last words");
}

static void a_command_waits_for_whoever_does_not_read(void **state)
{
	struct rig *rig = *state;
	auto_free char *block = calloc(1, EXEC_OUT_MAX + 4096);

	rig->consumes = false;
	begin(rig, EXEC_NO_INPUT);
	memset(block, 'x', EXEC_OUT_MAX + 4096 - 1);
	/* A pipe holds 64 KiB: some of it had to be read meanwhile. */
	for (size_t sent = 0; sent < EXEC_OUT_MAX; sent += 4096) {
		assert_int_equal(write(rig->stdio[1], block, 4096), 4096);
		(void)io_loop_turn(rig->loop, TURN_MS, NULL);
	}
	write_all(rig->stdio[1], "more");
	say_ended(rig, 0, "");
	for (int i = 0; i < 20; i++)
		(void)io_loop_turn(rig->loop, TURN_MS, NULL);
	assert_false(rig->has_ended);
	assert_int_equal(buf_len(exec_client_out(rig->client, 1)),
			 EXEC_OUT_MAX);
	rig->consumes = true;
	consume(rig);
	wait_for(rig, &rig->has_ended);
	assert_int_equal(buf_len(&rig->out), EXEC_OUT_MAX + 4);
}

static void input_is_bounded_and_ends(void **state)
{
	struct rig *rig = *state;
	auto_free uint8_t *block = calloc(1, EXEC_INPUT_MAX);
	size_t got = 0;
	ssize_t len;
	uint8_t bytes[4096];

	begin(rig, EXEC_INPUT);
	assert_int_equal(exec_client_write(rig->client,
					   bytes_from(block, EXEC_INPUT_MAX)),
			 0);
	assert_true(exec_client_is_full(rig->client));
	assert_int_equal(exec_client_write(rig->client, bytes_str("x")), -1);
	exec_client_end_input(rig->client);
	while (got < EXEC_INPUT_MAX) {
		(void)io_loop_turn(rig->loop, 0, NULL);
		len = read(rig->stdio[0], bytes, sizeof(bytes));
		assert_true(len > 0);
		got += (size_t)len;
	}
	wait_for(rig, &rig->was_drained);
	assert_int_equal(read(rig->stdio[0], bytes, sizeof(bytes)), 0);
}

static size_t waiting_in(int fd)
{
	int len = 0;

	assert_int_equal(ioctl(fd, FIONREAD, &len), 0);
	return (size_t)len;
}

static void input_waits_for_the_signals_before_it(void **state)
{
	const struct wire_empty empty = {0};
	struct rig *rig = *state;

	begin(rig, EXEC_INPUT);
	rig->holds_signal = true;
	exec_client_signal(rig->client, SIGINT);
	assert_int_equal(exec_client_write(rig->client, bytes_str("next")), 0);
	wait_for(rig, &rig->has_signal);
	for (int i = 0; i < 3; i++)
		(void)io_loop_turn(rig->loop, 0, NULL);
	assert_int_equal(waiting_in(rig->stdio[0]), 0);
	rpc_reply(rig->signal, &wire_empty_schema, &empty, -1);
	for (int i = 0; i < TURNS_MAX && waiting_in(rig->stdio[0]) == 0; i++)
		(void)io_loop_turn(rig->loop, TURN_MS, NULL);
	assert_int_equal(waiting_in(rig->stdio[0]), 4);
}

static void the_end_of_input_waits_for_the_signals_before_it(void **state)
{
	const struct wire_empty empty = {0};
	struct rig *rig = *state;
	char byte;

	begin(rig, EXEC_INPUT);
	assert_true(fcntl(rig->stdio[0], F_SETFL, O_NONBLOCK) == 0);
	rig->holds_signal = true;
	exec_client_signal(rig->client, SIGINT);
	exec_client_end_input(rig->client);
	wait_for(rig, &rig->has_signal);
	for (int i = 0; i < 3; i++)
		(void)io_loop_turn(rig->loop, 0, NULL);
	assert_int_equal(read(rig->stdio[0], &byte, 1), -1);
	rpc_reply(rig->signal, &wire_empty_schema, &empty, -1);
	for (int i = 0; i < TURNS_MAX && read(rig->stdio[0], &byte, 1) < 0; i++)
		(void)io_loop_turn(rig->loop, TURN_MS, NULL);
	assert_int_equal(read(rig->stdio[0], &byte, 1), 0);
}

static void a_report_comes_back_over_descriptor_0(void **state)
{
	struct rig *rig = *state;

	begin(rig, EXEC_REPORT);
	write_all(rig->stdio[0], "state");
	say_ended(rig, 0, "");
	wait_for(rig, &rig->has_ended);
	assert_true(
		bytes_is(buf_view(exec_client_out(rig->client, 0)), "state"));
	assert_int_equal(exec_client_write(rig->client, bytes_str("x")), -1);
}

static void what_ignores_sigterm_is_killed(void **state)
{
	struct rig *rig = *state;
	bool has_two = false;

	begin(rig, EXEC_NO_INPUT);
	exec_client_stop(rig->client);
	for (int i = 0; i < TURNS_MAX && !has_two; i++) {
		(void)io_loop_turn(rig->loop, TURN_MS, NULL);
		if (rig->signals == 1)
			assert_int_equal(rig->last_signal, SIGTERM);
		has_two = rig->signals == 2;
	}
	assert_true(has_two);
	assert_int_equal(rig->last_signal, SIGKILL);
}

static void it_may_be_freed_in_its_own_event(void **state)
{
	struct rig *rig = *state;

	begin(rig, EXEC_NO_INPUT);
	rig->frees_at_output = true;
	write_all(rig->stdio[1], "x");
	for (int i = 0; i < TURNS_MAX && rig->rpc; i++)
		(void)io_loop_turn(rig->loop, TURN_MS, NULL);
	assert_null(rig->rpc);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_command_that_waits_for_a_person_goes_on),
		TEST(all_output_comes_before_the_end),
		TEST(whoever_is_left_behind_and_writes_on_keeps_no_end_off),
		TEST(a_timeout_is_told_apart),
		TEST(a_refusal_has_its_reason),
		TEST(a_supervisor_that_goes_before_the_start_is_a_refusal),
		TEST(a_sandbox_that_goes_away_ends_the_command),
		TEST(a_command_waits_for_whoever_does_not_read),
		TEST(input_is_bounded_and_ends),
		TEST(input_waits_for_the_signals_before_it),
		TEST(the_end_of_input_waits_for_the_signals_before_it),
		TEST(a_report_comes_back_over_descriptor_0),
		TEST(what_ignores_sigterm_is_killed),
		TEST(it_may_be_freed_in_its_own_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
