#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/flow/run_config.h"
#include "gateway/warden/configure.h"

/* How many sessions the configuration allows; 0: it does not hold. */
static size_t sessions_of(struct config_options *options)
{
	auto_type(buf_release) struct buf report;
	struct warden_config config = {0};
	struct err err;
	size_t sessions = 0;

	buf_init(&report, RELOAD_ERRORS_MAX);
	if (configure_load(options, &config, &report, &err) == 0)
		sessions = config.sessions_max;
	warden_config_release(&config);
	return sessions;
}

static void a_default_file_that_goes_takes_no_rule_with_it(void **state)
{
	static const char text[] = "limits: {sessions: 7}\n";
	char path[] = "/tmp/configure-test-XXXXXX";
	struct config_options options = {
		.fallback = path, .state = "/x/state", .run = "/x/run"};
	size_t without;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(unlink(path), 0);
	without = sessions_of(&options);
	assert_true(without != 0 && without != 7);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
	assert_int_equal(sessions_of(&options), 7);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sessions_of(&options), 0);
}

/* A program's arguments name so many files that are not there. */
static int load_arguments(size_t sources, size_t files, struct err *err)
{
	char path[] = "/tmp/configure-test-XXXXXX";
	struct config_options options = {
		.file = path, .state = "/x/state", .run = "/x/run"};
	auto_type(buf_release) struct buf report;
	struct warden_config config = {0};
	int fd = mkstemp(path), result;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	assert_non_null(file);
	(void)fputs("secrets:\n", file);
	for (size_t i = 0; i < sources; i++) {
		(void)fprintf(file, "  s%zu: {exec: [/dev/null", i);
		for (size_t j = 0; j < files / sources; j++)
			(void)fprintf(file, ", /x/%zu", j);
		(void)fputs("]}\n", file);
	}
	assert_int_equal(fclose(file), 0);
	buf_init(&report, RELOAD_ERRORS_MAX);
	result = configure_load(&options, &config, &report, err);
	assert_int_equal(buf_len(&report), 0);
	warden_config_release(&config);
	assert_int_equal(unlink(path), 0);
	return result;
}

static void
more_files_than_can_be_left_are_refused_before_the_start(void **state)
{
	struct err err = {0};

	(void)state;
	assert_int_equal(load_arguments(64, RUN_CONFIG_NAMES_MAX, &err), 0);
	assert_int_equal(load_arguments(64, RUN_CONFIG_NAMES_MAX + 64, &err),
			 -1);
	assert_non_null(strstr(err.text, "more than 1024 files"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_default_file_that_goes_takes_no_rule_with_it),
		cmocka_unit_test(
			more_files_than_can_be_left_are_refused_before_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
