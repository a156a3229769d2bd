#include "sandbox-host/sandbox.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/control.h"
#include "sandbox-host/early.h"
#include "sandbox-host/handle.h"
#include "sandbox-host/init.h"
#include "sandbox-host/mounts.h"
#include "sandbox-host/namespaces.h"
#include "sandbox-host/orders.h"
#include "sandbox-host/overlay.h"
#include "sandbox-host/require.h"
#include "sandbox-host/root_layers.h"
#include "sandbox-host/roots.h"

/* What sandbox_prepare() made, until a sandbox takes it. */
static struct seccomp_program prepared;
static bool prepared_watches_reads;

/* A tree that the privileged caller opens for the command. */
static int open_tree_for(const struct sandbox *sandbox,
			 const struct plan_step *step, int user_namespace,
			 struct err *err)
{
	auto_fd int tree = mounts_clone(step->target, err);
	auto_fd int owners = -1;
	struct stat st;

	if (tree < 0)
		return -1;
	if (!(step->flags & PLAN_IDMAP))
		return take_fd(&tree);
	if (step->flags & PLAN_OWNER) {
		if (fstat(tree, &st) < 0)
			return err_system(err, "look at %s", step->target);
		owners = identity_namespace(&sandbox->identity, &st, err);
		if (owners < 0)
			return -1;
	}
	if (mounts_idmap(tree, owners >= 0 ? owners : user_namespace,
			 step->target, err) < 0)
		return -1;
	return take_fd(&tree);
}

static int open_trees(const struct sandbox *sandbox, int users, int *trees,
		      size_t *count, struct err *err)
{
	for (size_t i = 0; i < sandbox->plan.step_count; i++) {
		const struct plan_step *step = &sandbox->plan.steps[i];

		if (step->kind != PLAN_TREE)
			continue;
		assert(step->tree == *count && *count < PLAN_TREES_MAX);
		trees[*count] = open_tree_for(sandbox, step, users, err);
		if (trees[*count] < 0)
			return -1;
		(*count)++;
	}
	return 0;
}

/* Let it begin, if it has not yet. Its user namespace, or -1. */
static int map(const struct sandbox *sandbox, struct early *early,
	       struct err *err)
{
	const struct control_message message = {.kind = CONTROL_MAPPED};
	auto_fd int users = take_fd(&early->users);

	if (users >= 0)
		return take_fd(&users);
	users = identity_open_namespace(sandbox->pid, err);
	if (users < 0 ||
	    identity_map(&sandbox->identity, &sandbox->plan.identity,
			 sandbox->pid, err) < 0 ||
	    control_send(sandbox->control, &message, NULL, 0, err) < 0)
		return -1;
	return take_fd(&users);
}

/* Later nobody may look at process 1. */
static int keep_users(struct sandbox *sandbox, int users, struct err *err)
{
	if (!sandbox->disk.bytes_max || sandbox->plan.identity.is_privileged)
		return 0;
	sandbox->disk.users = fcntl(users, F_DUPFD_CLOEXEC, 0);
	return sandbox->disk.users < 0 ? err_system(err, "disk: keep its users")
				       : 0;
}

static int open_gifts(const struct sandbox *sandbox, int users, int *gifts,
		      size_t *count, struct err *err)
{
	size_t groups = 0;
	int rc = open_trees(sandbox, users, gifts, count, err);

	if (rc == 0)
		rc = limits_open(&sandbox->limits, gifts + *count, &groups,
				 err);
	*count += groups;
	return rc;
}

/* What the child can not do for itself: ids, cgroup, trees. orders: for one
 * that has none yet; or -1. */
static int equip(struct sandbox *sandbox, struct early *early, int orders,
		 struct err *err)
{
	const struct control_message message = {.kind = CONTROL_BUILD};
	auto_fd int users = map(sandbox, early, err);
	int gifts[CONTROL_FDS_MAX];
	size_t count = 0, given;
	int rc = users < 0 ? -1 : 0;

	if (rc == 0)
		rc = limits_enter(&sandbox->limits, sandbox->pid, err);
	if (rc == 0)
		rc = keep_users(sandbox, users, err);
	if (rc == 0)
		rc = open_gifts(sandbox, users, gifts, &count, err);
	given = count;
	/* It has the lock of a base, or by its birth. */
	if (orders >= 0 && !early->has_base && sandbox->identity.lock >= 0)
		gifts[given++] = sandbox->identity.lock;
	if (orders >= 0)
		gifts[given++] = orders;
	if (rc == 0)
		rc = control_send(sandbox->control, &message, gifts, given,
				  err);
	for (size_t i = 0; i < count; i++)
		(void)close(gifts[i]);
	return rc;
}

int sandbox_ready(struct sandbox *sandbox, struct sandbox_listeners *listeners,
		  struct err *err)
{
	struct control_message message;
	int fds[INIT_FIXED + 2];
	size_t count = ARRAY_SIZE(fds);
	size_t next = INIT_FIXED;

