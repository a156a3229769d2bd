#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/io_backend.h"
#include "common/rpc.h"
#ifdef SP_IO_FAKE
#include "common/io_fake.h"
#endif

enum {
	ECHO = 1, /* answered at once with the same word */
	LATER,	  /* the ticket is kept in the fixture */
	TAKE_FD,  /* must come with a descriptor, replies with it */
	RATED,	  /* three a second */
	REFUSE,	  /* refused with code 7 and the word as detail */
	BREAK,	  /* answered with a word that is no text */
	LEAVE,	  /* closes the channel instead of answering */
};

struct word {
	struct bytes text;
	uint32_t number;
};
static const struct wire_field word_fields[] = {
	WIRE_TEXT(struct word, text, 60000),
	WIRE_U32(struct word, number),
};
static const struct wire_schema word_schema =
	WIRE_SCHEMA("word", struct word, word_fields);

/* The asker's side as rpc or, for hostile bytes, as a bare socket. */
struct fixture {
	struct io_loop *loop;
	struct rpc *asker;
	struct rpc *keeper;
	int bare; /* the other end of keeper when there is no asker */

	unsigned requests;
	unsigned notes;
	uint32_t last_number;
	struct rpc_ticket tickets[4];
	size_t ticket_count;

	unsigned outcomes;
	enum err_code outcome;
	uint16_t refused_code;
	char text[600];
	int fd; /* taken from the last outcome */
	bool asks_again;
	uint32_t cancels; /* id to cancel in the next outcome */

	unsigned asker_closed, keeper_closed;
	char why[600];
};

/* ---- both sides ---- */

static void keep_text(struct fixture *fixture, struct bytes text)
{
	assert_true(text.len < sizeof(fixture->text));
	if (text.len > 0)
		memcpy(fixture->text, text.data, text.len);
	fixture->text[text.len] = '\0';
}

static void answer_word(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct word *word = message;
	const struct word broken = {.text = BYTES_LITERAL("\xff")};
	struct fixture *fixture = owner;

	assert_true((*fd >= 0) == (ticket.type == TAKE_FD));
	*(ticket.id == 0 ? &fixture->notes : &fixture->requests) += 1;
	fixture->last_number = word->number;
	switch (ticket.type) {
	case LATER:
		assert_true(fixture->ticket_count < 4);
		fixture->tickets[fixture->ticket_count++] = ticket;
		break;
	case REFUSE:
		rpc_refuse(ticket, 7, "%.*s", BYTES_ARGS(word->text));
		break;
	case BREAK:
		rpc_reply(ticket, &word_schema, &broken, -1);
		break;
	case LEAVE:
		rpc_close(ticket.rpc);
		fixture->keeper = NULL;
		break;
	default:
		rpc_reply(ticket, &word_schema, word, *fd);
		break;
	}
}

static const struct rpc_permit permits[] = {
	{ECHO, &word_schema, answer_word, false, 0},
	{LATER, &word_schema, answer_word, false, 0},
	{TAKE_FD, &word_schema, answer_word, true, 0},
	{RATED, &word_schema, answer_word, false, 3},
	{REFUSE, &word_schema, answer_word, false, 0},
	{BREAK, &word_schema, answer_word, false, 0},
	{LEAVE, &word_schema, answer_word, false, 0},
};

static void on_asker_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct fixture *fixture = owner;

	assert_ptr_equal(rpc, fixture->asker);
	fixture->asker = NULL;
	fixture->asker_closed++;
	(void)snprintf(fixture->why, sizeof(fixture->why), "%s", why);
}

static void on_keeper_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct fixture *fixture = owner;

	assert_ptr_equal(rpc, fixture->keeper);
	fixture->keeper = NULL;
	fixture->keeper_closed++;
	(void)snprintf(fixture->why, sizeof(fixture->why), "%s", why);
}

