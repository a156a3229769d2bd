/* Signals for commands, until process 1 has sent them: what their asker writes
 * to a command afterwards is read after them. */
#include <stdlib.h>

#include "sandbox-host/supervisor/parts.h"

struct signalling {
	struct supervisor *supervisor;
	struct waiting *waiting;
	struct rpc_ticket ticket;
};

static void free_signalling(struct signalling *signalling)
{
	inside_forget(signalling->supervisor, signalling->waiting);
	free(signalling);
}

static void on_word(struct service_word *word, void *owner)
{
	const struct wire_empty empty = {0};
	struct signalling *signalling = owner;

	(void)word;
	rpc_reply(signalling->ticket, &wire_empty_schema, &empty, -1);
	free_signalling(signalling);
}

/* Process 1 rests with all others, and reads it when it goes on. */
static void leave_pending(struct supervisor *supervisor, pid_t pid,
			  const struct exec_signal *wanted,
			  struct rpc_ticket ticket)
{
	const struct service_signal signal = {
		.pid = pid,
		.number = wanted->number,
		.is_for_group = wanted->is_for_group,
	};
	int rc = service_signal(supervisor->sandbox, &signal, NULL);

	rpc_refuse(ticket, HOST_REFUSED_STATE, "the sandbox is %s: %s",
		   host_state_name(supervisor->state),
		   rc == 0 ? "the signal comes when it goes on"
			   : "no more signals can wait");
}

/* 0, or -1: no word will come. */
static int begin(struct signalling *signalling, pid_t pid,
		 const struct exec_signal *wanted, struct err *err)
{
	struct service_signal signal = {
		.pid = pid,
		.number = wanted->number,
		.is_for_group = wanted->is_for_group,
	};

	signalling->waiting =
		inside_wait(signalling->supervisor, on_word, signalling);
	if (!signalling->waiting)
		return err_set(err, ERR_TOO_LARGE, "too many wait for it");
	signal.serial = signalling->waiting->serial;
	return service_signal(signalling->supervisor->sandbox, &signal, err);
}

void signals_send(struct supervisor *supervisor, pid_t pid,
		  const struct exec_signal *wanted, struct rpc_ticket ticket)
{
	struct signalling *signalling;
	struct err err;

	if (wanted->answers_soon && supervisor->state != HOST_RUNNING) {
		leave_pending(supervisor, pid, wanted, ticket);
		return;
	}
	signalling = calloc(1, sizeof(*signalling));
	if (!signalling) {
		rpc_refuse(ticket, HOST_REFUSED_FULL, "no memory");
		return;
	}
	signalling->supervisor = supervisor;
	signalling->ticket = ticket;
	if (begin(signalling, pid, wanted, &err) == 0)
		return;
	rpc_refuse(ticket, HOST_REFUSED, "%s", err.text);
	free_signalling(signalling);
}
