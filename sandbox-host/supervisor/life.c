#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "sandbox-host/supervisor/ahead.h"
#include "sandbox-host/supervisor/background.h"
#include "sandbox-host/supervisor/output.h"
#include "sandbox-host/supervisor/pace.h"
#include "sandbox-host/supervisor/residents.h"
#include "sandbox-host/supervisor/shells.h"

#define TIMER_MAX_MS  (24u * 3600 * 1000)
#define REST_TRY_MS   1
#define REST_AGAIN_MS 4 /* then twice as long, and so on */
#define REST_WAIT_MS  3000

/* ---- state ---- */

struct supervisor_state life_state(const struct supervisor *supervisor)
{
	const struct sandbox *sandbox = supervisor->sandbox;

	return (struct supervisor_state){
		.state = (uint8_t)supervisor->state,
		.reason = bytes_str(supervisor->reason),
		.message = bytes_str(supervisor->message),
		.changed_ms = supervisor->changed_ms,
		.expires_ms = supervisor->expires_ms,
		.ran_ms = supervisor->ran_ms,
		.session = bytes_str(json_text(supervisor->session.json, "id")),
		.workspace = bytes_str(supervisor->workspace),
		.init_pid = sandbox ? (uint32_t)service_pid(sandbox) : 0,
		.has_exit_code = supervisor->has_exit_code,
		.exit_code = (uint32_t)supervisor->exit_code,
	};
}

void life_tell(struct supervisor *supervisor)
{
	const struct supervisor_state message = life_state(supervisor);
	struct err err;

	if (supervisor->daemon &&
	    rpc_tell(supervisor->daemon, MSG_SUPERVISOR_STATE,
		     &supervisor_state_schema, &message, -1, &err) < 0)
		log_warn("tell the state: %s", err.text);
}

/* What somebody inside chose a part of may be no text. */
static void set_text(char *out, size_t size, const char *text)
{
	(void)snprintf(out, size, "%s", text);
	for (char *at = out; *at; at++)
		if ((uint8_t)*at < ' ' || (uint8_t)*at > '~')
			*at = *at == '\n' ? '\n' : '?';
}

void life_enter(struct supervisor *supervisor, enum host_state state,
		const char *reason, const char *message)
{
	bool is_kept = supervisor->options.is_ahead && state == HOST_RUNNING;
	char text[HOST_EVENT_MAX];

	supervisor->state = state;
	supervisor->changed_ms = clock_wall_ms();
	set_text(supervisor->reason, sizeof(supervisor->reason), reason);
	set_text(supervisor->message, sizeof(supervisor->message), message);
	(void)snprintf(text, sizeof(text), "%s%s%s%s%s", host_state_name(state),
		       reason[0] ? ": " : "", supervisor->reason,
		       message[0] ? ": " : "", supervisor->message);
	log_info("%s", text);
	/* To whoever takes it, it runs from then on. */
	events_add(supervisor, "lifecycle", is_kept ? "kept ready" : text);
	life_tell(supervisor);
}

/* ---- expiry ---- */

static void wait_for_expiry(struct supervisor *supervisor)
{
	uint64_t now = clock_monotonic_ms();
	uint64_t left =
		supervisor->expiry_ms > now ? supervisor->expiry_ms - now : 1;

	io_timer_set(supervisor->expiry,
		     left < TIMER_MAX_MS ? (unsigned)left : TIMER_MAX_MS);
}

/* `limits.time` of the policy: the longest there is. */
static void bound_expiry(struct supervisor *supervisor)
{
	uint64_t now = clock_monotonic_ms();
	uint64_t end = supervisor->time_end_ms;
	uint64_t latest = clock_wall_ms() + (end > now ? end - now : 0);

	if (end &&
	    (supervisor->expires_ms == 0 || supervisor->expires_ms > latest))
		supervisor->expires_ms = latest;
}

/* From here on the wall clock may be set as anybody likes. */
static void arm_expiry(struct supervisor *supervisor)
{
	uint64_t now = clock_wall_ms();
	uint64_t left =
		supervisor->expires_ms > now ? supervisor->expires_ms - now : 0;

	supervisor->expiry_ms = clock_monotonic_ms() + left;
	if (supervisor->expires_ms == 0)
		io_timer_set(supervisor->expiry, 0);
	else
		wait_for_expiry(supervisor);
}

static void on_expiry(void *owner)
{
	struct supervisor *supervisor = owner;

	if (clock_monotonic_ms() < supervisor->expiry_ms)
		wait_for_expiry(supervisor);
	else
		life_end(supervisor, HOST_TERMINATED, "expired",
			 "its time is over");
}

/* `limits.time` counts from here, once. */
static void begin_time(struct supervisor *supervisor)
{
	uint64_t time_ms = supervisor->policy->limits.time_ms;

	if (time_ms && !supervisor->time_end_ms)
		supervisor->time_end_ms = clock_monotonic_ms() + time_ms;
}

int life_renew(struct supervisor *supervisor, uint64_t expires_ms)
{
	if (expires_ms != 0 && expires_ms <= clock_wall_ms())
		return -1;
	supervisor->expires_ms = expires_ms;
	bound_expiry(supervisor);
	arm_expiry(supervisor);
	events_add(supervisor, "lifecycle",
		   supervisor->expires_ms ? "it lasts until another time"
					  : "it lasts until it is ended");
	life_tell(supervisor);
	return 0;
}

/* ---- rest ---- */

static void answer_rest(struct supervisor *supervisor, enum host_refusal code,
			const struct err *err)
{
	const struct wire_empty empty = {0};

	if (!supervisor->rest_ticket.rpc)
		return;
	if (err)
		rpc_refuse(supervisor->rest_ticket, (uint16_t)code, "%s",
			   err->text);
	else
		rpc_reply(supervisor->rest_ticket, &wire_empty_schema, &empty,
			  -1);
	supervisor->rest_ticket = (struct rpc_ticket){0};
}

