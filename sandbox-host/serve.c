/* Process 1 of a sandbox that serves many commands. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/capabilities.h"
#include "sandbox-host/control.h"
#include "sandbox-host/init.h"
#include "sandbox-host/peers.h"
#include "sandbox-host/steps.h"
#include "sandbox-host/terminal.h"

struct running {
	pid_t pid; /* 0: a free place */
	uint32_t serial;
	int slave; /* of its terminal; -1: it has none */
};

#define SCORE_MAX   1000
#define SCORE_MORE  200
#define SCORE_BYTES 16

struct serve {
	const struct init *init;
	struct running running[INIT_COMMANDS_MAX];
	int score; /* of ours, proc(5) oom_score_adj; -1: it can not be set */
	int score_least;
};

static void say(const struct serve *serve,
		const struct control_message *message, const int *fd)
{
	/* The caller's process is gone: so are we. */
	if (control_send(serve->init->control, message, fd, fd ? 1 : 0, NULL) <
	    0)
		_exit(SANDBOX_EXIT_FAILED);
}

static void refuse(const struct serve *serve, uint32_t serial,
		   const struct err *err)
{
	const struct control_message message = {
		.kind = CONTROL_FAILED,
		.value = SANDBOX_EXIT_FAILED,
		.serial = serial,
		.err = *err,
	};

	say(serve, &message, NULL);
}

/* ---- confinement ---- */

/* The caller's standard descriptors are the host's. */
static int leave_standard(struct err *err)
{
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		if (dup2(null, fd) < 0)
			return err_system(err, "init: open /dev/null");
	return null < 0 ? err_system(err, "init: open /dev/null") : 0;
}

static int confine_init(const struct init *init, struct err *err)
{
	struct control_message message = {.kind = CONTROL_NOTIFY};
	struct steps steps = {
		.plan = init->plan, .program = init->program, .ruleset = -1};
	auto_fd int peers = -1;
	auto_fd int notify = -1;

	if (leave_standard(err) < 0 || peers_open(&peers, err) < 0)
		return -1;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_system(err, "init: become undumpable");
	notify = steps_confine(&steps, err);
	if (steps.ruleset >= 0)
		(void)close(steps.ruleset);
	if (notify < 0)
		return -1;
	return control_send(init->control, &message,
			    (const int[]){notify, peers}, peers < 0 ? 1 : 2,
			    err);
}

/* ---- commands ---- */

static void open_score(struct serve *serve, int fd)
{
	char text[SCORE_BYTES];
	ssize_t len = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	serve->score = len > 0 ? fd : -1;
	text[len > 0 ? len : 0] = '\0';
	serve->score_least = (int)strtol(text, NULL, 10);
}

static void set_score(const struct serve *serve, int more)
{
	int score = serve->score_least + more;
	char text[SCORE_BYTES];
	int len = snprintf(text, sizeof(text), "%d",
			   score < SCORE_MAX ? score : SCORE_MAX);

	if (serve->score >= 0)
		(void)!pwrite(serve->score, text, (size_t)len, 0);
}

/* When memory is out a command ends, and not the one that all end with: it is
 * as large as what it forks. */
static pid_t fork_one(const struct serve *serve)
{
	pid_t pid;

	set_score(serve, SCORE_MORE);
	pid = fork();
	if (pid != 0)
		set_score(serve, 0);
	return pid;
}

static struct running *free_place(struct serve *serve)
{
	for (size_t i = 0; i < INIT_COMMANDS_MAX; i++)
		if (serve->running[i].pid == 0)
			return &serve->running[i];
	return NULL;
}

static void tell_started(struct serve *serve, struct running *place,
			 uint32_t serial, pid_t pid, struct pty *pty)
{
	const struct control_message message = {
		.kind = CONTROL_STARTED, .serial = serial, .pid = pid};

	*place = (struct running){pid, serial, take_fd(&pty->slave)};
	say(serve, &message, pty->master < 0 ? NULL : &pty->master);
}

static void start_command(struct serve *serve, uint32_t serial, const int *fds,
			  size_t fd_count)
{
	struct running *place = free_place(serve);
	struct exec_start start = {
		.serial = serial, .request = fds[0], .slave = -1};
	auto_type(pty_close) struct pty pty = {-1, -1};
	struct err err;
	pid_t pid;

	if (!place) {
		err_set(&err, ERR_TOO_LARGE, "%d commands run here already",
			INIT_COMMANDS_MAX);
		refuse(serve, serial, &err);
		return;
	}
	if (fd_count == CONTROL_EXEC_TERMINAL) {
		if (terminal_make(&pty, &err) < 0) {
			refuse(serve, serial, &err);
			return;
		}
		start.slave = pty.slave;
	} else {
		memcpy(start.stdio, fds + 1, sizeof(start.stdio));
	}
	pid = fork_one(serve);
	if (pid == 0)
		exec_run(serve->init, &start);
	if (pid < 0) {
		err_system(&err, "start a process");
		refuse(serve, serial, &err);
		return;
	}
	tell_started(serve, place, serial, pid, &pty);
}

