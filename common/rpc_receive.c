#include "common/rpc_channel.h"

#include <errno.h>

#include "common/io_backend.h"
#include "common/secret.h"

enum {
	TURN_MESSAGES_MAX = 64, /* of one channel, then others have a turn */
	ARENA_MAX = 1 << 20,
};

/* The message (untrusted) that is being handled; a process handles one at a
 * time. Wiped after each: a token may have been in it. */
static uint8_t in_bytes[WIRE_MESSAGE_MAX];
static struct arena arena = {.max = ARENA_MAX};

static bool take_token(struct rpc_bucket *bucket, unsigned per_second,
		       uint64_t now_ms)
{
	uint64_t full = (uint64_t)per_second * RPC_TOKEN;
	uint64_t passed = now_ms - bucket->at_ms;

	if (per_second == 0)
		return true;
	bucket->level += (passed < 1000 ? passed : 1000) * per_second;
	if (bucket->level > full)
		bucket->level = full;
	bucket->at_ms = now_ms;
	if (bucket->level < RPC_TOKEN)
		return false;
	bucket->level -= RPC_TOKEN;
	return true;
}

static void *decode(const struct wire_schema *schema, struct bytes body,
		    struct err *err)
{
	void *message = arena_alloc(&arena, schema->size);

	if (!message) {
		(void)err_set(err, ERR_SYSTEM, "decode a message: no memory");
		return NULL;
	}
	return wire_decode(schema, body, &arena, message, err) < 0 ? NULL
								   : message;
}

static const struct rpc_permit *find_permit(const struct rpc *rpc,
					    uint16_t type)
{
	for (size_t i = 0; i < rpc->config.permit_count; i++)
		if (rpc->config.permits[i].type == type)
			return &rpc->config.permits[i];
	return NULL;
}

/* Why the request may not even be looked at; NULL when it may. */
static const char *check_request(struct rpc *rpc,
				 const struct rpc_header *header,
				 const struct rpc_permit *permit, bool has_fd)
{
	if (!permit)
		return "a request that is not permitted";
	if ((header->kind == RPC_NOTIFY) != (header->id == 0))
		return "a request without an id";
	if (permit->takes_fd != has_fd)
		return has_fd ? "a descriptor where none belongs"
			      : "a descriptor is missing";
	if (rpc_table_find(&rpc->held, header->id))
		return "an id that is in use";
	if (rpc_table_reserve(&rpc->held) < 0)
		return "too many requests wait for their answer";
	return NULL;
}

static bool is_in_rate(struct rpc *rpc, const struct rpc_permit *permit)
{
	size_t index = (size_t)(permit - rpc->config.permits);

	return take_token(&rpc->buckets[index], permit->per_second,
			  io_loop_now_ms(rpc->loop));
}

static int over_rate(struct rpc *rpc, struct rpc_ticket ticket, struct err *err)
{
	if (ticket.id == 0 || rpc->config.rate_code == 0)
		return err_set(err, ERR_INVALID,
			       "message %u: too many requests", ticket.type);
	rpc->current = ticket.id;
	rpc_refuse(ticket, rpc->config.rate_code, "too many requests");
	return 0;
}

static int on_request(struct rpc *rpc, const struct rpc_header *header,
		      struct bytes body, int *fd, struct err *err)
{
	const struct rpc_permit *permit = find_permit(rpc, header->type);
	struct rpc_ticket ticket = {rpc, header->type, header->id};
	const char *why = check_request(rpc, header, permit, *fd >= 0);
	void *message;

	if (why)
		return err_set(err, ERR_INVALID, "message %u: %s", header->type,
			       why);
	if (!is_in_rate(rpc, permit))
		return over_rate(rpc, ticket, err);
	message = decode(permit->schema, body, err);
	if (!message)
		return -1;
	rpc->current = header->id;
	rpc->in_note = header->id == 0;
	permit->answer(ticket, message, fd, rpc->config.owner);
	/* Whoever did not answer yet will: keep the object for that. */
	if (rpc->current != 0 && !rpc->is_closed)
		rpc_ticket_hold(ticket);
	rpc->current = 0;
	rpc->in_note = false;
	return 0;
}

/* Did we ever ask with this id? A reply to a call that was cancelled or
 * came too late is no fault of the peer. */
static bool was_issued(const struct rpc *rpc, uint32_t id)
{
	return id != 0 && (id < rpc->next_id || rpc->are_ids_reused);
}

