#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"

/* What fn writes to stderr, in text[size], terminated. */
static void capture(void (*fn)(void), char *text, size_t size)
{
	auto_fd int file = memfd_create("log", MFD_CLOEXEC);
	auto_fd int saved = dup(STDERR_FILENO);
	ssize_t len;

	assert_int_equal(dup2(file, STDERR_FILENO), STDERR_FILENO);
	fn();
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	len = pread(file, text, size - 1, 0);
	assert_true(len >= 0);
	text[len] = '\0';
}

static unsigned count_lines(const char *text)
{
	unsigned count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

static void write_hostile(void)
{
	log_open("edge", "s-1");
	log_info("a \"quoted\" \\ %s", "line\nx=1\x1b[m\xc3\xa4\t");
}

static void log_writes_one_escaped_line(void **state)
{
	char text[2048];

	(void)state;
	capture(write_hostile, text, sizeof(text));
	assert_int_equal(strncmp(text, "time=20", 7), 0);
	assert_string_equal(
		strstr(text, " level="),
		" level=info process=edge session=s-1 msg=\"a \\\"quoted\\\" "
		"\\\\ line\\nx=1\\x1b[m\\xc3\\xa4\\t\"\n");
}

static void write_odd_names(void)
{
	log_open("a b=\"c\"\n", NULL);
	log_error("x");
}

static void log_lets_no_name_break_the_line(void **state)
{
	char text[2048];

	(void)state;
	capture(write_odd_names, text, sizeof(text));
	assert_string_equal(strstr(text, " level="),
			    " level=error process=a_b__c__ msg=\"x\"\n");
}

static void write_long(void)
{
	char value[2000];

	memset(value, 1, sizeof(value));
	value[sizeof(value) - 1] = '\0';
	log_open("edge", NULL);
	log_info("%s", value);
}

static void log_cuts_a_long_value_at_256_bytes(void **state)
{
	char text[4096];
	const char *msg;

	(void)state;
	capture(write_long, text, sizeof(text));
	msg = strstr(text, "msg=\"");
	assert_non_null(msg);
	assert_int_equal(strlen(msg), strlen("msg=\"...\"\n") + 256 * 4);
	assert_string_equal(msg + strlen(msg) - 9, "\\x01...\"\n");
}

static void write_levels(void)
{
	static const char *const levels[] = {"error", "warn", "info", "debug",
					     "nonsense"};

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		assert_int_equal(setenv("SALLYPORT_LOG", levels[i], 1), 0);
		log_open("edge", NULL);
		log_error("e%zu", i);
		log_warn("w%zu", i);
		log_info("i%zu", i);
		log_debug("d%zu", i);
	}
	assert_int_equal(setenv("SALLYPORT_LOG", "info", 1), 0);
	log_open("edge", NULL);
}

static void log_writes_what_its_level_lets_through(void **state)
{
	static const char *const absent[] = {"w0", "i0", "d0",
					     "i1", "d1", "d2"};
	char text[8192];

	(void)state;
	capture(write_levels, text, sizeof(text));
	/* 1 + 2 + 3 + 4, and an unknown name changes nothing: 4. */
	assert_int_equal(count_lines(text), 14);
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++)
		assert_null(strstr(text, absent[i]));
}

/* In which it lay: one or two, more where the machine was busy with others. */
static uint64_t flood_seconds;

static void write_flood(void)
{
	uint64_t first = clock_monotonic_ms() / 1000;

	for (unsigned i = 0; i < 5000; i++)
		log_info("flood");
	flood_seconds = clock_monotonic_ms() / 1000 - first + 1;
	/* The next second says what was lost. */
	(void)usleep(1100000);
	log_info("after");
}

static void log_bounds_a_flood_and_says_what_was_lost(void **state)
{
	static char text[1 << 20];
	unsigned lines;

	(void)state;
	capture(write_flood, text, sizeof(text));
	lines = count_lines(text);
	assert_in_range(lines, 100, 201 * flood_seconds + 4);
	assert_non_null(strstr(text, " lines were dropped"));
	assert_non_null(strstr(text, "msg=\"after\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log_writes_one_escaped_line),
		cmocka_unit_test(log_lets_no_name_break_the_line),
		cmocka_unit_test(log_cuts_a_long_value_at_256_bytes),
		cmocka_unit_test(log_writes_what_its_level_lets_through),
		cmocka_unit_test(log_bounds_a_flood_and_says_what_was_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
