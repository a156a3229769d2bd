#include "sandbox-host/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/cgroup.h"
#include "common/cleanup.h"
#include "policies/remedy.h"

/* The pid of its maker, how many that made before, and the maker's pid
 * namespace: containers may share the tree. */
#define GROUP_NAME	"sallyport-%d-%u-%ju"
#define REMOVE_TRIES	50
#define REMOVE_PAUSE_NS 2000000
#define VALUE_MAX	4096
#define CPU_PERIOD_US	100000

/* The number after key in a file of "key number" lines (key NULL: the
 * whole file is one number); 0 when there is none. */
static uint64_t read_value(const char *group, const char *file, const char *key)
{
	char path[PATH_MAX + 64];
	char text[VALUE_MAX];
	const char *at = text;
	auto_fd int fd = -1;
	ssize_t len;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	if (key) {
		at = strstr(text, key);
		if (!at)
			return 0;
		at += strlen(key);
	}
	return strtoull(at, NULL, 10);
}

/* Processes that were killed while they rested end once they go on. */
static void thaw(int directory, const char *group)
{
	char path[NAME_MAX + 32];
	auto_fd int fd = -1;

	snprintf(path, sizeof(path), "%s/freezer.state", group);
	fd = openat(directory, path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!write(fd, "THAWED", strlen("THAWED"));
}

/* The pid of the maker of a group of that name; 0: it is none of ours, who are
 * in the pid namespace ours. */
static pid_t maker_of(const char *name, uintmax_t ours)
{
	uintmax_t space = 0;
	unsigned serial;
	int pid = 0;

	if (sscanf(name, GROUP_NAME, &pid, &serial, &space) != 3 ||
	    space != ours)
		return 0;
	return pid;
}

/* Remove the groups of dead, or (0) of all callers that were killed. How
 * many could not be removed yet. */
static unsigned sweep(const char *directory, pid_t dead)
{
	const uintmax_t ours = cgroup_pid_namespace();
	unsigned left = 0;
	DIR *dir = opendir(directory);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		pid_t pid = maker_of(name, ours);

		if (pid <= 0 || (dead && pid != dead) ||
		    (!dead && (kill(pid, 0) == 0 || errno != ESRCH)))
			continue;
		thaw(dirfd(dir), name);
		left += unlinkat(dirfd(dir), name, AT_REMOVEDIR) < 0;
	}
	if (dir)
		(void)closedir(dir);
	return left;
}

void limits_sweep(pid_t dead)
{
	const struct timespec pause = {0, 10 * REMOVE_PAUSE_NS};
	char directory[PATH_MAX];

	for (int i = 0; i < REMOVE_TRIES; i++) {
		unsigned left = 0;

		for (int which = 0; which < CGROUP_TREES; which++)
			if (cgroup_place((enum cgroup_tree)which, directory))
				left += sweep(directory, dead);
		if (!left)
			return;
		(void)nanosleep(&pause, NULL);
	}
}

uint64_t limits_tmpfs(const struct sandbox_limits *wanted)
{
	uint64_t memory = wanted->memory_bytes, disk = wanted->disk_bytes;

	return disk && (!memory || disk < memory) ? disk : memory;
}

static char *new_group(struct limits *limits, const struct cgroup_host *host,
		       enum cgroup_tree which)
{
	static const char *const wanted[] = {"memory", "pids", "cpu"};
	static unsigned serial;
	char *group = limits->groups[limits->group_count];
	char directory[PATH_MAX];
	int len;

	if (!cgroup_place_on(host, which, directory))
		return NULL;
	(void)sweep(directory, 0);
	if (which == CGROUP_V2)
		cgroup_delegate(directory, wanted, ARRAY_SIZE(wanted));
	len = snprintf(group, PATH_MAX, "%s/" GROUP_NAME, directory,
		       (int)getpid(), serial++, cgroup_pid_namespace());
	if (len < 0 || len >= PATH_MAX || mkdir(group, 0755) < 0)
		return NULL;
	limits->group_count++;
	return group;
}

static void drop_group(struct limits *limits)
{
	(void)rmdir(limits->groups[--limits->group_count]);
}

/* init is a process too. */
static uint64_t processes_of(const struct limits *limits)
{
	return limits->wanted.processes + 1;
}

/* Of each period of CPU_PERIOD_US on every core. */
static uint64_t cpu_quota(const struct limits *limits)
{
	return limits->wanted.cpu_milli * CPU_PERIOD_US / 1000;
}

static int set_v1(const struct limits *limits, enum cgroup_tree which,
		  const char *group)
{
	if (which == CGROUP_V1_MEMORY)
		return cgroup_write(group, "memory.limit_in_bytes",
				    limits->wanted.memory_bytes);
	if (which == CGROUP_V1_PIDS)
		return cgroup_write(group, "pids.max", processes_of(limits));
	if (cgroup_write(group, "cpu.cfs_period_us", CPU_PERIOD_US) < 0)
		return -1;
	return cgroup_write(group, "cpu.cfs_quota_us", cpu_quota(limits));
}