static int ask(struct fixture *fixture, uint16_t type, const char *text,
	       uint32_t *id);

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct fixture *fixture = owner;
	const struct word *word = outcome->message;

	fixture->outcomes++;
	fixture->outcome = outcome->err ? outcome->err->code : ERR_NONE;
	assert_true(!outcome->err == !!outcome->message);
	assert_true(!!outcome->refusal == (fixture->outcome == ERR_DENIED));
	if (outcome->refusal) {
		fixture->refused_code = outcome->refusal->code;
		keep_text(fixture, outcome->refusal->detail);
		assert_string_equal(outcome->err->text, fixture->text);
	}
	if (word && word->text.len < sizeof(fixture->text))
		keep_text(fixture, word->text);
	if (outcome->fd >= 0)
		fixture->fd = take_fd(&outcome->fd);
	if (fixture->cancels)
		rpc_cancel(fixture->asker, fixture->cancels);
	if (fixture->asks_again && fixture->outcomes < 5)
		(void)ask(fixture, ECHO, "again", NULL);
}

/* ---- the stage ---- */

static void open_keeper(struct fixture *fixture, int socket)
{
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = fixture,
		.on_closed = on_keeper_closed,
	};
	struct err err;

	fixture->keeper = rpc_new(fixture->loop, socket, &config, &err);
	assert_non_null(fixture->keeper);
}

static struct fixture *new_fixture(int fds[2])
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct err err;

	assert_non_null(fixture);
	fixture->fd = fixture->bare = -1;
	fixture->loop = io_loop_new(&err);
	assert_non_null(fixture->loop);
	assert_int_equal(io_message_pair(fds, &err), 0);
	open_keeper(fixture, fds[1]);
	return fixture;
}

static int set_up(void **state)
{
	struct err err;
	int fds[2];
	struct fixture *fixture = new_fixture(fds);
	const struct rpc_config config = {
		.owner = fixture,
		.on_closed = on_asker_closed,
	};

	fixture->asker = rpc_new(fixture->loop, fds[0], &config, &err);
	*state = fixture;
	return fixture->asker ? 0 : -1;
}

static int set_up_bare(void **state)
{
	int fds[2];
	struct fixture *fixture = new_fixture(fds);

	fixture->bare = fds[0];
	*state = fixture;
	return 0;
}

/* Turns until some time after nothing happens any more. */
static void settle(struct fixture *fixture)
{
	struct err err;

	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(io_loop_turn(fixture->loop, 0, &err), 0);
}

static void pass(struct fixture *fixture, unsigned ms)
{
#ifdef SP_IO_FAKE
	fake_advance(fixture->loop, ms);
#else
	uint64_t end = clock_monotonic_ms() + ms;
	struct err err;

	while (clock_monotonic_ms() < end)
		assert_int_equal(io_loop_turn(fixture->loop, 5, &err), 0);
#endif
	settle(fixture);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->asker)
		rpc_close(fixture->asker);
	if (fixture->keeper)
		rpc_close(fixture->keeper);
	if (fixture->bare >= 0)
		io_sys_close(fixture->bare);
	for (size_t i = 0; i < fixture->ticket_count; i++)
		rpc_refuse(fixture->tickets[i], 1, "over");
	settle(fixture);
	io_loop_free(fixture->loop);
#ifdef SP_IO_FAKE
	fake_reset_all();
#endif
	free(fixture);
	return 0;
}

static int ask_with(struct fixture *fixture, uint16_t type, const char *text,
		    int fd, uint32_t *id)
{
	const struct word word = {bytes_str(text), 42};
	const struct rpc_call call = {
		.type = type,
		.schema = &word_schema,
		.message = &word,
		.fd = fd,
		.reply_schema = &word_schema,
		.timeout_ms = 200,
		.on_outcome = on_outcome,
		.owner = fixture,
	};
	struct err err;

	return rpc_ask(fixture->asker, &call, id, &err);
}

static int ask(struct fixture *fixture, uint16_t type, const char *text,
	       uint32_t *id)
{
	return ask_with(fixture, type, text, -1, id);
}

static int tell(struct fixture *fixture, struct rpc *rpc, uint16_t type,
		struct bytes text, int fd)
{
	const struct word word = {text, fixture->last_number};
	struct err err;

	return rpc_tell(rpc, type, &word_schema, &word, fd, &err);
}

