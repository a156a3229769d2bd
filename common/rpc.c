#include "common/rpc.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/io_backend.h"
#include "common/rpc_channel.h"
#include "common/secret.h"

#define TURN_EXPIRIES_MAX 64

/* The message that is being sent; a process sends one at a time. It never
 * grows, and is wiped after each: a token may have been in it. */
static uint8_t out_bytes[WIRE_MESSAGE_MAX + 1];
static struct buf out = {
	.data = out_bytes, .size = sizeof(out_bytes), .max = WIRE_MESSAGE_MAX};

static const struct wire_field refusal_fields[] = {
	WIRE_U16(struct rpc_refusal, code),
	WIRE_TEXT(struct rpc_refusal, detail, RPC_DETAIL_MAX),
};
const struct wire_schema rpc_refusal_schema =
	WIRE_SCHEMA("refusal", struct rpc_refusal, refusal_fields);

/* ---- the end of a channel ---- */

static void rpc_free_unused(struct rpc *rpc)
{
	if (!rpc->is_over || rpc->held.count > 0 || rpc->held_notes > 0)
		return;
	rpc_table_release(&rpc->held);
	rpc_table_release(&rpc->calls);
	free(rpc->buckets);
	free(rpc);
}

static void on_turn_end(void *owner)
{
	struct rpc *rpc = owner;

	rpc->is_deferred = false;
	if (rpc->is_closed) {
		rpc->is_over = true;
		rpc_free_unused(rpc);
	} else if (rpc->is_broken) {
		rpc_fail(rpc, rpc->why);
	}
}

static void rpc_defer(struct rpc *rpc)
{
	/* Without memory a closed channel's object stays; nothing worse. */
	if (!rpc->is_deferred &&
	    io_loop_defer(rpc->loop, on_turn_end, rpc) == 0)
		rpc->is_deferred = true;
}

/* The channel is dead, but the caller must not see it end under its feet. */
static void rpc_break(struct rpc *rpc, const char *why)
{
	if (rpc->is_closed || rpc->is_broken)
		return;
	(void)snprintf(rpc->why, sizeof(rpc->why), "%s", why);
	rpc->is_broken = true;
	rpc_defer(rpc);
}

static void end_calls(struct rpc *rpc)
{
	const struct err closed = {.code = ERR_CLOSED,
				   .text = "the channel was closed"};

	/* Nothing moves in the table now: rpc_ask() refuses and rpc_cancel()
	 * only marks. */
	for (size_t i = 0; i < rpc->calls.size; i++) {
		struct rpc_entry *entry = &rpc->calls.slots[i];
		rpc_outcome_fn *on_outcome = entry->on_outcome;
		struct rpc_outcome outcome = {.err = &closed, .fd = -1};

		entry->on_outcome = NULL;
		if (entry->id != 0 && on_outcome)
			on_outcome(&outcome, entry->owner);
	}
}

void rpc_close(struct rpc *rpc)
{
	if (rpc->is_closed) {
		/* From an outcome of a channel that is failing. */
		rpc->config.on_closed = NULL;
		return;
	}
	rpc->is_closed = true;
	io_watch_free(rpc->watch);
	io_timer_free(rpc->timer);
	io_sys_close(rpc->socket);
	rpc_queue_release(&rpc->queue);
	rpc_defer(rpc);
	end_calls(rpc);
}

void rpc_fail(struct rpc *rpc, const char *why)
{
	if (rpc->is_closed)
		return;
	rpc_close(rpc);
	if (rpc->config.on_closed)
		rpc->config.on_closed(rpc, why, rpc->config.owner);
}

/* ---- sending ---- */

static void wipe_out(void)
{
	secret_wipe(out.data, out.end);
	buf_clear(&out);
}

static int encode(const struct rpc_header *header,
		  const struct wire_schema *schema, const void *message,
		  struct err *err)
{
	const uint8_t bytes[RPC_HEADER_LEN] = {
		(uint8_t)header->type,	     (uint8_t)(header->type >> 8),
		(uint8_t)header->kind,	     0,
		(uint8_t)header->id,	     (uint8_t)(header->id >> 8),
		(uint8_t)(header->id >> 16), (uint8_t)(header->id >> 24),
	};

	(void)buf_add(&out, bytes_from(bytes, sizeof(bytes)));
	if (wire_encode(schema, message, &out, err) == 0)
		return 0;
	/* Of what did not fit, out does not say how far it came. */
	secret_wipe(out_bytes, sizeof(out_bytes));
	buf_clear(&out);
	return -1;
}

