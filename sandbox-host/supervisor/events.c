#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "sandbox-host/supervisor/parts.h"

#define EVENTS_KEPT 256

struct event {
	uint64_t sequence; /* 0: none */
	uint64_t time_ms;
	char kind[HOST_REASON_MAX + 1];
	char rule[HOST_REASON_MAX + 1];
	char text[HOST_EVENT_MAX + 1];
};

int events_open(struct supervisor *supervisor, struct err *err)
{
	supervisor->events = calloc(EVENTS_KEPT, sizeof(*supervisor->events));
	return supervisor->events ? 0
				  : err_set(err, ERR_TOO_LARGE, "no memory");
}

static struct host_event view_of(const struct event *event)
{
	return (struct host_event){
		.sequence = event->sequence,
		.time_ms = event->time_ms,
		.kind = bytes_str(event->kind),
		.text = bytes_str(event->text),
		.rule = bytes_str(event->rule),
	};
}

static void tell(struct supervisor *supervisor, const struct event *event)
{
	const struct host_event view = view_of(event);
	const struct host_events message = {.events = &view, .events_count = 1};
	struct err err;

	/* A daemon that does not read them gets them when it asks anew. */
	if (supervisor->daemon)
		(void)rpc_tell(supervisor->daemon, MSG_SUPERVISOR_EVENTS,
			       &host_events_schema, &message, -1, &err);
}

void events_add(struct supervisor *supervisor, const char *kind,
		const char *text)
{
	events_add_denial(supervisor, kind, "", text);
}

void events_add_denial(struct supervisor *supervisor, const char *kind,
		       const char *rule, const char *text)
{
	struct event *event =
		&supervisor->events[supervisor->event_count % EVENTS_KEPT];

	event->sequence = ++supervisor->event_count;
	event->time_ms = clock_wall_ms();
	(void)snprintf(event->kind, sizeof(event->kind), "%s", kind);
	(void)snprintf(event->rule, sizeof(event->rule), "%s", rule);
	(void)snprintf(event->text, sizeof(event->text), "%s", text);
	tell(supervisor, event);
}

void events_on_event(void *owner, const struct sandbox_event *event)
{
	struct supervisor *supervisor = owner;

	if (!event->is_ignored)
		events_add_denial(supervisor,
				  event->constraint == CONSTRAINT_none
					  ? "remark"
					  : constraint_name(event->constraint),
				  event->rule, event->text);
	recorder_put(&supervisor->recorder, event);
}

void events_tell_all(struct supervisor *supervisor)
{
	uint64_t kept = supervisor->event_count < EVENTS_KEPT
				? supervisor->event_count
				: EVENTS_KEPT;

	for (uint64_t i = supervisor->event_count - kept;
	     i < supervisor->event_count; i++)
		tell(supervisor, &supervisor->events[i % EVENTS_KEPT]);
}