static void answer_kept(struct fixture *fixture, const char *text)
{
	const struct word word = {.text = bytes_str(text)};

	assert_true(fixture->ticket_count > 0);
	rpc_reply(fixture->tickets[--fixture->ticket_count], &word_schema,
		  &word, -1);
}

/* ---- what must work ---- */

static void rpc_brings_the_reply_of_a_request(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, ECHO, "hello", NULL), 0);
	assert_int_equal(fixture->outcomes, 0);
	settle(fixture);
	assert_int_equal(fixture->outcomes, 1);
	assert_int_equal(fixture->outcome, ERR_NONE);
	assert_string_equal(fixture->text, "hello");
	assert_int_equal(fixture->last_number, 42);
}

static void rpc_keeps_many_calls_apart(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(ask(fixture, ECHO, "hello", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->requests, 1000);
	assert_int_equal(fixture->outcomes, 1000);
}

static void rpc_tells_the_reason_of_a_refusal(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, REFUSE, "not yours", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcome, ERR_DENIED);
	assert_int_equal(fixture->refused_code, 7);
	assert_string_equal(fixture->text, "not yours");
}

static void rpc_cuts_and_cleans_the_detail_of_a_refusal(void **state)
{
	struct fixture *fixture = *state;
	char text[700];

	/* 512 bytes end inside of a two-byte character here. */
	(void)memset(text, 'a', sizeof(text));
	memcpy(text + 511, "\xc3\xa4", 2);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(ask(fixture, REFUSE, text, NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcome, ERR_DENIED);
	assert_int_equal(strlen(fixture->text), 512);
	assert_int_equal(fixture->text[511], '?');
}

static void rpc_refuses_when_its_reply_cannot_be_encoded(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, BREAK, "x", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcome, ERR_DENIED);
	assert_int_equal(fixture->refused_code, 0);
	assert_non_null(strstr(fixture->text, "not text"));
	assert_int_equal(ask(fixture, ECHO, "still here", NULL), 0);
	settle(fixture);
	assert_string_equal(fixture->text, "still here");
}

static void rpc_sends_no_request_that_cannot_be_encoded(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, ECHO, "\xff", NULL), -1);
	settle(fixture);
	assert_int_equal(fixture->outcomes, 0);
	assert_int_equal(fixture->requests, 0);
	assert_int_equal(ask(fixture, ECHO, "fine", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcomes, 1);
}

static void rpc_carries_a_descriptor_both_ways(void **state)
{
	struct fixture *fixture = *state;
	struct err err;
	auto_fd int fd = wire_memfd_seal("t", bytes_str("inside"), &err);
	struct bytes view;

	assert_int_equal(ask_with(fixture, TAKE_FD, "x", fd, NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcome, ERR_NONE);
	assert_true(fixture->fd >= 0);
	assert_int_equal(wire_memfd_map(fixture->fd, 100, &view, &err), 0);
	assert_true(bytes_is(view, "inside"));
	wire_memfd_unmap(view);
	(void)close(fixture->fd);
	assert_true(fcntl(fd, F_GETFD) >= 0);
}

static void rpc_drops_the_answer_of_a_notification(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(
		tell(fixture, fixture->asker, ECHO, bytes_str("x"), -1), 0);
	settle(fixture);
	assert_int_equal(fixture->notes, 1);
	assert_int_equal(fixture->requests, 0);
	assert_int_equal(fixture->outcomes, 0);
	assert_int_equal(fixture->asker_closed, 0);
}

static void rpc_may_be_answered_in_a_later_turn(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, LATER, "x", NULL), 0);
	assert_int_equal(ask(fixture, LATER, "y", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcomes, 0);
	rpc_ticket_hold(fixture->tickets[0]);
	answer_kept(fixture, "second");
	settle(fixture);
	assert_string_equal(fixture->text, "second");
	answer_kept(fixture, "first");
	settle(fixture);
	assert_string_equal(fixture->text, "first");
	assert_int_equal(fixture->outcomes, 2);
}

