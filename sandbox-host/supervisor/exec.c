#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "sandbox-host/supervisor/background.h"
#include "sandbox-host/supervisor/channel.h"
#include "sandbox-host/supervisor/output.h"

#define TIMEOUT_MAX_MS UINT32_MAX
#define PERMIT_RATE    200 /* a second: signals */
#define KILL_AGAIN_MS  50
#define KILL_AFTER_MS  3000 /* after SIGTERM */

/* One command, from its channel to its end. */
struct exec {
	struct supervisor *supervisor;
	struct rpc *rpc; /* NULL: the entrypoint, or nobody listens any more */
	bool is_entrypoint;
	bool is_of_image; /* and that is the image's own */
	bool is_detached;
	bool timed_out, was_stopped;
	struct runner *runner; /* in the background; NULL: it is not */
	int stdio[3];
	struct ask *ask;	  /* a person is asked about it; NULL */
	int request;		  /* meanwhile: what is to run; -1 */
	struct waiting *waiting;  /* NULL: not asked for yet */
	struct rpc_ticket ticket; /* of MSG_EXEC_START, until it is answered */
	pid_t pid;		  /* inside; 0: it does not run */
	struct io_timer *timer;
	struct err failure; /* its exec failed */
	int failure_code;
	struct exec *next, *prev;
};

/* ---- begin and end of one ---- */

static void close_stdio(struct exec *exec)
{
	for (int i = 0; i < 3; i++) {
		if (exec->stdio[i] >= 0)
			(void)close(exec->stdio[i]);
		exec->stdio[i] = -1;
	}
}

static struct exec *new_exec(struct supervisor *supervisor, struct err *err)
{
	struct exec *exec = NULL;

	if (supervisor->exec_count < EXECS_MAX)
		exec = calloc(1, sizeof(*exec));
	if (!exec) {
		err_set(err, ERR_TOO_LARGE, "%d commands are open already",
			EXECS_MAX);
		return NULL;
	}
	exec->supervisor = supervisor;
	exec->request = -1;
	for (int i = 0; i < 3; i++)
		exec->stdio[i] = -1;
	DL_APPEND(supervisor->execs, exec);
	supervisor->exec_count++;
	return exec;
}

static void free_exec(struct exec *exec)
{
	struct supervisor *supervisor = exec->supervisor;

	DL_DELETE(supervisor->execs, exec);
	supervisor->exec_count--;
	close_stdio(exec);
	if (exec->runner)
		background_drop(exec->runner);
	ask_drop(exec->ask);
	if (exec->request >= 0)
		(void)close(exec->request);
	inside_forget(supervisor, exec->waiting);
	if (exec->timer)
		io_timer_free(exec->timer);
	if (exec->rpc)
		rpc_close(exec->rpc);
	free(exec);
}

static void refuse(struct exec *exec, enum host_refusal code,
		   const struct err *err)
{
	if (exec->ticket.rpc)
		rpc_refuse(exec->ticket, (uint16_t)code, "%s", err->text);
	exec->ticket = (struct rpc_ticket){0};
}

/* Its last word. */
static void tell_ended(struct exec *exec, int exit_code, int number,
		       const char *reason)
{
	const struct exec_ended message = {
		.exit_code = (uint32_t)exit_code,
		.signal = (uint8_t)number,
		.reason = bytes_str(reason),
	};
	struct err err;

	if (exec->rpc)
		(void)rpc_tell(exec->rpc, MSG_EXEC_ENDED, &exec_ended_schema,
			       &message, -1, &err);
}

/* The image's own runs beside what the sandbox is for: it goes on. */
static void end_entrypoint(struct exec *exec, enum host_state state,
			   const char *reason, const char *text)
{
	struct supervisor *supervisor = exec->supervisor;
	char said[HOST_EVENT_MAX];

	if (!exec->is_of_image) {
		life_end(supervisor, state, reason, text);
		return;
	}
	(void)snprintf(said, sizeof(said), "the image's entrypoint: %s", text);
	events_add(supervisor, "image", said);
	free_exec(exec);
}

/* ---- words of process 1 ---- */

static int signal_group(const struct exec *exec, int number)
{
	const struct service_signal wanted = {
		.pid = exec->pid, .number = number, .is_for_group = true};

	return service_signal(exec->supervisor->sandbox, &wanted, NULL);
}

/* Kill its group. Before it runs there is none: then it is killed as soon as
 * it does. Process 1 may rest, and what is said to it waits: when no more can
 * wait it is said again. */
