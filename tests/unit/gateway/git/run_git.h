/*
 * Runs real git for a test: input from memory, output to memory, in a
 * directory made for the test. No shell.
 */
#ifndef TESTS_UNIT_GATEWAY_GIT_RUN_GIT_H
#define TESTS_UNIT_GATEWAY_GIT_RUN_GIT_H

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/bytes.h"

#define RUN_OUTPUT_MAX (64 << 20)
#define RUN_ARGS_MAX   32
#define RUN_OID_LEN    40

static inline int run_memory(struct bytes content)
{
	int fd = memfd_create("run", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content.data, content.len), content.len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static inline void run_read_all(int fd, struct buf *out)
{
	ssize_t len;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	do {
		uint8_t *to = buf_reserve(out, 65536);

		assert_non_null(to);
		len = read(fd, to, 65536);
		assert_true(len >= 0);
		buf_commit(out, (size_t)len);
	} while (len > 0);
}

/* Run argv (NULL-ended) in dir with input; append its output to out. Returns
 * the exit status. */
static inline int run_git(const char *dir, const char *const *argv,
			  struct bytes input, struct buf *out)
{
	int in = run_memory(input), to = run_memory(bytes_str(NULL));
	char *copy[RUN_ARGS_MAX] = {NULL};
	int status = -1;
	pid_t pid;

	for (size_t i = 0; argv[i] && i + 1 < RUN_ARGS_MAX; i++)
		copy[i] = strdup(argv[i]);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (chdir(dir) < 0 || dup2(in, 0) < 0 || dup2(to, 1) < 0)
			_exit(126);
		(void)execvp(copy[0], copy);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (out)
		run_read_all(to, out);
	for (size_t i = 0; i < RUN_ARGS_MAX; i++)
		free(copy[i]);
	(void)close(in);
	(void)close(to);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Run git and require success. */
#define RUN_GIT(dir, ...)                                                      \
	assert_int_equal(                                                      \
		run_git(dir, (const char *const[]){"git", __VA_ARGS__, NULL},  \
			bytes_str(NULL), NULL),                                \
		0)

/* The object id of a name ("HEAD~1"), terminated. */
static inline void run_oid(const char *dir, const char *name,
			   char oid[RUN_OID_LEN + 1])
{
	const char *argv[] = {"git", "rev-parse", "--verify", name, NULL};
	struct buf out;

	buf_init(&out, RUN_OUTPUT_MAX);
	assert_int_equal(run_git(dir, argv, bytes_str(NULL), &out), 0);
	assert_true(buf_len(&out) >= RUN_OID_LEN);
	memcpy(oid, buf_view(&out).data, RUN_OID_LEN);
	oid[RUN_OID_LEN] = '\0';
	buf_release(&out);
}

/* Write a file of the directory. */
static inline void run_write(const char *dir, const char *name,
			     const char *content)
{
	char path[512];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(content, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* One commit that changes file "f"; its content is the message. */
static inline void run_commit(const char *dir, const char *message)
{
	run_write(dir, "f", message);
	RUN_GIT(dir, "add", "f");
	RUN_GIT(dir, "commit", "-q", "-m", message);
}

/* A new directory with an empty repository (branch main) in it. */
static inline char *run_repository(void)
{
	char template[] = "/tmp/sallyport-test-XXXXXX";
	char *dir;

	assert_int_equal(setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1), 0);
	assert_int_equal(setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1), 0);
	assert_int_equal(unsetenv("GIT_PROTOCOL"), 0);
	assert_non_null(mkdtemp(template));
	dir = strdup(template);
	assert_non_null(dir);
	RUN_GIT(dir, "init", "-q", "-b", "main", ".");
	RUN_GIT(dir, "config", "user.name", "test");
	RUN_GIT(dir, "config", "user.email", "test@example.com");
	return dir;
}

static inline int run_remove_one(const char *path, const struct stat *status,
				 int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

static inline void run_remove(char *dir)
{
	(void)nftw(dir, run_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(dir);
}

#endif
