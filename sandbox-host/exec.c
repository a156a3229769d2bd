/* A command of a sandbox that serves: a child of process 1, which confined
 * itself before, until its exec. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/control.h"
#include "sandbox-host/flow/sandbox_spec.h"
#include "sandbox-host/init.h"
#include "sandbox-host/terminal.h"

#define ENV_MAX (SANDBOX_ENV_MAX + REQUEST_ENV_MAX)

_Noreturn static void fail(const struct init *init, uint32_t serial,
			   const struct err *err, int exit_code)
{
	struct control_message message = {.kind = CONTROL_FAILED,
					  .value = exit_code,
					  .serial = serial,
					  .pid = getpid(),
					  .err = *err};

	(void)control_send(init->control, &message, NULL, 0, NULL);
	_exit(exit_code);
}

/* A terminated copy that lives until the exec. */
static char *copy(struct bytes text)
{
	return strndup((const char *)text.data, text.len);
}

static char **make_argv(const struct exec_request *request)
{
	char **argv = calloc(request->argv_count + 1, sizeof(*argv));

	for (size_t i = 0; argv && i < request->argv_count; i++) {
		argv[i] = copy(request->argv[i].text);
		if (!argv[i])
			return NULL;
	}
	return argv;
}

/* Put one over the one of its name, or behind all. */
static int put(char **list, size_t *count, char *variable)
{
	size_t name = variable ? strcspn(variable, "=") + 1 : 0;

	if (!variable || *count == ENV_MAX)
		return -1;
	for (size_t i = 0; i < *count; i++)
		if (!strncmp(list[i], variable, name)) {
			list[i] = variable;
			return 0;
		}
	list[(*count)++] = variable;
	return 0;
}

static char **make_environment(const struct sandbox_spec *spec,
			       const struct exec_request *request)
{
	char **list = calloc(ENV_MAX + 1, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; list && i < spec->env_count; i++) {
		char *variable = NULL;

		if (asprintf(&variable, "%s=%s", spec->env[i].name,
			     spec->env[i].value) < 0 ||
		    put(list, &count, variable) < 0)
			return NULL;
	}
	for (size_t i = 0; list && i < request->env_count; i++)
		if (put(list, &count, copy(request->env[i].text)) < 0)
			return NULL;
	return list;
}

/* The session's terminal, or what whoever asked gave. */
static int take_standard(const struct exec_start *start,
			 const struct exec_request *request, struct err *err)
{
	const struct winsize size = {.ws_row = request->rows,
				     .ws_col = request->columns};

	if (start->slave >= 0) {
		if (terminal_adopt(start->slave, err) < 0)
			return -1;
		(void)ioctl(STDIN_FILENO, TIOCSWINSZ, &size);
		return 0;
	}
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (dup2(start->stdio[fd], fd) < 0)
			return err_system(err, "command: descriptor %d", fd);
	return 0;
}

static char *directory_of(const struct init *init,
			  const struct exec_request *request)
{
	const char *of_image = init->spec->root.cwd;

	if (request->cwd.len)
		return copy(request->cwd);
	return strdup(of_image && chdir(of_image) == 0 ? of_image
						       : init->plan->cwd);
}

static int prepare(const struct init *init, const struct exec_start *start,
		   const struct exec_request *request, struct err *err)
{
	auto_free char *cwd = directory_of(init, request);

	if (!cwd)
		return err_set(err, ERR_TOO_LARGE, "command: no memory");
	if (setsid() < 0)
		return err_system(err, "command: leave the session");
	if (take_standard(start, request, err) < 0)
		return -1;
	return command_prepare(init, cwd, err);
}

_Noreturn void exec_run(const struct init *init, const struct exec_start *start)
{
	struct request_memory memory;
	struct exec_request request;
	struct err err = {0};
	char **argv;

	if (exec_request_open(start->request, &memory, &request, &err) < 0 ||
	    prepare(init, start, &request, &err) < 0)
		fail(init, start->serial, &err, SANDBOX_EXIT_FAILED);
	argv = make_argv(&request);
	environ = make_environment(init->spec, &request);
	if (!argv || !environ) {
		err_set(&err, ERR_TOO_LARGE, "command: no memory");
		fail(init, start->serial, &err, SANDBOX_EXIT_FAILED);
	}
	(void)execvp(argv[0], argv);
	err_system(&err, "run %s", argv[0]);
	fail(init, start->serial, &err,
	     err.number == ENOENT ? SANDBOX_EXIT_NOT_FOUND
				  : SANDBOX_EXIT_NOT_RUNNABLE);
}

_Noreturn void exec_agent(const struct init *init, int channel)
{
	struct err err = {0};

	if (setsid() < 0 || command_prepare(init, init->plan->cwd, &err) < 0 ||
	    dup2(channel, STDERR_FILENO + 1) < 0 ||
	    close_range(STDERR_FILENO + 2, ~0u, 0) < 0)
		_exit(SANDBOX_EXIT_FAILED);
	init->spec->agent(STDERR_FILENO + 1, init->plan);
	_exit(0);
}