static void rpc_may_be_answered_when_the_channel_is_gone(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, LATER, "x", NULL), 0);
	assert_int_equal(ask(fixture, LATER, "y", NULL), 0);
	settle(fixture);
	rpc_close(fixture->asker);
	fixture->asker = NULL;
	settle(fixture);
	assert_int_equal(fixture->keeper_closed, 1);
	assert_int_equal(fixture->outcomes, 2);
	answer_kept(fixture, "to nobody");
	answer_kept(fixture, "to nobody");
	settle(fixture);
	assert_int_equal(fixture->outcomes, 2);
}

static void rpc_may_be_asked_again_from_an_outcome(void **state)
{
	struct fixture *fixture = *state;

	fixture->asks_again = true;
	assert_int_equal(ask(fixture, ECHO, "first", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcomes, 5);
	assert_string_equal(fixture->text, "again");
}

/* ---- time ---- */

static void rpc_ends_a_call_at_its_deadline(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, LATER, "x", NULL), 0);
	pass(fixture, 150);
	assert_int_equal(fixture->outcomes, 0);
	pass(fixture, 100);
	assert_int_equal(fixture->outcomes, 1);
	assert_int_equal(fixture->outcome, ERR_TIMEOUT);
	/* The reply still comes, and is no fault. */
	answer_kept(fixture, "late");
	settle(fixture);
	assert_int_equal(fixture->outcomes, 1);
	assert_int_equal(ask(fixture, ECHO, "next", NULL), 0);
	settle(fixture);
	assert_string_equal(fixture->text, "next");
}

static void rpc_ends_each_call_at_its_own_deadline(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, LATER, "x", NULL), 0);
	pass(fixture, 120);
	assert_int_equal(ask(fixture, LATER, "y", NULL), 0);
	assert_int_equal(ask(fixture, ECHO, "z", NULL), 0);
	pass(fixture, 120);
	assert_int_equal(fixture->outcomes, 2);
	pass(fixture, 120);
	assert_int_equal(fixture->outcomes, 3);
	assert_int_equal(fixture->outcome, ERR_TIMEOUT);
}

static void rpc_times_out_more_calls_than_one_turn_takes(void **state)
{
	struct fixture *fixture = *state;

	rpc_close(fixture->keeper);
	fixture->keeper = NULL;
	rpc_close(fixture->asker);
	fixture->asker = NULL;
	settle(fixture);
	/* A peer that reads nothing. */
	{
		const struct rpc_config config = {.owner = fixture,
						  .on_closed = on_asker_closed};
		struct err err;
		int fds[2];

		assert_int_equal(io_message_pair(fds, &err), 0);
		fixture->asker = rpc_new(fixture->loop, fds[0], &config, &err);
		fixture->bare = fds[1];
	}
	for (unsigned i = 0; i < 500; i++)
		assert_int_equal(ask(fixture, ECHO, "x", NULL), 0);
	pass(fixture, 400);
	assert_int_equal(fixture->outcomes, 500);
	assert_int_equal(fixture->outcome, ERR_TIMEOUT);
}

static void rpc_cancel_drops_the_reply_and_its_descriptor(void **state)
{
	struct fixture *fixture = *state;
	struct err err;
	auto_fd int fd = wire_memfd_seal("t", bytes_str("inside"), &err);
	uint32_t id;

	assert_int_equal(ask_with(fixture, TAKE_FD, "x", fd, &id), 0);
	rpc_cancel(fixture->asker, id);
	rpc_cancel(fixture->asker, id + 1000);
	settle(fixture);
	assert_int_equal(fixture->requests, 1);
	assert_int_equal(fixture->outcomes, 0);
	assert_int_equal(fixture->asker_closed, 0);
	pass(fixture, 250);
	assert_int_equal(fixture->outcomes, 0);
}

/* ---- ends ---- */

static void rpc_close_ends_what_waits_and_calls_no_on_closed(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, LATER, "x", NULL), 0);
	assert_int_equal(ask(fixture, LATER, "y", NULL), 0);
	fixture->asks_again = true;
	rpc_close(fixture->asker);
	assert_int_equal(fixture->outcomes, 2);
	assert_int_equal(fixture->outcome, ERR_CLOSED);
	settle(fixture);
	assert_int_equal(fixture->asker_closed, 0);
	assert_int_equal(fixture->keeper_closed, 1);
	assert_string_equal(fixture->why, "the peer closed the channel");
	fixture->asker = NULL;
}

