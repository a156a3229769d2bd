/* What a process outside keeps: each of these is tried by one that was
 * confined, and by its twin that was not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/outside.h"
#include "tests/unit/sandbox-host/scratch.h"

enum who { NOBODY, CALLER, REPORTER };

static char kept[PATH_MAX], shown[PATH_MAX], other[PATH_MAX];
static pid_t parent;

static void make_file(const char *dir, const char *name)
{
	char path[PATH_MAX + 16];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "text", 4), 4);
	(void)close(fd);
}

static int make(void **state)
{
	static char *const names[] = {kept, shown, other};

	(void)state;
	scratch_make();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(names[i], PATH_MAX, "%s/%zu", scratch, i);
		assert_int_equal(mkdir(names[i], 0700), 0);
		make_file(names[i], "file");
	}
	parent = getpid();
	return 0;
}

static int drop(void **state)
{
	(void)state;
	scratch_remove();
	return 0;
}

/* ---- what is tried: 0, or an errno ---- */

static int open_in(const char *dir, const char *name, int flags)
{
	char path[PATH_MAX + 16];
	auto_fd int fd = -1;
	char letter;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	if ((flags & O_ACCMODE) == O_RDONLY)
		return read(fd, &letter, 1) == 1 ? 0 : errno;
	return write(fd, "more", 4) == 4 ? 0 : errno;
}

static int read_kept(void)
{
	return open_in(kept, "file", O_RDONLY);
}

static int write_kept(void)
{
	return open_in(kept, "new", O_WRONLY | O_CREAT);
}

static int remove_kept(void)
{
	char path[PATH_MAX + 16];

	for (int i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", kept,
			       i ? "new" : "file");
		(void)unlink(path);
	}
	return rmdir(kept) == 0 ? 0 : errno;
}

static int read_shown(void)
{
	return open_in(shown, "file", O_RDONLY);
}

static int write_shown(void)
{
	return open_in(shown, "file", O_WRONLY);
}

static int read_other(void)
{
	return open_in(other, "file", O_RDONLY);
}

static int write_other(void)
{
	return open_in(other, "file", O_WRONLY);
}

static int make_other(void)
{
	return open_in(other, "new", O_WRONLY | O_CREAT);
}

static int list_other(void)
{
	auto_fd int fd = open(other, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static int look_at_other(void)
{
	char path[PATH_MAX + 16];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/file", other);
	return stat(path, &st) == 0 ? 0 : errno;
}

static int read_memory(void)
{
	char letter;
	struct iovec local = {&letter, 1}, remote = {&parent, 1};

	return process_vm_readv(parent, &local, 1, &remote, 1, 0) == 1 ? 0
								       : errno;
}

static int run_program(void)
{
	(void)execl("/bin/true", "true", (char *)NULL);
	return errno;
}

static int connect_by_tcp(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(1)};
	auto_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0)
		return errno;
	(void)connect(fd, (const struct sockaddr *)&to, sizeof(to));
	return errno == ECONNREFUSED ? 0 : errno;
}

static int make_socket(void)
{
	auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno : 0;
}

static int make_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid < 0 ? errno : waitpid(pid, NULL, 0) == pid ? 0 : errno;
}

static int signal_parent(void)
{
	return kill(parent, 0) == 0 ? 0 : errno;
}

static int signal_a_thread_of_it(void)
{
	return syscall(SYS_tgkill, parent, parent, 0) == 0 ? 0 : errno;
}

static int make_map_of_file(void)
{
	return (int)syscall(SYS_memfd_create, "x", 0) >= 0 ? 0 : errno;
}

/* ---- by whom ---- */

static int confine_as(enum who who)
{
	const struct outside_place places[] = {
		{kept, OUTSIDE_REMOVE},
		{shown, OUTSIDE_READ},
		{"", OUTSIDE_WRITE},
	};
	uid_t uid = geteuid() == 0 ? 65534 : geteuid();
	gid_t gid = geteuid() == 0 ? 65534 : getegid();

	if (who == CALLER)
		return outside_confine(places, ARRAY_SIZE(places), NULL);
	return who == REPORTER ? outside_confine_reporter(uid, gid, NULL) : 0;
}

static int try_as(enum who who, int (*attempt)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(confine_as(who) < 0 ? 255 : attempt());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* What each may; -1: nobody asks. */
static const struct {
	int (*attempt)(void);
	int caller, reporter;
} rows[] = {
	{look_at_other, 0, 0},		 {read_kept, 0, 0},
	{write_kept, 0, EPERM},		 {read_shown, 0, 0},
	{write_shown, EACCES, EPERM},	 {read_other, EACCES, 0},
	{write_other, EACCES, EPERM},	 {make_other, EACCES, EPERM},
	{list_other, EACCES, 0},	 {read_memory, EPERM, -1},
	{connect_by_tcp, EACCES, EPERM}, {make_socket, 0, EPERM},
	{make_process, 0, EPERM},	 {make_map_of_file, 0, EPERM},
	{signal_parent, 0, EPERM},	 {signal_a_thread_of_it, 0, EPERM},
	{run_program, EPERM, EPERM},
};

static void nobody_is_refused_what_is_tried_here(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(try_as(NOBODY, rows[i].attempt), 0);
	assert_int_equal(try_as(NOBODY, remove_kept), 0);
}

#ifndef SP_UNCONFINED
static void a_caller_keeps_the_files_it_is_given(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(try_as(CALLER, rows[i].attempt),
				 rows[i].caller);
	assert_int_equal(try_as(CALLER, remove_kept), 0);
}

static void a_reporter_looks_and_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].reporter >= 0)
			assert_int_equal(try_as(REPORTER, rows[i].attempt),
					 rows[i].reporter);
	assert_int_equal(try_as(REPORTER, remove_kept), EPERM);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			nobody_is_refused_what_is_tried_here, make, drop),
#ifndef SP_UNCONFINED
		cmocka_unit_test_setup_teardown(
			a_caller_keeps_the_files_it_is_given, make, drop),
		cmocka_unit_test_setup_teardown(
			a_reporter_looks_and_nothing_else, make, drop),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
