#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/warden/packchecks.h"
#include "gateway/warden/source.h"
#include "gateway/warden/warden.h"

/* Descriptors are first moved out of the way of ROLE_FD_*. */
#define FD_SPARE 64

/* ---- in the child, between fork and exec ---- */

static void place_fd(int fd, int to)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, FD_SPARE + to);

	if (high < 0 || dup2(high, to) < 0)
		_exit(126);
}

#define ENV_MAX 5

/* Append "NAME=value" to envp when we have it. */
static void pass_environment(const char *envp[ENV_MAX], const char *name)
{
	static char texts[ENV_MAX][512];
	const char *value = getenv(name);
	size_t used = 0;

	while (envp[used])
		used++;
	if (!value || used + 1 >= ENV_MAX)
		return;
	(void)snprintf(texts[used], sizeof(texts[0]), "%s=%s", name, value);
	envp[used] = texts[used];
}

static void child_exec(const struct child *child, int channel, int state)
{
	const struct warden *warden = child->warden;
	const char *file = role_executable(child->role);
	const char *argv[] = {file, NULL};
	const char *envp[ENV_MAX] = {NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int exec_fd = warden->executables[child->role];
	sigset_t none;

	pass_environment(envp, "SALLYPORT_LOG");
	pass_environment(envp, "ASAN_OPTIONS");
	pass_environment(envp, "UBSAN_OPTIONS");
	if (child->role == ROLE_PACKCHECK)
		group_enter(&warden->packchecks);
	if (child->role == ROLE_VAULT || child->role == ROLE_CONTROL)
		pass_environment(envp, "CREDENTIALS_DIRECTORY");
	(void)sigemptyset(&none);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || null < 0 || exec_fd < 0 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		_exit(126);
	exec_fd = fcntl(exec_fd, F_DUPFD_CLOEXEC, FD_SPARE * 2);
	place_fd(null, STDIN_FILENO);
	place_fd(channel, ROLE_FD_WARDEN);
	place_fd(warden->config_fd, ROLE_FD_CONFIG);
	place_fd(state >= 0 ? state : null, ROLE_FD_STATE);
	if (close_range(ROLE_FD_STATE + 1, (unsigned)exec_fd - 1, 0) < 0 ||
	    close_range((unsigned)exec_fd + 1, ~0U, 0) < 0)
		_exit(126);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)fexecve(exec_fd, (char *const *)(uintptr_t)argv,
		      (char *const *)(uintptr_t)envp);
	_exit(127);
}

/* ---- state directories ---- */

static bool has_state(enum role role)
{
	return role == ROLE_LEDGER || role == ROLE_VAULT ||
	       role == ROLE_MINTER || role == ROLE_PACKCHECK;
}

/* A packcheck has an empty directory of its own for as long as it lives. */
static int name_state(const struct child *child, char *name, size_t size)
{
	int len =
		child->role != ROLE_PACKCHECK
			? snprintf(name, size, "%s", role_name(child->role))
			: snprintf(name, size, "packcheck-%u", child->scratch);

	return len < 0 || (size_t)len >= size ? -1 : 0;
}

/* The directory that a role alone may use, or -1 with *has_none when the
 * role has none. */
static int open_state(const struct child *child, bool *has_none,
		      struct err *err)
{
	const struct warden *warden = child->warden;
	uint32_t uid = warden->config.gateway.uid_base;
	char name[32];
	int fd;