static void on_timeout(void *owner)
{
	struct exec *exec = owner;

	exec->timed_out = exec->timed_out || !exec->was_stopped;
	if (exec->pid == 0 || signal_group(exec, SIGKILL) == 0)
		return;
	if (!exec->timer)
		exec->timer =
			io_timer_new(exec->supervisor->loop, on_timeout, exec);
	if (exec->timer)
		io_timer_set(exec->timer, KILL_AGAIN_MS);
}

/* It is killed as soon as it runs, where it does not yet. */
void exec_stop(struct exec *exec)
{
	exec->was_stopped = true;
	if (exec->pid == 0)
		return;
	(void)signal_group(exec, SIGTERM);
	if (!exec->timer)
		exec->timer =
			io_timer_new(exec->supervisor->loop, on_timeout, exec);
	if (exec->timer)
		io_timer_set(exec->timer, KILL_AFTER_MS);
}

static bool is_wanted(const struct exec *exec)
{
	/* Nobody has heard which one it is: it could not be stopped. */
	bool is_unknown = exec->runner && !exec->rpc;

	return exec->rpc || exec->is_entrypoint ||
	       (exec->is_detached && !is_unknown);
}

static void on_started(struct exec *exec, struct service_word *word)
{
	const struct exec_started message = {.pid = (uint32_t)word->pid};

	exec->pid = word->pid;
	close_stdio(exec);
	if (exec->ticket.rpc)
		rpc_reply(exec->ticket, &exec_started_schema, &message,
			  word->fd);
	exec->ticket = (struct rpc_ticket){0};
	/* Its time is over, or nobody waits for it: closed meanwhile. */
	if (exec->timed_out || exec->was_stopped || !is_wanted(exec))
		on_timeout(exec);
}

static void entrypoint_ended(struct exec *exec, int exit_code)
{
	struct supervisor *supervisor = exec->supervisor;
	char text[HOST_MESSAGE_MAX];

	supervisor->has_exit_code = !exec->is_of_image;
	supervisor->exit_code = exec->is_of_image ? 0 : exit_code;
	if (exec->failure.code != ERR_NONE)
		(void)snprintf(text, sizeof(text), "%s", exec->failure.text);
	else
		(void)snprintf(text, sizeof(text), "%s with code %d",
			       exec->is_of_image ? "it ended"
						 : "the entrypoint ended",
			       exit_code);
	end_entrypoint(exec, HOST_TERMINATED, "exited", text);
}

static void on_ended(struct exec *exec, const struct service_word *word)
{
	bool has_failed = exec->failure.code != ERR_NONE;
	int exit_code = has_failed ? exec->failure_code : word->exit_code;
	const char *reason = exec->timed_out ? "timeout" : "";

	if (exec->is_entrypoint) {
		entrypoint_ended(exec, exit_code);
		return;
	}
	if (has_failed)
		reason = exec->failure.text;
	tell_ended(exec, exit_code, word->signal, reason);
	if (exec->runner)
		background_end(exec->runner, exit_code, word->signal, reason);
	exec->runner = NULL;
	free_exec(exec);
}

static void on_failed(struct exec *exec, const struct service_word *word)
{
	/* Its own process says so, before it ends. */
	if (word->pid > 0) {
		exec->failure = word->err;
		exec->failure_code = word->exit_code;
		return;
	}
	if (exec->is_entrypoint) {
		end_entrypoint(exec, HOST_FAILED, "not_started",
			       word->err.text);
		return;
	}
	refuse(exec, HOST_REFUSED_FULL, &word->err);
	free_exec(exec);
}

static void on_word(struct service_word *word, void *owner)
{
	struct exec *exec = owner;

	if (word->kind == SERVICE_STARTED)
		on_started(exec, word);
	else if (word->kind == SERVICE_ENDED)
		on_ended(exec, word);
	else if (word->kind == SERVICE_FAILED)
		on_failed(exec, word);
}

/* ---- start ---- */