static void prepare_v1(struct limits *limits, const struct cgroup_host *host,
		       enum cgroup_tree which, bool *has_it)
{
	char *group = new_group(limits, host, which);

	if (!group)
		return;
	*has_it = set_v1(limits, which, group) == 0;
	if (!*has_it)
		drop_group(limits);
}

static void set_v2(struct limits *limits, const char *group)
{
	const struct sandbox_limits *wanted = &limits->wanted;
	char text[64];

	if (wanted->memory_bytes)
		limits->has_memory = cgroup_write(group, "memory.max",
						  wanted->memory_bytes) == 0;
	if (limits->has_memory)
		(void)cgroup_write(group, "memory.swap.max", 0);
	if (wanted->processes)
		limits->has_processes = cgroup_write(group, "pids.max",
						     processes_of(limits)) == 0;
	if (!wanted->cpu_milli)
		return;
	snprintf(text, sizeof(text), "%llu %d",
		 (unsigned long long)cpu_quota(limits), CPU_PERIOD_US);
	limits->has_cpu = cgroup_write_text(group, "cpu.max", text) == 0;
}

static void prepare_v2(struct limits *limits, const struct cgroup_host *host,
		       bool rests)
{
	char *group =
		cgroup_is_v2(host) ? new_group(limits, host, CGROUP_V2) : NULL;

	if (!group)
		return;
	set_v2(limits, group);
	if (rests && cgroup_write(group, "cgroup.freeze", 0) == 0)
		limits->freezer = group;
	if (!limits->has_memory && !limits->has_processes && !limits->has_cpu &&
	    !limits->freezer)
		drop_group(limits);
}

void limits_prepare(struct limits *limits, const struct cgroup_host *host,
		    const struct sandbox_limits *wanted, bool rests)
{
	*limits = (struct limits){.wanted = *wanted};
	if (!wanted->memory_bytes && !wanted->processes && !wanted->cpu_milli &&
	    !rests)
		return;
	prepare_v2(limits, host, rests);
	if (limits->group_count)
		return;
	limits->is_v1 = true;
	if (wanted->memory_bytes)
		prepare_v1(limits, host, CGROUP_V1_MEMORY, &limits->has_memory);
	if (wanted->processes)
		prepare_v1(limits, host, CGROUP_V1_PIDS,
			   &limits->has_processes);
	if (wanted->cpu_milli)
		prepare_v1(limits, host, CGROUP_V1_CPU, &limits->has_cpu);
	if (rests)
		limits->freezer = new_group(limits, host, CGROUP_V1_FREEZER);
}

void limits_say_open(const struct limits *limits, struct report *report)
{
	if (limits->wanted.cpu_milli && !limits->has_cpu)
		report_say(report,
			   "limits.cpu does not hold: this host gives us no "
			   "cgroup of cpu");
}

bool limits_can_rest(const struct limits *limits)
{
	return limits->freezer != NULL;
}

int limits_rest(const struct limits *limits, bool rests, struct err *err)
{
	int rc;

	if (!limits->freezer)
		return 0;
	if (limits->is_v1)
		rc = cgroup_write_text(limits->freezer, "freezer.state",
				       rests ? "FROZEN" : "THAWED");
	else
		rc = cgroup_write(limits->freezer, "cgroup.freeze", rests);
	return rc < 0 ? err_system(err, "freeze %s", limits->freezer) : 0;
}

bool limits_rests(const struct limits *limits)
{
	char path[PATH_MAX + 64];
	char text[VALUE_MAX];
	auto_fd int fd = -1;
	ssize_t len;

	if (!limits->freezer)
		return false;
	if (!limits->is_v1)
		return read_value(limits->freezer, "cgroup.events",
				  "frozen ") == 1;
	snprintf(path, sizeof(path), "%s/freezer.state", limits->freezer);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text));
	return len > 0 && bytes_is(bytes_from(text, (size_t)len), "FROZEN\n");
}

int limits_enter(const struct limits *limits, pid_t pid, struct err *err)
{
	for (unsigned i = 0; !limits->is_v1 && i < limits->group_count; i++)
		if (cgroup_write(limits->groups[i], "cgroup.procs",
				 (uint64_t)pid) < 0)
			return err_system(err, "limits: enter %s",
					  limits->groups[i]);
	return 0;
}

size_t limits_opened(const struct limits *limits)
{
	return limits->is_v1 ? limits->group_count : 0;
}

int limits_open(const struct limits *limits, int fds[LIMITS_GROUPS_MAX],
		size_t *count, struct err *err)
{
	for (*count = 0; *count < limits_opened(limits); (*count)++) {
		fds[*count] = cgroup_open(limits->groups[*count]);
		if (fds[*count] < 0)
			return err_system(err, "limits: open %s",
					  limits->groups[*count]);
	}
	return 0;
}

