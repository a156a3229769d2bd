#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "sandbox-host/daemon/isolate.h"

/* One that is being made. */
struct isolation {
	struct daemon *daemon;
	struct rpc_ticket ticket;
	char of[HOST_ID_MAX + 1];
	uint64_t expires_ms; /* as was asked */
	size_t note_len;
	uint8_t note[REQUEST_NOTE_MAX];
};

bool isolate_is_key(struct bytes name)
{
	return bytes_is(name, ISOLATED_OF_KEY) ||
	       bytes_is(name, ISOLATED_OFFLINE_KEY);
}

/* Empty: it is not said. */
static struct bytes said(const struct entry *entry, const char *key)
{
	const struct host_sandbox *sandbox = &entry->sandbox;

	for (size_t i = 0; i < sandbox->metadata_count; i++)
		if (bytes_is(sandbox->metadata[i].name, key))
			return sandbox->metadata[i].value;
	return (struct bytes){0};
}

/* Empty: it stands alone. */
static struct bytes of(const struct entry *entry)
{
	return said(entry, ISOLATED_OF_KEY);
}

/* Does it reach nothing? */
static bool is_offline(const struct entry *entry)
{
	return said(entry, ISOLATED_OFFLINE_KEY).len > 0;
}

bool isolate_is(const struct entry *entry)
{
	return of(entry).len > 0;
}

static bool is_ending(const struct entry *entry)
{
	enum host_state state = (enum host_state)entry->sandbox.state;

	return state == HOST_STOPPING || state_is_over(state);
}

bool isolate_is_lone(const struct entry *entry)
{
	const struct entry *beside;

	if (!isolate_is(entry))
		return false;
	beside = entry_find(entry->daemon, of(entry));
	return !beside || is_ending(beside);
}

void isolate_refuse_lone(struct rpc_ticket ticket)
{
	rpc_refuse(ticket, HOST_REFUSED_STATE,
		   "the sandbox does not run any more");
}

/* ---- the beginning ---- */

/* What the supervisor said it is to be made of. */
static bool is_what_was_asked(const struct isolation *isolation,
			      const struct entry *entry,
			      const struct sandbox_request *request)
{
	struct bytes note = bytes_from(isolation->note, isolation->note_len);
	const struct text_pair *said = request->metadata;
	size_t count = request->is_offline ? 2 : 1;

	return request->is_isolated && request->metadata_count == count &&
	       bytes_is(said[0].name, ISOLATED_OF_KEY) &&
	       bytes_is(said[0].value, entry->id) &&
	       bytes_is(said[count - 1].name,
			count == 1 ? ISOLATED_OF_KEY : ISOLATED_OFFLINE_KEY) &&
	       request->expires_ms == isolation->expires_ms &&
	       bytes_equal(request->note, note) &&
	       bytes_equal(request->workspace, entry->sandbox.workspace) &&
	       bytes_equal(request->image, entry->sandbox.image) &&
	       request->snapshot.len == 0 && request->entrypoint_count == 0;
}

/* Those that are being made are there already: many that are asked for at once
 * are no more than one after the other. */
static bool has_room(const struct entry *entry)
{
	const struct entry *other;
	size_t count = 0;

	DL_FOREACH(entry->daemon->entries, other)
	{
		count += bytes_is(of(other), entry->id) && !is_ending(other);
	}
	return count < ISOLATED_SANDBOX_MAX;
}

static void make(struct isolation *isolation, struct entry *entry, int fd)
{
	const struct spawn_for who = {
		.uid = (uid_t)entry->sandbox.owner_uid,
		.is_bounded = entry->is_bounded,
	};
	struct request_memory memory;
	struct sandbox_request request;
	struct entry *made = NULL;
	struct err err;

	if (!has_room(entry)) {
		rpc_refuse(isolation->ticket, HOST_REFUSED_FULL,
			   "a sandbox may have %d isolated sessions",
			   ISOLATED_SANDBOX_MAX);
		return;
	}
	if (sandbox_request_open(fd, &memory, &request, &err) < 0) {
		rpc_refuse(isolation->ticket, HOST_REFUSED, "%s", err.text);
		return;
	}
	err_set(&err, ERR_INVALID, "its supervisor says what can not be");
	if (is_what_was_asked(isolation, entry, &request))
		made = spawn(entry->daemon, fd, &request, &who, &err);
	if (!made)
		rpc_refuse(isolation->ticket, HOST_REFUSED, "%s", err.text);
	else if (entry_wait(made, isolation->ticket, false) < 0)
		rpc_refuse(isolation->ticket, HOST_REFUSED_FULL, "no memory");
	request_release(&memory);
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct isolation *isolation = owner;
	struct entry *entry =
		entry_find(isolation->daemon, bytes_str(isolation->of));

	/* First: what its supervisor says of one that ends is of no use. */
	if (!entry || entry->sandbox.state != HOST_RUNNING)
		isolate_refuse_lone(isolation->ticket);
	else if (outcome->refusal)
		rpc_refuse(isolation->ticket, outcome->refusal->code, "%.*s",
			   BYTES_ARGS(outcome->refusal->detail));
	else if (outcome->err)
		rpc_refuse(isolation->ticket, HOST_REFUSED_UNREACHABLE, "%s",
			   outcome->err->text);
	else if (!rpc_ticket_is_heard(isolation->ticket))
		/* Who serves the API by now has read which ones there are. */
		rpc_refuse(isolation->ticket, HOST_REFUSED_UNREACHABLE,
			   "whoever asked is gone");
	else
		make(isolation, entry, outcome->fd);
	free(isolation);
}

