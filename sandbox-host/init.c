#include "sandbox-host/init.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/capabilities.h"
#include "sandbox-host/control.h"
#include "sandbox-host/identity.h"
#include "sandbox-host/namespaces.h"
#include "sandbox-host/network.h"
#include "sandbox-host/orders.h"
#include "sandbox-host/steps.h"
#include "sandbox-host/terminal.h"

_Noreturn static void fail(const struct init *init, const struct err *err)
{
	struct control_message message = {.kind = CONTROL_FAILED, .err = *err};

	(void)control_send(init->control, &message, NULL, 0, NULL);
	_exit(SANDBOX_EXIT_FAILED);
}

static int die_with_caller(struct err *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_system(err, "init: ask to die with the caller");
	return 0;
}

static void close_between(int first, int last)
{
	if (first <= last)
		(void)close_range((unsigned)first, (unsigned)last, 0);
}

/* Nothing of the caller's but the standard descriptors, the channel and the
 * lock (or -1). */
static void close_others(const struct init *init)
{
	int low = init->lock < init->control ? init->lock : init->control;
	int high = init->lock < init->control ? init->control : init->lock;

	close_between(STDERR_FILENO + 1, low - 1);
	close_between(low > STDERR_FILENO ? low + 1 : STDERR_FILENO + 1,
		      high - 1);
	(void)close_range((unsigned)high + 1, ~0u, 0);
}

/* What the caller gave with CONTROL_BUILD. */
struct given {
	int fds[CONTROL_FDS_MAX];
	size_t count;
	size_t groups; /* so many of the last ones are left behind trees */
};

static int build_root(const struct init *init, const struct given *given,
		      struct err *err)
{
	size_t trees = given->count - given->groups;
	struct steps steps = {
		.plan = init->plan,
		.trees = given->fds,
		.tree_count = trees,
		.tmpfs_max = limits_tmpfs(&init->limits->wanted),
		.program = init->program,
		.ruleset = -1,
		.done = init->base ? init->base->step_count : 0,
	};

	if (limits_enter_self(given->fds + trees, given->groups, err) < 0 ||
	    identity_become(&init->plan->identity, err) < 0 ||
	    die_with_caller(err) < 0)
		return -1;
	return steps_build(&steps, err);
}

/* What is the same for every sandbox of its kind. */
static int build_base(const struct init *init, struct err *err)
{
	struct steps steps = {
		.plan = init->base,
		.tmpfs_max = init->base_tmpfs,
		.ruleset = -1,
	};

	if (!init->base)
		return 0;
	if (identity_make_as(&init->base->identity, err) < 0 ||
	    die_with_caller(err) < 0)
		return -1;
	return steps_build_base(&steps, err);
}

/* It is closed with the others. */
static int last(struct given *given, struct err *err)
{
	if (given->count == 0)
		return err_set(err, ERR_INVALID, "init: not all was given");
	return given->fds[--given->count];
}

static int take_orders(struct init *init, struct given *given, struct err *err)
{
	auto_fd int orders = last(given, err);

	if (orders < 0 || orders_open(orders, init, err) < 0)
		return -1;
	if (init->lock < 0 && init->plan->identity.is_privileged)
		init->lock = last(given, err);
	if (init->lock < 0 && init->plan->identity.is_privileged)
		return -1;
	if (init->base &&
	    (!base_begins(init->base, init->plan) ||
	     init->base_tmpfs != limits_tmpfs(&init->limits->wanted)))
		return err_set(err, ERR_INVALID,
			       "init: its root began as another one's");
	return 0;
}

static int build_rest(struct init *init, struct given *given, struct err *err)
{
	if (!init->plan && take_orders(init, given, err) < 0)
		return -1;
	given->groups = limits_opened(init->limits);
	if (given->groups > given->count)
		return err_set(err, ERR_INVALID, "init: not all was given");
	return build_root(init, given, err);
}

/* Once ids are mapped. *score: of a service, its own oom_score_adj. */
static int build(struct init *init, int *score, struct err *err)
{
	struct given given = {.count = CONTROL_FDS_MAX};
	size_t none = 0;
	int rc;

	if (control_expect(init->control, CONTROL_MAPPED, NULL, &none, err) < 0)
		return -1;
	/* What is mounted later can not be written. */
	if (!init->plan || init->spec->is_service)
		*score = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	if (build_base(init, err) < 0 ||
	    control_expect(init->control, CONTROL_BUILD, given.fds,
			   &given.count, err) < 0)
		return -1;
	rc = build_rest(init, &given, err);
	for (size_t i = 0; i < given.count; i++)
		(void)close(given.fds[i]);
	return rc;
}

