#include "sandbox-host/init.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/control.h"
#include "sandbox-host/peers.h"
#include "sandbox-host/steps.h"
#include "sandbox-host/terminal.h"

_Noreturn static void fail(const struct init *init, const struct err *err,
			   int exit_code)
{
	struct control_message message = {
		.kind = CONTROL_FAILED, .value = exit_code, .err = *err};

	(void)control_send(init->control, &message, NULL, 0, NULL);
	_exit(exit_code);
}

/* "NAME=value" for all of them; lives until the exec. */
static char **make_environment(const struct sandbox_spec *spec)
{
	char **environment = calloc(spec->env_count + 1, sizeof(*environment));

	for (size_t i = 0; environment && i < spec->env_count; i++)
		if (asprintf(&environment[i], "%s=%s", spec->env[i].name,
			     spec->env[i].value) < 0)
			return NULL;
	return environment;
}

int command_prepare(const struct init *init, const char *cwd, struct err *err)
{
	if (limits_apply(init->limits, err) < 0)
		return -1;
	if (chdir(cwd) < 0)
		return err_system(err, "command: enter %s", cwd);
	if (close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return err_system(err, "command: mark descriptors");
	/* Ignored signals would stay so over the exec. */
	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	if (sigprocmask(SIG_SETMASK, &init->mask, NULL) < 0)
		return err_system(err, "command: restore the signal mask");
	return 0;
}

static int prepare(const struct init *init, int slave, struct err *err)
{
	if (setsid() < 0)
		return err_system(err, "command: leave the session");
	if (slave >= 0 && terminal_adopt(slave, err) < 0)
		return -1;
	return command_prepare(init, init->plan->cwd, err);
}

static int confine_command(const struct init *init, struct err *err)
{
	struct control_message message = {.kind = CONTROL_NOTIFY};
	struct steps steps = {
		.plan = init->plan, .program = init->program, .ruleset = -1};
	auto_fd int peers = -1;
	auto_fd int notify = -1;

	if (peers_open(&peers, err) < 0)
		return -1;
	notify = steps_confine(&steps, err);
	if (notify < 0)
		return -1;
	return control_send(init->control, &message,
			    (const int[]){notify, peers}, peers < 0 ? 1 : 2,
			    err);
}

/* Everything but the exec is done while the caller is still busy. */
static void wait_for_go(int go)
{
	char word[sizeof(INIT_GO)];

	if (read(go, word, sizeof(word)) != sizeof(word))
		_exit(SANDBOX_EXIT_FAILED);
}

_Noreturn void command_exec(const struct init *init, int slave, int go)
{
	const char *const *argv = init->spec->argv;
	struct err err = {0};

	if (prepare(init, slave, &err) < 0)
		fail(init, &err, SANDBOX_EXIT_FAILED);
	environ = make_environment(init->spec);
	if (!environ) {
		err_set(&err, ERR_TOO_LARGE, "command: no memory");
		fail(init, &err, SANDBOX_EXIT_FAILED);
	}
	if (confine_command(init, &err) < 0)
		fail(init, &err, SANDBOX_EXIT_FAILED);
	wait_for_go(go);
	(void)execvp(argv[0], (char *const *)(uintptr_t)argv);
	err_system(&err, "run %s", argv[0]);
	fail(init, &err,
	     err.number == ENOENT ? SANDBOX_EXIT_NOT_FOUND
				  : SANDBOX_EXIT_NOT_RUNNABLE);
}
