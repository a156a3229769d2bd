#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "common/cleanup.h"
#include "sandbox-host/control.h"
#include "sandbox-host/peers.h"
#include "tests/unit/sandbox-host/scratch.h"

static int setup(void **state)
{
	(void)state;
	scratch_make();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove();
	return 0;
}

/* A descriptor of another namespace. */
static int peers_apart(void)
{
	const struct control_message message = {.kind = CONTROL_NOTIFY};
	size_t count = 1;
	int ends[2], fd = -1, status;
	struct err err;
	pid_t pid;

	assert_int_equal(control_pair(ends, &err), 0);
	pid = fork();
	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 ||
		      peers_open(&fd, &err) < 0 ||
		      control_send(ends[1], &message, &fd, 1, &err) < 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(
		control_expect(ends[0], CONTROL_NOTIFY, &fd, &count, &err), 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
	return fd;
}

static int bound(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s",
		 scratch_path(name));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)),
			 0);
	return fd;
}

static struct place_object look(const char *name)
{
	int whole = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct place_view view = {.root = whole};
	struct place place = {.exists = true};
	struct place_object object;

	snprintf(place.path, sizeof(place.path), "%s", scratch_path(name));
	assert_int_equal(place_look(&object, &view, &place), 0);
	(void)close(whole);
	return object;
}

static void peers_know_who_listens(void **state)
{
	struct peers peers = {.init = getpid()};
	struct peers others = {.init = getpid()};
	struct place_object object;
	int fd = bound("s");
	struct err err;

	(void)state;
	assert_int_equal(peers_open(&peers.inside, &err), 0);
	peers.outside = others.inside = peers_apart();
	others.outside = peers.inside;
	assert_int_equal(peers_begin(&peers, &err), 0);
	assert_int_equal(peers_begin(&others, &err), 0);
	assert_true(peers.inside >= 0 && others.inside >= 0);
	object = look("s");
	assert_int_equal(peers_judge(&peers, &object), -ECONNREFUSED);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(peers_judge(&peers, &object), 0);
	assert_int_equal(peers_judge(&others, &object), -EACCES);
	others.outside = -1;
	assert_int_equal(peers_judge(&others, &object), -ECONNREFUSED);
	(void)close(fd);
	/* The kernel says so where the file is known, */
	assert_int_equal(peers_judge(&peers, &object), 0);
	/* and another in its place is not. */
	object.born++;
	assert_int_equal(peers_judge(&peers, &object), -ECONNREFUSED);
	object.born = 0;
	assert_int_equal(peers_judge(&peers, &object), -ECONNREFUSED);
	(void)close(others.inside);
	(void)close(peers.inside);
}

/* As on btrfs, where stat() tells another device than the kernel has. */
static void peers_know_the_device_of_a_mount(void **state)
{
	struct peers peers = {.outside = -1, .init = getpid()};
	struct place_object object;
	int fd = bound("d");
	struct err err;

	(void)state;
	assert_int_equal(peers_open(&peers.inside, &err), 0);
	assert_int_equal(listen(fd, 1), 0);
	object = look("d");
	object.device++;
	object.born = 0;
	assert_int_equal(peers_judge(&peers, &object), 0);
	object.mount = UINT32_MAX;
	assert_int_equal(peers_judge(&peers, &object), -ECONNREFUSED);
	(void)close(fd);
	(void)close(peers.inside);
}

static void peers_judge_nothing_where_the_kernel_does_not_tell(void **state)
{
	struct peers peers = {.inside = -1, .outside = -1, .init = getpid()};
	struct place_object object;
	int fd = bound("n");
	struct err err;

	(void)state;
	object = look("n");
	assert_int_equal(peers_begin(&peers, &err), 0);
	assert_int_equal(peers_judge(&peers, &object), 0);
	(void)close(fd);
}

static void peers_know_one_of_many(void **state)
{
	struct peers peers = {.outside = -1, .init = getpid()};
	struct place_object object;
	struct err err;
	char name[16];
	int fds[900];

	(void)state;
	assert_int_equal(peers_open(&peers.inside, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		snprintf(name, sizeof(name), "m%zu", i);
		fds[i] = bound(name);
		assert_int_equal(listen(fds[i], 1), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fds); i += 30) {
		snprintf(name, sizeof(name), "m%zu", i);
		object = look(name);
		assert_int_equal(peers_judge(&peers, &object), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		(void)close(fds[i]);
	(void)close(peers.inside);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peers_know_who_listens),
		cmocka_unit_test(peers_know_the_device_of_a_mount),
		cmocka_unit_test(
			peers_judge_nothing_where_the_kernel_does_not_tell),
		cmocka_unit_test(peers_know_one_of_many),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