	if (control_receive(sandbox->control, &message, fds, &count, err) < 0)
		return -1;
	if (message.kind == CONTROL_FAILED) {
		if (err)
			*err = message.err;
		return -1;
	}
	assert(message.kind == CONTROL_READY && count >= INIT_FIXED);
	*listeners = (struct sandbox_listeners){.tcp4 = fds[INIT_TCP4],
						.tcp6 = -1,
						.udp = fds[INIT_UDP],
						.tcp_dns = fds[INIT_TCP_DNS]};
	sandbox->root = fds[INIT_ROOT];
	if (message.value & INIT_HAS_TCP6)
		listeners->tcp6 = fds[next++];
	if (message.value & INIT_HAS_TERMINAL)
		terminal_open(&sandbox->terminal, fds[next]);
	return 0;
}

/* Through a directory of the host's a program could walk out. */
static int check_standard(struct err *err)
{
	struct stat st;

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
			return err_set(err, ERR_INVALID,
				       "sandbox: descriptor %d is a directory: "
				       "give it a file, a pipe or /dev/null",
				       fd);
	return 0;
}

void sandbox_prepare(bool watches_reads)
{
	struct err err;

	roots_prepare(roots_paths, ROOTS_PATHS);
	if (prepared.code && prepared_watches_reads == watches_reads)
		return;
	seccomp_release_program(&prepared);
	/* If it fails it is tried again, and said, when it is needed. */
	(void)seccomp_compile(&prepared, watches_reads, &err);
	prepared_watches_reads = watches_reads;
}

static int take_program(struct seccomp_program *program, bool watches_reads,
			struct err *err)
{
	if (!prepared.code || prepared_watches_reads != watches_reads)
		return seccomp_compile(program, watches_reads, err);
	*program = prepared;
	prepared = (struct seccomp_program){0};
	return 0;
}

/* Where an overlay keeps its changes; the plan looks at it. */
static int make_changes(const struct sandbox_spec *spec, struct err *err)
{
	if (spec->workspace_mode != SANDBOX_OVERLAY || !spec->changes ||
	    mkdir(spec->changes, 0700) == 0 || errno == EEXIST)
		return 0;
	return err_system(err, "overlay: make %s", spec->changes);
}

/* One that waits becomes this sandbox's, or nobody has its ids yet. */
static int take_early(struct sandbox *sandbox, const struct sandbox_spec *spec,
		      struct early *early, char **title, struct err *err)
{
	*early = (struct early){.pid = -1, .users = -1};
	if (spec->is_service &&
	    early_take(&sandbox->plan, limits_tmpfs(&spec->limits), early,
		       title)) {
		sandbox->pid = early->pid;
		sandbox->pidfd = early->pidfd;
		sandbox->control = early->control;
	}
	if (early->has_base) {
		sandbox->identity = early->identity;
		return 0;
	}
	if (identity_take(&sandbox->identity, &sandbox->plan.identity,
			  spec->uids, err) == 0)
		return 0;
	/* What was put aside has the last id. */
	if (err->code != ERR_TOO_LARGE || early_end_aside() < 0)
		return -1;
	early_bury_aside();
	return identity_take(&sandbox->identity, &sandbox->plan.identity,
			     spec->uids, err);
}

static int fork_init(struct sandbox *sandbox, struct init *init,
		     struct err *err)
{
	int ends[2];

	if (control_pair(ends, err) < 0)
		return -1;
	(void)sigprocmask(SIG_SETMASK, NULL, &init->mask);
	init->control = ends[1];
	init->lock = sandbox->identity.lock;
	sandbox->control = ends[0];
	sandbox->pid = namespaces_fork(&sandbox->pidfd, err);
	if (sandbox->pid == 0)
		init_run(init);
	(void)close(ends[1]);
	return sandbox->pid < 0 ? -1 : 0;
}

static int make_init(struct sandbox *sandbox, const struct sandbox_spec *spec,
		     struct early *early, char *title, struct err *err)
{
	struct init init = {.spec = spec,
			    .plan = &sandbox->plan,
			    .program = &sandbox->program,
			    .limits = &sandbox->limits,
			    .title = title};
	bool waits = early->pid > 0;
	auto_fd int orders = waits ? orders_seal(&init, err) : -1;

	int equipped;

	if (waits ? orders < 0 : fork_init(sandbox, &init, err) < 0)
		return -1;
	equipped = equip(sandbox, early, orders, err);
	/* It has them, and is at work. */
	roots_release();
	return equipped;
}

static void note_base(struct sandbox *sandbox, const struct sandbox_spec *spec)
{
	sandbox->has_base = !spec->root.path;
	sandbox->base = (struct base){
		.uid = sandbox->plan.identity.uid,
		.gid = sandbox->plan.identity.gid,
		.has_read = spec->has_read,
		.tmpfs_bytes = limits_tmpfs(&spec->limits),
	};
}

static int begin(struct sandbox *sandbox, const struct sandbox_spec *spec,
		 struct early *early, struct err *err)
{
	char *title = NULL;

	if (take_early(sandbox, spec, early, &title, err) < 0 ||
	    take_program(&sandbox->program, sandbox->plan.watches_reads, err) <
		    0)
		return -1;
	limits_prepare(&sandbox->limits, &cgroup_host, &spec->limits,
		       spec->is_service || spec->require.freezer);
	if (require_check(spec, &sandbox->limits, err) < 0)
		return -1;
	return make_init(sandbox, spec, early, title, err);
}