static void rpc_cancel_holds_while_the_channel_ends(void **state)
{
	struct fixture *fixture = *state;
	uint32_t first, second;

	/* Whichever comes first takes the other away. */
	assert_int_equal(ask(fixture, LATER, "x", &first), 0);
	fixture->cancels = first;
	rpc_cancel(fixture->asker, first);
	assert_int_equal(ask(fixture, LATER, "y", &first), 0);
	assert_int_equal(ask(fixture, LATER, "z", &second), 0);
	fixture->cancels = first;
	rpc_close(fixture->asker);
	fixture->asker = NULL;
	assert_in_range(fixture->outcomes, 1, 2);
}

static void rpc_ends_its_calls_before_it_says_closed(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, LATER, "x", NULL), 0);
	settle(fixture);
	rpc_close(fixture->keeper);
	fixture->keeper = NULL;
	settle(fixture);
	assert_int_equal(fixture->outcomes, 1);
	assert_int_equal(fixture->outcome, ERR_CLOSED);
	assert_int_equal(fixture->asker_closed, 1);
}

static void rpc_may_be_closed_by_its_handler(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, LEAVE, "x", NULL), 0);
	assert_int_equal(ask(fixture, ECHO, "x", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->requests, 1);
	assert_int_equal(fixture->keeper_closed, 0);
	assert_int_equal(fixture->asker_closed, 1);
	assert_int_equal(fixture->outcomes, 2);
	assert_int_equal(fixture->outcome, ERR_CLOSED);
}

/* ---- bounds ---- */

static void rpc_lets_no_more_calls_wait_than_its_bound(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < RPC_PENDING_MAX; i++)
		assert_int_equal(ask(fixture, ECHO, "x", NULL), 0);
	assert_int_equal(ask(fixture, ECHO, "x", NULL), -1);
	for (unsigned i = 0; i < 20; i++)
		settle(fixture);
	assert_int_equal(fixture->outcomes, RPC_PENDING_MAX);
	assert_int_equal(ask(fixture, ECHO, "x", NULL), 0);
}

static unsigned drain_bare(struct fixture *fixture, unsigned *in_order)
{
	static uint8_t message[WIRE_MESSAGE_MAX];
	unsigned count = 0;
	struct err err;

	for (;;) {
		ssize_t len;
		uint32_t number;
		int fd;

		settle(fixture);
		len = io_message_receive(fixture->bare, message,
					 sizeof(message), &fd, &err);
		if (len <= 0)
			return count;
		memcpy(&number, message + len - 4, 4);
		*in_order += number == count++;
		if (fd >= 0)
			io_sys_close(fd);
	}
}

static void rpc_queues_in_order_while_the_peer_does_not_read(void **state)
{
	static char text[50000];
	struct fixture *fixture = *state;
	unsigned sent = 0, in_order = 0, received;

	memset(text, 'a', sizeof(text));
	while (tell(fixture, fixture->keeper, ECHO,
		    bytes_from(text, sizeof(text)), -1) == 0) {
		fixture->last_number = ++sent;
		assert_true(rpc_queued(fixture->keeper) <= RPC_QUEUE_MAX);
		assert_true(sent < 1000);
	}
	assert_true(sent >= RPC_QUEUE_MAX / 51000);
	assert_true(rpc_queued(fixture->keeper) > RPC_QUEUE_MAX - 60000);
	received = drain_bare(fixture, &in_order);
	assert_int_equal(received, sent);
	assert_int_equal(in_order, sent);
	assert_int_equal(rpc_queued(fixture->keeper), 0);
	assert_int_equal(fixture->keeper_closed, 0);
}

