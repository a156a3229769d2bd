/*
 * sallyport-store WHAT BYTES-MAX [WORDS]: started by sallyport-host with the
 * descriptors of sandbox-host/flow/files.h. The answer is one line: "ok DIGEST
 * BYTES", or "error TEXT".
 */
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/cleanup.h"
#include "common/confine.h"
#include "common/log.h"
#include "sandbox-host/flow/files.h"
#include "sandbox-host/store/store.h"

#define PULL_PLACE "/mnt"

static const char *const calls[] = {
	"openat",    "mkdirat",	  "symlinkat",	"linkat",     "unlinkat",
	"fchmod",    "fchmodat",  "getdents64", "fstat",      "newfstatat",
	"lseek",     "ftruncate", "pread64",	"pwrite64",   "fsetxattr",
	"fgetxattr", "utimensat", "mknodat",	"readlinkat", "copy_file_range",
	NULL};

struct work {
	const char *what;
	int argc;
	char **argv; /* behind the bytes */
	struct store_budget budget;
	char digest[80];
};

/* With the daemon, whatever became of it before this was said. */
static int end_with_daemon(struct err *err)
{
	struct pollfd answer = {.fd = STORE_ANSWER};

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_system(err, "end with the daemon");
	if (poll(&answer, 1, 0) > 0 && (answer.revents & POLLERR))
		return err_set(err, ERR_CLOSED, "the daemon has ended");
	return 0;
}

static int become(uid_t uid, gid_t gid, struct err *err)
{
	if (geteuid() == 0 && uid != 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
	     setresuid(uid, uid, uid) < 0))
		return err_system(err, "give up rights");
	/* The kernel forgets that with the user. */
	return end_with_daemon(err);
}

/* Files belong to who is to use them: an image to a user of its own, a copy to
 * the owner of what is copied. */
static int confine_to(const struct work *work, int first, struct err *err)
{
	struct confine_path paths[STORE_TREES_MAX];
	struct confine_spec spec = {.name = "store",
				    .syscalls = calls,
				    .paths = paths,
				    .memory_max = 512u << 20};
	bool is_copy = !strcmp(work->what, "copy");
	struct stat st;

	if (fstat(first, &st) < 0)
		return err_system(err, "look at a directory");
	spec.uid = is_copy ? st.st_uid : STORE_UID;
	spec.gid = is_copy ? st.st_gid : STORE_UID;
	for (int i = 0; i < (is_copy ? 2 * work->argc : 1); i++)
		paths[spec.path_count++] = (struct confine_path){
			.fd = is_copy ? first + i : first + 1,
			.writable = !is_copy || i % 2 == 1,
			.makes_links = !is_copy || i % 2 == 1,
		};
	/* Sanitized builds, which are not confined, as well. */
	return become(spec.uid, spec.gid, err) < 0 ? -1 : confine(&spec, err);
}

/* A deep tree needs many. */
static void raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

static int do_copy(struct work *work, struct err *err)
{
	raise_files();
	if (work->argc < 1 || 2 * work->argc > STORE_TREES_MAX)
		return err_set(err, ERR_INVALID, "nothing to copy");
	if (confine_to(work, STORE_FIRST, err) < 0)
		return -1;
	for (int i = 0; i < work->argc; i++)
		if (copy_tree(STORE_FIRST + 2 * i, STORE_FIRST + 2 * i + 1,
			      !strcmp(work->argv[i], "layer"), &work->budget,
			      err) < 0)
			return -1;
	return 0;
}

static int do_unpack(struct work *work, struct err *err)
{
	uint8_t digest[DIGEST_LEN];
	char *at = work->digest + strlen("sha256:");

	if (confine_to(work, STORE_FIRST, err) < 0 ||
	    unpack_tar(STORE_FIRST, STORE_FIRST + 1, &work->budget, digest,
		       err) < 0)
		return -1;
	memcpy(work->digest, "sha256:", sizeof("sha256:"));
	for (size_t i = 0; i < sizeof(digest); i++)
		(void)snprintf(at + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

/* The store is root's alone: who gives up root's rights finds it elsewhere. */
static int enter_place(struct err *err)
{
	auto_fd int tree = -1;

	if (geteuid() != 0)
		return fchdir(STORE_FIRST + 1) < 0
			       ? err_system(err, "enter the store")
			       : 0;
	tree = open_tree(STORE_FIRST + 1, "",
			 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (tree < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    move_mount(tree, "", AT_FDCWD, PULL_PLACE,
		       MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
	    chdir(PULL_PLACE) < 0)
		return err_system(err, "enter the store");
	return 0;
}

/* It starts programs, which talk to a registry: without rights, but not
 * confined to what they would not run in. */
static int do_pull(struct work *work, struct err *err)
{
	if (work->argc != 1)
		return err_set(err, ERR_INVALID, "nothing to pull");
	if (enter_place(err) < 0)
		return -1;
	if (become(STORE_UID, STORE_UID, err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_system(err, "give up rights");
	return oci_pull(work->argv[0], &work->budget, work->digest, err);
}

static int work_on(struct work *work, struct err *err)
{
	if (!strcmp(work->what, "copy"))
		return do_copy(work, err);
	if (!strcmp(work->what, "unpack"))
		return do_unpack(work, err);
	if (!strcmp(work->what, "pull"))
		return do_pull(work, err);
	return err_set(err, ERR_INVALID, "nothing to do");
}

int main(int argc, char **argv)
{
	struct work work = {.budget.entries = STORE_ENTRIES_MAX};
	struct err err = {0};
	uint64_t bytes = 0;
	int rc;

	if (argc < 3 || bytes_to_u64(bytes_str(argv[2]), 19, &bytes) < 0) {
		(void)fputs("sallyport-store is started by sallyport-host\n",
			    stderr);
		return 2;
	}
	work.what = argv[1];
	work.argc = argc - 3;
	work.argv = argv + 3;
	work.budget.bytes = bytes;
	(void)umask(077);
	(void)signal(SIGCHLD, SIG_DFL);
	log_open("store", NULL);
	rc = work_on(&work, &err);
	if (rc < 0)
		(void)dprintf(STORE_ANSWER, "error %s\n", err.text);
	else
		(void)dprintf(STORE_ANSWER, "ok %s %llu\n",
			      work.digest[0] ? work.digest : "-",
			      (unsigned long long)(bytes - work.budget.bytes));
	return rc < 0 ? 1 : 0;
}