static void start_agent(struct serve *serve, uint32_t serial, int channel)
{
	struct running *place = free_place(serve);
	struct pty none = {-1, -1};
	struct err err;
	pid_t pid = -1;

	if (!serve->init->spec->agent)
		err_set(&err, ERR_UNSUPPORTED, "there is no agent");
	else if (!place)
		err_set(&err, ERR_TOO_LARGE, "%d commands run here already",
			INIT_COMMANDS_MAX);
	else if ((pid = fork_one(serve)) < 0)
		err_system(&err, "start a process");
	if (pid == 0)
		exec_agent(serve->init, channel);
	if (pid > 0)
		tell_started(serve, place, serial, pid, &none);
	else
		refuse(serve, serial, &err);
}

/* ---- connections ---- */

static int connect_to(const struct sockaddr *address, socklen_t len,
		      struct err *err)
{
	auto_fd int fd = socket(address->sa_family,
				SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || (connect(fd, address, len) < 0 && errno != EINPROGRESS))
		return err_system(err, "connect inside");
	return take_fd(&fd);
}

/* By IPv4; where nobody listens there, by IPv6. */
static void connect_inside(struct serve *serve, uint32_t serial, uint16_t port)
{
	const struct sockaddr_in four = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const struct sockaddr_in6 six = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	const struct control_message message = {.kind = CONTROL_CONNECTED,
						.serial = serial};
	struct err err;
	auto_fd int fd =
		connect_to((const struct sockaddr *)&four, sizeof(four), &err);

	if (fd < 0)
		fd = connect_to((const struct sockaddr *)&six, sizeof(six),
				NULL);
	if (fd < 0)
		refuse(serve, serial, &err);
	else
		say(serve, &message, &fd);
}

/* ---- the loop ---- */

static bool is_running(const struct serve *serve, pid_t pid)
{
	for (size_t i = 0; pid > 0 && i < INIT_COMMANDS_MAX; i++)
		if (serve->running[i].pid == pid)
			return true;
	return false;
}

static void pass_signal(const struct serve *serve,
			const struct control_message *message)
{
	const struct control_message done = {.kind = CONTROL_SIGNALLED,
					     .serial = message->serial};

	/* One that is new has no group of its own yet. */
	if (is_running(serve, message->pid) &&
	    (!message->is_for_group || kill(-message->pid, message->value) < 0))
		(void)kill(message->pid, message->value);
	if (message->serial != 0)
		say(serve, &done, NULL);
}

static void serve_control(struct serve *serve)
{
	struct control_message message;
	int fds[CONTROL_EXEC_FULL];
	size_t count = ARRAY_SIZE(fds);

	if (control_receive(serve->init->control, &message, fds, &count, NULL) <
	    0)
		_exit(SANDBOX_EXIT_FAILED);
	if (message.kind == CONTROL_EXEC &&
	    (count == CONTROL_EXEC_TERMINAL || count == CONTROL_EXEC_FULL))
		start_command(serve, message.serial, fds, count);
	else if (message.kind == CONTROL_AGENT && count == 1)
		start_agent(serve, message.serial, fds[0]);
	else if (message.kind == CONTROL_CONNECT)
		connect_inside(serve, message.serial, (uint16_t)message.value);
	else if (message.kind == CONTROL_SIGNAL)
		pass_signal(serve, &message);
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
}

static void tell_ended(struct serve *serve, pid_t pid, int status)
{
	for (size_t i = 0; i < INIT_COMMANDS_MAX; i++) {
		struct control_message message = {
			.kind = CONTROL_EXITED,
			.value = status,
			.serial = serve->running[i].serial,
			.pid = pid,
		};

		if (serve->running[i].pid != pid)
			continue;
		serve->running[i].pid = 0;
		if (serve->running[i].slave >= 0)
			(void)close(serve->running[i].slave);
		say(serve, &message, NULL);
		return;
	}
}

static void reap(struct serve *serve, int children)
{
	struct signalfd_siginfo child;
	int status;
	pid_t pid;

	(void)!read(children, &child, sizeof(child));
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		tell_ended(serve, pid, status);
}

_Noreturn void init_serve(const struct init *init, int children, int score)
{
	struct serve serve = {.init = init};
	struct pollfd fds[] = {{.fd = init->control, .events = POLLIN},
			       {.fd = children, .events = POLLIN}};
	struct err err = {0};

	open_score(&serve, score);
	if (confine_init(init, &err) < 0) {
		refuse(&serve, 0, &err);
		_exit(SANDBOX_EXIT_FAILED);
	}
	for (;;) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
			continue;
		if (fds[0].revents)
			serve_control(&serve);
		if (fds[1].revents)
			reap(&serve, children);
	}
}