static void plan_again(struct supervisor *supervisor, unsigned wait_ms)
{
	supervisor->rest_wait_ms = wait_ms;
	supervisor->rest_again_ms = io_loop_now_ms(supervisor->loop) + wait_ms;
}

/* Who waits for its vfork()ed child never freezes in version 1 when the child
 * froze before its exec: they must both go on for a moment (freezing can fail
 * and is to be tried again: cgroup-v1/freezer-subsystem.rst). */
static void rest_again(struct supervisor *supervisor)
{
	if (io_loop_now_ms(supervisor->loop) < supervisor->rest_again_ms) {
		(void)service_rest(supervisor->sandbox, true, NULL);
		return;
	}
	(void)service_rest(supervisor->sandbox, false, NULL);
	plan_again(supervisor, supervisor->rest_wait_ms * 2);
}

/* A process that waits for our answer to a system call does not rest before
 * it has it: so we go on serving meanwhile. */
static void on_rest(void *owner)
{
	struct supervisor *supervisor = owner;
	struct err err;

	if (service_rests(supervisor->sandbox)) {
		life_enter(supervisor, HOST_PAUSED, "", "");
		answer_rest(supervisor, HOST_REFUSED, NULL);
		return;
	}
	if (io_loop_now_ms(supervisor->loop) < supervisor->rest_until_ms) {
		rest_again(supervisor);
		io_timer_set(supervisor->rest_timer, REST_TRY_MS);
		return;
	}
	(void)service_rest(supervisor->sandbox, false, NULL);
	err_set(&err, ERR_TIMEOUT, "a process inside did not come to rest");
	life_enter(supervisor, HOST_RUNNING, "not_paused", err.text);
	answer_rest(supervisor, HOST_REFUSED, &err);
}

void life_rest(struct supervisor *supervisor, struct rpc_ticket ticket)
{
	struct err err;

	supervisor->rest_ticket = ticket;
	if (service_rest(supervisor->sandbox, true, &err) < 0) {
		answer_rest(supervisor, HOST_REFUSED, &err);
		return;
	}
	life_enter(supervisor, HOST_PAUSING, "", "");
	supervisor->rest_until_ms =
		io_loop_now_ms(supervisor->loop) + REST_WAIT_MS;
	plan_again(supervisor, REST_AGAIN_MS);
	on_rest(supervisor);
}

int life_resume(struct supervisor *supervisor, struct err *err)
{
	if (service_rest(supervisor->sandbox, false, err) < 0)
		return -1;
	life_enter(supervisor, HOST_RESUMING, "", "");
	life_enter(supervisor, HOST_RUNNING, "", "");
	return 0;
}

/* ---- begin and end ---- */

void life_begin_anew(struct supervisor *supervisor, uint64_t expires_ms)
{
	supervisor->expires_ms = expires_ms;
	supervisor->time_end_ms = 0;
	begin_time(supervisor);
	bound_expiry(supervisor);
	arm_expiry(supervisor);
	life_enter(supervisor, HOST_RUNNING, "", "");
}

int life_begin(struct supervisor *supervisor, struct err *err)
{
	supervisor->expiry =
		io_timer_new(supervisor->loop, on_expiry, supervisor);
	supervisor->rest_timer =
		io_timer_new(supervisor->loop, on_rest, supervisor);
	if (!supervisor->expiry || !supervisor->rest_timer)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	if (!supervisor->options.is_ahead)
		begin_time(supervisor);
	bound_expiry(supervisor);
	arm_expiry(supervisor);
	life_enter(supervisor, HOST_RUNNING, "", "");
	return 0;
}

/* For a daemon that is not there now. */
static void write_end(struct supervisor *supervisor)
{
	const struct supervisor_state state = life_state(supervisor);
	auto_type(buf_release) struct buf out;
	auto_fd int fd = -1;
	struct err err;
	struct bytes text;

	buf_init(&out, WIRE_MESSAGE_MAX);
	if (wire_encode(&supervisor_state_schema, &state, &out, &err) < 0)
		return;
	text = buf_view(&out);
	fd = openat(supervisor->dir, FILE_END ".new",
		    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len ||
	    renameat(supervisor->dir, FILE_END ".new", supervisor->dir,
		     FILE_END) < 0)
		log_warn("write the last state of the sandbox");
}

static void end_sandbox(struct supervisor *supervisor, const char *reason)
{
	inside_end(supervisor);
	sandbox_free(supervisor->sandbox);
	supervisor->sandbox = NULL;
	exec_end_all(supervisor, reason);
	background_close_all(supervisor);
	shells_close_all(supervisor);
	residents_close_all(supervisor);
	ports_close(supervisor);
	egress_close_all(supervisor);
	output_close(supervisor);
	pace_close(supervisor);
	network_end(supervisor);
	recorder_close(&supervisor->recorder);
	link_end(supervisor);
	build_remove_workspace(supervisor);
}

void life_end(struct supervisor *supervisor, enum host_state state,
	      const char *reason, const char *message)
{
	struct err err;

	if (supervisor->state == HOST_TERMINATED ||
	    supervisor->state == HOST_FAILED)
		return;
	err_set(&err, ERR_CLOSED, "the sandbox ends");
	answer_rest(supervisor, HOST_REFUSED_STATE, &err);
	if (supervisor->rest_timer)
		io_timer_set(supervisor->rest_timer, 0);
	life_enter(supervisor, HOST_STOPPING, reason, message);
	end_sandbox(supervisor, reason);
	life_enter(supervisor, state, reason, message);
	write_end(supervisor);
	io_loop_stop(supervisor->loop);
}
