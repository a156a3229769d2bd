#include "tests/unit/common/confine_child.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <termios.h>

/* What the children try: 0 or an errno. */
static int open_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
}

static int execute(void)
{
	char *const argv[] = {NULL};

	(void)execve("/nonexistent", argv, argv);
	return errno == ENOENT ? 0 : errno;
}

static int fork_again(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (child == 0)
		leave(0);
	return child < 0 ? errno : 0;
}

static int map(int protection)
{
	void *at = mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	return at == MAP_FAILED ? errno : 0;
}

static int map_data(void)
{
	return map(PROT_READ | PROT_WRITE);
}

static int map_code(void)
{
	return map(PROT_READ | PROT_EXEC);
}

static int protect(int protection)
{
	void *at =
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mprotect(at, 4096, protection) < 0 ? errno : 0;
}

static int protect_data(void)
{
	return protect(PROT_READ | PROT_WRITE);
}

static int protect_code(void)
{
	return protect(PROT_READ | PROT_EXEC);
}

#ifdef __x86_64__
static int call_as_i386(void)
{
	int call = 20, result; /* getpid there, writev here */

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(call) : "memory");
	return result > 0 ? 0 : 1;
}

static int call_as_x32(void)
{
	return syscall(0x40000000 | SYS_getpid) < 0 ? errno : 0;
}
#endif

/* What it answers of this descriptor is of no interest. */
static int ask_how_much_waits(void)
{
	int len = 0;

	(void)ioctl(STDIN_FILENO, FIONREAD, &len);
	return 0;
}

static int ask_for_attributes(void)
{
	struct termios attributes;

	(void)ioctl(STDIN_FILENO, TCGETS, &attributes);
	return 0;
}

/* Of each: killed by a confined process, fine without (the twin), and what
 * happens when exactly this call is listed. */
static void confine_kills_a_call_that_is_not_listed(void **state)
{
	static const struct {
		action_fn *action;
		const char *listed[4];
		int when_listed;
	} rows[] = {
		{open_file, {"openat", "open"}, EACCES},
		{open_socket, {"socket"}, 0},
		{execute, {"execve"}, 0},
		{fork_again, {"clone", "wait4"}, 0},
		{protect_data, {"mprotect"}, 0},
		{ask_how_much_waits, {"ioctl"}, 0},
		{ask_for_attributes, {"ioctl"}, KILLED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct confine_spec spec = bare;

		assert_int_equal(run(&bare, rows[i].action), KILLED);
		assert_int_equal(run(NULL, rows[i].action), 0);
		spec.syscalls = rows[i].listed;
		assert_int_equal(run(&spec, rows[i].action),
				 rows[i].when_listed);
	}
}

static void confine_lets_no_mapping_become_code(void **state)
{
	static const char *const listed[] = {"mprotect", "mmap", NULL};
	struct confine_spec spec = bare;

	(void)state;
	spec.syscalls = listed;
	assert_int_equal(run(&spec, map_data), 0);
	assert_int_equal(run(&spec, map_code), KILLED);
	assert_int_equal(run(&spec, protect_data), 0);
	assert_int_equal(run(&spec, protect_code), KILLED);
	assert_int_equal(run(NULL, map_code), 0);
	assert_int_equal(run(NULL, protect_code), 0);
}

static void confine_kills_calls_of_other_architectures(void **state)
{
	(void)state;
#ifdef __x86_64__
	assert_int_equal(run(&bare, call_as_i386), KILLED);
	assert_int_equal(run(&bare, call_as_x32), KILLED);
	assert_int_not_equal(run(NULL, call_as_x32), KILLED);
#endif
	assert_int_equal(run(&bare, map_data), 0);
}

static int compare_bytes(const void *a, const void *b)
{
	return memcmp(a, b, 1);
}

/* What glibc does for it needs a call that nobody lists. */
static int sort(void)
{
	static char bytes[8192] = "sort me";

	qsort(bytes, sizeof(bytes), 1, compare_bytes);
	return bytes[sizeof(bytes) - 1] == 't' ? 0 : 1;
}

static void confine_leaves_sorting_possible(void **state)
{
	(void)state;
	assert_int_equal(run(NULL, sort), 0);
	assert_int_equal(run(&bare, sort), 0);
}

static int say_unknown_name(void)
{
	static const char *const listed[] = {"opennat", NULL};
	struct confine_spec spec = bare;
	struct err err;

	spec.syscalls = listed;
	if (confine_seccomp(&spec, &err) == 0)
		return 1;
	return strstr(err.text, "opennat") ? 0 : 2;
}

static void confine_refuses_a_call_that_does_not_exist(void **state)
{
	(void)state;
	assert_int_equal(run(NULL, say_unknown_name), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(confine_kills_a_call_that_is_not_listed),
		cmocka_unit_test(confine_lets_no_mapping_become_code),
		cmocka_unit_test(confine_kills_calls_of_other_architectures),
		cmocka_unit_test(confine_leaves_sorting_possible),
		cmocka_unit_test(confine_refuses_a_call_that_does_not_exist),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
