#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/flow/run_config.h"
#include "tests/unit/sandbox-host/scratch.h"

static void write_bytes(struct bytes text)
{
	FILE *file = fopen(scratch_path(RUN_CONFIG_NAME), "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text.data, 1, text.len, file), text.len);
	(void)fclose(file);
}

static void write_left(const char *text)
{
	write_bytes(bytes_str(text));
}

static int leave(const char *path, struct err *err)
{
	const struct run_config_left left = {.file = path};

	return run_config_leave(scratch, &left, err);
}

/* Its file alone. */
static int find(char file[PATH_MAX], struct err *err)
{
	auto_type(run_config_release) struct run_config config;
	int result = run_config_find(scratch, &config, err);

	(void)snprintf(file, PATH_MAX, "%s", config.file);
	return result;
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
	assert_int_equal(leave(scratch_path("g.yaml"), &err), 0);
	assert_int_equal(find(file, &err), 0);
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
	assert_int_equal(leave("g.yaml", &err), 0);
	assert_int_equal(chdir(here), 0);
	assert_int_equal(find(file, &err), 0);
	assert_string_equal(file, scratch_path("g.yaml"));
}

static void without_one_there_is_none(void **state)
{
	char file[PATH_MAX] = "x";
	struct err err = {0};

	(void)state;
	assert_int_equal(find(file, &err), 0);
	assert_string_equal(file, "");
	/* Nor after a gateway that was told none. */
	assert_int_equal(leave("/g.yaml", &err), 0);
	assert_int_equal(leave(NULL, &err), 0);
	assert_int_equal(find(file, &err), 0);
	assert_string_equal(file, "");
	assert_int_equal(leave(NULL, &err), 0);
}

static void a_file_that_is_gone_is_told_and_not_the_default(void **state)
{
	char file[PATH_MAX];
	struct err err = {0};

	(void)state;
	assert_int_equal(leave(scratch_path("gone"), &err), 0);
	assert_int_equal(find(file, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	assert_non_null(strstr(err.text, "/gone can not be read (No such"));
}

static void what_is_no_path_is_not_the_default_either(void **state)
{
	static const char *const texts[] = {"", "g.yaml", "\n/etc"};
	char file[PATH_MAX];
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		write_left(texts[i]);
		assert_int_equal(find(file, &err), -1);
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
		assert_int_equal(find(file, &err), 0);
		assert_int_equal(chmod(scratch_path(RUN_CONFIG_NAME), modes[i]),
				 0);
		assert_int_equal(find(file, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_string_equal(file, "");
	}
}

static void its_state_and_what_it_names_are_found(void **state)
{
	static const struct bytes names[] = {BYTES_LITERAL("/g/rail.yaml"),
					     BYTES_LITERAL("/bin/a b\n")};
	auto_type(run_config_release) struct run_config config;
	struct run_config_left left = {.file = scratch_path("g.yaml"),
				       .state = "/s",
				       .names = names,
				       .count = ARRAY_SIZE(names)};
	struct err err = {0};

	(void)state;
	assert_int_equal(run_config_leave(scratch, &left, &err), 0);
	assert_int_equal(run_config_read(scratch, &config, &err), 0);
	assert_string_equal(config.file, scratch_path("g.yaml"));
	assert_string_equal(config.state, "/s");
	assert_int_equal(config.count, ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_true(bytes_is(names[i], config.names[i]));
}

static void a_state_is_found_without_a_file(void **state)
{
	auto_type(run_config_release) struct run_config config;
	const struct run_config_left left = {.state = "/s"};
	struct err err = {0};

	(void)state;
	assert_int_equal(run_config_leave(scratch, &left, &err), 0);
	assert_int_equal(run_config_find(scratch, &config, &err), 0);
	assert_string_equal(config.file, "");
	assert_string_equal(config.state, "/s");
}

static void names_are_found_without_a_state(void **state)
{
	static const struct bytes name = BYTES_LITERAL("/g/rail.yaml");
	auto_type(run_config_release) struct run_config config;
	const struct run_config_left left = {
		.file = "/g.yaml", .names = &name, .count = 1};
	struct err err = {0};

	(void)state;
	assert_int_equal(run_config_leave(scratch, &left, &err), 0);
	assert_int_equal(run_config_read(scratch, &config, &err), 0);
	assert_string_equal(config.file, "/g.yaml");
	assert_string_equal(config.state, "");
	assert_int_equal(config.count, 1);
}

static void more_names_than_the_bound_are_not_left(void **state)
{
	struct bytes names[RUN_CONFIG_NAMES_MAX + 1];
	auto_type(run_config_release) struct run_config config;
	struct run_config_left left = {.file = "/g.yaml",
				       .names = names,
				       .count = RUN_CONFIG_NAMES_MAX};
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		names[i] = bytes_str("/n");
	assert_int_equal(run_config_leave(scratch, &left, &err), 0);
	left.count++;
	left.file = "/other.yaml";
	assert_int_equal(run_config_leave(scratch, &left, &err), -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
	assert_int_equal(run_config_read(scratch, &config, &err), 0);
	assert_string_equal(config.file, "/g.yaml");
	assert_int_equal(config.count, RUN_CONFIG_NAMES_MAX);
}

static void one_part_that_is_no_path_spoils_all(void **state)
{
	static const struct bytes texts[] = {
		BYTES_LITERAL("/g\0s"),	   BYTES_LITERAL("/g\0/s\0n"),
		BYTES_LITERAL("/g\0/s\0"), BYTES_LITERAL("/g\0/s\0\0/n"),
		BYTES_LITERAL("g\0/s"),	   BYTES_LITERAL("\0"),
		BYTES_LITERAL("\0\0/n"),
	};
	auto_type(run_config_release) struct run_config good;
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		auto_type(run_config_release) struct run_config config;

		write_bytes(texts[i]);
		assert_int_equal(run_config_read(scratch, &config, &err), -1);
		assert_string_equal(config.file, "");
		assert_string_equal(config.state, "");
		assert_int_equal(config.count, 0);
	}
	write_bytes((struct bytes)BYTES_LITERAL("/g\0/s\0/n"));
	assert_int_equal(run_config_read(scratch, &good, &err), 0);
}

static void a_link_is_not_followed(void **state)
{
	char file[PATH_MAX];
	struct err err = {0};

	(void)state;
	scratch_file("g.yaml");
	assert_int_equal(leave(scratch_path("g.yaml"), &err), 0);
	assert_int_equal(
		rename(scratch_path(RUN_CONFIG_NAME), scratch_path("moved")),
		0);
	scratch_link(RUN_CONFIG_NAME, scratch_path("moved"));
	assert_int_equal(find(file, &err), -1);
}

static void a_path_that_is_too_long_is_not_left(void **state)
{
	char path[PATH_MAX + 1];
	struct err err = {0};

	(void)state;
	memset(path, '/', PATH_MAX);
	path[PATH_MAX] = '\0';
	assert_int_equal(leave(path, &err), -1);
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
		EACH(its_state_and_what_it_names_are_found),
		EACH(a_state_is_found_without_a_file),
		EACH(names_are_found_without_a_state),
		EACH(more_names_than_the_bound_are_not_left),
		EACH(one_part_that_is_no_path_spoils_all),
		EACH(a_link_is_not_followed),
		EACH(a_path_that_is_too_long_is_not_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