static void rpc_queues_descriptors_of_its_own_up_to_a_bound(void **state)
{
	static char text[50000];
	struct fixture *fixture = *state;
	auto_fd int fd = memfd_create("t", MFD_CLOEXEC);
	unsigned sent = 0, in_order = 0;

	memset(text, 'a', sizeof(text));
	while (rpc_queued(fixture->keeper) == 0) {
		assert_int_equal(tell(fixture, fixture->keeper, ECHO,
				      bytes_from(text, sizeof(text)), -1),
				 0);
		fixture->last_number = ++sent;
	}
	while (tell(fixture, fixture->keeper, ECHO, bytes_str("x"), fd) == 0) {
		fixture->last_number = ++sent;
		assert_true(sent < 1000);
	}
	/* Without a descriptor there is still room. */
	assert_int_equal(
		tell(fixture, fixture->keeper, ECHO, bytes_str("x"), -1), 0);
	assert_int_equal(drain_bare(fixture, &in_order), sent + 1);
}

static void rpc_drops_a_peer_that_reads_no_answers(void **state)
{
	static char text[50000];
	struct fixture *fixture = *state;

	assert_int_equal(fixture->keeper_closed, 0);
	memset(text, 'a', sizeof(text));
	while (tell(fixture, fixture->keeper, ECHO,
		    bytes_from(text, sizeof(text)), -1) == 0)
		;
	while (tell(fixture, fixture->keeper, ECHO, bytes_str("x"), -1) == 0)
		;
	{
		/* type ECHO, kind request, id 1, text "", number 0 */
		static const uint8_t request[] = {ECHO, 0, 1, 0, 1, 0, 0, 0,
						  0,	0, 0, 0, 0, 0, 0, 0};
		struct err err;

		assert_int_equal(
			io_message_send(fixture->bare,
					bytes_from(request, sizeof(request)),
					-1, &err),
			0);
	}
	settle(fixture);
	assert_int_equal(fixture->requests, 1);
	assert_int_equal(fixture->keeper_closed, 1);
	assert_non_null(strstr(fixture->why, "does not read"));
}

static void rpc_gives_others_a_turn_after_64_messages(void **state)
{
	static const uint8_t note[] = {ECHO, 0, 0, 0, 0, 0, 0, 0,
				       0,    0, 0, 0, 0, 0, 0, 0};
	struct fixture *fixture = *state;
	struct err err;

	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(io_message_send(fixture->bare,
						 bytes_from(note, sizeof(note)),
						 -1, &err),
				 0);
	assert_int_equal(io_loop_turn(fixture->loop, 0, &err), 0);
	assert_in_range(fixture->notes, 1, 64);
	settle(fixture);
	assert_int_equal(fixture->notes, 100);
}

