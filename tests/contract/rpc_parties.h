/*
 * Who plays in the channel tests: the keeper's handlers, the asker's
 * outcomes, and what a test can see of both.
 */
#ifndef TESTS_CONTRACT_RPC_PARTIES_H
#define TESTS_CONTRACT_RPC_PARTIES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
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

	unsigned timeout_ms; /* of what is asked */
	unsigned outcomes;
	uint64_t outcome_ms; /* when the last came */
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

static inline void keep_text(struct fixture *fixture, struct bytes text)
{
	assert_true(text.len < sizeof(fixture->text));
	if (text.len > 0)
		memcpy(fixture->text, text.data, text.len);
	fixture->text[text.len] = '\0';
}

static inline void answer_word(struct rpc_ticket ticket, const void *message,
			       int *fd, void *owner)
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

static inline void on_asker_closed(struct rpc *rpc, const char *why,
				   void *owner)
{
	struct fixture *fixture = owner;

	assert_ptr_equal(rpc, fixture->asker);
	fixture->asker = NULL;
	fixture->asker_closed++;
	(void)snprintf(fixture->why, sizeof(fixture->why), "%s", why);
}

static inline void on_keeper_closed(struct rpc *rpc, const char *why,
				    void *owner)
{
	struct fixture *fixture = owner;

	assert_ptr_equal(rpc, fixture->keeper);
	fixture->keeper = NULL;
	fixture->keeper_closed++;
	(void)snprintf(fixture->why, sizeof(fixture->why), "%s", why);
}

static inline int ask(struct fixture *fixture, uint16_t type, const char *text,
		      uint32_t *id);

static inline void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct fixture *fixture = owner;
	const struct word *word = outcome->message;

	fixture->outcomes++;
	fixture->outcome_ms = io_loop_now_ms(fixture->loop);
	fixture->outcome = outcome->err ? outcome->err->code : ERR_NONE;
	assert_true(!outcome->err == !!outcome->message);
	assert_true(!!outcome->refusal == (fixture->outcome == ERR_DENIED));
	if (outcome->refusal) {
		fixture->refused_code = outcome->refusal->code;
		keep_text(fixture, outcome->refusal->detail);
		assert_int_equal(strncmp(outcome->err->text, fixture->text,
					 ERR_TEXT_MAX - 1),
				 0);
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

#endif
