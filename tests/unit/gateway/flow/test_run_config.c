#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/flow/run_config.h"
#include "tests/unit/sandbox-host/scratch.h"

static void write_left(const char *text)
{
	FILE *file = fopen(scratch_path(RUN_CONFIG_NAME), "w");

	assert_non_null(file);
	(void)fputs(text, file);
	(void)fclose(file);
}

static int before_each(void **state)
{
	(void)state;
	scratch_make();
	return 0;
}

static int after_each(void **state)
{
	(void)state;
	scratch_remove();
	return 0;
}

static void the_file_that_was_left_is_found(void **state)
{
	char file[PATH_MAX];
	struct err err = {0};

	(void)state;
	scratch_file("g.yaml");
	assert_int_equal(
		run_config_leave(scratch, scratch_path("g.yaml"), &err), 0);
	assert_int_equal(run_config_find(scratch, file, &err), 0);
	assert_string_equal(file, scratch_path("g.yaml"));
}

static void a_relative_path_is_left_as_an_absolute_one(void **state)
{
	char file[PATH_MAX], here[PATH_MAX];
	struct err err = {0};

	(void)state;
	scratch_file("g.yaml");
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(scratch), 0);
	assert_int_equal(run_config_leave(scratch, "g.yaml", &err), 0);
	assert_int_equal(chdir(here), 0);
	assert_int_equal(run_config_find(scratch, file, &err), 0);
	assert_string_equal(file, scratch_path("g.yaml"));
}

static void without_one_there_is_none(void **state)
{
	char file[PATH_MAX] = "x";
	struct err err = {0};

	(void)state;
	assert_int_equal(run_config_find(scratch, file, &err), 0);
	assert_string_equal(file, "");
	/* Nor after a gateway that was told none. */
	assert_int_equal(run_config_leave(scratch, "/g.yaml", &err), 0);
	assert_int_equal(run_config_leave(scratch, NULL, &err), 0);
	assert_int_equal(run_config_find(scratch, file, &err), 0);
	assert_string_equal(file, "");
	assert_int_equal(run_config_leave(scratch, NULL, &err), 0);
}

static void a_file_that_is_gone_is_told_and_not_the_default(void **state)
{
	char file[PATH_MAX];
	struct err err = {0};

	(void)state;
	assert_int_equal(run_config_leave(scratch, scratch_path("gone"), &err),
			 0);
	assert_int_equal(run_config_find(scratch, file, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	assert_non_null(strstr(err.text, "/gone can not be read (No such"));
	assert_string_equal(file, "");
}

static void what_is_no_path_is_not_the_default_either(void **state)
{
	static const char *const texts[] = {"", "g.yaml", "\n/etc"};
	char file[PATH_MAX];
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		write_left(texts[i]);
		assert_int_equal(run_config_find(scratch, file, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
	}
}

static void what_others_could_write_is_not_believed(void **state)
{
	static const mode_t modes[] = {0620, 0602};
	char file[PATH_MAX];
	struct err err = {0};

	(void)state;
	scratch_file("g.yaml");
	write_left(scratch_path("g.yaml"));
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		assert_int_equal(chmod(scratch_path(RUN_CONFIG_NAME), 0600), 0);
		assert_int_equal(run_config_find(scratch, file, &err), 0);
		assert_int_equal(chmod(scratch_path(RUN_CONFIG_NAME), modes[i]),
				 0);
		assert_int_equal(run_config_find(scratch, file, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_string_equal(file, "");
	}
}

static void a_link_is_not_followed(void **state)
{
	char file[PATH_MAX];
	struct err err = {0};

	(void)state;
	scratch_file("g.yaml");
	assert_int_equal(
		run_config_leave(scratch, scratch_path("g.yaml"), &err), 0);
	assert_int_equal(
		rename(scratch_path(RUN_CONFIG_NAME), scratch_path("moved")),
		0);
	scratch_link(RUN_CONFIG_NAME, scratch_path("moved"));
	assert_int_equal(run_config_find(scratch, file, &err), -1);
}

static void a_path_that_is_too_long_is_not_left(void **state)
{
	char path[PATH_MAX + 1];
	struct err err = {0};

	(void)state;
	memset(path, '/', PATH_MAX);
	path[PATH_MAX] = '\0';
	assert_int_equal(run_config_leave(scratch, path, &err), -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
}

#define EACH(test)                                                             \
	cmocka_unit_test_setup_teardown(test, before_each, after_each)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(the_file_that_was_left_is_found),
		EACH(a_relative_path_is_left_as_an_absolute_one),
		EACH(without_one_there_is_none),
		EACH(a_file_that_is_gone_is_told_and_not_the_default),
		EACH(what_is_no_path_is_not_the_default_either),
		EACH(what_others_could_write_is_not_believed),
		EACH(a_link_is_not_followed),
		EACH(a_path_that_is_too_long_is_not_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
