#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "gateway/packcheck/protect.h"
#include "gateway/packcheck/tree.h"

#define TREE_BYTES_MAX (64 * 1024)

/* Entries as "<mode> <name>", parted by commas, each with an id behind. */
static void make_tree(struct buf *tree, const char *entries)
{
	static const uint8_t oid[GIT_OID_RAWSZ] = {1, 2, 3};
	struct bytes rest = bytes_str(entries), entry;
	bool more = rest.len > 0;

	buf_init(tree, TREE_BYTES_MAX);
	while (more) {
		more = bytes_split(&rest, ',', &entry);
		assert_int_equal(buf_add(tree, entry), 0);
		assert_int_equal(buf_add_byte(tree, 0), 0);
		assert_int_equal(buf_add(tree, bytes_from(oid, sizeof(oid))),
				 0);
	}
}

/* How many entries; -1: it is no sound tree. */
static int count(struct bytes bytes)
{
	struct tree_reader reader;
	struct tree_entry entry;
	int entries = 0, status;

	tree_begin(&reader, bytes);
	while ((status = tree_next(&reader, &entry)) > 0)
		entries++;
	assert_int_equal(status < 0, reader.fault != NULL);
	return status < 0 ? -1 : entries;
}

static void tree_reads_what_git_makes_and_nothing_else(void **state)
{
	static const struct {
		const char *entries;
		int count;
	} rows[] = {
		{"", 0},
		{"100644 a", 1},
		{"100644 a,100755 b,120000 c,160000 d,40000 e,100664 f", 6},
		{"100644 a-b,40000 a,100644 a0", 3},
		{"100644 a,40000 a", -1},
		{"100644 a,100644 a", -1},
		{"100644 a,100644 a-,40000 a", -1},
		{"100644 a-,100644 a--,40000 a-", -1},
		{"100644 a,100644 a-,100644 a--,40000 a-", -1},
		{"100644 a,100644 a-,40000 a--", 3},
		{"100644 b,100644 a", -1},
		{"40000 a,100644 a-b", -1},
		{"040000 a", -1},
		{"0100644 a", -1},
		{"100600 a", -1},
		{"10064 a", -1},
		{"1006444 a", -1},
		{"100648 a", -1},
		{" a", -1},
		{"100644 ", -1},
		{"100644 a/b", -1},
		{"a", -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(buf_release) struct buf tree;

		make_tree(&tree, rows[i].entries);
		if (count(buf_view(&tree)) != rows[i].count)
			fail_msg("row %zu", i);
	}
}

static void tree_that_is_cut_is_none(void **state)
{
	auto_type(buf_release) struct buf tree;

	(void)state;
	make_tree(&tree, "100644 name");
	for (size_t len = 1; len < buf_len(&tree); len++)
		assert_int_equal(count(bytes_slice(buf_view(&tree), 0, len)),
				 -1);
}

static void tree_knows_names_that_are_too_much_alike(void **state)
{
	(void)state;
	for (size_t names = TREE_ALIKE_MAX; names <= TREE_ALIKE_MAX + 1;
	     names++) {
		auto_type(buf_release) struct buf text;
		auto_type(buf_release) struct buf tree;

		buf_init(&text, TREE_BYTES_MAX);
		for (size_t i = 1; i <= names; i++)
			assert_int_equal(buf_add_format(&text, "%s100644 %0*d",
							i > 1 ? "," : "",
							(int)i, 0),
					 0);
		make_tree(&tree, buf_str(&text));
		assert_int_equal(count(buf_view(&tree)),
				 names > TREE_ALIKE_MAX ? -1 : (int)names);
	}
}

static void globs_name_paths_and_lead_to_them(void **state)
{
	static const struct {
		const char *glob, *path;
		bool names, may_hold, leads;
	} rows[] = {
		{"CODEOWNERS", "CODEOWNERS", true, true, false},
		{"CODEOWNERS", "codeowners", true, true, false},
		{"CODEOWNERS", "docs/CODEOWNERS", false, false, false},
		{"CODEOWNERS", "CODE", false, false, false},
		{".github/workflows/**", ".github", false, true, true},
		{".github/workflows/**", ".GitHub", false, true, true},
		{".github/workflows/**", ".github/workflows", false, true,
		 true},
		{".github/workflows/**", ".github/workflows/a/b", true, true,
		 false},
		{".github/workflows/**", ".git", false, false, false},
		{".github/workflows/**", "docs", false, false, false},
		{"**/x", "x", true, true, false},
		{"**/x", "a/x", true, true, false},
		{"**/x", "a/b", false, true, false},
		{"a*/b", "abc", false, true, false},
		{"a*/b", "b", false, false, false},
		{"a/b*/c", "a", false, true, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bytes glob = bytes_str(rows[i].glob);
		struct bytes path = bytes_str(rows[i].path);

		if (protect_names(glob, path) != rows[i].names ||
		    protect_may_hold(glob, path) != rows[i].may_hold ||
		    protect_leads(glob, path) != rows[i].leads)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree_reads_what_git_makes_and_nothing_else),
		cmocka_unit_test(tree_that_is_cut_is_none),
		cmocka_unit_test(tree_knows_names_that_are_too_much_alike),
		cmocka_unit_test(globs_name_paths_and_lead_to_them),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
