#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/io_tls.h"
#include "gateway/exchange/answer.h"
#include "gateway/exchange/exchange.h"
#include "gateway/tls/verify.h"
#include "policies/host.h"

#define DIAL_TIMEOUT_MS (EXCHANGE_TIMEOUT_MS - 500)

static const struct io_limits limits = {
	.in_max = HEAD_BYTES_MAX + REPLY_BODY_MAX,
	.out_high = EXCHANGE_SAY_MAX,
	.out_max = EXCHANGE_SAY_MAX,
};

/* One purchase, or the end of what was bought. Freed when the dialer has
 * answered and the io, if there is one, is released. */
struct deal {
	struct exchange *exchange;
	const struct config_source *source;
	struct rpc_ticket ticket;
	bool is_end;
	/* What is asked, one connection after the other: secrets. Of an app's
	 * token first whose the repository is. */
	struct buf says[2];
	unsigned turn;
	bool has_owner; /* or it is not asked */
	bool goes_on;	/* with the next turn, once the io is released */
	char repository[EXCHANGE_REPOSITORY_MAX + 1];
	struct io *io;
	struct io_timer *timer;
	struct reply reply;
	char host[HOST_NAME_MAX_LEN + 1];
	bool is_dialing;
	bool is_over; /* the ticket is answered */
	struct deal *next, *prev;
};

/* ---- the end ---- */

static void wipe(struct buf *say)
{
	if (say->data)
		secret_wipe(say->data, say->size);
	buf_release(say);
}

static void wipe_says(struct deal *deal)
{
	for (size_t i = 0; i < ARRAY_SIZE(deal->says); i++)
		wipe(&deal->says[i]);
}

static void free_when_done(struct deal *deal)
{
	if (!deal->is_over || deal->is_dialing || deal->io)
		return;
	DL_DELETE(deal->exchange->deals, deal);
	deal->exchange->deal_count--;
	io_timer_free(deal->timer);
	wipe_says(deal);
	reply_release(&deal->reply);
	free(deal);
}

/* The ticket is answered: nothing more is said or heard. */
static void over(struct deal *deal)
{
	deal->is_over = true;
	io_timer_set(deal->timer, 0);
	wipe_says(deal);
	if (deal->io)
		io_close(deal->io);
}

static void fail(struct deal *deal, const char *why)
{
	if (deal->is_over)
		return;
	rpc_refuse(deal->ticket, CONSTRAINT_credential_unavailable, "%s: %s",
		   deal->host, why);
	over(deal);
}

static void on_late(void *owner)
{
	struct deal *deal = owner;

	fail(deal, "it did not answer in time");
	free_when_done(deal);
}

/* ---- the answer ---- */

/* 204 is what GitHub says; a token that it does not know is gone as well. */
static void take_end(struct deal *deal)
{
	const struct wire_empty empty = {0};
	unsigned status = deal->reply.response.status;
	char why[64];

	if (status == 204 || status == 401 || status == 404) {
		rpc_reply(deal->ticket, &wire_empty_schema, &empty, -1);
		over(deal);
		return;
	}
	(void)snprintf(why, sizeof(why), "the endpoint refused: %u", status);
	fail(deal, why);
}

/* It closes the connection, and so do we: the rest is asked on another. */
static void take_owner(struct deal *deal)
{
	struct err err;

	if (answer_owner(deal->source, deal->reply.response.status,
			 buf_view(&deal->reply.body),
			 bytes_str(deal->repository), &err) < 0) {
		fail(deal, err.text);
		return;
	}
	deal->has_owner = true;
	deal->goes_on = true;
	deal->turn++;
	io_close(deal->io);
}

static void take_reply(struct deal *deal)
{
	struct answer answer;
	struct err err;

	if (deal->is_end) {
		take_end(deal);
		return;
	}
	if (!deal->has_owner) {
		take_owner(deal);
		return;
	}
	if (answer_read(&answer, deal->source, deal->reply.response.status,
			buf_view(&deal->reply.body), clock_wall_ms(),
			&err) < 0) {
		fail(deal, err.text);
		return;
	}
	rpc_reply(deal->ticket, &msg_exchanged_schema, &answer.exchanged, -1);
	answer_release(&answer);
	over(deal);
}

static void on_bytes(struct deal *deal, bool is_end)
{
	struct err err;
	int got = reply_read(&deal->reply, io_in(deal->io), &err);

	if (got == 0 && is_end)
		got = reply_end(&deal->reply, &err);
	if (got < 0)
		fail(deal, err.text);
	else if (got > 0)
		take_reply(deal);
}

static void ask(struct deal *deal)
{
	struct buf *say = &deal->says[deal->turn];
	int result = io_write(deal->io, buf_view(say));

	wipe(say);
	if (result < 0)
		fail(deal, "it takes nothing");
}

static void go_on(struct deal *deal);

static void on_event(struct io *io, enum io_event event, void *owner)
{
	struct deal *deal = owner;

	if (event == IO_RELEASED) {
		deal->io = NULL;
		if (deal->goes_on)
			go_on(deal);
		free_when_done(deal);
		return;
	}
	if (deal->is_over || deal->goes_on)
		return;
	if (event == IO_TLS_READY)
		ask(deal);
	else if (event == IO_DATA || event == IO_EOF)
		on_bytes(deal, event == IO_EOF);
	else if (event == IO_FAILED)
		fail(deal, io_error(io)->text);
}

/* ---- the connection ---- */

