#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/flow/messages_files.h"

static void a_path_below_a_directory_has_no_name_that_leads_out(void **state)
{
	static const char *const good[] = {"a", "a/b", "...", "a/..b/.c", " "};
	static const char *const bad[] = {"",	  "/",	    "/a",   "a/",
					  "a//b", ".",	    "..",   "./a",
					  "a/..", "a/../b", "../a", "a/./b"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(file_path_is_below(bytes_str(good[i])));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(file_path_is_below(bytes_str(bad[i])));
	assert_false(file_path_is_below(bytes_from("a\0b", 3)));
}

static struct file_entry entry(const char *path, enum file_type type)
{
	return (struct file_entry){
		.path = bytes_str(path),
		.type = (uint8_t)type,
		.mode = 0644,
		.target = bytes_str(type == FILE_SYMLINK ? "x" : ""),
	};
}

static void an_entry_that_no_file_has_is_refused(void **state)
{
	struct file_entry bad[] = {
		entry("a", FILE_REGULAR), entry("a", FILE_REGULAR),
		entry("a", FILE_REGULAR), entry("a", FILE_REGULAR),
		entry("a", FILE_SYMLINK), entry("a", FILE_SYMLINK),
		entry("a", FILE_REGULAR),
	};
	const struct file_entry good = entry("a", FILE_SYMLINK);

	(void)state;
	bad[0].size = 1ull << 53;
	bad[1].modified_ms = UINT64_MAX;
	bad[2].created_ms = 1ull << 53;
	bad[3].mode = 010000;
	bad[4].target = bytes_str("");
	bad[5].target = bytes_from("a\0b", 3);
	bad[6].target = bytes_str("x");
	assert_null(file_entry_check(&good));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_non_null(file_entry_check(&bad[i]));
}

static void a_page_is_held_against_its_walk(void **state)
{
	static const struct {
		const char *path;
		enum file_type type;
		struct file_walk walk;
		bool is_good;
	} rows[] = {
		{"a", FILE_DIRECTORY, {.depth = 1}, true},
		{"a/b", FILE_REGULAR, {.depth = 2}, true},
		{"a/b/c", FILE_REGULAR, {.depth = 0}, true},
		{"a/b", FILE_REGULAR, {.depth = 1}, false},
		{"a", FILE_DIRECTORY, {.is_for_files = true}, false},
		{"../a", FILE_REGULAR, {.depth = 0}, false},
		{"/etc/passwd", FILE_REGULAR, {.depth = 0}, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct file_entry one = entry(rows[i].path, rows[i].type);
		const struct file_page page = {.entries = &one,
					       .entries_count = 1};

		assert_int_equal(!file_page_check(&page, &rows[i].walk),
				 rows[i].is_good);
	}
}

static void a_piece_is_no_longer_than_was_asked_for(void **state)
{
	const struct file_piece piece = {.bytes = bytes_str("12345")};

	(void)state;
	assert_null(file_piece_check(&piece, &(struct file_span){.len = 5}));
	assert_non_null(
		file_piece_check(&piece, &(struct file_span){.len = 4}));
}

static void a_replacement_travels_whole_and_replaces_something(void **state)
{
	struct file_replace replace = {.path = bytes_str("/a"),
				       .old = bytes_str("x"),
				       .new = bytes_str("")};
	struct file_replace taken;
	struct request_memory memory;
	struct err err;
	int fd = file_replace_seal(&replace, &err);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(file_replace_open(fd, &memory, &taken, &err), 0);
	assert_true(bytes_is(taken.old, "x") && bytes_is(taken.path, "/a"));
	request_release(&memory);
	(void)close(fd);

	replace.old = bytes_str("");
	fd = file_replace_seal(&replace, &err);
	assert_int_equal(file_replace_open(fd, &memory, &taken, &err), -1);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_path_below_a_directory_has_no_name_that_leads_out),
		cmocka_unit_test(an_entry_that_no_file_has_is_refused),
		cmocka_unit_test(a_page_is_held_against_its_walk),
		cmocka_unit_test(a_piece_is_no_longer_than_was_asked_for),
		cmocka_unit_test(
			a_replacement_travels_whole_and_replaces_something),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
