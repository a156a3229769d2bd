#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "policies/path.h"

#define ARENA_MAX (16 * PATH_MAX_LEN)

static int normalise(struct arena *arena, struct bytes in, struct bytes *out)
{
	struct err err = {0};
	int rc = path_normalise(arena, in, out, &err);

	if (rc)
		assert_int_equal(err.code, ERR_INVALID);
	return rc;
}

static void path_normalise_gives_one_form(void **state)
{
	static const struct {
		const char *in;
		const char *out;
	} rows[] = {
		{"/", "/"},
		{"/a/b", "/a/b"},
		{"/a/b/", "/a/b/"},
		{"/a/./b", "/a/b"},
		{"/./a", "/a"},
		{"/a/.", "/a/"},
		{"/.", "/"},
		{"/a/%2e/b", "/a/b"},
		{"/a/...", "/a/..."},
		{"/a/..b", "/a/..b"},
		{"/a/..%20b", "/a/..%20b"},
		{"/a/...%3B", "/a/...%3B"},
		{"/a/.git%3Bx", "/a/.git%3Bx"},
		{"/%7euser", "/~user"},
		{"/%41%42", "/AB"},
		{"/a%20b", "/a%20b"},
		{"/a%3ab", "/a%3Ab"},
		{"/a%3Bb", "/a%3Bb"},
		{"/a:b@c!$&'()*+,=", "/a:b@c!$&'()*+,="},
		{"/{x}|[y]", "/%7Bx%7D%7C%5By%5D"},
		{"/%C3%BC", "/%C3%BC"},
		{"/%c3%bc", "/%C3%BC"},
		{"/100%25", "/100%25"},
		{"/100%25x", "/100%25x"},
		{"/100%25/", "/100%25/"},
		{"/%f0%9f%98%80", "/%F0%9F%98%80"},
		{"/@babel%2fcore", "/@babel/core"},
		{"/@babel%2Fcore/-/core-1.tgz", "/@babel/core/-/core-1.tgz"},
		{"/@babel/core", "/@babel/core"},
		{"/api/npm/r/@babel%2fcore", "/api/npm/r/@babel/core"},
		{"/-/package/@a.b-c%2Fd/dist-tags",
		 "/-/package/@a.b-c/d/dist-tags"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena arena;
		struct bytes out;

		print_message("%s\n", rows[i].in);
		arena_init(&arena, ARENA_MAX);
		assert_int_equal(normalise(&arena, bytes_str(rows[i].in), &out),
				 0);
		assert_true(bytes_is(out, rows[i].out));
		arena_release(&arena);
	}
}

static const char *const ambiguous[] = {
	"",
	"a",
	"*",
	"http://a/",
	"//",
	"//a",
	"/a//b",
	"/a//",
	"/.//a",
	"/..",
	"/a/..",
	"/a/../b",
	"/a/%2e%2e/b",
	"/a/.%2E/b",
	"/a/%2e./b",
	"/a;x",
	"/..;/a",
	"/a/..%3B/b",
	"/a/..%3bx=1/b",
	"/a/%2e%2e%3B",
	"/a/.%3Bx/b",
	"/a/..%3Fx",
	"/a/..%23",
	"/a/..%20",
	"/a/.%20%20/b",
	"/;",
	"/a\\b",
	"/a%5cb",
	"/a%5Cb",
	"/a%2fb",
	"/a%2Fb",
	"/a%00",
	"/a%0d%0aHost:x",
	"/a%09",
	"/a%7f",
	"/%",
	"/%2",
	"/%zz",
	"/%u002f",
	"/%252f",
	"/%252e%252e",
	"/%25%32%66",
	"/%25%32f",
	"/%2525",
	"/a b",
	"/a\tb",
	"/a\x7f",
	"/\xc3\xbc",
	"/a?b",
	"/a#b",
	"/%c0%af",
	"/%c0%ae%c0%ae/",
	"/%e0%80%af",
	"/%ed%a0%80",
	"/%f8%88%80%80%80",
	"/%f4%90%80%80",
	"/%c3",
	"/%c3x",
	"/%bc",
	"/@babel%2fcore%2fx",
	"/@babel%2f..",
	"/@babel%2f/x",
	"/@%2fx",
	"/x@babel%2fcore",
	"/x/babel%2fcore",
	"/x/@%2fcore",
	"/x/@babel%2f../y",
	"/x/@babel%2f/y",
	"/x/@a%2fb/@c%2fd",
	"/%41/@a%2fb",
	"/@@a%2fb",
	"/@a%2e%2fb",
};

static void path_normalise_refuses_what_has_two_readings(void **state)
{

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ambiguous); i++) {
		struct arena arena;
		struct bytes out;

		print_message("%s\n", ambiguous[i]);
		arena_init(&arena, ARENA_MAX);
		assert_int_equal(
			normalise(&arena, bytes_str(ambiguous[i]), &out), -1);
		arena_release(&arena);
	}
}

static void path_normalise_keeps_to_its_bound(void **state)
{
	static uint8_t path[PATH_MAX_LEN + 1];
	struct arena arena;
	struct bytes out;

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	arena_init(&arena, ARENA_MAX);
	assert_int_equal(
		normalise(&arena, bytes_from(path, PATH_MAX_LEN), &out), 0);
	assert_int_equal(out.len, PATH_MAX_LEN);
	assert_int_equal(
		normalise(&arena, bytes_from(path, sizeof(path)), &out), -1);
	/* Escaped, it would be longer than any path may be. */
	memset(path + 1, '{', PATH_MAX_LEN - 1);
	arena_reset(&arena);
	assert_int_equal(
		normalise(&arena, bytes_from(path, PATH_MAX_LEN), &out), -1);
	arena_release(&arena);
}