static int open_null(struct exec *exec, struct err *err)
{
	for (int i = 0; i < 3; i++) {
		if (exec->stdio[i] < 0)
			exec->stdio[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (exec->stdio[i] < 0)
			return err_system(err, "open /dev/null");
	}
	return 0;
}

static int set_timeout(struct exec *exec, uint64_t timeout_ms, struct err *err)
{
	if (timeout_ms == 0)
		return 0;
	exec->timer = io_timer_new(exec->supervisor->loop, on_timeout, exec);
	if (!exec->timer)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	io_timer_set(exec->timer, timeout_ms < TIMEOUT_MAX_MS
					  ? (unsigned)timeout_ms
					  : TIMEOUT_MAX_MS);
	return 0;
}

static int start(struct exec *exec, int fd, const struct exec_request *request,
		 struct err *err)
{
	struct supervisor *supervisor = exec->supervisor;

	if (exec->runner && request->has_terminal)
		return err_set(err, ERR_INVALID,
			       "one in the background has no terminal");
	if (exec->runner && background_pipe(exec->runner, exec->stdio, err) < 0)
		return -1;
	if (open_null(exec, err) < 0 ||
	    set_timeout(exec, request->timeout_ms, err) < 0)
		return -1;
	exec->is_detached = request->is_detached || exec->runner;
	exec->waiting = inside_wait(supervisor, on_word, exec);
	if (!exec->waiting)
		return err_set(err, ERR_TOO_LARGE, "too many commands");
	return service_exec(supervisor->sandbox, exec->waiting->serial, fd,
			    request->has_terminal ? NULL : exec->stdio, err);
}

/* It does not run, and may be asked for again. */
static void not_run(struct exec *exec, enum host_refusal code,
		    const struct err *err)
{
	if (exec->is_entrypoint) {
		end_entrypoint(exec, HOST_FAILED,
			       code == HOST_REFUSED_FORBIDDEN ? "not_permitted"
							      : "not_started",
			       err->text);
		return;
	}
	refuse(exec, code, err);
	inside_forget(exec->supervisor, exec->waiting);
	exec->waiting = NULL;
	if (exec->timer)
		io_timer_free(exec->timer);
	exec->timer = NULL;
	if (!exec->runner)
		return;
	background_drop(exec->runner);
	exec->runner = NULL;
	close_stdio(exec);
}

static enum host_refusal code_of(const struct err *err)
{
	if (err_is_shortage(err))
		return HOST_REFUSED_FULL;
	return err->code == ERR_INVALID ? HOST_REFUSED_INVALID : HOST_REFUSED;
}

/* ---- what a person is asked about ---- */

/* Approved, while the sandbox may have come to rest. */
static void run_approved(struct exec *exec, int fd)
{
	struct supervisor *supervisor = exec->supervisor;
	struct request_memory memory;
	struct exec_request request;
	struct err err;

	if (supervisor->state != HOST_RUNNING) {
		(void)err_set(&err, ERR_DENIED, "the sandbox is %s",
			      host_state_name(supervisor->state));
		not_run(exec, HOST_REFUSED_STATE, &err);
		return;
	}
	if (exec_count(supervisor, &err) < 0) {
		not_run(exec, HOST_REFUSED_FORBIDDEN, &err);
		return;
	}
	if (exec_request_open(fd, &memory, &request, &err) < 0) {
		not_run(exec, HOST_REFUSED_INVALID, &err);
		return;
	}
	if (start(exec, fd, &request, &err) < 0)
		not_run(exec, code_of(&err), &err);
	request_release(&memory);
}

static void on_asked(const struct exec_asked *asked, void *owner)
{
	const struct exec *exec = owner;
	struct err err;

	if (exec->rpc)
		(void)rpc_tell(exec->rpc, MSG_EXEC_ASKED, &exec_asked_schema,
			       asked, -1, &err);
}

static void on_person(const char *why, void *owner)
{
	struct exec *exec = owner;
	auto_fd int fd = take_fd(&exec->request);
	struct err err;

	exec->ask = NULL;
	if (!why) {
		run_approved(exec, fd);
		return;
	}
	(void)err_set(&err, ERR_DENIED, "%s", why);
	not_run(exec, HOST_REFUSED_FORBIDDEN, &err);
}

static int ask_first(struct exec *exec, int fd,
		     const struct ask_question *question, struct err *err)
{
	static const struct ask_hooks hooks = {on_asked, on_person};

	exec->request = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (exec->request < 0)
		return err_system(err, "keep what is to run");
	exec->ask = ask_begin(exec->supervisor, question, &hooks, exec, err);
	if (!exec->ask)
		(void)close(take_fd(&exec->request));
	return exec->ask ? 0 : -1;
}

/* Run it, or ask first. 0, or -1: err, and *code, say why not. */
static int admit(struct exec *exec, int fd, const struct exec_request *request,
		 enum host_refusal *code, struct err *err)
{
	struct ask_question question;
	int result = -1;

	switch (exec_admit(exec->supervisor, request, &question, code, err)) {
	case ADMIT:
		result = start(exec, fd, request, err);
		break;
	case ADMIT_ASK:
		result = ask_first(exec, fd, &question, err);
		break;
	case ADMIT_NOT:
	default:
		return -1;
	}
	*code = code_of(err);
	return result;
}

/* ---- what whoever asks says ---- */

static void answer_stdio(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct exec_stdio *stdio = message;
	struct exec *exec = owner;

	(void)ticket;
	if (exec->waiting || exec->ask || exec->stdio[stdio->which] >= 0)
		return;
	exec->stdio[stdio->which] = take_fd(fd);
}

static void answer_keep(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct exec_keep *keep = message;
	struct exec *exec = owner;
	struct background_ref ref;
	struct err err;

	(void)fd;
	if (exec->waiting || exec->ask || exec->runner) {
		rpc_refuse(ticket, HOST_REFUSED_STATE,
			   "a channel is for one command");
		return;
	}
	exec->runner =
		background_begin(exec->supervisor, exec, keep->text, &err);
	if (!exec->runner) {
		rpc_refuse(ticket, HOST_REFUSED_FULL, "%s", err.text);
		return;
	}
	ref.id = bytes_str(background_id(exec->runner));
	rpc_reply(ticket, &background_ref_schema, &ref, -1);
}

static void answer_start(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	struct exec *exec = owner;
	struct request_memory memory;
	struct exec_request request;
	enum host_refusal code;
	struct err err = {0};

	(void)message;
	if (exec->waiting || exec->ask) {
		rpc_refuse(ticket, HOST_REFUSED_STATE,
			   "a channel is for one command");
		return;
	}
	if (exec->supervisor->state != HOST_RUNNING) {
		rpc_refuse(ticket, HOST_REFUSED_STATE, "the sandbox is %s",
			   host_state_name(exec->supervisor->state));
		return;
	}
	exec->ticket = ticket;
	if (exec_request_open(*fd, &memory, &request, &err) < 0) {
		refuse(exec, HOST_REFUSED_INVALID, &err);
		return;
	}
	if (admit(exec, *fd, &request, &code, &err) < 0)
		not_run(exec, code, &err);
	request_release(&memory);
}

static void answer_signal(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct exec *exec = owner;

	(void)fd;
	if (exec->pid == 0)
		rpc_refuse(ticket, HOST_REFUSED_STATE, "nothing runs");
	else
		signals_send(exec->supervisor, exec->pid, message, ticket);
}

static const struct rpc_permit permits[] = {
	{MSG_EXEC_STDIO, &exec_stdio_schema, answer_stdio, true, 0},
	{MSG_EXEC_KEEP, &exec_keep_schema, answer_keep, false, 0},
	{MSG_EXEC_START, &wire_empty_schema, answer_start, true, 0},
	{MSG_EXEC_SIGNAL, &exec_signal_schema, answer_signal, false,
	 PERMIT_RATE},
};

/* A command ends with whoever asked for it. */
static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct exec *exec = owner;
	struct err err;

	(void)rpc;
	(void)why;
	exec->rpc = NULL;
	/* A ticket keeps its channel's memory until it is answered. */
	err_set(&err, ERR_CLOSED, "the channel was closed");
	refuse(exec, HOST_REFUSED, &err);
	if (!exec->waiting)
		free_exec(exec);
	else if (exec->pid > 0 && !exec->is_detached)
		on_timeout(exec);
}

