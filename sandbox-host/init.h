/*
 * Process 1 inside: builds root and network, forks the command, reaps,
 * passes signals on, and ends everything when the command or the caller's
 * process ends. It holds no capability and no descriptor but its channel
 * and the lock of its user while the command runs.
 *
 * In a sandbox that serves many commands (spec->is_service) it takes the
 * command's own confinement upon itself before the first of them, so that
 * each is a fork and an exec, and process 1 can do nothing that they can not.
 */
#ifndef SANDBOX_HOST_INIT_H
#define SANDBOX_HOST_INIT_H

#include <signal.h>

#include "sandbox-host/limits.h"
#include "sandbox-host/plan.h"
#include "sandbox-host/seccomp.h"

/* What CONTROL_READY's descriptors are, in this order; bits of its value
 * say which of the last two are there. */
enum init_fd {
	INIT_TCP4,
	INIT_UDP,
	INIT_TCP_DNS,
	INIT_ROOT,
	INIT_FIXED, /* so many are always there */
	INIT_HAS_TCP6 = 1,
	INIT_HAS_TERMINAL = 2
};

struct init {
	/* NULL, as the plan and the others then: they are not known yet, and
	 * come as orders (orders.h). */
	const struct sandbox_spec *spec;
	const struct plan *plan;
	const struct seccomp_program *program;
	const struct limits *limits;
	sigset_t mask; /* the caller's, for the command */
	int control;
	/* struct identity's, or -1: ours as well, since a frozen sandbox
	 * outlives its caller. */
	int lock;
	/* Without a plan: the steps that are to be done before it is known
	 * (base.h), once ids are mapped, and limits_tmpfs(); or NULL. */
	const struct plan *base;
	uint64_t base_tmpfs;
	/* Of a service. title: where its command line says whose it is. */
	sandbox_agent *agent;
	char *title;
};

/* The life of the new process. Does not return. */
_Noreturn void init_run(struct init *init);

/* The life of the command's process until its exec, forked by init_run().
 * slave: the pty's, or -1. go: a pipe; it execs when INIT_GO comes out of
 * it. Does not return. */
#define INIT_GO "go"
_Noreturn void command_exec(const struct init *init, int slave, int go);

/* The life of init in a sandbox that serves, once it is built and said so.
 * children: a signalfd. score: its own oom_score_adj, or -1. Does not return.
 */
#define INIT_COMMANDS_MAX 256 /* at one time */
_Noreturn void init_serve(const struct init *init, int children, int score);

/* The life of one of its commands until its exec. stdio are descriptors, or
 * master a pty's. Does not return. */
struct exec_start {
	uint32_t serial;
	int request; /* sealed struct exec_request */
	int stdio[3];
	int slave; /* of the pty, instead; -1: there is none */
};
_Noreturn void exec_run(const struct init *init,
			const struct exec_start *start);
/* The same for the agent. */
_Noreturn void exec_agent(const struct init *init, int channel);

/* What both kinds of command do: rlimits, signals, no descriptor but the
 * standard ones over the exec. 0, or -1. */
int command_prepare(const struct init *init, const char *cwd, struct err *err);

#endif