	*has_none = !has_state(child->role);
	if (*has_none || name_state(child, name, sizeof(name)) < 0)
		return -1;
	if (mkdirat(warden->state_dir, name, 0700) < 0 && errno != EEXIST)
		return err_system(err, "make directory %s", name);
	fd = openat(warden->state_dir, name,
		    O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_system(err, "open directory %s", name);
	uid += uid ? (uint32_t)child->role : 0;
	if (fchmod(fd, 0700) < 0 || (uid && fchown(fd, uid, uid) < 0)) {
		(void)err_system(err, "own directory %s", name);
		(void)close(fd);
		return -1;
	}
	return fd;
}

/* What a killed packcheck left behind goes with its directory. */
static void remove_scratch(const struct child *child)
{
	char name[32];
	int fd;
	DIR *dir;
	struct dirent *entry;

	if (child->role != ROLE_PACKCHECK ||
	    name_state(child, name, sizeof(name)) < 0)
		return;
	fd = openat(child->warden->state_dir, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			(void)unlinkat(fd, entry->d_name, 0);
	if (dir)
		(void)closedir(dir);
	(void)unlinkat(child->warden->state_dir, name, AT_REMOVEDIR);
}

/* ---- start ---- */

static int child_fork(struct child *child, struct err *err)
{
	auto_fd int ours = -1, theirs = -1, state = -1;
	const struct rpc_config config = {
		.permits = warden_permits,
		.permit_count = warden_permit_count,
		.owner = child,
		.rate_code = CONSTRAINT_limit_rate,
		.on_closed = warden_child_closed,
	};
	bool has_no_state;
	int fds[2];

	state = open_state(child, &has_no_state, err);
	if (state < 0 && !has_no_state)
		return -1;
	if (io_message_pair(fds, err) < 0)
		return -1;
	ours = fds[0];
	theirs = fds[1];
	child->pid = fork();
	if (child->pid < 0) {
		child->pid = 0;
		return err_system(err, "fork %s", role_name(child->role));
	}
	if (child->pid == 0)
		child_exec(child, theirs, state);
	child->started_ms = io_loop_now_ms(child->warden->loop);
	child->rpc = rpc_new(child->warden->loop, take_fd(&ours), &config, err);
	return child->rpc ? 0 : -1;
}

static int child_start(struct child *child, struct err *err)
{
	if (child_fork(child, err) < 0)
		return -1;
	log_info("started %s pid %d%s%s", role_name(child->role),
		 (int)child->pid, child->session ? " " : "",
		 child->session ? child->session->id : "");
	/* One that has ended by now says by its exit what follows. */
	return wire_child(child, err) == 0 || err->code == ERR_CLOSED ? 0 : -1;
}

static void restart_due(void *owner)
{
	struct child *child = owner;
	struct err err;

	if (child->pid)
		return;
	child->restarts++;
	if (child_start(child, &err) < 0) {
		log_error("restart %s: %s", role_name(child->role), err.text);
		io_timer_set(child->restart_timer, RESTART_DELAY_MAX_MS);
		return;
	}
	warden_record(child->warden, RECORD_PROCESS, child, "restarted");
}

static void child_free(struct child *child)
{
	if (child->session && child->session->edge == child)
		child->session->edge = NULL;
	if (child->warden->spare == child)
		child->warden->spare = NULL;
	DL_DELETE(child->warden->children, child);
	packchecks_gone(child);
	if (child->rpc)
		rpc_close(child->rpc);
	io_timer_free(child->restart_timer);
	remove_scratch(child);
	free(child);
}

struct child *child_add(struct warden *warden, enum role role,
			struct warden_session *session, struct err *err)
{
	static unsigned scratches;
	struct child *child = calloc(1, sizeof(*child));

	if (!child) {
		(void)err_system(err, "add child");
		return NULL;
	}
	*child = (struct child){.warden = warden,
				.role = role,
				.session = session,
				.scratch = ++scratches};
	DL_APPEND(warden->children, child);
	child->restart_timer = io_timer_new(warden->loop, restart_due, child);
	if (!child->restart_timer || child_start(child, err) < 0) {
		if (child->pid)
			child_end(child);
		else
			child_free(child);
		return NULL;
	}
	return child;
}

struct child *child_of(const struct warden *warden, enum role role)
{
	struct child *child;

	DL_FOREACH(warden->children, child)
	if (child->role == role && child->pid)
		return child;
	return NULL;
}

/* ---- end ---- */

void child_end(struct child *child)
{
	if (child->session && child->session->edge == child)
		child->session->edge = NULL;
	child->session = NULL;
	io_timer_set(child->restart_timer, 0);
	packchecks_gone(child);
	if (child->rpc) {
		rpc_close(child->rpc);
		child->rpc = NULL;
	}
	if (child->pid)
		(void)kill(child->pid, SIGKILL);
	else
		child_free(child);
}

/* At once, but for one that ends again and again as soon as it starts: it
 * waits longer and longer, above all when it never came to serve. */
static unsigned restart_delay(struct child *child)
{
	unsigned delay = 1;
	unsigned max = child->is_ready ? RESTART_READY_DELAY_MAX_MS
				       : RESTART_DELAY_MAX_MS;
	uint64_t lived =
		io_loop_now_ms(child->warden->loop) - child->started_ms;

	child->quick_ends =
		lived < RESTART_FORGIVEN_MS ? child->quick_ends + 1 : 0;
	for (unsigned i = 1; i < child->quick_ends && delay < 4096; i++)
		delay *= 4;
	return delay < max ? delay : max;
}

static bool should_live(const struct child *child)
{
	/* Whoever asked for one of these asks for another. */
	if (child->warden->is_draining || child->role == ROLE_PACKCHECK ||
	    child->role == ROLE_SCRIPT || child->role == ROLE_FRAMER)
		return false;
	if (child->role != ROLE_EDGE)
		return true;
	if (child == child->warden->spare)
		return true;
	/* A new edge would not know that its session was revoked. */
	return child->session && !child->session->is_revoked;
}

/* Did it say by its exit code, again and again, that it can not do what it is
 * for? Without it the gateway would refuse everything, for as long as nobody
 * reads its log. An edge is one session's. */
static bool cannot_start(const struct child *child, int status)
{
	return should_live(child) && child->role != ROLE_EDGE &&
	       !child->has_served && WIFEXITED(status) &&
	       child->restarts + 1 >= START_TRIES_MAX;
}

/* End, as one that was never ready. */
static void give_up(const struct child *child)
{
	struct warden *warden = child->warden;
	struct statvfs disk;
	uint64_t room = UINT64_MAX;

	if (fstatvfs(warden->state_dir, &disk) == 0)
		room = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (room < STATE_ROOM_BYTES)
		log_error("the disk of %s is full: it has %llu KiB left",
			  warden->config.state,
			  (unsigned long long)room / 1024);
	log_error("the gateway ends: its %s can not start, and says above "
		  "why not",
		  role_name(child->role));
	warden->has_failed = true;
	io_loop_stop(warden->loop);
}

/* What ends with its channel may end a session, and with it any child that
 * does not run: close it last, and touch nothing after. */
static void child_exited(struct child *child, int status)
{
	struct rpc *rpc = child->rpc;
	char detail[96];

	if (WIFSIGNALED(status))
		(void)snprintf(detail, sizeof(detail), "killed by signal %d",
			       WTERMSIG(status));
	else
		(void)snprintf(detail, sizeof(detail), "exited with %d",
			       WEXITSTATUS(status));
	child->pid = 0;
	child->rpc = NULL;
	packchecks_gone(child);
	if (cannot_start(child, status)) {
		log_error("%s %s", role_name(child->role), detail);
		give_up(child);
	} else if (should_live(child)) {
		log_error("%s %s", role_name(child->role), detail);
		io_timer_set(child->restart_timer, restart_delay(child));
		child->is_ready = false;
		warden_record(child->warden, RECORD_PROCESS, child, detail);
	} else {
		child_free(child);
	}
	if (rpc)
		rpc_close(rpc);
}

static struct child *child_with_pid(const struct warden *warden, pid_t pid)
{
	struct child *child;

	DL_FOREACH(warden->children, child)
	if (child->pid == pid)
		return child;
	return NULL;
}

void children_reap(struct warden *warden)
{
	struct child *child;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (warden_program_ended(warden, pid, status))
			continue;
		child = child_with_pid(warden, pid);
		if (child)
			child_exited(child, status);
	}
	packchecks_next(warden);
}