int exec_open(struct supervisor *supervisor, struct err *err)
{
	struct exec *exec = new_exec(supervisor, err);
	struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = exec,
		.rate_code = HOST_REFUSED_FULL,
		.on_closed = on_closed,
	};
	int theirs;

	if (!exec)
		return -1;
	theirs = channel_open(supervisor->loop, &config, &exec->rpc, err);
	if (theirs < 0)
		free_exec(exec);
	return theirs;
}

int exec_entrypoint(struct supervisor *supervisor, struct err *err)
{
	const struct exec_request request = image_entrypoint(supervisor);
	auto_fd int sealed = -1;
	enum host_refusal code;
	struct exec *exec;

	if (request.argv_count == 0)
		return 0;
	exec = new_exec(supervisor, err);
	sealed = exec ? exec_request_seal(&request, err) : -1;
	if (sealed < 0)
		return -1;
	exec->is_entrypoint = true;
	exec->is_of_image = supervisor->request.entrypoint_count == 0;
	if (output_give(supervisor, exec->stdio, err) < 0)
		return -1;
	if (admit(exec, sealed, &request, &code, err) == 0)
		return 0;
	if (!exec->is_of_image)
		return -1;
	not_run(exec, code, err);
	return 0;
}

void exec_end_all(struct supervisor *supervisor, const char *reason)
{
	struct exec *exec, *next;
	struct err err;

	DL_FOREACH_SAFE(supervisor->execs, exec, next)
	{
		err_set(&err, ERR_CLOSED, "the sandbox has ended: %s", reason);
		refuse(exec, HOST_REFUSED_STATE, &err);
		if (exec->pid > 0)
			tell_ended(exec, 128 + SIGKILL, SIGKILL, err.text);
		free_exec(exec);
	}
}