static int start(struct sandbox *sandbox, const struct sandbox_spec *spec,
		 struct err *err)
{
	struct early early;
	int begun;

	if ((!spec->is_service && check_standard(err) < 0) ||
	    make_changes(spec, err) < 0 ||
	    sandbox_plan(spec, &sandbox->plan, err) < 0 ||
	    overlay_begin(&sandbox->plan, &sandbox->changes, err) < 0 ||
	    root_layers_begin(&sandbox->plan, err) < 0)
		return -1;
	note_base(sandbox, spec);
	begun = begin(sandbox, spec, &early, err);
	if (early.users >= 0)
		(void)close(early.users);
	if (begun < 0)
		return -1;
	/* While it builds; and before a command can write. */
	if (reporter_start(&sandbox->reporter, &sandbox->plan,
			   &sandbox->identity, sandbox->pid, err) < 0)
		return -1;
	return disk_watch_begin(&sandbox->disk, &sandbox->plan, err);
}

struct sandbox *sandbox_start(const struct sandbox_spec *spec, struct err *err)
{
	struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

	if (!sandbox) {
		err_set(err, ERR_TOO_LARGE, "sandbox: no memory");
		return NULL;
	}
	sandbox->pid = -1;
	sandbox->pidfd = -1;
	sandbox->control = -1;
	sandbox->changes = -1;
	sandbox->root = -1;
	sandbox->signals = -1;
	sandbox->identity.lock = -1;
	sandbox->reporter.fd = -1;
	sandbox->time_ms = spec->limits.time_ms;
	sandbox->disk = (struct disk_watch){
		.bytes_max = spec->limits.disk_bytes,
		.has_workspace = spec->workspace_mode == SANDBOX_WRITE,
		.users = -1,
		.fd = -1,
	};
	terminal_open(&sandbox->terminal, -1);
	report_open(&sandbox->report, spec->on_event, spec->owner);
	sandbox->report.ignore = spec->ignore;
	if (start(sandbox, spec, err) == 0)
		return sandbox;
	sandbox_free(sandbox);
	return NULL;
}

void sandbox_say_notes(struct sandbox *sandbox)
{
	for (size_t i = 0; i < sandbox->plan.note_count; i++)
		report_say(&sandbox->report, "%s", sandbox->plan.notes[i]);
	limits_say_open(&sandbox->limits, &sandbox->report);
}

int sandbox_go(struct sandbox *sandbox, struct err *err)
{
	struct control_message message = {.kind = CONTROL_GO};
	int fds[REPORTER_FDS_MAX];
	size_t count = REPORTER_FDS_MAX;
	int root = sandbox->root;
	int sent;

	assert(root >= 0);
	sandbox_say_notes(sandbox);
	/* Before the command can be ready for any, and do anything that
	 * nobody judges. */
	if (supervise_begin(sandbox, err) < 0 ||
	    reporter_wait(&sandbox->reporter, err) < 0)
		return -1;
	sent = control_send(sandbox->control, &message, NULL, 0, err);
	/* What failed inside is said there, also when nobody hears us. */
	if (control_expect(sandbox->control, CONTROL_NOTIFY, fds, &count, err) <
		    0 ||
	    sent < 0)
		return -1;
	assert(count > 0);
	sandbox->root = -1;
	sandbox->start_ms = clock_monotonic_ms();
	if (reporter_serve(&sandbox->reporter, root, fds, count, err) < 0)
		return -1;
	return terminal_start(&sandbox->terminal, err);
}

/* End what still runs, and wait until the kernel has taken it all away. */
static void end(struct sandbox *sandbox)
{
	siginfo_t info;

	if (sandbox->pid <= 0)
		return;
	(void)syscall(SYS_pidfd_send_signal, sandbox->pidfd, SIGKILL, NULL, 0);
	/* What rests does not die (version 1's freezer). */
	(void)limits_rest(&sandbox->limits, false, NULL);
	while (waitid(P_PIDFD, (id_t)sandbox->pidfd, &info, WEXITED) < 0 &&
	       errno == EINTR)
		;
	sandbox->pid = -1;
}

void sandbox_sweep(pid_t dead)
{
	limits_sweep(dead);
}

void sandbox_free(struct sandbox *sandbox)
{
	if (!sandbox)
		return;
	reporter_end(&sandbox->reporter);
	disk_watch_end(&sandbox->disk);
	end(sandbox);
	terminal_close(&sandbox->terminal);
	supervise_end(sandbox);
	limits_release(&sandbox->limits);
	identity_give_back(&sandbox->identity);
	seccomp_release_program(&sandbox->program);
	if (sandbox->control >= 0)
		(void)close(sandbox->control);
	if (sandbox->root >= 0)
		(void)close(sandbox->root);
	if (sandbox->pidfd >= 0)
		(void)close(sandbox->pidfd);
	if (sandbox->changes >= 0)
		(void)close(sandbox->changes);
	plan_release(&sandbox->plan);
	free(sandbox);
}
