#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "common/cleanup.h"
#include "sandbox-host/place.h"
#include "tests/unit/sandbox-host/scratch.h"

/* The scratch directory stands for the root of a sandbox, this process for
 * a program in it. */
static int root;

static int setup(void **state)
{
	(void)state;
	scratch_make();
	scratch_dir("d");
	scratch_file("d/f");
	scratch_link("abs", "/d");
	scratch_link("rel", "d/f");
	scratch_link("new", "d/missing");
	scratch_link("loop", "loop");
	scratch_link("escape", "/etc/passwd");
	root = open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)close(root);
	scratch_remove();
	return 0;
}

struct row {
	const char *path;
	bool follow;
	/* In scratch; from "/" on, as it is; NULL: .error. */
	const char *found;
	bool exists;
	int error;
};

/* As a program of this process would see it. */
static int find_in(struct place *place, int below, int dir, const char *path,
		   bool follow)
{
	static struct place_view view;

	place_begin(&view, below, getpid());
	return place_find(place, &view, dir, path, follow);
}

static void find(int below, const char *prefix, const struct row *row)
{
	struct place place;
	char path[PATH_MAX];
	int rc;

	snprintf(path, sizeof(path), "%s%s", prefix, row->path);
	rc = find_in(&place, below, AT_FDCWD, path, row->follow);
	if (rc != row->error)
		fail_msg("%s: %d", path, rc);
	if (!row->found)
		return;
	assert_string_equal(place.path, row->found[0] == '/'
						? row->found
						: scratch_path(row->found));
	assert_int_equal(place.exists, row->exists);
}

static void place_follows_links_as_the_kernel_does(void **state)
{
	static const struct row rows[] = {
		{"/d/f", true, "d/f", true, 0},
		{"//d/./f", true, "d/f", true, 0},
		{"/d/../d/f", true, "d/f", true, 0},
		{"/d/new", true, "d/new", false, 0},
		{"/d/", true, "d", true, 0},
		{"/d/.", true, "d", true, 0},
		{"/d/new/", true, "d/new", false, 0},
		{"/rel", true, "d/f", true, 0},
		{"/rel", false, "rel", true, 0},
		{"/new", true, "d/missing", false, 0},
		{"/new", false, "new", true, 0},
		{"/loop", true, NULL, false, -ELOOP},
		{"/nothing/f", true, NULL, false, -ENOENT},
		{"/d/f/x", true, NULL, false, -ENOTDIR},
	};
	int whole = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		find(whole, scratch, &rows[i]);
	(void)close(whole);
}