void isolate_begin(struct entry *entry, const struct host_isolate *wanted,
		   struct rpc_ticket ticket)
{
	struct host_isolate asked = *wanted;
	struct isolation *isolation = calloc(1, sizeof(*isolation));
	const struct rpc_call call = {
		.type = MSG_SUPERVISOR_ISOLATE,
		.schema = &host_isolate_schema,
		.message = &asked,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = SUPERVISOR_TIMEOUT_MS,
		.on_outcome = on_outcome,
		.owner = isolation,
	};
	struct err err;

	asked.image = entry->sandbox.image;
	if (!isolation) {
		rpc_refuse(ticket, HOST_REFUSED_FULL, "no memory");
		return;
	}
	isolation->daemon = entry->daemon;
	isolation->ticket = ticket;
	memcpy(isolation->of, entry->id, sizeof(isolation->of));
	isolation->expires_ms = wanted->expires_ms;
	isolation->note_len = wanted->note.len;
	if (wanted->note.len > 0)
		memcpy(isolation->note, wanted->note.data, wanted->note.len);
	if (rpc_ask(entry->rpc, &call, NULL, &err) == 0)
		return;
	rpc_refuse(ticket, HOST_REFUSED_UNREACHABLE, "%s", err.text);
	free(isolation);
}

/* ---- as the other one fares ---- */

static void end(struct entry *entry, const char *why)
{
	const struct supervisor_end message = {.reason = bytes_str(why)};
	enum host_state state = (enum host_state)entry->sandbox.state;
	struct err err;

	if (is_ending(entry))
		return;
	if (!entry->rpc || !state_accepts(state, STATE_KILL) ||
	    rpc_tell(entry->rpc, MSG_SUPERVISOR_END, &supervisor_end_schema,
		     &message, -1, &err) < 0)
		keep_kill(entry);
	else
		entry_become(entry, HOST_STOPPING, why, "");
}

static void on_told(struct rpc_outcome *outcome, void *owner)
{
	(void)owner;
	if (outcome->err)
		log_warn("an isolated session: %s", outcome->err->text);
}

static void tell(struct entry *entry, uint16_t type, enum host_state in)
{
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = type,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = SUPERVISOR_TIMEOUT_MS,
		.on_outcome = on_told,
	};
	struct err err;

	if (entry->rpc && entry->sandbox.state == in &&
	    rpc_ask(entry->rpc, &call, NULL, &err) < 0)
		log_warn("%s: %s", entry->id, err.text);
}

/* As the sandbox beside which it stands is by now. */
static void catch_up(struct entry *entry)
{
	const struct entry *beside = entry_find(entry->daemon, of(entry));

	if (beside && beside->sandbox.state == HOST_RUNNING)
		tell(entry, MSG_SUPERVISOR_RESUME, HOST_PAUSED);
	else if (beside && beside->sandbox.state == HOST_PAUSED)
		tell(entry, MSG_SUPERVISOR_PAUSE, HOST_RUNNING);
}

/* One that still wrote when the other was over may have kept its workspace
 * from being removed. */
static void sweep_after(const struct entry *entry, const struct entry *beside)
{
	if (beside && state_is_over((enum host_state)entry->sandbox.state) &&
	    state_is_over((enum host_state)beside->sandbox.state))
		keep_drop_workspace(beside);
}

static void end_with(struct entry *entry, const struct entry *beside)
{
	end(entry, "sandbox_ended");
	sweep_after(entry, beside);
}

void isolate_follow(struct entry *entry)
{
	enum host_state state = (enum host_state)entry->sandbox.state;
	struct entry *other;

	if (isolate_is(entry)) {
		catch_up(entry);
		sweep_after(entry, entry_find(entry->daemon, of(entry)));
	}
	DL_FOREACH(entry->daemon->entries, other)
	{
		if (!bytes_is(of(other), entry->id))
			continue;
		if (is_ending(entry))
			end_with(other, entry);
		else if (state == HOST_PAUSED)
			tell(other, MSG_SUPERVISOR_PAUSE, HOST_RUNNING);
		else if (state == HOST_RUNNING)
			tell(other, MSG_SUPERVISOR_RESUME, HOST_PAUSED);
	}
}

void isolate_change(struct entry *entry)
{
	struct entry *other;

	DL_FOREACH(entry->daemon->entries, other)
	if (bytes_is(of(other), entry->id) && !is_offline(other))
		end(other, "policy_changed");
}

void isolate_adopt(struct daemon *daemon)
{
	struct entry *entry;

	DL_FOREACH(daemon->entries, entry)
	{
		const struct entry *beside = entry_find(daemon, of(entry));

		if (isolate_is(entry) &&
		    (!beside ||
		     state_is_over((enum host_state)beside->sandbox.state)))
			end(entry, "sandbox_ended");
	}
}