static int start_tls(struct deal *deal, int fd, struct err *err)
{
	const struct io_tls_client client = {
		.ctx = tls_client_context(&deal->exchange->tls, err),
		.name = deal->host,
		.check = tls_verify_leaf,
	};

	deal->io = io_new(deal->exchange->keeper->loop, fd, &limits, on_event,
			  deal);
	if (!deal->io)
		return err_set(err, ERR_SYSTEM, "no memory");
	if (!client.ctx || io_tls_client(deal->io, &client, err) < 0)
		return -1;
	io_read_start(deal->io);
	return 0;
}

static void on_dialed(struct rpc_outcome *outcome, void *owner)
{
	struct deal *deal = owner;
	struct err err;

	deal->is_dialing = false;
	if (deal->is_over) {
		free_when_done(deal);
		return;
	}
	if (outcome->err || outcome->fd < 0) {
		(void)err_set(&err, ERR_CLOSED, "%.*s",
			      BYTES_ARGS(outcome->refusal
						 ? outcome->refusal->detail
						 : bytes_str("it cannot be "
							     "dialled")));
		fail(deal, err.text);
	} else if (start_tls(deal, take_fd(&outcome->fd), &err) < 0) {
		fail(deal, err.text);
	}
	free_when_done(deal);
}

static int dial(struct deal *deal, struct err *err)
{
	struct keeper_peer *dialer =
		keeper_peer_of(deal->exchange->keeper, ROLE_DIALER);
	const struct msg_source_ref message = {.name = deal->source->name};
	const struct rpc_call call = {
		.type = MSG_SOURCE_DIAL,
		.schema = &msg_source_ref_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &msg_dialed_schema,
		.timeout_ms = DIAL_TIMEOUT_MS,
		.on_outcome = on_dialed,
		.owner = deal,
	};

	if (!dialer)
		return err_set(err, ERR_CLOSED,
			       "the dialer is being restarted");
	if (rpc_ask(dialer->rpc, &call, NULL, err) < 0)
		return -1;
	deal->is_dialing = true;
	return 0;
}

/* The next turn, in what is left of the deal's time. */
static void go_on(struct deal *deal)
{
	struct err err;

	deal->goes_on = false;
	if (deal->is_over)
		return;
	reply_release(&deal->reply);
	reply_init(&deal->reply, "POST");
	if (dial(deal, &err) < 0)
		fail(deal, err.text);
}

/* ---- the beginning ---- */

/* Large enough at once: growing would leave a secret behind. */
static void init_say(struct buf *say)
{
	buf_init(say, EXCHANGE_SAY_MAX);
	(void)buf_reserve(say, EXCHANGE_SAY_MAX);
}

static struct deal *deal_new(struct exchange *exchange, struct bytes name,
			     struct rpc_ticket ticket)
{
	const struct config_source *source =
		gateway_config_source(&exchange->keeper->config, name);
	auto_free struct deal *deal = NULL;

	if (!source || !source_is_bought(source) ||
	    exchange->deal_count >= DEALS_MAX)
		return NULL;
	deal = calloc(1, sizeof(*deal));
	if (!deal)
		return NULL;
	deal->exchange = exchange;
	deal->source = source;
	deal->ticket = ticket;
	deal->timer = io_timer_new(exchange->keeper->loop, on_late, deal);
	if (!deal->timer)
		return NULL;
	memcpy(deal->host, source->host.data, source->host.len);
	init_say(&deal->says[0]);
	rpc_ticket_hold(ticket);
	DL_APPEND(exchange->deals, deal);
	exchange->deal_count++;
	return take_ptr(&deal);
}

static void begin(struct deal *deal, const char *method, int written,
		  struct err *err)
{
	reply_init(&deal->reply, method);
	io_timer_set(deal->timer, EXCHANGE_TIMEOUT_MS);
	if (written < 0 || dial(deal, err) < 0) {
		fail(deal, err->text);
		free_when_done(deal);
	}
}

static void refuse(struct rpc_ticket ticket)
{
	rpc_refuse(ticket, CONSTRAINT_credential_unavailable,
		   "nothing is bought there, or too much is just now");
}

static int write_app(struct deal *deal, const struct msg_exchange *wanted,
		     struct err *err)
{
	if (wanted->repository.len > EXCHANGE_REPOSITORY_MAX)
		return err_set(err, ERR_TOO_LARGE, "the repository's name");
	memcpy(deal->repository, wanted->repository.data,
	       wanted->repository.len);
	init_say(&deal->says[1]);
	if (request_owner(deal->source, wanted, &deal->says[0], err) < 0)
		return -1;
	return request_buy(deal->source, wanted, &deal->says[1], err);
}

void deal_buy(struct exchange *exchange, const struct msg_exchange *wanted,
	      struct rpc_ticket ticket)
{
	struct deal *deal = deal_new(exchange, wanted->name, ticket);
	struct err err;

	if (!deal) {
		refuse(ticket);
	} else if (deal->source->kind == SOURCE_GITHUB_APP) {
		begin(deal, "GET", write_app(deal, wanted, &err), &err);
	} else {
		deal->has_owner = true;
		begin(deal, "POST",
		      request_buy(deal->source, wanted, &deal->says[0], &err),
		      &err);
	}
}

void deal_end(struct exchange *exchange, const struct msg_token_end *wanted,
	      struct rpc_ticket ticket)
{
	struct deal *deal = deal_new(exchange, wanted->name, ticket);
	struct err err;

	if (!deal) {
		refuse(ticket);
		return;
	}
	deal->is_end = true;
	begin(deal, "DELETE",
	      request_end(deal->source, wanted->token, &deal->says[0], &err),
	      &err);
}