int limits_enter_self(const int *fds, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++)
		if (cgroup_enter_open(fds[i]) < 0)
			return err_system(err, "limits: enter a group");
	return 0;
}

static int set_limit(__rlimit_resource_t which, rlim_t value, const char *name,
		     struct err *err)
{
	struct rlimit old;
	struct rlimit limit = {value, value};

	if (getrlimit(which, &old) < 0)
		return err_system(err, "limits: read %s", name);
	if (old.rlim_max != RLIM_INFINITY && old.rlim_max < value)
		limit = (struct rlimit){old.rlim_max, old.rlim_max};
	if (setrlimit(which, &limit) < 0)
		return err_system(err, "limits: set %s", name);
	return 0;
}

/* Whatever the policy says: what of the kernel's memory and time a caller's
 * own limits, root's above all, would give away. */
static const struct {
	__rlimit_resource_t which;
	rlim_t value;
	const char *name;
} always[] = {
	/* One byte: the kernel runs no core handler then, as it would at 0. */
	{RLIMIT_CORE, 1, "core"},
	{RLIMIT_MEMLOCK, 8 * 1024 * 1024, "memlock"},
	{RLIMIT_MSGQUEUE, 800 * 1024, "msgqueue"},
	{RLIMIT_SIGPENDING, 16384, "sigpending"},
	{RLIMIT_NICE, 0, "nice"},
	{RLIMIT_RTPRIO, 0, "rtprio"},
};

int limits_apply(const struct limits *limits, struct err *err)
{
	const struct sandbox_limits *wanted = &limits->wanted;

	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		if (set_limit(always[i].which, always[i].value, always[i].name,
			      err) < 0)
			return -1;
	if (wanted->processes && !limits->has_processes &&
	    set_limit(RLIMIT_NPROC, processes_of(limits), "processes", err) < 0)
		return -1;
	if (wanted->files &&
	    set_limit(RLIMIT_NOFILE, wanted->files, "files", err) < 0)
		return -1;
	if (wanted->disk_bytes &&
	    set_limit(RLIMIT_FSIZE, wanted->disk_bytes, "disk", err) < 0)
		return -1;
	/* Data, not address space: some runtimes reserve far more than they
	 * ever use. */
	if (wanted->memory_bytes && !limits->has_memory &&
	    set_limit(RLIMIT_DATA, wanted->memory_bytes, "memory", err) < 0)
		return -1;
	return 0;
}

/* Is it more than what was told? It counts as told then. */
static bool is_news(uint64_t now, uint64_t *told)
{
	bool is_more = now > *told;

	*told = is_more ? now : *told;
	return is_more;
}

void limits_report(struct limits *limits, struct report *report)
{
	uint64_t ended = 0, refused = 0;

	for (unsigned i = 0; i < limits->group_count; i++) {
		const char *group = limits->groups[i];

		ended += read_value(group, "memory.events", "oom_kill ");
		ended += read_value(group, "memory.oom_control", "oom_kill ");
		refused += read_value(group, "pids.events", "max ");
	}
	/* A host without memory ends processes, too: no limit was reached. */
	ended = limits->has_memory ? ended : 0;
	refused = limits->has_processes ? refused : 0;
	if (is_news(ended, &limits->ended))
		report_deny(report, CONSTRAINT_resource_limit, RULE_MEMORY,
			    "memory of %llu bytes is used up: %llu processes "
			    "were ended by resource_limit (limits.memory)",
			    (unsigned long long)limits->wanted.memory_bytes,
			    (unsigned long long)ended);
	if (is_news(refused, &limits->refused))
		report_deny(report, CONSTRAINT_resource_limit, RULE_COUNT,
			    "a new process denied by resource_limit "
			    "(limits.processes: %llu at once)",
			    (unsigned long long)limits->wanted.processes);
}

void limits_report_end(struct limits *limits, int status, struct report *report)
{
	limits_report(limits, report);
	/* A shell says in its own code which signal ended its program. */
	if (limits->wanted.disk_bytes &&
	    ((WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) ||
	     (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGXFSZ)))
		report_deny(report, CONSTRAINT_resource_limit, RULE_DISK,
			    "a larger file denied by resource_limit "
			    "(limits.disk: %llu bytes)",
			    (unsigned long long)limits->wanted.disk_bytes);
}

void limits_release(struct limits *limits)
{
	const struct timespec pause = {0, REMOVE_PAUSE_NS};

	while (limits->group_count) {
		const char *group = limits->groups[--limits->group_count];

		/* The last process leaves a moment after it was waited for. */
		for (int i = 0; i < REMOVE_TRIES; i++) {
			if (rmdir(group) == 0 || errno != EBUSY)
				break;
			(void)nanosleep(&pause, NULL);
		}
	}
}
