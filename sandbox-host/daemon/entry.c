#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "sandbox-host/daemon/claim.h"
#include "sandbox-host/daemon/daemon.h"
#include "sandbox-host/daemon/isolate.h"
#include "sandbox-host/daemon/pool.h"
#include "sandbox-host/daemon/ready.h"
#include "sandbox-host/tree.h"

#define ENTRY_ARENA_MAX (256 * 1024)

struct entry *entry_new(struct daemon *daemon, const char *id, int dir)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry) {
		(void)close(dir);
		return NULL;
	}
	entry->daemon = daemon;
	entry->dir = dir;
	entry->request = -1;
	(void)snprintf(entry->id, sizeof(entry->id), "%s", id);
	arena_init(&entry->arena, ENTRY_ARENA_MAX);
	return entry;
}

void entry_insert(struct entry *entry)
{
	struct daemon *daemon = entry->daemon;

	DL_PREPEND(daemon->entries, entry);
	daemon->entry_count++;
	daemon->live_count +=
		!state_is_over((enum host_state)entry->sandbox.state);
}

struct entry *entry_find(const struct daemon *daemon, struct bytes id)
{
	struct entry *entry;

	DL_FOREACH(daemon->entries, entry)
	if (bytes_is(id, entry->id))
		return entry;
	return NULL;
}

void entry_record(const struct entry *entry)
{
	const struct record record = {
		.sandbox = &entry->sandbox,
		.sandbox_count = 1,
		.supervisor_pid = (uint32_t)entry->pid,
		.supervisor_start = entry->start,
		.owns_workspace = entry->owns_workspace,
		.is_pooled = entry->is_pooled,
		.is_bounded = entry->is_bounded,
	};
	struct err err;

	if (record_write(entry->dir, &record, &err) < 0)
		log_error("%s: %s", entry->id, err.text);
}

/* Whatever the copy's strings are borrowed from, even the old one. */
int entry_take(struct entry *entry, const struct host_sandbox *sandbox,
	       struct err *err)
{
	auto_type(buf_release) struct buf out;
	struct arena arena, old = entry->arena;
	struct host_sandbox copy;
	struct bytes text;

	buf_init(&out, RECORD_BYTES_MAX);
	if (wire_encode(&host_sandbox_schema, sandbox, &out, err) < 0)
		return -1;
	arena_init(&arena, ENTRY_ARENA_MAX);
	text = arena_copy(&arena, buf_view(&out));
	if (text.len != buf_len(&out) ||
	    wire_decode(&host_sandbox_schema, text, &arena, &copy, err) < 0) {
		arena_release(&arena);
		return err_set(err, ERR_TOO_LARGE, "no memory");
	}
	entry->sandbox = copy;
	entry->arena = arena;
	arena_release(&old);
	return 0;
}

int entry_store(struct entry *entry, const struct host_sandbox *sandbox,
		struct err *err)
{
	if (entry_take(entry, sandbox, err) < 0)
		return -1;
	entry_record(entry);
	return 0;
}

/* ---- those who wait ---- */

/* Its id was told to no one, and it would last. */
static void end_unheard(struct entry *entry)
{
	log_info("%s: who asked for it is gone", entry->id);
	claim_end(entry);
}

static void answer(struct entry *entry, struct waiter *waiter)
{
	const struct host_sandbox *sandbox = &entry->sandbox;
	enum host_refusal code = HOST_REFUSED;

	if (waiter->is_for_end || sandbox->state == HOST_RUNNING) {
		if (!waiter->is_for_end && !rpc_ticket_is_heard(waiter->ticket))
			end_unheard(entry);
		rpc_reply(waiter->ticket, &host_sandbox_schema, sandbox, -1);
		return;
	}
	if (isolate_is_lone(entry)) {
		isolate_refuse_lone(waiter->ticket);
		return;
	}
	if (bytes_is(sandbox->reason, "gateway_unreachable"))
		code = HOST_REFUSED_UNREACHABLE;
	else if (bytes_is(sandbox->reason, "invalid"))
		code = HOST_REFUSED_INVALID;
	else if (bytes_is(sandbox->reason, "not_permitted"))
		code = HOST_REFUSED_FORBIDDEN;
	else if (sandbox->state == HOST_TERMINATED)
		/* Somebody ended it, or that beside which it was to stand. */
		code = HOST_REFUSED_STATE;
	rpc_refuse(waiter->ticket, (uint16_t)code, "%.*s",
		   BYTES_ARGS(sandbox->message.len ? sandbox->message
						   : sandbox->reason));
}

/* Who waits for a start hears of every other end as well. */
static void answer_waiters(struct entry *entry)
{
	enum host_state state = (enum host_state)entry->sandbox.state;
	struct waiter *waiter, *next;

	DL_FOREACH_SAFE(entry->waiters, waiter, next)
	{
		if (!state_is_over(state) &&
		    (waiter->is_for_end || state != HOST_RUNNING))
			continue;
		answer(entry, waiter);
		DL_DELETE(entry->waiters, waiter);
		free(waiter);
	}
}

/* Too long: its supervisor is ended, and that is heard of. */
static void on_deadline(void *owner)
{
	struct entry *entry = owner;

	log_warn("%s: its supervisor does not come to an end", entry->id);
	entry->is_late = entry->sandbox.state == HOST_STOPPING;
	keep_kill(entry);
}

