#include "sandbox-host/service.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/control.h"
#include "sandbox-host/handle.h"

int service_begin(struct sandbox *sandbox, struct err *err)
{
	int fds[REPORTER_FDS_MAX];
	size_t count = REPORTER_FDS_MAX;
	int root = sandbox->root;

	assert(root >= 0);
	sandbox_say_notes(sandbox);
	if (reporter_wait(&sandbox->reporter, err) < 0 ||
	    control_expect(sandbox->control, CONTROL_NOTIFY, fds, &count, err) <
		    0)
		return -1;
	assert(count > 0);
	sandbox->root = -1;
	if (reporter_serve(&sandbox->reporter, root, fds, count, err) < 0)
		return -1;
	/* Full: somebody inside keeps process 1 busy; we do not wait. */
	if (fcntl(sandbox->control, F_SETFL, O_NONBLOCK) < 0)
		return err_system(err, "service: prepare");
	return 0;
}

int service_disk_fd(const struct sandbox *sandbox)
{
	return sandbox->disk.fd;
}

void service_take_disk(struct sandbox *sandbox, struct err *words)
{
	disk_watch_take(&sandbox->disk, &sandbox->report, words);
}

int service_control_fd(const struct sandbox *sandbox)
{
	return sandbox->control;
}

int service_report_fd(const struct sandbox *sandbox)
{
	return sandbox->reporter.fd;
}

bool service_base(const struct sandbox *sandbox, struct base *base)
{
	*base = sandbox->base;
	return sandbox->has_base;
}

pid_t service_pid(const struct sandbox *sandbox)
{
	return sandbox->pid;
}

bool service_report(struct sandbox *sandbox)
{
	return sandbox->reporter.fd >= 0 &&
	       reporter_hear(&sandbox->reporter, &sandbox->report);
}

/* ---- what process 1 says ---- */

static void set_ended(struct service_word *word, int status)
{
	word->kind = SERVICE_ENDED;
	word->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	word->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
					      : WEXITSTATUS(status);
}

static void translate(const struct control_message *message,
		      struct service_word *word)
{
	word->serial = message->serial;
	word->pid = message->pid;
	if (message->kind == CONTROL_STARTED)
		word->kind = SERVICE_STARTED;
	if (message->kind == CONTROL_CONNECTED)
		word->kind = SERVICE_CONNECTED;
	if (message->kind == CONTROL_SIGNALLED)
		word->kind = SERVICE_SIGNALLED;
	if (message->kind == CONTROL_EXITED)
		set_ended(word, message->value);
	if (message->kind != CONTROL_FAILED)
		return;
	word->kind = SERVICE_FAILED;
	word->exit_code = message->value;
	word->err = message->err;
}

void service_hear(struct sandbox *sandbox, struct service_word *word)
{
	struct control_message message;
	int fds[1] = {-1};
	size_t count = ARRAY_SIZE(fds);
	struct err err;

	*word = (struct service_word){.kind = SERVICE_NOTHING, .fd = -1};
	if (control_receive(sandbox->control, &message, fds, &count, &err) <
	    0) {
		if (err.code == ERR_SYSTEM && err.number == EAGAIN)
			return;
		word->kind = SERVICE_GONE;
		return;
	}
	if (message.kind == CONTROL_EXITED)
		limits_report_end(&sandbox->limits, message.value,
				  &sandbox->report);
	translate(&message, word);
	if (count == 1 && word->kind != SERVICE_STARTED &&
	    word->kind != SERVICE_CONNECTED)
		(void)close(fds[0]);
	else if (count == 1)
		word->fd = fds[0];
}

/* ---- what it is asked ---- */

/* Through a directory a command could walk out of its root; a terminal is
 * the host's user's own. */
static int check_standard(int fd, struct err *err)
{
	struct termios mode;
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_PATH) || fstat(fd, &st) < 0 ||
	    S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID,
			       "a command's descriptor must be a file, a pipe "
			       "or a socket");
	if (tcgetattr(fd, &mode) == 0)
		return err_set(err, ERR_INVALID,
			       "a command never gets a terminal of the host's: "
			       "ask for one of its own");
	return 0;
}

/* A pipe without a name, so that /dev/stderr can be opened by who writes to
 * it: of root's sandboxes the user is another one than whoever made it. */
static int own_pipe(const struct sandbox *sandbox, int fd, struct err *err)
{
	char link[64], target[sizeof("pipe:")] = "";

	if (!sandbox->plan.identity.is_privileged)
		return 0;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, target, sizeof(target) - 1) < 0 ||
	    strcmp(target, "pipe:") != 0)
		return 0;
	if (fchown(fd, sandbox->identity.host_uid, sandbox->identity.host_gid) <
	    0)
		return err_system(err, "give the command its pipe");
	return 0;
}

int service_exec(struct sandbox *sandbox, uint32_t serial, int request,
		 const int stdio[3], struct err *err)
{
	const struct control_message message = {.kind = CONTROL_EXEC,
						.serial = serial};
	int fds[CONTROL_EXEC_FULL] = {request};

	for (int i = 0; stdio && i < 3; i++) {
		if (check_standard(stdio[i], err) < 0 ||
		    own_pipe(sandbox, stdio[i], err) < 0)
			return -1;
		fds[1 + i] = stdio[i];
	}
	return control_send(sandbox->control, &message, fds,
			    stdio ? CONTROL_EXEC_FULL : CONTROL_EXEC_TERMINAL,
			    err);
}

int service_agent(struct sandbox *sandbox, uint32_t serial, int channel,
		  struct err *err)
{
	const struct control_message message = {.kind = CONTROL_AGENT,
						.serial = serial};

	return control_send(sandbox->control, &message, &channel, 1, err);
}

void service_know(struct sandbox *sandbox, pid_t pid, bool is_ours)
{
	reporter_know(&sandbox->reporter, pid, is_ours);
}

int service_connect(struct sandbox *sandbox, uint32_t serial, uint16_t port,
		    struct err *err)
{
	const struct control_message message = {
		.kind = CONTROL_CONNECT, .serial = serial, .value = port};

	return control_send(sandbox->control, &message, NULL, 0, err);
}

int service_signal(struct sandbox *sandbox, const struct service_signal *wanted,
		   struct err *err)
{
	const struct control_message message = {
		.kind = CONTROL_SIGNAL,
		.serial = wanted->serial,
		.pid = wanted->pid,
		.value = wanted->number,
		.is_for_group = wanted->is_for_group,
	};

	return control_send(sandbox->control, &message, NULL, 0, err);
}

/* ---- rest ---- */

int service_can_rest(const struct sandbox *sandbox, struct err *err)
{
	if (limits_can_rest(&sandbox->limits))
		return 0;
	return err_set(err, ERR_UNSUPPORTED,
		       "this host gives us no freezer: a cgroup of version 2 "
		       "that is delegated to the user, or version 1's freezer");
}

int service_rest(struct sandbox *sandbox, bool rests, struct err *err)
{
	if (service_can_rest(sandbox, err) < 0)
		return -1;
	return limits_rest(&sandbox->limits, rests, err);
}

bool service_rests(const struct sandbox *sandbox)
{
	return limits_rests(&sandbox->limits);
}
