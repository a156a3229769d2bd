/*
 * A program of the operator's that prints a secret: a process of its own,
 * without our descriptors, environment and privileges, that has until its
 * time limit to end well. What it wrote (no more than a pipe holds) is for
 * the vault to read; the warden does not look at it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/warden/program_exec.h"
#include "gateway/warden/source.h"
#include "gateway/warden/warden.h"

#define PROGRAMS_MAX 8 /* at one time */
/* Of users, the one beyond those of the roles. */
#define PROGRAM_UID(base) ((base) + ROLE_MAX)

struct program {
	struct warden *warden;
	struct rpc_ticket ticket;
	pid_t pid;
	int out; /* where its words can be read */
	struct io_timer *timer;
	bool is_late;
	char name[SECRET_NAME_MAX + 1];
	struct program *next, *prev;
};

/* ---- its life ---- */

static void program_free(struct program *program)
{
	DL_DELETE(program->warden->programs, program);
	io_timer_free(program->timer);
	if (program->out >= 0)
		(void)close(program->out);
	free(program);
}

static void on_late(void *owner)
{
	struct program *program = owner;

	program->is_late = true;
	/* Whatever it started stands in its group. */
	(void)kill(-program->pid, SIGKILL);
	(void)kill(program->pid, SIGKILL);
}

static void answer(const struct program *program, int status)
{
	const struct wire_empty empty = {0};

	if (program->is_late)
		rpc_refuse(program->ticket, CONSTRAINT_credential_unavailable,
			   "the program of %s did not end in time",
			   program->name);
	else if (WIFSIGNALED(status))
		rpc_refuse(program->ticket, CONSTRAINT_credential_unavailable,
			   "the program of %s ended by signal %d",
			   program->name, WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		rpc_refuse(program->ticket, CONSTRAINT_credential_unavailable,
			   "the program of %s ended with code %d",
			   program->name, WEXITSTATUS(status));
	else
		rpc_reply(program->ticket, &wire_empty_schema, &empty,
			  program->out);
}

bool warden_program_ended(struct warden *warden, pid_t pid, int status)
{
	struct program *program;

	DL_SEARCH_SCALAR(warden->programs, program, pid, pid);
	if (!program)
		return false;
	(void)kill(-pid, SIGKILL);
	answer(program, status);
	program_free(program);
	return true;
}

/* ---- its start ---- */

/* Who could change it could have the secrets of all sessions. */
int warden_program_check(const char *path, struct err *err)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return err_system(err, "look at %s", path);
	if (!S_ISREG(status.st_mode) ||
	    !(status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
		return err_set(err, ERR_INVALID, "%s is no program", path);
	if ((status.st_uid != 0 && status.st_uid != geteuid()) ||
	    (status.st_mode & (S_IWGRP | S_IWOTH)))
		return err_set(err, ERR_INVALID, "others may change %s", path);
	return 0;
}

static size_t count(const struct warden *warden)
{
	const struct program *program;
	size_t number = 0;

	DL_COUNT(warden->programs, program, number);
	return number;
}

static int fork_program(struct program *program, const char *const *argv,
			struct err *err)
{
	uint32_t uid_base = program->warden->config.gateway.uid_base;
	auto_fd int out = -1;
	int fds[2];

	/* What the pipe does not hold, the program waits with until it is
	 * late: nothing reads before it has ended. */
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_system(err, "make a pipe");
	program->out = fds[0];
	out = fds[1];
	if (fcntl(program->out, F_SETFL, O_NONBLOCK) < 0)
		return err_system(err, "make a pipe");
	program->pid = fork();
	if (program->pid < 0)
		return err_system(err, "fork %s", argv[0]);
	if (program->pid == 0)
		program_exec(argv, out, uid_base ? PROGRAM_UID(uid_base) : 0);
	return 0;
}

static int start(struct program *program, const struct config_source *source,
		 struct err *err)
{
	const char *argv[SOURCE_WORDS_MAX + 1] = {NULL};

	for (size_t i = 0; i < source->words_count; i++)
		argv[i] = (const char *)source->words[i].text.data;
	if (warden_program_check(argv[0], err) < 0)
		return -1;
	program->timer = io_timer_new(program->warden->loop, on_late, program);
	if (!program->timer)
		return err_set(err, ERR_SYSTEM, "no memory");
	if (fork_program(program, argv, err) < 0)
		return -1;
	io_timer_set(program->timer, source->timeout_ms);
	return 0;
}

void warden_program_start(struct warden *warden,
			  const struct config_source *source,
			  struct rpc_ticket ticket)
{
	struct program *program = NULL;
	struct err err = {.text = "too many programs run already"};

	if (count(warden) < PROGRAMS_MAX)
		program = calloc(1, sizeof(*program));
	if (!program) {
		rpc_refuse(ticket, CONSTRAINT_credential_unavailable, "%s",
			   err.text);
		return;
	}
	*program =
		(struct program){.warden = warden, .ticket = ticket, .out = -1};
	memcpy(program->name, source->name.data, source->name.len);
	DL_APPEND(warden->programs, program);
	if (start(program, source, &err) == 0) {
		rpc_ticket_hold(ticket);
		return;
	}
	rpc_refuse(ticket, CONSTRAINT_credential_unavailable, "%s", err.text);
	program_free(program);
}