static void place_never_leaves_the_root(void **state)
{
	static const struct row rows[] = {
		{"/d/f", true, "/d/f", true, 0},
		{"/d/new", true, "/d/new", false, 0},
		{"/new-in-the-root", false, "/new-in-the-root", false, 0},
		{"/d", true, "/d", true, 0},
		{"/escape", false, "/escape", true, 0},
		{"/d/./f", true, "d/f", true, 0},
		{"/../../d/f", true, "d/f", true, 0},
		{"/abs/f", true, "d/f", true, 0},
		{"/abs/new", true, "d/new", false, 0},
		{"/escape", true, NULL, false, -ENOENT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		find(root, "", &rows[i]);
}

static void place_starts_at_a_descriptor(void **state)
{
	struct place place;
	int dir = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int whole = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(find_in(&place, whole, dir, "bin/x-y-z", true), 0);
	assert_string_equal(place.path, "/usr/bin/x-y-z");
	assert_int_equal(find_in(&place, whole, 12345, "x", true), -EBADF);
	(void)close(whole);
	(void)close(dir);
}

/* A name alone is found with fewer calls once its mount is known. */
static void place_finds_a_name_alone_as_by_its_whole_path(void **state)
{
	static const char *const names[] = {"d",    "abs",     "rel",	"new",
					    "loop", "missing", "escape"};
	int whole = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int dir = open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(fchdir(dir), 0);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(names); i++) {
		const char *name = names[i / 2];
		struct place near, at, far;
		int rc = find_in(&far, whole, AT_FDCWD, scratch_path(name),
				 i % 2);

		assert_int_equal(find_in(&near, whole, AT_FDCWD, name, i % 2),
				 rc);
		assert_int_equal(find_in(&at, whole, dir, name, i % 2), rc);
		if (rc < 0)
			continue;
		assert_string_equal(near.path, far.path);
		assert_int_equal(near.exists, far.exists);
		assert_false(near.is_read_only);
		assert_true(!near.exists || near.mode == far.mode);
		assert_string_equal(at.path, far.path);
		assert_int_equal(at.exists, far.exists);
	}
	assert_int_equal(fchdir(here), 0);
	(void)close(dir);
	(void)close(here);
	(void)close(whole);
}

/* What the root does not lead to is no place, whatever is known of its mount:
 * the caller was handed a directory from outside, or its own was moved out. */
static void place_does_not_know_a_directory_outside_the_root(void **state)
{
	struct place place;
	int whole = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int inner = open(scratch_path("d"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	int outer = open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(find_in(&place, whole, outer, "missing", true), 0);
	assert_int_equal(find_in(&place, inner, outer, "rel", false), -ENOENT);
	assert_int_equal(find_in(&place, inner, outer, "missing", true),
			 -ENOENT);
	(void)close(outer);
	(void)close(inner);
	(void)close(whole);
}

static void place_knows_handles_and_follows_magic_directories(void **state)
{
	struct place place;
	int whole = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(
		find_in(&place, whole, AT_FDCWD, "/proc/self/fd/1", true), 0);
	assert_true(place.is_handle);
	assert_int_equal(find_in(&place, whole, AT_FDCWD,
				 "/proc/self/root/usr/x-y-z", true),
			 0);
	assert_string_equal(place.path, "/usr/x-y-z");
	assert_false(place.is_handle);
	(void)close(whole);
}

/* A thread with another directory and other descriptors than its process. */
struct apart {
	pthread_barrier_t barrier;
	pid_t thread;
};

static void *be_apart(void *owner)
{
	struct apart *apart = owner;
	int etc = -1;

	if (unshare(CLONE_FS | CLONE_FILES) == 0 && chdir("/etc") == 0)
		etc = dup2(open("/etc", O_PATH | O_CLOEXEC), 100);
	apart->thread = etc == 100 ? gettid() : -1;
	(void)pthread_barrier_wait(&apart->barrier);
	(void)pthread_barrier_wait(&apart->barrier);
	return NULL;
}

static void look_apart(int whole, pid_t thread)
{
	static const struct {
		const char *path, *found;
	} rows[] = {
		{"/proc/self/cwd/x-y-z", "/usr/x-y-z"},
		{"/proc/self/cwd", "/usr"},
		{"/proc/thread-self/cwd/x-y-z", "/etc/x-y-z"},
		{"x-y-z", "/etc/x-y-z"},
		{"/proc/self/fd/100/x-y-z", "/usr/x-y-z"},
		{"/dev/fd/100/x-y-z", "/usr/x-y-z"},
		{"/proc/thread-self/fd/100/x-y-z", "/etc/x-y-z"},
	};
	static struct place_view view;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct place place;

		place_begin(&view, whole, thread);
		if (place_find(&place, &view, AT_FDCWD, rows[i].path, true) ||
		    strcmp(place.path, rows[i].found) != 0)
			fail_msg("%s: %s", rows[i].path, place.path);
	}
}

static void place_tells_a_thread_from_its_process(void **state)
{
	int whole = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct apart apart;
	pthread_t thread;

	(void)state;
	assert_int_equal(chdir("/usr"), 0);
	assert_int_equal(dup2(open("/usr", O_PATH | O_CLOEXEC), 100), 100);
	assert_int_equal(pthread_barrier_init(&apart.barrier, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, be_apart, &apart), 0);
	(void)pthread_barrier_wait(&apart.barrier);
	assert_int_not_equal(apart.thread, -1);
	look_apart(whole, apart.thread);
	(void)pthread_barrier_wait(&apart.barrier);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_barrier_destroy(&apart.barrier), 0);
	assert_int_equal(fchdir(here), 0);
	(void)close(100);
	(void)close(here);
	(void)close(whole);
}

/* A directory that is gone, and what is called as the kernel calls it then. */
static void place_takes_nothing_for_what_is_gone(void **state)
{
	int whole = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct place place;
	int gone;

	(void)state;
	scratch_dir("gone");
	assert_int_equal(chdir(scratch_path("gone")), 0);
	gone = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(rmdir(scratch_path("gone")), 0);
	assert_int_equal(find_in(&place, whole, gone, "../f", false), -ENOENT);
	scratch_link("gone (deleted)", "d");
	assert_int_equal(find_in(&place, whole, gone, "../f", false), -EACCES);
	assert_int_equal(find_in(&place, whole, AT_FDCWD, "../f", false),
			 -EACCES);
	assert_int_equal(
		find_in(&place, whole, AT_FDCWD, "/proc/self/cwd/../f", false),
		-EACCES);
	assert_int_equal(unlink(scratch_path("gone (deleted)")), 0);
	scratch_dir("gone (deleted)");
	assert_int_equal(chdir(scratch_path("gone (deleted)")), 0);
	assert_int_equal(find_in(&place, whole, AT_FDCWD, "../f", false), 0);
	assert_int_equal(rmdir(scratch_path("gone (deleted)")), 0);
	assert_int_equal(fchdir(here), 0);
	(void)close(gone);
	(void)close(here);
	(void)close(whole);
}

static void place_looks_at_what_a_descriptor_is(void **state)
{
	int whole = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int file = open(scratch_path("d/f"), O_PATH | O_CLOEXEC);
	static struct place_view view;
	struct place_object object;
	char path[PATH_MAX];
	struct place place;
	struct stat st;

	(void)state;
	assert_int_equal(fstat(file, &st), 0);
	place_begin(&view, whole, getpid());
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	assert_int_equal(place_find(&place, &view, AT_FDCWD, path, true), 0);
	assert_true(place.is_handle);
	assert_int_equal(place_look(&object, &view, &place), 0);
	assert_string_equal(place.path, scratch_path("d/f"));
	assert_int_equal(object.inode, st.st_ino);
	assert_int_equal(object.device, st.st_dev);
	assert_int_equal(object.mode, st.st_mode);
	assert_int_equal(
		place_find(&place, &view, AT_FDCWD, scratch_path("rel"), true),
		0);
	assert_int_equal(place_look(&object, &view, &place), 0);
	assert_int_equal(object.inode, st.st_ino);
	/* A name that came to be a link is not followed. */
	snprintf(place.path, sizeof(place.path), "%s", scratch_path("rel"));
	assert_int_equal(place_look(&object, &view, &place), -EACCES);
	(void)close(file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	assert_int_equal(place_find(&place, &view, AT_FDCWD, path, true), 0);
	assert_int_equal(place_look(&object, &view, &place), -ENOENT);
	(void)close(whole);
}

static void place_never_waves_an_unknown_magic_link_through(void **state)
{
	static const char *const paths[] = {
		"/proc/self/task/1/cwd/x",
		"/proc/self/exe/x",
		"/proc/self/fd/../../../usr",
		"/proc/1/root/usr/x",
	};
	int whole = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct place place;

		if (find_in(&place, whole, AT_FDCWD, paths[i], true) >= 0)
			fail_msg("%s", paths[i]);
	}
	(void)close(whole);
}

static void place_reads_a_string_up_to_its_end(void **state)
{
	const char *text = "/a/b";
	char out[PATH_MAX];
	char *longest = calloc(1, 2 * PATH_MAX);

	(void)state;
	assert_int_equal(place_read_string(getpid(), (uintptr_t)text, out), 0);
	assert_string_equal(out, "/a/b");
	assert_int_equal(place_read_string(getpid(), (uintptr_t)longest, out),
			 -ENOENT);
	memset(longest, 'x', 300); /* more than is read at first */
	assert_int_equal(place_read_string(getpid(), (uintptr_t)longest, out),
			 0);
	assert_string_equal(out, longest);
	memset(longest, 'x', 2 * PATH_MAX - 1);
	assert_int_equal(place_read_string(getpid(), (uintptr_t)longest, out),
			 -ENAMETOOLONG);
	assert_int_equal(place_read_string(getpid(), 16, out), -EFAULT);
	free(longest);
}

static void place_reads_two_strings_as_one_by_one(void **state)
{
	char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *last = pages + 4096 - 4; /* nothing is mapped after it */
	const uint64_t nowhere = 16;
	static char out[2][PATH_MAX];
	static char one[PATH_MAX];
	int results[2];

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(munmap(pages + 4096, 4096), 0);
	memcpy(pages, "/a", 3);
	memset(pages + 100, 'x', 400);
	memcpy(last, "/b\0", 4);
	const uint64_t at[] = {(uintptr_t)pages,
			       (uintptr_t)last,
			       (uintptr_t)pages + 3,
			       (uintptr_t)pages + 100,
			       (uintptr_t)last + 1,
			       (uintptr_t)last + 3,
			       nowhere,
			       (uintptr_t)last + 4,
			       (uintptr_t)pages + 8192};

	for (size_t i = 0; i < ARRAY_SIZE(at) * ARRAY_SIZE(at); i++) {
		const uint64_t both[] = {at[i % ARRAY_SIZE(at)],
					 at[i / ARRAY_SIZE(at)]};

		place_read_strings(getpid(), both, out, results);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(
				results[k],
				place_read_string(getpid(), both[k], one));
			if (results[k] == 0)
				assert_string_equal(out[k], one);
		}
	}
	assert_int_equal(munmap(pages, 4096), 0);
	assert_int_equal(munmap(pages + 8192, 4096), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(place_follows_links_as_the_kernel_does),
		cmocka_unit_test(place_never_leaves_the_root),
		cmocka_unit_test(place_starts_at_a_descriptor),
		cmocka_unit_test(place_finds_a_name_alone_as_by_its_whole_path),
		cmocka_unit_test(place_takes_nothing_for_what_is_gone),
		cmocka_unit_test(place_looks_at_what_a_descriptor_is),
		cmocka_unit_test(
			place_does_not_know_a_directory_outside_the_root),
		cmocka_unit_test(
			place_knows_handles_and_follows_magic_directories),
		cmocka_unit_test(place_tells_a_thread_from_its_process),
		cmocka_unit_test(
			place_never_waves_an_unknown_magic_link_through),
		cmocka_unit_test(place_reads_a_string_up_to_its_end),
		cmocka_unit_test(place_reads_two_strings_as_one_by_one),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