static void path_normalise_says_when_memory_is_out(void **state)
{
	struct arena arena;
	struct bytes out;
	struct err err = {0};

	(void)state;
	arena_init(&arena, 16);
	assert_int_equal(path_normalise(&arena,
					bytes_str("/aaaaaaaaaaaaaaaaaaaaaaa"),
					&out, &err),
			 -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
	arena_release(&arena);
}

static void path_matches_whole_paths(void **state)
{
	static const struct {
		const char *glob;
		const char *path;
		bool match;
	} rows[] = {
		{"/a", "/a", true},
		{"/a", "/a/", false},
		{"/a", "/ab", false},
		{"/a", "/A", false},
		{"/a/*", "/a/b", true},
		{"/a/*", "/a/", true},
		{"/a/*", "/a/b/c", false},
		{"/a/*/c", "/a/b/c", true},
		{"/a/*/c", "/a/b/b/c", false},
		{"/a/**", "/a/", true},
		{"/a/**", "/a/b/c", true},
		{"/a/**", "/a", false},
		{"/a/**", "/ab/c", false},
		{"/a/**/z", "/a/b/c/z", true},
		{"/a/**/z", "/a/z", false},
		{"/a/**/z", "/a/b/c/zz", false},
		{"/**", "/", true},
		{"/**/*.js", "/a/b/c.js", true},
		{"/**/*.js", "/a/b.js/c", false},
		{"/**x*y", "/a/xb/xcy", true},
		{"/**x*y", "/a/xb/yc", false},
		{"/x*y*z", "/x1y2z", true},
		{"/x*y*z", "/x1y2/z", false},
		{"/a***b", "/a/x/y/b", true},
		{"/a*", "/a", true},
		{"/*a", "/aaa", true},
		{"/*ab", "/aab", true},
		{"/**ab/*c", "/ab/d/ab/xc", true},
		{"/**ab/*c", "/ab/d/ab/x/c", false},
		{"/**/**", "/a", false},
		{"/**/**", "/a/b", true},
		{"/[a-z]", "/a", false},
		{"/?", "/a", false},
		{"", "", true},
		{"", "/", false},
		{"/", "", false},
		{"**", "", true},
		{"*", "/", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("%s %s\n", rows[i].glob, rows[i].path);
		assert_int_equal(path_matches(bytes_str(rows[i].glob),
					      bytes_str(rows[i].path)),
				 rows[i].match);
	}
}

static void path_matches_loosely_takes_an_escape_for_what_it_means(void **state)
{
	static const struct {
		const char *glob, *path;
		bool exactly, loosely;
	} rows[] = {
		{"/v1/**:set", "/v1/x:set", true, true},
		{"/v1/**:set", "/v1/x%3Aset", false, true},
		{"/v1/**:set", "/v1/x%3ASet", false, true},
		{"/v1/*:set", "/v1/x%3Aset", false, true},
		{"/v1/*:set", "/v1/x/y%3Aset", false, false},
		{"/@a/**", "/%40a/b", false, true},
		{"/%40a", "/@a", false, true},
		{"/a%20b", "/a%20b", true, true},
		{"/a%2Ab", "/a*b", false, true},
		{"/a%2Ab", "/axb", false, false},
		{"/a%3Ab", "/a%3Bb", false, false},
		{"/a", "/a%3A", false, false},
		{"/a%", "/a%", true, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bytes glob = bytes_str(rows[i].glob);
		struct bytes path = bytes_str(rows[i].path);

		assert_int_equal(path_matches(glob, path), rows[i].exactly);
		assert_int_equal(path_matches_loosely(glob, path),
				 rows[i].loosely);
	}
}

static void path_matches_nocase_takes_either_case(void **state)
{
	(void)state;
	assert_true(path_matches_nocase(bytes_str("/Repos/*/x/**"),
					bytes_str("/rEPOS/y/X/z")));
	assert_false(path_matches(bytes_str("/Repos/*/x/**"),
				  bytes_str("/rEPOS/y/X/z")));
	assert_false(path_matches_nocase(bytes_str("/a@"), bytes_str("/A`")));
	assert_false(path_matches_nocase(bytes_str("/["), bytes_str("/{")));
}

static void path_matches_is_linear_however_many_stars(void **state)
{
	static uint8_t path[PATH_MAX_LEN];
	static uint8_t slashes[PATH_MAX_LEN];
	struct timespec from;
	struct timespec to;

	(void)state;
	memset(path, 'a', sizeof(path));
	for (size_t i = 0; i < sizeof(slashes); i++)
		slashes[i] = i % 2 ? 'a' : '/';
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (int i = 0; i < 20; i++) {
		assert_false(path_matches(
			bytes_str("**a*a*a*a*a*a*a*a*a**a*a*a*a*a*a*b"),
			bytes_from(path, sizeof(path))));
		assert_false(path_matches(
			bytes_str("**/a*/a*/**a*/*/*/*/*/**/a*/*b"),
			bytes_from(slashes, sizeof(slashes))));
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	/* 40 matches; a backtracking matcher needs hours for one. */
	assert_true(to.tv_sec - from.tv_sec < 5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_normalise_gives_one_form),
		cmocka_unit_test(path_normalise_refuses_what_has_two_readings),
		cmocka_unit_test(path_normalise_keeps_to_its_bound),
		cmocka_unit_test(path_normalise_says_when_memory_is_out),
		cmocka_unit_test(path_matches_whole_paths),
		cmocka_unit_test(
			path_matches_loosely_takes_an_escape_for_what_it_means),
		cmocka_unit_test(path_matches_nocase_takes_either_case),
		cmocka_unit_test(path_matches_is_linear_however_many_stars),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
