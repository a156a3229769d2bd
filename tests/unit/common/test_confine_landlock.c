#include "tests/unit/common/confine_child.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* What the children try: 0 or an errno. */
static int connect_tcp(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(1),
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ? errno : 0;
}

static int bind_tcp(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? errno : 0;
}

static int signal_parent(void)
{
	return kill(getppid(), 0) < 0 ? errno : 0;
}

static void confine_knows_the_landlock_of_this_kernel(void **state)
{
	(void)state;
	/* The network and scope rules below need it; so do our promises. */
	assert_true(confine_landlock_abi() >= 6);
}

static void confine_denies_tcp_unless_it_may_connect(void **state)
{
	static const char *const listed[] = {"socket", "connect", "bind", NULL};
	struct confine_spec spec = bare;

	(void)state;
	spec.syscalls = listed;
	assert_int_equal(run(&spec, connect_tcp), EACCES);
	assert_int_equal(run(&spec, bind_tcp), EACCES);
	assert_int_equal(run(NULL, bind_tcp), 0);
	spec.may_connect = true;
	assert_int_equal(run(&spec, connect_tcp), ECONNREFUSED);
	assert_int_equal(run(&spec, bind_tcp), EACCES);
}

static void confine_denies_signals_to_others(void **state)
{
	static const char *const listed[] = {"kill", "getppid", NULL};
	struct confine_spec spec = bare;

	(void)state;
	spec.syscalls = listed;
	assert_int_equal(run(&spec, signal_parent), EPERM);
	assert_int_equal(run(NULL, signal_parent), 0);
}

static int tree = -1; /* a directory with a file "old" */
static char tree_path[64];

static int read_inside(void)
{
	return openat(tree, "old", O_RDONLY) < 0 ? errno : 0;
}

static int write_inside(void)
{
	int fd = openat(tree, "old", O_WRONLY | O_TRUNC);

	return fd < 0 || write(fd, "x", 1) != 1 ? errno : 0;
}

static int create_inside(void)
{
	int fd = openat(tree, "new", O_RDWR | O_CREAT, 0600);

	if (fd < 0 || renameat(tree, "new", tree, "newer") < 0 ||
	    unlinkat(tree, "newer", 0) < 0)
		return errno;
	return 0;
}

static int make_device_inside(void)
{
	return mknodat(tree, "device", S_IFCHR | 0600, 0x103) < 0 ? errno : 0;
}

static int read_outside(void)
{
	return openat(tree, "../../etc/passwd", O_RDONLY) < 0 ? errno : 0;
}

static void confine_keeps_the_trees_that_are_listed(void **state)
{
	static const char *const listed[] = {"openat",	 "open",    "unlinkat",
					     "renameat", "mknodat", NULL};
	static const struct {
		action_fn *action;
		int when_readable, when_writable;
	} rows[] = {
		{read_inside, 0, 0},
		{write_inside, EACCES, 0},
		{create_inside, EACCES, 0},
		{make_device_inside, EACCES, EACCES},
		{read_outside, EACCES, EACCES},
	};
	struct confine_path path = {.fd = tree};
	struct confine_spec spec = bare;

	(void)state;
	spec.syscalls = listed;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		spec.path_count = 0;
		assert_int_equal(run(&spec, rows[i].action), EACCES);
		spec.paths = &path;
		spec.path_count = 1;
		path.writable = false;
		assert_int_equal(run(&spec, rows[i].action),
				 rows[i].when_readable);
		path.writable = true;
		assert_int_equal(run(&spec, rows[i].action),
				 rows[i].when_writable);
	}
}

static int make_tree(void **state)
{
	int fd;

	(void)state;
	(void)snprintf(tree_path, sizeof(tree_path), "/tmp/confine-%d",
		       (int)getpid());
	if (mkdir(tree_path, 0755) < 0)
		return -1;
	tree = open(tree_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(tree, "old", O_WRONLY | O_CREAT, 0600);
	return tree < 0 || fd < 0 ? -1 : close(fd);
}

static int remove_tree(void **state)
{
	(void)state;
	(void)unlinkat(tree, "old", 0);
	(void)unlinkat(tree, "device", 0);
	(void)close(tree);
	return rmdir(tree_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(confine_knows_the_landlock_of_this_kernel),
		cmocka_unit_test(confine_denies_tcp_unless_it_may_connect),
		cmocka_unit_test(confine_denies_signals_to_others),
		cmocka_unit_test_setup_teardown(
			confine_keeps_the_trees_that_are_listed, make_tree,
			remove_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