static int transmit(struct rpc *rpc, int fd, struct err *err)
{
	struct bytes bytes = buf_view(&out);
	bool was_empty = !rpc->queue.first;
	int sent = rpc_queue_send(&rpc->queue, rpc->socket, bytes, fd, err);

	wipe_out();
	if (was_empty && rpc->queue.first)
		io_watch_set(rpc->watch, !rpc->is_resting, true);
	return sent;
}

static int rpc_send(struct rpc *rpc, const struct rpc_header *header,
		    const struct wire_schema *schema, const void *message,
		    int fd, struct err *err)
{
	if (rpc->is_closed || rpc->is_broken)
		return err_set(err, ERR_CLOSED, "send: the channel is closed");
	if (encode(header, schema, message, err) < 0)
		return -1;
	return transmit(rpc, fd, err);
}

int rpc_tell(struct rpc *rpc, uint16_t type, const struct wire_schema *schema,
	     const void *message, int fd, struct err *err)
{
	const struct rpc_header header = {.type = type, .kind = RPC_NOTIFY};

	return rpc_send(rpc, &header, schema, message, fd, err);
}

size_t rpc_queued(const struct rpc *rpc)
{
	return rpc->queue.bytes;
}

void rpc_rest(struct rpc *rpc, bool rests)
{
	rpc->is_resting = rests;
	if (!rpc->is_closed)
		io_watch_set(rpc->watch, !rests, rpc->queue.first != NULL);
}

/* ---- asking ---- */

static void arm_timer(struct rpc *rpc, uint64_t expires_ms)
{
	uint64_t now = io_loop_now_ms(rpc->loop);

	if (rpc->timer_at != 0 && rpc->timer_at <= expires_ms)
		return;
	rpc->timer_at = expires_ms;
	io_timer_set(rpc->timer,
		     expires_ms > now ? (unsigned)(expires_ms - now) : 1);
}

static void on_timer(void *owner)
{
	struct rpc *rpc = owner;
	uint32_t ids[TURN_EXPIRIES_MAX];
	size_t count = rpc_table_due(&rpc->calls, io_loop_now_ms(rpc->loop),
				     ids, TURN_EXPIRIES_MAX);
	uint64_t next;

	rpc->timer_at = 0;
	for (size_t i = 0; i < count && !rpc->is_closed; i++) {
		const struct err late = {.code = ERR_TIMEOUT,
					 .text = "no reply in time"};
		struct rpc_outcome outcome = {.err = &late, .fd = -1};
		struct rpc_entry entry;

		if (rpc_table_remove(&rpc->calls, ids[i], &entry))
			entry.on_outcome(&outcome, entry.owner);
	}
	if (rpc->is_closed)
		return;
	next = rpc_table_next_expiry(&rpc->calls);
	if (next != UINT64_MAX)
		arm_timer(rpc, next);
}

static uint32_t take_id(struct rpc *rpc)
{
	uint32_t id;

	do {
		id = rpc->next_id++;
		if (rpc->next_id == 0) {
			rpc->next_id = 1;
			rpc->are_ids_reused = true;
		}
	} while (rpc_table_find(&rpc->calls, id));
	return id;
}

int rpc_ask(struct rpc *rpc, const struct rpc_call *call, uint32_t *id,
	    struct err *err)
{
	struct rpc_header header = {.type = call->type, .kind = RPC_REQUEST};
	struct rpc_entry entry = {
		.type = call->type,
		.reply_schema = call->reply_schema,
		.on_outcome = call->on_outcome,
		.owner = call->owner,
		.expires_ms = io_loop_now_ms(rpc->loop) + call->timeout_ms,
	};

	assert(call->timeout_ms > 0);
	if (!rpc->is_closed && rpc_table_reserve(&rpc->calls) < 0)
		return err_set(err, ERR_TOO_LARGE,
			       "ask: too many calls wait for their reply");
	header.id = entry.id = take_id(rpc);
	if (rpc_send(rpc, &header, call->schema, call->message, call->fd, err) <
	    0)
		return -1;
	rpc_table_add(&rpc->calls, &entry);
	arm_timer(rpc, entry.expires_ms);
	if (id)
		*id = entry.id;
	return 0;
}

void rpc_cancel(struct rpc *rpc, uint32_t id)
{
	struct rpc_entry *entry = rpc_table_find(&rpc->calls, id);

	if (entry && rpc->is_closed)
		entry->on_outcome = NULL;
	else if (entry)
		(void)rpc_table_remove(&rpc->calls, id, NULL);
}

/* ---- answering ---- */

