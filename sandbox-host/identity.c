#include "sandbox-host/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"

/* Are all ids of the host ours to give? Not so in a container's user
 * namespace, where root is an ordinary user in disguise. */
static bool owns_range(void)
{
	auto_fd int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	unsigned long long inside, outside, count;
	char text[128];
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (len <= 0)
		return false;
	text[len] = '\0';
	return sscanf(text, "%llu %llu %llu", &inside, &outside, &count) == 3 &&
	       inside == 0 && outside == 0 &&
	       count > IDENTITY_FIRST + IDENTITY_COUNT;
}

void identity_choose(struct plan_identity *identity,
		     const struct stat *workspace)
{
	identity->is_privileged = geteuid() == 0 && owns_range();
	identity->uid = identity->is_privileged ? workspace->st_uid : geteuid();
	identity->gid = identity->is_privileged ? workspace->st_gid : getegid();
}

/* Lock an id: its byte of the file. -1: somebody has it (errno EAGAIN) or it
 * failed. The lock is the open file's, so it ends with its last holder. */
static int lock_id(int file, short type, uid_t uid)
{
	struct flock lock = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = uid,
		.l_len = 1,
	};

	return fcntl(file, F_OFD_SETLK, &lock);
}

static int open_locks(int flags, struct err *err)
{
	int file;

	if (mkdir("/run/sallyport", 0755) < 0 && errno != EEXIST)
		return err_system(err, "identity: make /run/sallyport");
	file = open(IDENTITY_LOCKS, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return err_system(err, "identity: open " IDENTITY_LOCKS);
	return file;
}

/* The id that is ours, by an open file that process 1 may have: it can not be
 * written. -1. */
static int hold_id(int file, uid_t uid, struct err *err)
{
	auto_fd int held = open_locks(O_RDONLY, err);

	if (held < 0)
		return -1;
	if (lock_id(file, F_RDLCK, uid) < 0 || lock_id(held, F_RDLCK, uid) < 0)
		return err_system(err, "identity: hold a user id");
	return take_fd(&held);
}

int identity_take(struct identity *identity, const struct plan_identity *inside,
		  struct sandbox_uids range, struct err *err)
{
	auto_fd int file = -1;
	unsigned first;

	*identity = (struct identity){inside->uid, inside->gid, -1};
	if (!inside->is_privileged)
		return 0;
	if (range.count == 0)
		range = (struct sandbox_uids){IDENTITY_FIRST, IDENTITY_COUNT};
	file = open_locks(O_RDWR | O_CREAT, err);
	if (file < 0)
		return -1;
	/* Start somewhere else each time: not to try all those in use. */
	first = (unsigned)getpid() % range.count;
	for (unsigned i = 0; i < range.count; i++) {
		uid_t uid = range.first + (first + i) % range.count;

		if (lock_id(file, F_WRLCK, uid) == 0) {
			identity->lock = hold_id(file, uid, err);
			identity->host_uid = uid;
			identity->host_gid = uid;
			return identity->lock < 0 ? -1 : 0;
		}
		if (errno != EAGAIN && errno != EACCES)
			return err_system(err, "identity: lock a user id");
	}
	return err_set(err, ERR_TOO_LARGE, "identity: all %u ids are in use",
		       range.count);
}

void identity_give_back(struct identity *identity)
{
	if (identity->lock >= 0)
		(void)close(identity->lock);
	identity->lock = -1;
}

static int write_file(pid_t pid, const char *name, const char *text,
		      struct err *err)
{
	char path[64];
	size_t len = strlen(text);
	auto_fd int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		return err_system(err, "map: write %s", name);
	return 0;
}

int identity_map(const struct identity *identity,
		 const struct plan_identity *inside, pid_t pid, struct err *err)
{
	char uids[64];
	char gids[64];

	snprintf(uids, sizeof(uids), "%u %u 1\n", (unsigned)inside->uid,
		 (unsigned)identity->host_uid);
	snprintf(gids, sizeof(gids), "%u %u 1\n", (unsigned)inside->gid,
		 (unsigned)identity->host_gid);
	if (!inside->is_privileged &&
	    write_file(pid, "setgroups", "deny", err) < 0)
		return -1;
	if (write_file(pid, "uid_map", uids, err) < 0 ||
	    write_file(pid, "gid_map", gids, err) < 0)
		return -1;
	return 0;
}

int identity_open_namespace(pid_t pid, struct err *err)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? err_system(err, "map: open the user namespace") : fd;
}

int identity_namespace(const struct identity *identity,
		       const struct stat *owner, struct err *err)
{
	const struct plan_identity inside = {
		.is_privileged = true,
		.uid = owner->st_uid,
		.gid = owner->st_gid,
	};
	auto_fd int mine = -1;
	int ends[2], fd = -1;
	char word;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_system(err, "map: make a pipe");
	mine = ends[0];
	pid = fork();
	if (pid == 0) {
		(void)close(ends[0]);
		/* Whoever is killed while we wait has nobody left to end us,
		 * and what we hold would keep process 1 waiting too. */
		if (unshare(CLONE_NEWUSER) < 0 ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
		    write(ends[1], "", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	(void)close(ends[1]);
	if (pid < 0)
		return err_system(err, "map: fork");
	if (read(mine, &word, 1) != 1) {
		(void)err_system(err, "map: make a user namespace");
	} else if (identity_map(identity, &inside, pid, err) == 0) {
		fd = identity_open_namespace(pid, err);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return fd;
}

int identity_make_as(const struct plan_identity *inside, struct err *err)
{
	(void)setfsgid(inside->gid);
	(void)setfsuid(inside->uid);
	/* They say what was before; of nobody nothing is changed. */
	if ((gid_t)setfsgid((gid_t)-1) != inside->gid ||
	    (uid_t)setfsuid((uid_t)-1) != inside->uid)
		return err_system(err, "map: make files as uid %u",
				  (unsigned)inside->uid);
	return 0;
}

int identity_become(const struct plan_identity *inside, struct err *err)
{
	/* An ordinary caller may not leave its groups. */
	if (inside->is_privileged && setgroups(0, NULL) < 0)
		return err_system(err, "map: drop the groups");
	if (setresgid(inside->gid, inside->gid, inside->gid) < 0 ||
	    setresuid(inside->uid, inside->uid, inside->uid) < 0)
		return err_system(err, "map: become uid %u",
				  (unsigned)inside->uid);
	return 0;
}
