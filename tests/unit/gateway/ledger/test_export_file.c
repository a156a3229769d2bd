#include "gateway/ledger/export_file.h"

#include <string.h>

#include "tests/unit/gateway/ledger/fixture.h"

static char path[96];
static struct export_file file;

static int setup(void **state)
{
	const struct fixture *fixture;

	assert_int_equal(fixture_setup(state), 0);
	fixture = *state;
	(void)snprintf(path, sizeof(path), "%s/rows", fixture->path);
	file = (struct export_file){.fd = -1};
	return 0;
}

static int teardown(void **state)
{
	export_file_close(&file);
	(void)unlink(path);
	return fixture_teardown(state);
}

static int open_again(struct fixture *fixture)
{
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return export_file_open(&file, &fixture->store, fd, &fixture->err);
}

static void write_rows(struct fixture *fixture)
{
	int more;

	do
		more = export_file_write(&file, &fixture->store, &fixture->err);
	while (more > 0);
	if (more < 0)
		fail_msg("%s", fixture->err.text);
}

static void put(const char *text, int flags)
{
	auto_fd int fd =
		open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static size_t size_of_file(void)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	return (size_t)lseek(fd, 0, SEEK_END);
}

/* The rows from first on stand there, each once, as a query gives them. */
static void check_rows(struct fixture *fixture, uint64_t first)
{
	static char text[1 << 20];
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = read(fd, text, sizeof(text));
	struct bytes rest = bytes_from(text, (size_t)len), line;
	uint64_t sequence = first;

	assert_true(len >= 0 && (size_t)len < sizeof(text));
	for (; bytes_split(&rest, '\n', &line); sequence++) {
		const struct msg_ledger_query query = {.after = sequence - 1,
						       .limit = 1};
		struct msg_ledger_rows rows;

		assert_int_equal(store_query(&fixture->store, &query,
					     &fixture->arena, &rows,
					     &fixture->err),
				 0);
		assert_int_equal(rows.rows_count, 1);
		assert_true(bytes_equal(line, rows.rows[0].json));
	}
	assert_int_equal(rest.len, 0);
	assert_int_equal(sequence - 1, fixture->store.head.sequence);
}

static void rows_stand_there_in_their_order_and_each_once(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(open_again(fixture), 0);
	write_rows(fixture);
	assert_int_equal(size_of_file(), 0);
	add_rows(fixture, 3 * STORE_ROWS_MAX + 5);
	write_rows(fixture);
	check_rows(fixture, 1);
	write_rows(fixture);
	add_rows(fixture, 1);
	write_rows(fixture);
	check_rows(fixture, 1);
}

static void a_file_goes_on_after_its_last_row(void **state)
{
	struct fixture *fixture = *state;

	add_rows(fixture, 200);
	assert_int_equal(open_again(fixture), 0);
	write_rows(fixture);
	add_rows(fixture, 200);
	/* What was known of it does not matter. */
	for (uint64_t told = 0; told < 400; told += 150) {
		file.told = told;
		assert_int_equal(open_again(fixture), 0);
		assert_true(file.told >= 200);
		write_rows(fixture);
		check_rows(fixture, 1);
	}
}

static void a_line_that_was_cut_is_written_again(void **state)
{
	static const size_t cuts[] = {1, 2, 5, 60, 200};
	struct fixture *fixture = *state;

	add_rows(fixture, 10);
	assert_int_equal(open_again(fixture), 0);
	write_rows(fixture);
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		off_t size = (off_t)size_of_file();

		assert_int_equal(truncate(path, size - (off_t)cuts[i]), 0);
		assert_int_equal(open_again(fixture), 0);
		assert_int_equal(file.told, 9);
		write_rows(fixture);
		check_rows(fixture, 1);
	}
	/* The only line. */
	assert_int_equal(truncate(path, 20), 0);
	file.told = 0;
	assert_int_equal(open_again(fixture), 0);
	write_rows(fixture);
	check_rows(fixture, 1);
}

static void an_empty_file_goes_on_where_the_one_before_ended(void **state)
{
	struct fixture *fixture = *state;

	add_rows(fixture, 10);
	assert_int_equal(open_again(fixture), 0);
	write_rows(fixture);
	assert_int_equal(unlink(path), 0);
	add_rows(fixture, 10);
	assert_int_equal(open_again(fixture), 0);
	write_rows(fixture);
	check_rows(fixture, 11);
}

static void a_file_of_somebody_else_is_not_touched(void **state)
{
	static const char *const texts[] = {
		"x",
		"x\n",
		"root:x:0:0:root:/root:/bin/sh\n",
		"\n",
		"{\"sequence\":0,\"time\":1}\n",
		"{\"sequence\":,\"time\":1}\n",
		"{\"sequence\":1}\n",
		"{\"sequence\":1,\"time\":1}\n",
		"{\"sequence\":1,\"time\":1}\nSomething else",
		"{\"sequence\":11,\"time\":1}\n",
		"{\"sequence\":9223372036854775807,\"time\":1}\n",
		"{\"sequence\":18446744073709551616,\"time\":1}\n",
		"{\"sequence\":99999999999999999999,\"time\":1}\n",
	};
	struct fixture *fixture = *state;

	add_rows(fixture, 10);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		put(texts[i], O_TRUNC);
		if (open_again(fixture) == 0)
			fail_msg("text %zu", i);
		assert_int_equal(file.fd, -1);
		assert_int_equal(size_of_file(), strlen(texts[i]));
	}
	/* A row of ours is one in its place alone. */
	assert_int_equal(unlink(path), 0);
	file.told = 0;
	assert_int_equal(open_again(fixture), 0);
	write_rows(fixture);
	put("x\n", O_APPEND);
	assert_int_equal(open_again(fixture), -1);
}

static void a_long_end_without_a_line_is_refused(void **state)
{
	static char zeros[EXPORT_TAIL_MAX];
	struct fixture *fixture = *state;
	auto_fd int fd = -1;

	add_rows(fixture, 10);
	assert_int_equal(open_again(fixture), 0);
	write_rows(fixture);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, zeros, sizeof(zeros)), sizeof(zeros));
	assert_int_equal(open_again(fixture), -1);
	assert_non_null(strstr(fixture->err.text, "does not end with a row"));
}

static void a_file_that_cannot_be_written_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	int fd;

	put("", O_TRUNC);
	add_rows(fixture, 10);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(
		export_file_open(&file, &fixture->store, fd, &fixture->err), 0);
	assert_true(export_file_is(&file, fd));
	assert_int_equal(
		export_file_write(&file, &fixture->store, &fixture->err), -1);
	assert_int_equal(file.told, 0);
}

#define EXPORT_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EXPORT_TEST(rows_stand_there_in_their_order_and_each_once),
		EXPORT_TEST(a_file_goes_on_after_its_last_row),
		EXPORT_TEST(a_line_that_was_cut_is_written_again),
		EXPORT_TEST(an_empty_file_goes_on_where_the_one_before_ended),
		EXPORT_TEST(a_file_of_somebody_else_is_not_touched),
		EXPORT_TEST(a_long_end_without_a_line_is_refused),
		EXPORT_TEST(a_file_that_cannot_be_written_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