int entry_bound(struct entry *entry, unsigned ms)
{
	if (!entry->deadline)
		entry->deadline =
			io_timer_new(entry->daemon->loop, on_deadline, entry);
	if (!entry->deadline)
		return -1;
	io_timer_set(entry->deadline, ms);
	return 0;
}

int entry_wait(struct entry *entry, struct rpc_ticket ticket, bool is_for_end)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));

	if (!waiter || entry_bound(entry, is_for_end ? END_TIMEOUT_MS
						     : START_TIMEOUT_MS) < 0) {
		free(waiter);
		return -1;
	}
	*waiter = (struct waiter){.ticket = ticket, .is_for_end = is_for_end};
	rpc_ticket_hold(ticket);
	DL_APPEND(entry->waiters, waiter);
	return 0;
}

/* ---- states ---- */

/* Who waits hears of it first: its supervisor, or what that left, tells a
 * daemon that finds the record before this one. */
static void has_become(struct entry *entry, enum host_state before)
{
	enum host_state state = (enum host_state)entry->sandbox.state;

	log_info("%s: %s%s%.*s", entry->id, host_state_name(state),
		 entry->sandbox.reason.len ? ": " : "",
		 BYTES_ARGS(entry->sandbox.reason));
	if (!state_is_over(before) && state_is_over(state))
		entry->daemon->live_count--;
	if (entry->deadline && state != HOST_PENDING && state != HOST_STOPPING)
		io_timer_set(entry->deadline, 0);
	answer_waiters(entry);
	entry_record(entry);
	follow_look(entry->daemon);
	isolate_follow(entry);
	ready_follow(entry);
	pool_follow(entry);
	claim_follow(entry);
}

void entry_become(struct entry *entry, enum host_state state,
		  const char *reason, const char *message)
{
	enum host_state before = (enum host_state)entry->sandbox.state;
	struct host_sandbox copy = entry->sandbox;
	struct err err;

	copy.state = (uint8_t)state;
	copy.reason = bytes_str(reason);
	copy.message = bytes_str(message);
	copy.changed_ms = clock_wall_ms();
	if (state_is_over(state))
		copy.init_pid = 0;
	if (entry_take(entry, &copy, &err) < 0) {
		log_error("%s: %s", entry->id, err.text);
		entry->sandbox.state = (uint8_t)state;
	}
	has_become(entry, before);
}

bool entry_follow(struct entry *entry, const struct supervisor_state *state)
{
	enum host_state before = (enum host_state)entry->sandbox.state;
	enum host_state after = (enum host_state)state->state;
	struct host_sandbox copy = entry->sandbox;
	struct err err;

	/* What it did before it heard that it is to end. */
	if (before == HOST_STOPPING && !state_is_over(after))
		return true;
	if (before != after && !state_may_become(before, after))
		return false;
	copy.state = state->state;
	copy.reason = state->reason;
	copy.message = state->message;
	copy.changed_ms = state->changed_ms;
	copy.expires_ms = state->expires_ms;
	copy.ran_ms = state->ran_ms;
	copy.session = state->session;
	copy.workspace = state->workspace;
	copy.init_pid = state->init_pid;
	copy.has_exit_code = state->has_exit_code;
	copy.exit_code = state->exit_code;
	if (entry_take(entry, &copy, &err) < 0)
		return false;
	if (before != after)
		has_become(entry, before);
	else
		entry_record(entry);
	return true;
}

/* ---- events ---- */

void entry_add_event(struct entry *entry, const struct host_event *event)
{
	struct kept_event *kept;
	char *kind = strndup((const char *)event->kind.data, event->kind.len);
	char *rule =
		strndup(event->rule.len ? (const char *)event->rule.data : "",
			event->rule.len);
	uint8_t *text = malloc(event->text.len + 1);

	if (!entry->events)
		entry->events = calloc(EVENTS_KEPT, sizeof(*entry->events));
	/* Told again after the channel was made anew. */
	if (!kind || !rule || !text || !entry->events ||
	    event->sequence <= entry->event_last) {
		free(kind);
		free(rule);
		free(text);
		return;
	}
	kept = &entry->events[event->sequence % EVENTS_KEPT];
	free(kept->kind);
	free(kept->rule);
	free((void *)(uintptr_t)kept->text.data);
	memcpy(text, event->text.data, event->text.len);
	*kept = (struct kept_event){
		.sequence = event->sequence,
		.time_ms = event->time_ms,
		.kind = kind,
		.rule = rule,
		.text = bytes_from(text, event->text.len),
	};
	entry->event_last = event->sequence;
	follow_look(entry->daemon);
}

/* ---- the end of one ---- */

void entry_free(struct entry *entry)
{
	if (entry->rpc)
		rpc_close(entry->rpc);
	if (entry->deadline)
		io_timer_free(entry->deadline);
	for (size_t i = 0; entry->events && i < EVENTS_KEPT; i++) {
		free(entry->events[i].kind);
		free(entry->events[i].rule);
		free((void *)(uintptr_t)entry->events[i].text.data);
	}
	free(entry->events);
	arena_release(&entry->arena);
	(void)close(entry->dir);
	if (entry->request >= 0)
		(void)close(entry->request);
	free(entry);
}

void entry_forget(struct entry *entry)
{
	struct daemon *daemon = entry->daemon;

	DL_DELETE(daemon->entries, entry);
	daemon->entry_count--;
	(void)tree_remove(daemon->sandboxes_dir, entry->id);
	entry_free(entry);
}