static int on_reply(struct rpc *rpc, const struct rpc_header *header,
		    struct bytes body, int *fd, struct err *err)
{
	const struct rpc_entry *found = rpc_table_find(&rpc->calls, header->id);
	struct rpc_outcome outcome = {.fd = *fd};
	struct rpc_entry entry;
	struct err denied;

	if (!found && was_issued(rpc, header->id))
		return 0;
	if (!found || found->type != header->type)
		return err_set(err, ERR_INVALID,
			       "message %u: a reply that nobody waits for",
			       header->type);
	if (header->kind == RPC_REFUSAL && *fd >= 0)
		return err_set(err, ERR_INVALID,
			       "message %u: a refusal with a descriptor",
			       header->type);
	if (header->kind == RPC_REFUSAL)
		outcome.refusal = decode(&rpc_refusal_schema, body, err);
	else
		outcome.message = decode(found->reply_schema, body, err);
	if (!outcome.refusal && !outcome.message)
		return -1;
	if (outcome.refusal) {
		(void)err_set(&denied, ERR_DENIED, "%.*s",
			      BYTES_ARGS(outcome.refusal->detail));
		outcome.err = &denied;
	}
	(void)rpc_table_remove(&rpc->calls, header->id, &entry);
	entry.on_outcome(&outcome, entry.owner);
	*fd = outcome.fd;
	return 0;
}

static int on_message(struct rpc *rpc, struct bytes message, int *fd,
		      struct err *err)
{
	const uint8_t *at = message.data;
	struct bytes body = bytes_slice(message, RPC_HEADER_LEN, message.len);
	struct rpc_header header;

	if (message.len < RPC_HEADER_LEN || at[2] >= RPC_KIND_MAX || at[3] != 0)
		return err_set(err, ERR_INVALID, "a message without a header");
	header.type = (uint16_t)(at[0] | at[1] << 8);
	header.kind = (enum rpc_kind)at[2];
	header.id = at[4] | (uint32_t)at[5] << 8 | (uint32_t)at[6] << 16 |
		    (uint32_t)at[7] << 24;
	if (header.kind == RPC_NOTIFY || header.kind == RPC_REQUEST)
		return on_request(rpc, &header, body, fd, err);
	return on_reply(rpc, &header, body, fd, err);
}

/* Receive and handle one. False when there is none or the channel ended. */
static bool receive_one(struct rpc *rpc)
{
	struct err err;
	int fd = -1, handled;
	ssize_t len = io_message_receive(rpc->socket, in_bytes,
					 sizeof(in_bytes), &fd, &err);

	if (len < 0) {
		if (err.code != ERR_SYSTEM || err.number != EAGAIN)
			rpc_fail(rpc, err.text);
		return false;
	}
	if (len == 0) {
		rpc_fail(rpc, "the peer closed the channel");
		return false;
	}
	handled = on_message(rpc, bytes_from(in_bytes, (size_t)len), &fd, &err);
	if (fd >= 0)
		io_sys_close(fd);
	secret_wipe(in_bytes, (size_t)len);
	arena_reset(&arena);
	if (handled < 0)
		rpc_fail(rpc, err.text);
	return handled == 0 && !rpc->is_closed;
}

bool rpc_receive(struct rpc *rpc)
{
	for (int i = 0; i < TURN_MESSAGES_MAX; i++)
		if (!receive_one(rpc))
			return false;
	return true;
}

/* 0, or -1. */
static int send_waiting(struct rpc *rpc, struct err *err)
{
	if (rpc_queue_flush(&rpc->queue, rpc->socket, TURN_MESSAGES_MAX, err) <
	    0) {
		if (err->code != ERR_CLOSED)
			return -1;
		/* Nobody will read it; what the peer said before is read. */
		rpc_queue_release(&rpc->queue);
	}
	if (!rpc->queue.first)
		io_watch_set(rpc->watch, !rpc->is_resting, false);
	return 0;
}

void rpc_on_ready(int fd, bool readable, bool writable, void *owner)
{
	struct rpc *rpc = owner;
	struct err err;

	(void)fd;
	if (writable && rpc->queue.first && send_waiting(rpc, &err) < 0) {
		rpc_fail(rpc, err.text);
		return;
	}
	if (!readable)
		return;
	if (rpc->config.on_waiting)
		rpc->config.on_waiting(rpc->config.owner);
	if (!rpc->is_closed)
		(void)rpc_receive(rpc);
}
