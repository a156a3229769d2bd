#include "sandbox-host/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/usage.h"
#include "policies/remedy.h"
#include "sandbox-host/mounts.h"
#include "sandbox-host/mounts_overlay.h"
#include "sandbox-host/outside.h"

#define TREE_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define DOTS	   2 /* . and .. */

struct tree {
	int fd;
	bool had_some; /* what is in it at first does not count */
};

struct disk {
	struct tree trees[DISK_TREES_MAX];
	size_t count;
	bool must_look; /* before anybody writes: one of them had some */
	uint64_t bytes_max;
};

/* What goes through the pipe, once. */
struct word {
	uint64_t bytes;
	struct err err; /* of a tree that can not be measured */
};

/* ---- its process ---- */

static int look(const struct disk *disk, uint64_t before[DISK_TREES_MAX],
		bool is_first, struct word *word)
{
	word->bytes = 0;
	for (size_t i = 0; i < disk->count; i++) {
		struct usage usage = {0};

		if (usage_add(disk->trees[i].fd, &usage, &word->err) < 0)
			return -1;
		if (is_first && disk->trees[i].had_some)
			before[i] = usage.bytes;
		if (usage.bytes > before[i])
			word->bytes += usage.bytes - before[i];
	}
	return word->bytes > disk->bytes_max + DISK_SLACK ? -1 : 0;
}

static void rest(uint64_t took_ms)
{
	uint64_t ms = took_ms * DISK_PAUSE_SHARE;
	struct timespec pause;

	if (ms < DISK_PAUSE_MS)
		ms = DISK_PAUSE_MS;
	if (ms > DISK_PAUSE_MAX_MS)
		ms = DISK_PAUSE_MAX_MS;
	pause.tv_sec = (time_t)(ms / 1000);
	pause.tv_nsec = (long)(ms % 1000) * 1000000;
	(void)nanosleep(&pause, NULL);
}

_Noreturn static void watch_all(const struct disk *disk, int out)
{
	uint64_t before[DISK_TREES_MAX] = {0};
	struct word word = {0};
	bool is_first = true;
	bool is_over;
	uint64_t start;

	for (;;) {
		start = clock_monotonic_ms();
		is_over = look(disk, before, is_first, &word) < 0;
		if (is_first && disk->must_look && write(out, "", 1) != 1)
			_exit(1);
		if (is_over)
			break;
		is_first = false;
		rest(clock_monotonic_ms() - start);
	}
	(void)!write(out, &word, sizeof(word));
	_exit(0);
}

/* Nothing but the trees and the pipe stays open: what else we hold would
 * outlive who made it. An ordinary user may look where the sandbox's user
 * closed a directory by being root over that user. */
_Noreturn static void become_watch(struct disk *disk, int out, int users,
				   pid_t parent)
{
	int fds[DISK_TREES_MAX + 1];
	int lowest = STDERR_FILENO + 1;

	if (users >= 0 && setns(users, CLONE_NEWUSER) < 0)
		_exit(1);
	for (size_t i = 0; i <= disk->count; i++) {
		fds[i] = fcntl(i < disk->count ? disk->trees[i].fd : out,
			       F_DUPFD, lowest + DISK_TREES_MAX + 1);
		if (fds[i] < 0)
			_exit(1);
	}
	for (size_t i = 0; i <= disk->count; i++) {
		if (dup2(fds[i], lowest + (int)i) < 0)
			_exit(1);
		if (i < disk->count)
			disk->trees[i].fd = lowest + (int)i;
	}
	out = lowest + (int)disk->count;
	if (close_range((unsigned)out + 1, ~0u, 0) < 0 ||
	    outside_confine_look(NULL) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    getppid() != parent)
		_exit(1);
	watch_all(disk, out);
}

/* ---- ours ---- */

static bool has_some(int directory)
{
	int fd = openat(directory, ".", TREE_FLAGS);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t count = 0;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return true;
	}
	while (count <= DOTS && readdir(dir))
		count++;
	(void)closedir(dir);
	return count > DOTS;
}

static int add_tree(struct disk *disk, const char *path, const char *below,
		    bool may_have_some, struct err *err)
{
	char text[PATH_MAX];
	struct tree *tree = &disk->trees[disk->count];

	if (snprintf(text, sizeof(text), "%s%s", path, below) >=
	    (int)sizeof(text))
		return err_set(err, ERR_TOO_LARGE, "disk: a long path");
	*tree = (struct tree){.fd = open(text, TREE_FLAGS)};
	if (tree->fd < 0)
		return err_system(err, "disk: open %s", text);
	tree->had_some = may_have_some && has_some(tree->fd);
	disk->must_look |= tree->had_some;
	disk->count++;
	return 0;
}

static int find_trees(const struct plan *plan, bool has_workspace,
		      struct disk *disk, struct err *err)
{
	if (plan->layers &&
	    add_tree(disk, plan->layers, "/" MOUNTS_UPPER, false, err) < 0)
		return -1;
	if (plan->image_layers && add_tree(disk, plan->image_layers,
					   "/" MOUNTS_UPPER, false, err) < 0)
		return -1;
	if (has_workspace && add_tree(disk, plan->workspace, "", true, err) < 0)
		return -1;
	return 0;
}

static int start(struct disk_watch *watch, struct disk *disk, struct err *err)
{
	pid_t parent = getpid();
	char looked;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_system(err, "disk: make a pipe");
	watch->pid = fork();
	if (watch->pid == 0)
		become_watch(disk, ends[1], watch->users, parent);
	(void)close(ends[1]);
	if (watch->pid < 0) {
		(void)close(ends[0]);
		return err_system(err, "disk: fork");
	}
	watch->fd = ends[0];
	/* What is written before it has looked would count as what was there.
	 * Of one that ends first its end is read. */
	if (disk->must_look)
		while (read(watch->fd, &looked, 1) < 0 && errno == EINTR)
			;
	return 0;
}

int disk_watch_begin(struct disk_watch *watch, const struct plan *plan,
		     struct err *err)
{
	struct disk disk = {.bytes_max = watch->bytes_max};
	int result;

	if (!watch->bytes_max)
		return 0;
	result = find_trees(plan, watch->has_workspace, &disk, err);
	if (result == 0 && disk.count > 0)
		result = start(watch, &disk, err);
	for (size_t i = 0; i < disk.count; i++)
		(void)close(disk.trees[i].fd);
	return result;
}

void disk_watch_take(struct disk_watch *watch, struct report *report,
		     struct err *words)
{
	struct word word = {0};

	if (read(watch->fd, &word, sizeof(word)) != sizeof(word))
		(void)err_set(&word.err, ERR_SYSTEM, "its watch has ended");
	if (word.err.code)
		(void)err_set(words, ERR_DENIED,
			      "what it wrote can not be measured (%.200s): it "
			      "was ended by resource_limit (limits.disk)",
			      word.err.text);
	else
		(void)err_set(words, ERR_DENIED,
			      "disk of %llu bytes is used up (%llu): it was "
			      "ended by resource_limit (limits.disk)",
			      (unsigned long long)watch->bytes_max,
			      (unsigned long long)word.bytes);
	report_deny(report, CONSTRAINT_resource_limit, RULE_DISK, "%s",
		    words->text);
	disk_watch_end(watch);
}

void disk_watch_end(struct disk_watch *watch)
{
	if (watch->users >= 0)
		(void)close(watch->users);
	watch->users = -1;
	if (watch->fd < 0)
		return;
	(void)close(watch->fd);
	watch->fd = -1;
	(void)kill(watch->pid, SIGKILL);
	while (waitpid(watch->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
