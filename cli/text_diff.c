#include "cli/text_diff.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "common/cleanup.h"
#include "common/file.h"

#define LABEL_MAX   (PATH_MAX + 16)
#define BEFORE_FD   3
#define AFTER_FD    4
#define EXIT_DIFFER 1 /* diff(1): 0 the same, 1 they differ, 2 trouble */

static bool is_large(int fd)
{
	struct stat st;

	return fd >= 0 &&
	       (fstat(fd, &st) < 0 || st.st_size > TEXT_DIFF_FILE_MAX);
}

/* Where the child sees what: never a path of the sandbox's. */
static int start(const char *const argv[], const int fds[3], pid_t *pid)
{
	char locale[] = "LC_ALL=C";
	char *const environment[] = {locale, NULL};
	posix_spawn_file_actions_t actions;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc)
		return rc;
	rc = posix_spawn_file_actions_adddup2(&actions, fds[2], STDOUT_FILENO);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(&actions, fds[0],
						      BEFORE_FD);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(&actions, fds[1],
						      AFTER_FD);
	if (!rc)
		rc = posix_spawn(pid, "/usr/bin/diff", &actions, NULL,
				 (char *const *)(uintptr_t)argv, environment);
	(void)posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* Above the numbers that the child gives them. */
static int raised(int fd)
{
	return fd < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC)
		      : fcntl(fd, F_DUPFD_CLOEXEC, AFTER_FD + 1);
}

static int run(int before, int after, const char *const labels[2],
	       struct buf *out, struct err *err)
{
	const char *const argv[] = {
		"diff",	   "-u", "--label",   labels[0],   "--label",
		labels[1], "--", "/dev/fd/3", "/dev/fd/4", NULL};
	int ends[2];
	int status = 0;
	int rc;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_system(err, "make a pipe");
	rc = start(argv, (const int[]){before, after, ends[1]}, &pid);
	(void)close(ends[1]);
	if (rc) {
		(void)close(ends[0]);
		errno = rc;
		return err_system(err, "run /usr/bin/diff");
	}
	rc = file_read(ends[0], out, err);
	(void)close(ends[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc == 0 &&
	    (!WIFEXITED(status) || WEXITSTATUS(status) > EXIT_DIFFER) &&
	    buf_len(out) == 0)
		return err_set(err, ERR_LIBRARY, "diff failed");
	return rc;
}

int text_diff(int before, int after, const char *path, struct buf *out,
	      struct err *err)
{
	char texts[2][LABEL_MAX];
	const char *labels[] = {"/dev/null", "/dev/null"};
	auto_fd int from = -1;
	auto_fd int to = -1;

	snprintf(texts[0], LABEL_MAX, "a/%s", path);
	snprintf(texts[1], LABEL_MAX, "b/%s", path);
	/* Nothing that would be a line of its own. */
	cli_clean(texts[0]);
	cli_clean(texts[1]);
	if (before >= 0)
		labels[0] = texts[0];
	if (after >= 0)
		labels[1] = texts[1];
	if (is_large(before) || is_large(after))
		return buf_add_format(out, "Large files %s and %s differ\n",
				      labels[0], labels[1]) < 0
			       ? err_set(err, ERR_TOO_LARGE, "a long diff")
			       : 0;
	from = raised(before);
	to = raised(after);
	if (from < 0 || to < 0)
		return err_system(err, "open for diff");
	return run(from, to, labels, out, err);
}