static int report_ready(const struct init *init,
			struct sandbox_listeners *listeners, struct pty *pty,
			struct err *err)
{
	struct control_message message = {.kind = CONTROL_READY};
	int fds[INIT_FIXED + 2];
	size_t count = INIT_FIXED;
	auto_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (init->spec->has_terminal && terminal_make(pty, err) < 0)
		return -1;
	if (root < 0)
		return err_system(err, "init: open the root");
	fds[INIT_TCP4] = listeners->tcp4;
	fds[INIT_UDP] = listeners->udp;
	fds[INIT_TCP_DNS] = listeners->tcp_dns;
	fds[INIT_ROOT] = root;
	if (listeners->tcp6 >= 0) {
		message.value |= INIT_HAS_TCP6;
		fds[count++] = listeners->tcp6;
	}
	if (pty->master >= 0) {
		message.value |= INIT_HAS_TERMINAL;
		fds[count++] = pty->master;
	}
	rc = control_send(init->control, &message, fds, count, err);
	network_close(listeners);
	return rc;
}

/* The command's process. It is made while the caller still hands over the
 * listeners, and execs when it is told so. */
struct started {
	pid_t pid;
	int go; /* a pipe */
};

static void pass_signal(pid_t command, int number)
{
	/* What a terminal would have sent to the whole foreground group. */
	bool is_for_group = number == SIGINT || number == SIGQUIT ||
			    number == SIGHUP || number == SIGWINCH;

	(void)kill(is_for_group ? -command : command, number);
}

static void serve_control(const struct init *init, struct started *command)
{
	struct control_message message;

	if (control_receive(init->control, &message, NULL, NULL, NULL) < 0)
		_exit(SANDBOX_EXIT_FAILED);
	if (message.kind == CONTROL_SIGNAL)
		pass_signal(command->pid, message.value);
	if (message.kind == CONTROL_GO &&
	    write(command->go, INIT_GO, sizeof(INIT_GO)) < 0)
		_exit(SANDBOX_EXIT_FAILED);
}

/* Reap whatever ended. Ends with the command. */
static void reap(const struct init *init, pid_t command)
{
	struct control_message message = {.kind = CONTROL_EXITED};
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != command)
			continue;
		message.value = status;
		(void)control_send(init->control, &message, NULL, 0, NULL);
		_exit(0);
	}
}

_Noreturn static void supervise(const struct init *init,
				struct started *command, int signals)
{
	struct pollfd fds[] = {{.fd = init->control, .events = POLLIN},
			       {.fd = signals, .events = POLLIN}};

	for (;;) {
		struct signalfd_siginfo child;

		if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
			continue;
		if (fds[0].revents)
			serve_control(init, command);
		if (fds[1].revents) {
			(void)!read(signals, &child, sizeof(child));
			reap(init, command->pid);
		}
	}
}

static int wait_for_children(struct err *err)
{
	sigset_t children;
	int fd;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &children, NULL) < 0)
		return err_system(err, "init: block SIGCHLD");
	fd = signalfd(-1, &children, SFD_CLOEXEC);
	return fd < 0 ? err_system(err, "init: watch children") : fd;
}

static int start_command(const struct init *init, int slave,
			 struct started *command, struct err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_system(err, "init: make a pipe");
	command->go = ends[1];
	command->pid = fork();
	if (command->pid < 0)
		return err_system(err, "init: fork");
	if (command->pid == 0) {
		(void)close(ends[1]);
		command_exec(init, slave, ends[0]);
	}
	(void)close(ends[0]);
	return 0;
}

/* Changing ids clears whom it dies with, so that is asked for again then. */
static int begin(struct sandbox_listeners *listeners, struct err *err)
{
	if (die_with_caller(err) < 0 || namespaces_enter_network(err) < 0 ||
	    network_make(listeners, err) < 0)
		return -1;
	/* Every command drops them; here nobody may wait for it yet. */
	return capabilities_drop_bounds(err);
}

_Noreturn void init_run(struct init *init)
{
	struct sandbox_listeners listeners;
	struct err err = {0};
	struct pty pty = {-1, -1};
	int signals, score = -1;
	struct started command = {-1, -1};

	close_others(init);
	if (begin(&listeners, &err) < 0 || build(init, &score, &err) < 0 ||
	    report_ready(init, &listeners, &pty, &err) < 0)
		fail(init, &err);
	signals = wait_for_children(&err);
	if (signals < 0)
		fail(init, &err);
	if (init->spec->is_service)
		init_serve(init, signals, score);
	if (start_command(init, pty.slave, &command, &err) < 0)
		fail(init, &err);
	if (pty.master >= 0)
		(void)close(pty.master);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    capabilities_drop(&err) < 0 || seccomp_enter_init(&err) < 0)
		fail(init, &err);
	supervise(init, &command, signals);
}