void rpc_ticket_hold(struct rpc_ticket ticket)
{
	struct rpc *rpc = ticket.rpc;
	const struct rpc_entry entry = {.id = ticket.id, .type = ticket.type};

	if (ticket.id == 0) {
		rpc->held_notes++;
		rpc->in_note = false;
		return;
	}
	if (ticket.id != rpc->current) {
		assert(rpc_table_find(&rpc->held, ticket.id));
		return;
	}
	rpc_table_add(&rpc->held, &entry);
	rpc->current = 0;
}

bool rpc_ticket_is_heard(struct rpc_ticket ticket)
{
	return !ticket.rpc->is_closed && !ticket.rpc->is_broken;
}

/* The ticket is used up now. */
static void ticket_done(struct rpc_ticket ticket)
{
	struct rpc *rpc = ticket.rpc;

	if (ticket.id == 0) {
		assert(rpc->in_note || rpc->held_notes > 0);
		rpc->held_notes -= !rpc->in_note;
	} else if (ticket.id == rpc->current) {
		rpc->current = 0;
	} else {
		bool was_held = rpc_table_remove(&rpc->held, ticket.id, NULL);

		assert(was_held);
	}
}

static int answer(struct rpc_ticket ticket, enum rpc_kind kind,
		  const struct wire_schema *schema, const void *message, int fd,
		  struct err *err)
{
	const struct rpc_header header = {
		.type = ticket.type, .kind = kind, .id = ticket.id};

	if (ticket.id == 0 || ticket.rpc->is_closed || ticket.rpc->is_broken)
		return 0;
	if (encode(&header, schema, message, err) < 0)
		return -1;
	/* Whoever is gone may have said more before: that is read first. */
	if (transmit(ticket.rpc, fd, err) < 0 && err->code != ERR_CLOSED)
		rpc_break(ticket.rpc, err->text);
	return 0;
}

static void refuse(struct rpc_ticket ticket, uint16_t code, char *detail)
{
	struct rpc_refusal refusal = {.code = code};
	struct err err;

	if (!wire_is_text(bytes_str(detail)))
		for (char *at = detail; *at; at++)
			if (*at < ' ' || *at > '~')
				*at = '?';
	refusal.detail = bytes_str(detail);
	if (answer(ticket, RPC_REFUSAL, &rpc_refusal_schema, &refusal, -1,
		   &err) < 0)
		rpc_break(ticket.rpc, err.text);
}

void rpc_reply(struct rpc_ticket ticket, const struct wire_schema *schema,
	       const void *message, int fd)
{
	struct err err;

	ticket_done(ticket);
	if (answer(ticket, RPC_REPLY, schema, message, fd, &err) < 0)
		refuse(ticket, 0, err.text);
	rpc_free_unused(ticket.rpc);
}

void rpc_refuse(struct rpc_ticket ticket, uint16_t code, const char *format,
		...)
{
	char detail[RPC_DETAIL_MAX + 1];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	ticket_done(ticket);
	refuse(ticket, code, detail);
	rpc_free_unused(ticket.rpc);
}

/* ---- the beginning of a channel ---- */

static void fill_buckets(struct rpc *rpc)
{
	for (size_t i = 0; i < rpc->config.permit_count; i++)
		rpc->buckets[i] = (struct rpc_bucket){
			.level = (uint64_t)rpc->config.permits[i].per_second *
				 RPC_TOKEN,
			.at_ms = io_loop_now_ms(rpc->loop),
		};
}

struct rpc *rpc_new(struct io_loop *loop, int socket,
		    const struct rpc_config *config, struct err *err)
{
	struct rpc *rpc = calloc(1, sizeof(*rpc));

	if (rpc) {
		*rpc = (struct rpc){
			.loop = loop,
			.socket = socket,
			.config = *config,
			.next_id = 1,
			.timer = io_timer_new(loop, on_timer, rpc),
			.watch = io_watch_new(loop, socket, rpc_on_ready, rpc),
			.buckets = calloc(config->permit_count + 1,
					  sizeof(struct rpc_bucket)),
		};
	}
	if (rpc && rpc->timer && rpc->watch && rpc->buckets) {
		fill_buckets(rpc);
		io_watch_set(rpc->watch, true, false);
		return rpc;
	}
	if (rpc && rpc->timer)
		io_timer_free(rpc->timer);
	if (rpc && rpc->watch)
		io_watch_free(rpc->watch);
	if (rpc)
		free(rpc->buckets);
	free(rpc);
	io_sys_close(socket);
	(void)err_set(err, ERR_SYSTEM, "open a channel: no memory");
	return NULL;
}
