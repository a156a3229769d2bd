#include "tests/unit/common/confine_child.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "common/clock.h"
#include "common/digest.h"
#include "common/io.h"
#include "common/log.h"
#include "common/secret.h"
#include "common/wire.h"

/* ---- what must still work ---- */

static int work(void)
{
	auto_type(secret_release) struct secret secret;
	uint8_t digest[DIGEST_LEN];
	char id[27], text[CLOCK_TEXT_SIZE];
	struct bytes view;
	struct err err;
	char *memory;
	int fd;

	digest_sha256(bytes_str("a"), bytes_str("b"), digest);
	random_id(id);
	clock_format(clock_wall_ms(), text);
	log_error("said from inside");
	secret_init(&secret);
	if (secret_random(&secret, 32, &err) < 0)
		return 1;
	memory = malloc(1 << 20);
	memory = memory ? realloc(memory, 8 << 20) : NULL;
	if (!memory)
		return 2;
	memset(memory, 1, 8 << 20);
	free(memory);
	fd = wire_memfd_seal("t", bytes_str("x"), &err);
	if (fd < 0 || wire_memfd_map(fd, 1, &view, &err) < 0)
		return 3;
	wire_memfd_unmap(view);
	errno = ENOENT;
	(void)err_system(&err, "x");
	return 0;
}

static void confine_leaves_what_a_process_needs(void **state)
{
	static const char *const listed[] = {CONFINE_CALLS_SECRET,
					     CONFINE_CALLS_MEMFD, NULL};
	struct confine_spec spec = bare;

	(void)state;
	spec.syscalls = listed;
	assert_int_equal(run(&spec, work), 0);
}

/* As the C library does where the clock is no TSC. */
static int ask_the_kernel_for_the_time(void)
{
	struct timespec now;
	struct timeval also;

	return syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) < 0 ||
	       syscall(SYS_gettimeofday, &also, NULL) < 0;
}

static void confine_leaves_the_time_whatever_the_clock(void **state)
{
	(void)state;
	assert_int_equal(run(&bare, ask_the_kernel_for_the_time), 0);
}

static struct io_loop *loop;
static int messages[2];

static int turn_the_loop(void)
{
	struct err err;
	uint8_t in[8];
	int fd;

	if (io_message_send(messages[0], bytes_str("hi"), -1, &err) < 0 ||
	    io_loop_turn(loop, 1, &err) < 0)
		return 1;
	return io_message_receive(messages[1], in, sizeof(in), &fd, &err) != 2;
}

static void confine_leaves_the_loop_and_the_channels(void **state)
{
	struct err err;

	(void)state;
	loop = io_loop_new(&err);
	assert_non_null(loop);
	assert_int_equal(io_message_pair(messages, &err), 0);
	assert_int_equal(run(&bare, turn_the_loop), 0);
	(void)close(messages[0]);
	(void)close(messages[1]);
	io_loop_free(loop);
}

/* ---- limits, user, capabilities ---- */

static int check_limits(void)
{
	struct rlimit core, files;

	if (getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_max != 0)
		return 1;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur != 50 ||
	    files.rlim_max != 50)
		return 2;
	return prctl(PR_GET_DUMPABLE) == 0 ? 0 : 3;
}

#ifdef SP_UNCONFINED

static int confine_then_open(void)
{
	struct confine_spec spec = bare;
	struct err err;

	spec.files_max = 50;
	spec.uid = spec.gid = 65534;
	if (confine(&spec, &err) < 0)
		return 10;
	return geteuid() == 65534 || open_file() != 0 ? 11 : check_limits();
}

static void confine_only_limits_a_build_with_sanitizers(void **state)
{
	(void)state;
	assert_int_equal(run(NULL, confine_then_open), 0);
}

#else

static const char *const asking[] = {"getrlimit", "prlimit64", "prctl",
				     "geteuid",	  "getresuid", "getresgid",
				     "getgroups", "capget",    NULL};

static int check_caps(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 20;
	if (prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) != 0 ||
	    prctl(PR_CAPBSET_READ, CAP_CHOWN) != 0)
		return 21;
	if (syscall(SYS_capget, &header, data) < 0)
		return 22;
	for (size_t i = 0; i < 2; i++)
		if (data[i].effective || data[i].permitted ||
		    data[i].inheritable)
			return 23;
	return check_limits();
}

static int check_user(void)
{
	uid_t uids[3];
	gid_t gids[3];

	if (getresuid(&uids[0], &uids[1], &uids[2]) < 0 ||
	    getresgid(&gids[0], &gids[1], &gids[2]) < 0)
		return 30;
	for (size_t i = 0; i < 3; i++)
		if (uids[i] != 65534 || gids[i] != 65533)
			return 31;
	if (getgroups(0, NULL) != 0)
		return 32;
	return check_caps();
}

static void confine_gives_up_user_and_capabilities(void **state)
{
	struct confine_spec spec = bare;

	(void)state;
	spec.syscalls = asking;
	spec.files_max = 50;
	spec.uid = 65534;
	spec.gid = 65533;
	assert_int_equal(run(&spec, check_user), 0);
	assert_int_not_equal(run(NULL, check_user), 0);
}

static void confine_gives_up_capabilities_when_it_stays_root(void **state)
{
	struct confine_spec spec = bare;

	(void)state;
	spec.syscalls = asking;
	spec.files_max = 50;
	assert_int_equal(run(&spec, check_caps), 0);
	assert_int_not_equal(run(NULL, check_caps), 0);
}

static int take_memory(void)
{
	void *at = mmap(NULL, 256 << 20, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? errno : 0;
}

static void confine_bounds_memory(void **state)
{
	struct confine_spec spec = bare;

	(void)state;
	assert_int_equal(run(&spec, take_memory), 0);
	spec.memory_max = 200 << 20;
	assert_int_equal(run(&spec, take_memory), ENOMEM);
}

static int say_name(void)
{
	static const char *const listed[] = {"nonsense", NULL};
	struct confine_spec spec = bare;
	struct err err;

	spec.syscalls = listed;
	if (confine(&spec, &err) == 0)
		return 1;
	return strncmp(err.text, "confine test: ", 14) == 0 ? 0 : 2;
}

static void confine_names_the_process_in_its_errors(void **state)
{
	(void)state;
	assert_int_equal(run(NULL, say_name), 0);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(confine_leaves_what_a_process_needs),
		cmocka_unit_test(confine_leaves_the_time_whatever_the_clock),
		cmocka_unit_test(confine_leaves_the_loop_and_the_channels),
#ifdef SP_UNCONFINED
		cmocka_unit_test(confine_only_limits_a_build_with_sanitizers),
#else
		cmocka_unit_test(confine_gives_up_user_and_capabilities),
		cmocka_unit_test(
			confine_gives_up_capabilities_when_it_stays_root),
		cmocka_unit_test(confine_bounds_memory),
		cmocka_unit_test(confine_names_the_process_in_its_errors),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