static void rpc_bounds_the_rate_of_a_permit(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(ask(fixture, RATED, "x", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcome, ERR_NONE);
	assert_int_equal(fixture->outcomes, 3);
	pass(fixture, 700);
	assert_int_equal(ask(fixture, RATED, "x", NULL), 0);
	assert_int_equal(ask(fixture, RATED, "x", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcomes, 5);
	assert_int_equal(fixture->outcome, ERR_NONE);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(ask(fixture, RATED, "x", NULL), 0);
	settle(fixture);
	assert_int_equal(fixture->outcome, ERR_CLOSED);
	assert_int_equal(fixture->keeper_closed, 1);
}

/* ---- a hostile peer ---- */

struct hostile {
	const char *name;
	size_t len;
	uint8_t bytes[24];
	bool has_fd;
	bool is_fine; /* the twin: the channel stays */
};

/* u16 type, u8 kind, u8 zero, u32 id; u32 length, text, u32 number. */
static const struct hostile hostiles[] = {
	{"request", 16, {ECHO, 0, 1, 0, 9}, false, true},
	{"notification", 16, {ECHO, 0, 0, 0, 0}, false, true},
	{"descriptor", 16, {TAKE_FD, 0, 1, 0, 9}, true, true},
	{"short header", 7, {ECHO, 0, 1, 0, 9}, false, false},
	{"one byte", 1, {ECHO}, false, false},
	{"kind", 16, {ECHO, 0, RPC_KIND_MAX, 0, 9}, false, false},
	{"zero is not", 16, {ECHO, 0, 1, 1, 9}, false, false},
	{"unknown type", 16, {99, 0, 1, 0, 9}, false, false},
	{"type high byte", 16, {ECHO, 1, 1, 0, 9}, false, false},
	{"request, id 0", 16, {ECHO, 0, 1, 0, 0}, false, false},
	{"note with id", 16, {ECHO, 0, 0, 0, 9}, false, false},
	{"cut body", 15, {ECHO, 0, 1, 0, 9}, false, false},
	{"no body", 8, {ECHO, 0, 1, 0, 9}, false, false},
	{"long body", 17, {ECHO, 0, 1, 0, 9}, false, false},
	{"text length", 16, {ECHO, 0, 1, 0, 9, 0, 0, 0, 5}, false, false},
	{"huge length",
	 16,
	 {ECHO, 0, 1, 0, 9, 0, 0, 0, 255, 255, 255, 255},
	 false,
	 false},
	{"no text",
	 17,
	 {ECHO, 0, 1, 0, 9, 0, 0, 0, 1, 0, 0, 0, 7},
	 false,
	 false},
	{"text", 17, {ECHO, 0, 1, 0, 9, 0, 0, 0, 1, 0, 0, 0, 'x'}, false, true},
	{"descriptor too many", 16, {ECHO, 0, 1, 0, 9}, true, false},
	{"descriptor missing", 16, {TAKE_FD, 0, 1, 0, 9}, false, false},
	{"reply to nothing", 16, {ECHO, 0, 2, 0, 1}, false, false},
	{"reply, id 0", 16, {ECHO, 0, 2, 0, 0}, false, false},
	{"refusal of nothing", 14, {ECHO, 0, 3, 0, 1}, false, false},
};

static void rpc_closes_on_whatever_is_not_allowed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hostiles); i++) {
		const struct hostile *row = &hostiles[i];
		auto_fd int fd = memfd_create("t", MFD_CLOEXEC);
		struct fixture *fixture;
		struct err err;
		void *made;

		assert_int_equal(set_up_bare(&made), 0);
		fixture = made;
		assert_int_equal(
			io_message_send(fixture->bare,
					bytes_from(row->bytes, row->len),
					row->has_fd ? fd : -1, &err),
			0);
		settle(fixture);
		if (fixture->keeper_closed != !row->is_fine)
			fail_msg("%s: %s", row->name, fixture->why);
		assert_int_equal(fixture->requests + fixture->notes,
				 row->is_fine);
		assert_int_equal(tear_down(&made), 0);
	}
}

