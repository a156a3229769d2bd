#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "gateway/packcheck/store.h"

static bool has_no_indexer;

int __real_git_indexer_new(git_indexer **out, const char *path,
			   unsigned int mode, git_odb *odb,
			   git_indexer_options *opts);
int __wrap_git_indexer_new(git_indexer **out, const char *path,
			   unsigned int mode, git_odb *odb,
			   git_indexer_options *opts);
int __wrap_git_indexer_new(git_indexer **out, const char *path,
			   unsigned int mode, git_odb *odb,
			   git_indexer_options *opts)
{
	return has_no_indexer
		       ? -1
		       : __real_git_indexer_new(out, path, mode, odb, opts);
}

static int setup(void **state)
{
	static struct pack_store store;
	struct err err;

	assert_true(git_libgit2_init() > 0);
	assert_int_equal(pack_store_init(&store, &err), 0);
	*state = &store;
	return 0;
}

static int teardown(void **state)
{
	pack_store_release(*state);
	(void)git_libgit2_shutdown();
	return 0;
}

static void a_pack_that_cannot_be_begun_leaves_nothing(void **state)
{
	struct pack_adding adding;
	struct err err = {0};

	has_no_indexer = true;
	assert_int_equal(pack_store_begin(*state, &adding, 10, &err), -1);
	assert_int_not_equal(err.code, ERR_NONE);
	assert_null(adding.scan);
	assert_null(adding.indexer);
	has_no_indexer = false;
}

static void a_pack_that_is_begun_is_given_up(void **state)
{
	char scratch[] = "/tmp/sallyport-store-XXXXXX";
	struct pack_adding adding;
	struct err err = {0};

	assert_non_null(mkdtemp(scratch));
	assert_int_equal(chdir(scratch), 0);
	assert_int_equal(pack_store_begin(*state, &adding, 10, &err), 0);
	assert_non_null(adding.scan);
	assert_non_null(adding.indexer);
	pack_adding_release(&adding);
	assert_null(adding.scan);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(scratch), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_pack_that_cannot_be_begun_leaves_nothing, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_pack_that_is_begun_is_given_up, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
