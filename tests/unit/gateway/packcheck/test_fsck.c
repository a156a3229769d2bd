#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "gateway/packcheck/fsck.h"

#define OID  "1234567890123456789012345678901234567890"
#define NONE "0000000000000000000000000000000000000000"
#define WHO  "A B <a@b.example> 1700000000 +0100"
#define TREE "tree " OID "\n"
#define BOTH "author " WHO "\ncommitter " WHO "\n"

struct row {
	const char *text;
	bool is_sound;
};

static void assert_rows(const struct row *rows, size_t count,
			const char *(*check)(struct bytes))
{
	for (size_t i = 0; i < count; i++) {
		const char *fault = check(bytes_str(rows[i].text));

		if (!fault != rows[i].is_sound)
			fail_msg("row %zu: %s", i, fault ? fault : "sound");
	}
}

static void commits_have_a_tree_and_people(void **state)
{
	static const struct row rows[] = {
		{TREE BOTH "\nwords\n", true},
		{TREE BOTH, true},
		{TREE "parent " OID "\nparent " OID "\n" BOTH "\n", true},
		{TREE BOTH "gpgsig x\n y\n\nwords\n", true},
		{TREE "author A B <> 0 -0000\ncommitter " WHO "\n\n", true},
		{"", false},
		{BOTH "\n", false},
		{"tree " NONE "\n" BOTH "\n", false},
		{"tree 123\n" BOTH "\n", false},
		{"tree " OID "0\n" BOTH "\n", false},
		{TREE "parent " NONE "\n" BOTH "\n", false},
		{TREE "author " WHO "\n\n", false},
		{TREE "committer " WHO "\nauthor " WHO "\n\n", false},
		{TREE "author <a@b> 1 +0000\ncommitter " WHO "\n\n", false},
		{TREE "author A<a@b> 1 +0000\ncommitter " WHO "\n\n", false},
		{TREE "author A > <a@b> 1 +0000\ncommitter " WHO "\n\n", false},
		{TREE "author A <a<b> 1 +0000\ncommitter " WHO "\n\n", false},
		{TREE "author A <a@b> 01 +0000\ncommitter " WHO "\n\n", false},
		{TREE "author A <a@b> x +0000\ncommitter " WHO "\n\n", false},
		{TREE "author A <a@b> 1 +000\ncommitter " WHO "\n\n", false},
		{TREE "author A <a@b> 1\ncommitter " WHO "\n\n", false},
		{TREE "author A a@b\ncommitter " WHO "\n\n", false},
		{TREE BOTH "author " WHO "\n\nwords\n", false},
		{TREE BOTH "committer " WHO "\n\nwords\n", false},
		{TREE BOTH "tree " OID "\n\nwords\n", false},
		{TREE BOTH "x y\nparent " OID "\n\nwords\n", false},
		{TREE BOTH "author " WHO "\n", false},
		{TREE BOTH "author " WHO, false},
		{TREE BOTH "mergetag x\n author " WHO "\n\nwords\n", true},
		{TREE BOTH "\nauthor " WHO "\n", true},
		{TREE BOTH "authored x\n\nwords\n", true},
	};

	(void)state;
	assert_rows(rows, ARRAY_SIZE(rows), fsck_commit);
	assert_non_null(fsck_commit(bytes_from(
		TREE BOTH "x\0y\n\n", sizeof(TREE BOTH "x\0y\n\n") - 1)));
}

static void tags_name_what_they_are_of(void **state)
{
	static const struct row rows[] = {
		{"object " OID "\ntype commit\ntag v1\ntagger " WHO "\n\nx\n",
		 true},
		{"object " OID "\ntype tree\ntag v1\n\nx\n", true},
		{"object " NONE "\ntype commit\ntag v1\n\n", false},
		{"object " OID "\ntype thing\ntag v1\n\n", false},
		{"object " OID "\ntag v1\n\n", false},
		{"object " OID "\ntype commit\ntag \n\n", false},
		{"object " OID "\ntype commit\ntag v1\ntagger A\n\n", false},
		{"", false},
	};

	(void)state;
	assert_rows(rows, ARRAY_SIZE(rows), fsck_tag);
}

