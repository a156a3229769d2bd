#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/tree.h"

#define DEPTH 3000 /* longer than a path may be */
#define OTHER 65534

static int open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void make_file(int at, const char *name)
{
	auto_fd int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0);

	assert_true(fd >= 0);
}

/* A chain of directories, in each of which is a file as well. */
static void make_deep(int top)
{
	int at = dup(top);

	for (int i = 0; i < DEPTH; i++) {
		int next;

		make_file(at, "file");
		assert_int_equal(mkdirat(at, "down", 0700), 0);
		next = open_dir(at, "down");
		(void)close(at);
		at = next;
	}
	(void)close(at);
}

static void a_tree_of_any_depth_is_removed(void **state)
{
	char path[] = "/tmp/tree-XXXXXX";
	int top;

	(void)state;
	assert_non_null(mkdtemp(path));
	top = open_dir(AT_FDCWD, path);
	make_deep(top);
	/* Names like those that it gives itself. */
	assert_int_equal(mkdirat(top, ".0.removed", 0700), 0);
	assert_int_equal(mkdirat(top, ".0.removed/.1.removed", 0700), 0);
	(void)close(top);
	assert_int_equal(tree_remove(AT_FDCWD, path), 0);
	assert_int_equal(access(path, F_OK), -1);
}

static void directories_without_any_right_are_removed(void **state)
{
	char path[] = "/tmp/tree-XXXXXX";
	int top;

	(void)state;
	assert_non_null(mkdtemp(path));
	top = open_dir(AT_FDCWD, path);
	assert_int_equal(mkdirat(top, "a", 0700), 0);
	assert_int_equal(mkdirat(top, "a/b", 0700), 0);
	make_file(top, "a/b/c");
	assert_int_equal(fchmodat(top, "a/b", 0, 0), 0);
	assert_int_equal(fchmodat(top, "a", 0, 0), 0);
	(void)close(top);
	assert_int_equal(tree_remove(AT_FDCWD, path), 0);
	assert_int_equal(access(path, F_OK), -1);
}

static void links_are_not_followed(void **state)
{
	char path[] = "/tmp/tree-XXXXXX";
	char other[] = "/tmp/kept-XXXXXX";
	int top, kept;

	(void)state;
	assert_non_null(mkdtemp(path));
	assert_non_null(mkdtemp(other));
	kept = open_dir(AT_FDCWD, other);
	make_file(kept, "file");
	top = open_dir(AT_FDCWD, path);
	assert_int_equal(symlinkat(other, top, "link"), 0);
	assert_int_equal(tree_remove(top, "link"), -1);
	(void)close(top);
	assert_int_equal(tree_remove(AT_FDCWD, path), 0);
	assert_int_equal(faccessat(kept, "file", F_OK, 0), 0);
	(void)close(kept);
	assert_int_equal(tree_remove(AT_FDCWD, other), 0);
}

/* By another user than ours, where we can be one. */
static void remove_as_other(const char *path)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		if (geteuid() == 0 && setresuid(OTHER, OTHER, OTHER) < 0)
			_exit(2);
		(void)tree_remove(AT_FDCWD, path);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* In a sticky directory of somebody else's it can not be removed, and looks
 * like a directory that needs another mode. */
static void a_link_that_stays_leads_nowhere(void **state)
{
	char path[] = "/tmp/tree-XXXXXX";
	char other[] = "/tmp/kept-XXXXXX";
	struct stat info;
	int top;

	(void)state;
	assert_non_null(mkdtemp(path));
	assert_non_null(mkdtemp(other));
	top = open_dir(AT_FDCWD, path);
	assert_int_equal(symlinkat(other, top, "link"), 0);
	assert_int_equal(chmod(path, 01777), 0);
	assert_int_equal(chmod(other, 0711), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(other, OTHER, OTHER), 0);
	remove_as_other(path);
	assert_int_equal(stat(other, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0711);
	(void)close(top);
	assert_int_equal(tree_remove(AT_FDCWD, path), 0);
	assert_int_equal(rmdir(other), 0);
}

/* 0: it was opened, can be listed, and its mode is as it was. */
static int open_closed_one(int top)
{
	int fd = tree_open(top, "closed");
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct stat info;
	int names = 0;

	if (!dir || fstatat(top, "closed", &info, 0) < 0)
		return 3;
	while (readdir(dir))
		names++;
	(void)closedir(dir);
	return names == 3 && (info.st_mode & 07777) == 0 ? 0 : 4;
}

static void a_directory_that_is_closed_is_opened_and_stays_so(void **state)
{
	char path[] = "/tmp/tree-XXXXXX";
	pid_t child;
	int top, status;

	(void)state;
	assert_non_null(mkdtemp(path));
	top = open_dir(AT_FDCWD, path);
	assert_int_equal(fchmod(top, 0755), 0);
	assert_int_equal(mkdirat(top, "closed", 0700), 0);
	make_file(top, "closed/file");
	assert_int_equal(symlinkat("closed", top, "link"), 0);
	if (geteuid() == 0)
		assert_int_equal(fchownat(top, "closed", OTHER, OTHER, 0), 0);
	assert_int_equal(fchmodat(top, "closed", 0, 0), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (geteuid() == 0 && setresuid(OTHER, OTHER, OTHER) < 0)
			_exit(2);
		_exit(tree_open(top, "link") < 0 ? open_closed_one(top) : 5);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	(void)close(top);
	assert_int_equal(tree_remove(AT_FDCWD, path), 0);
}

static void what_is_not_there_is_removed_already(void **state)
{
	(void)state;
	assert_int_equal(tree_remove(AT_FDCWD, "/nonexistent/tree"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_of_any_depth_is_removed),
		cmocka_unit_test(directories_without_any_right_are_removed),
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(a_link_that_stays_leads_nowhere),
		cmocka_unit_test(
			a_directory_that_is_closed_is_opened_and_stays_so),
		cmocka_unit_test(what_is_not_there_is_removed_already),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
