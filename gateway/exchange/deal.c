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
	struct buf say; /* what is asked: a secret */
	struct io *io;
	struct io_timer *timer;
	struct reply reply;
	char host[HOST_NAME_MAX_LEN + 1];
	bool is_dialing;
	bool is_over; /* the ticket is answered */
	struct deal *next, *prev;
};

/* ---- the end ---- */

static void wipe_say(struct deal *deal)
{
	if (deal->say.data)
		secret_wipe(deal->say.data, deal->say.size);
	buf_release(&deal->say);
}

static void free_when_done(struct deal *deal)
{
	if (!deal->is_over || deal->is_dialing || deal->io)
		return;
	DL_DELETE(deal->exchange->deals, deal);
	deal->exchange->deal_count--;
	io_timer_free(deal->timer);
	wipe_say(deal);
	reply_release(&deal->reply);
	free(deal);
}

/* The ticket is answered: nothing more is said or heard. */
static void over(struct deal *deal)
{
	deal->is_over = true;
	io_timer_set(deal->timer, 0);
	wipe_say(deal);
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

static void take_reply(struct deal *deal)
{
	struct answer answer;
	struct err err;

	if (deal->is_end) {
		take_end(deal);
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
	int result = io_write(deal->io, buf_view(&deal->say));

	wipe_say(deal);
	if (result < 0)
		fail(deal, "it takes nothing");
}

static void on_event(struct io *io, enum io_event event, void *owner)
{
	struct deal *deal = owner;

	if (event == IO_RELEASED) {
		deal->io = NULL;
		free_when_done(deal);
		return;
	}
	if (deal->is_over)
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
		.ctx = deal->exchange->tls.ctx,
		.name = deal->host,
		.check = tls_verify_leaf,
	};

	deal->io = io_new(deal->exchange->keeper->loop, fd, &limits, on_event,
			  deal);
	if (!deal->io)
		return err_set(err, ERR_SYSTEM, "no memory");
	if (io_tls_client(deal->io, &client, err) < 0)
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
	io_timer_set(deal->timer, EXCHANGE_TIMEOUT_MS);
	return 0;
}

/* ---- the beginning ---- */

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
	/* Large enough at once: growing would leave a secret behind. */
	buf_init(&deal->say, EXCHANGE_SAY_MAX);
	(void)buf_reserve(&deal->say, EXCHANGE_SAY_MAX);
	rpc_ticket_hold(ticket);
	DL_APPEND(exchange->deals, deal);
	exchange->deal_count++;
	return take_ptr(&deal);
}

static void begin(struct deal *deal, int written, struct err *err)
{
	reply_init(&deal->reply, deal->is_end ? "DELETE" : "POST");
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

void deal_buy(struct exchange *exchange, const struct msg_exchange *wanted,
	      struct rpc_ticket ticket)
{
	struct deal *deal = deal_new(exchange, wanted->name, ticket);
	struct err err;

	if (!deal) {
		refuse(ticket);
		return;
	}
	begin(deal, request_buy(deal->source, wanted, &deal->say, &err), &err);
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
	begin(deal, request_end(deal->source, wanted->token, &deal->say, &err),
	      &err);
}