/* The keeper asks here; the bare peer answers with what a row says. */
static void rpc_closes_on_a_reply_that_does_not_fit(void **state)
{
	static const struct hostile rows[] = {
		{"reply", 16, {ECHO, 0, 2, 0, 1}, false, true},
		{"reply with fd", 16, {ECHO, 0, 2, 0, 1}, true, true},
		{"refusal", 14, {ECHO, 0, 3, 0, 1}, false, true},
		{"other type", 16, {LATER, 0, 2, 0, 1}, false, false},
		{"other id", 16, {ECHO, 0, 2, 0, 2}, false, false},
		{"id far off", 16, {ECHO, 0, 2, 0, 1, 1}, false, false},
		{"cut", 15, {ECHO, 0, 2, 0, 1}, false, false},
		{"long", 17, {ECHO, 0, 2, 0, 1}, false, false},
		{"refusal cut", 13, {ECHO, 0, 3, 0, 1}, false, false},
		{"refusal with fd", 14, {ECHO, 0, 3, 0, 1}, true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_fd int fd = memfd_create("t", MFD_CLOEXEC);
		struct fixture *fixture;
		struct err err;
		void *made;

		assert_int_equal(set_up_bare(&made), 0);
		fixture = made;
		fixture->asker = fixture->keeper;
		assert_int_equal(ask(fixture, ECHO, "x", NULL), 0);
		fixture->asker = NULL;
		assert_int_equal(
			io_message_send(fixture->bare,
					bytes_from(rows[i].bytes, rows[i].len),
					rows[i].has_fd ? fd : -1, &err),
			0);
		settle(fixture);
		if (fixture->keeper_closed != !rows[i].is_fine)
			fail_msg("%s: %s", rows[i].name, fixture->why);
		assert_int_equal(fixture->outcomes, 1);
		assert_int_equal(fixture->outcome == ERR_CLOSED,
				 !rows[i].is_fine);
		if (fixture->fd >= 0)
			(void)close(fixture->fd);
		/* The same reply twice is dropped, not an outcome. */
		if (rows[i].is_fine)
			assert_int_equal(
				io_message_send(
					fixture->bare,
					bytes_from(rows[i].bytes, rows[i].len),
					-1, &err),
				0);
		settle(fixture);
		assert_int_equal(fixture->outcomes, 1);
		assert_int_equal(fixture->keeper_closed, !rows[i].is_fine);
		assert_int_equal(tear_down(&made), 0);
	}
}

static void rpc_closes_on_an_id_that_is_in_use(void **state)
{
	static const uint8_t later[] = {LATER, 0, 1, 0, 5, 0, 0, 0,
					0,     0, 0, 0, 0, 0, 0, 0};
	struct fixture *fixture = *state;
	struct err err;

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(
			io_message_send(fixture->bare,
					bytes_from(later, sizeof(later)), -1,
					&err),
			0);
	settle(fixture);
	assert_int_equal(fixture->requests, 1);
	assert_int_equal(fixture->keeper_closed, 1);
	assert_non_null(strstr(fixture->why, "in use"));
}

static void rpc_takes_an_id_again_once_it_was_answered(void **state)
{
	static const uint8_t later[] = {LATER, 0, 1, 0, 5, 0, 0, 0,
					0,     0, 0, 0, 0, 0, 0, 0};
	struct fixture *fixture = *state;
	struct err err;

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(
			io_message_send(fixture->bare,
					bytes_from(later, sizeof(later)), -1,
					&err),
			0);
		settle(fixture);
		answer_kept(fixture, "x");
	}
	assert_int_equal(fixture->requests, 2);
	assert_int_equal(fixture->keeper_closed, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define BARE(name) cmocka_unit_test_setup_teardown(name, set_up_bare, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rpc_brings_the_reply_of_a_request),
		TEST(rpc_keeps_many_calls_apart),
		TEST(rpc_tells_the_reason_of_a_refusal),
		TEST(rpc_cuts_and_cleans_the_detail_of_a_refusal),
		TEST(rpc_refuses_when_its_reply_cannot_be_encoded),
		TEST(rpc_sends_no_request_that_cannot_be_encoded),
		TEST(rpc_carries_a_descriptor_both_ways),
		TEST(rpc_drops_the_answer_of_a_notification),
		TEST(rpc_may_be_answered_in_a_later_turn),
		TEST(rpc_may_be_answered_when_the_channel_is_gone),
		TEST(rpc_may_be_asked_again_from_an_outcome),
		TEST(rpc_ends_a_call_at_its_deadline),
		TEST(rpc_ends_each_call_at_its_own_deadline),
		TEST(rpc_times_out_more_calls_than_one_turn_takes),
		TEST(rpc_cancel_drops_the_reply_and_its_descriptor),
		TEST(rpc_close_ends_what_waits_and_calls_no_on_closed),
		TEST(rpc_cancel_holds_while_the_channel_ends),
		TEST(rpc_ends_its_calls_before_it_says_closed),
		TEST(rpc_may_be_closed_by_its_handler),
		TEST(rpc_lets_no_more_calls_wait_than_its_bound),
		BARE(rpc_queues_in_order_while_the_peer_does_not_read),
		BARE(rpc_queues_descriptors_of_its_own_up_to_a_bound),
		BARE(rpc_drops_a_peer_that_reads_no_answers),
		BARE(rpc_gives_others_a_turn_after_64_messages),
		TEST(rpc_bounds_the_rate_of_a_permit),
		cmocka_unit_test(rpc_closes_on_whatever_is_not_allowed),
		cmocka_unit_test(rpc_closes_on_a_reply_that_does_not_fit),
		BARE(rpc_closes_on_an_id_that_is_in_use),
		BARE(rpc_takes_an_id_again_once_it_was_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