static void names_are_not_git_anywhere(void **state)
{
	static const struct row rows[] = {
		{".gitignore", true},
		{".github", true},
		{"git", true},
		{".gi", true},
		{"git~2", true},
		{"a..b", true},
		{"...", true},
		{"\xe2\x80\x8c", true},
		{"a\\b", true},
		{"x:.git", true},
		{".", false},
		{"..", false},
		{".git", false},
		{".GIT", false},
		{".git ", false},
		{".git. .", false},
		{".git::$INDEX_ALLOCATION", false},
		{"git~1", false},
		{"GIT~1 ", false},
		{"a\\.git", false},
		{".git\\config", false},
		{"a\\..\\b", false},
		{".g\xe2\x80\x8cit", false},
		{"\xef\xbb\xbf.git", false},
		{".GiT\xe2\x81\xaf", false},
	};

	(void)state;
	assert_rows(rows, ARRAY_SIZE(rows), fsck_name);
}

static void modules_are_known_by_their_twins(void **state)
{
	static const struct {
		const char *name;
		bool is;
	} rows[] = {
		{".gitmodules", true},	   {".GITMODULES", true},
		{".gitmodules ", true},	   {"gitmod~1", true},
		{"gi7eba~1", true},	   {".gitmod\xe2\x80\x8cules", true},
		{".gitmodule", false},	   {"gitmodules", false},
		{".gitattributes", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (fsck_is_modules(bytes_str(rows[i].name)) != rows[i].is)
			fail_msg("row %zu", i);
}

#define URL(url)  "[submodule \"x\"]\n\tpath = x\n\turl = " url "\n"
#define MORE(key) "[submodule \"x\"]\n\t" key "\n"

static void modules_run_nothing(void **state)
{
	static const struct row rows[] = {
		{"", true},
		{URL("https://a.example/b"), true},
		{URL("../b"), true},
		{URL("git@a.example:b/c.git"), true},
		{URL("ssh://[::1]/b"), true},
		{URL("file:///b::c"), true},
		{MORE("update = checkout"), true},
		{MORE("shallow = true"), true},
		{"[other]\n\turl = -u\n", true},
		{"[submodule \"x\"]\r\n\tpath = x\r\n\turl = ../b\r\n", true},
		{URL("../../b"), true},
		{URL("./b//c"), true},
		{URL("https://a.example"), true},
		{URL("https://:80/b"), true},
		{URL("https://a@b.example/c"), true},
		{URL("ext::sh -c id"), false},
		{URL("fd::17"), false},
		{URL("-u./run"), false},
		{URL("\"--upload-pack=x\""), false},
		{URL("https://a.example/%0ab"), false},
		{URL("\"https://a.example/\\nb\""), false},
		{URL("https:///a.example/b"), false},
		{URL("http://@/b"), false},
		{URL("HTTPS://u:p@/b"), false},
		{URL("\"https://#x\""), false},
		{URL("ftp://?x"), false},
		{URL("..//a.example/b"), false},
		{URL("../../../:a/b"), false},
		{URL("./../:a"), false},
		{MORE("path = \"x\r\""), false},
		{MORE("path = \"x\\n\""), false},
		{MORE("update = !id"), false},
		{MORE("path = -x"), false},
		{MORE("path = ../x"), false},
		{MORE("path = /x"), false},
		{"[submodule \"../x\"]\n\turl = x\n", false},
		{"[submodule \"a/../x\"]\n\turl = x\n", false},
		{"[submodule \"a\\\\..\\\\x\"]\n\turl = x\n", false},
		{"[SubModule \"x\"]\n\tURL = ext::sh\n", false},
		{"[submodule \"x\"]\n\turl = https://a\n\turl = ext::sh\n",
		 false},
		{"[include]\n\tpath = /etc/passwd\n", false},
		{"[submodule \"x\n", false},
	};

	(void)state;
	assert_rows(rows, ARRAY_SIZE(rows), fsck_modules);
	assert_non_null(fsck_modules(bytes_from("a\0b", 3)));
	/* Nothing stays behind. */
	assert_int_equal(access("modules", F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commits_have_a_tree_and_people),
		cmocka_unit_test(tags_name_what_they_are_of),
		cmocka_unit_test(names_are_not_git_anywhere),
		cmocka_unit_test(modules_are_known_by_their_twins),
		cmocka_unit_test(modules_run_nothing),
	};
	char scratch[] = "/tmp/sallyport-scratch-XXXXXX";
	struct err err;
	int failed;

	if (pack_library_init(&err) < 0 || !mkdtemp(scratch) ||
	    chdir(scratch) < 0)
		return 1;
	failed = cmocka_run_group_tests_name("fsck", tests, NULL, NULL);
	return chdir("/") < 0 || rmdir(scratch) < 0 ? 1 : failed;
}
