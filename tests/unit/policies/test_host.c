#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "policies/host.h"

#define N63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* What is accepted, and its one form. */
static void host_canonical_gives_one_form(void **state)
{
	static const struct {
		const char *in;
		enum host_kind kind;
		const char *out;
	} rows[] = {
		{"github.com", HOST_NAME, "github.com"},
		{"GitHub.COM", HOST_NAME, "github.com"},
		{"github.com.", HOST_NAME, "github.com"},
		{"localhost", HOST_NAME, "localhost"},
		{"xn--bcher-kva.example", HOST_NAME, "xn--bcher-kva.example"},
		{"r3---sn-x.example", HOST_NAME, "r3---sn-x.example"},
		{"3com.com", HOST_NAME, "3com.com"},
		{"1.2.3.4a", HOST_NAME, "1.2.3.4a"},
		{N63 ".com", HOST_NAME, N63 ".com"},
		{N63 "." N63 "." N63 "." N63, HOST_INVALID, ""},
		{"127.0.0.1", HOST_IPV4, "127.0.0.1"},
		{"[::1]", HOST_IPV6, "::1"},
		{"::1", HOST_IPV6, "::1"},
		{"2001:DB8:0:0:0:0:0:1", HOST_IPV6, "2001:db8::1"},
		{"::ffff:127.0.0.1", HOST_IPV4, "127.0.0.1"},
		{"[0:0:0:0:0:FFFF:7f00:1]", HOST_IPV4, "127.0.0.1"},
		{"::ffff:0:7f00:1", HOST_IPV6, "::ffff:0:7f00:1"},
		{"::127.0.0.1", HOST_IPV6, "::127.0.0.1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char out[HOST_NAME_MAX_LEN + 1] = "";

		print_message("%s\n", rows[i].in);
		assert_int_equal(host_canonical(bytes_str(rows[i].in), out),
				 rows[i].kind);
		if (rows[i].kind != HOST_INVALID)
			assert_string_equal(out, rows[i].out);
	}
}

static void host_canonical_refuses_what_has_two_readings(void **state)
{
	static const char *const rows[] = {
		"",
		".",
		"..",
		"a..b",
		".a",
		"a..",
		"-a.com",
		"a-.com",
		"a_b.com",
		"a b.com",
		" a.com",
		"a.com ",
		"a.com\n",
		"a*b.com",
		"*.a.com",
		"user@a.com",
		"a.com/",
		"a.com:443",
		"git%68ub.com",
		"\xef\xbd\x87ithub.com",
		"b\xc3\xbc"
		"cher.example",
		N63 "a.com",
		/* spellings of 127.0.0.1 that inet_aton takes */
		"127.1",
		"127.0.1",
		"2130706433",
		"0x7f.1",
		"0x7f000001",
		"0X7F000001",
		"127.0.0.0x1",
		"0177.0.0.1",
		"127.0.0.01",
		"127.0.0.1.",
		"127.0.0.1 x",
		" 127.0.0.1",
		"127.0.0.256",
		"1.2.3.4.5",
		"[127.0.0.1]",
		"[::1",
		"::1]",
		"[]",
		"[[::1]]",
		"fe80::1%eth0",
		"[fe80::1%25eth0]",
		":::",
		"1::2::3",
		"12345::",
		"::1.",
		"xn--",
		"a.123",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char out[HOST_NAME_MAX_LEN + 1];

		print_message("%s\n", rows[i]);
		assert_int_equal(host_canonical(bytes_str(rows[i]), out),
				 HOST_INVALID);
	}
}

static void host_canonical_refuses_a_nul(void **state)
{
	char out[HOST_NAME_MAX_LEN + 1];

	(void)state;
	assert_int_equal(host_canonical(bytes_from("a\0b.com", 7), out),
			 HOST_INVALID);
	assert_int_equal(host_canonical(bytes_from("1.2.3.4\0", 8), out),
			 HOST_INVALID);
}

static void host_canonical_takes_253_bytes_and_no_more(void **state)
{
	char in[256];
	char out[HOST_NAME_MAX_LEN + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = i % 2 ? '.' : 'a';
	assert_int_equal(host_canonical(bytes_from(in, 253), out), HOST_NAME);
	assert_int_equal(host_canonical(bytes_from(in, 254), out), HOST_NAME);
	assert_int_equal(host_canonical(bytes_from(in, 255), out),
			 HOST_INVALID);
}

static void host_matches_compares_whole_labels(void **state)
{
	static const struct {
		const char *pattern;
		const char *host;
		bool match;
	} rows[] = {
		{"github.com", "github.com", true},
		{"github.com", "evilgithub.com", false},
		{"github.com", "github.com.evil", false},
		{"github.com", "api.github.com", false},
		{"*.github.com", "api.github.com", true},
		{"*.github.com", "a.b.github.com", true},
		{"*.github.com", "github.com", false},
		{"*.github.com", "evilgithub.com", false},
		{"*.github.com", ".github.com", false},
		{"*", "github.com", true},
		{"*", "localhost", true},
		{"*", "127.0.0.1", false},
		{"*", "::1", false},
		{"*", "fe80::a", false},
		{"127.0.0.1", "127.0.0.1", true},
		{"::1", "::1", true},
		{"", "github.com", false},
		{"*", "", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("%s %s\n", rows[i].pattern, rows[i].host);
		assert_int_equal(host_matches(bytes_str(rows[i].pattern),
					      bytes_str(rows[i].host)),
				 rows[i].match);
	}
}

static void host_pattern_checks_what_a_policy_says(void **state)
{
	static const struct {
		const char *in;
		const char *out;   /* NULL: refused */
		const char *error; /* part of the words */
	} rows[] = {
		{"GitHub.com.", "github.com", NULL},
		{"*.GitHub.com", "*.github.com", NULL},
		{"*", "*", NULL},
		{"b\xc3\xbc"
		 "cher.example",
		 "xn--bcher-kva.example", NULL},
		{"*.b\xc3\xbc"
		 "cher.example",
		 "*.xn--bcher-kva.example", NULL},
		{"[::1]", "::1", NULL},
		{"10.0.0.1", "10.0.0.1", NULL},
		{"*.example.co.uk", "*.example.co.uk", NULL},
		{"*.co.uk", NULL, "public suffix"},
		{"*.com", NULL, "public suffix"},
		{"*.github.io", NULL, "public suffix"},
		{"*.s3.amazonaws.com", NULL, "public suffix"},
		{"github.io", "github.io", NULL},
		{"*.newtopleveldomain", NULL, "public suffix"},
		{"a.*.com", NULL, "first label"},
		{"*a.com", NULL, "first label"},
		{"*.*.com", NULL, "first label"},
		{"**.example.com", NULL, "first label"},
		{"*.10.0.0.1", NULL, "not a host"},
		{"*.", NULL, "not a host"},
		{"", NULL, "not a host"},
		{"https://a.com", NULL, "not a host"},
		{"0x7f.1", NULL, "not a host"},
		{"a_b.com", NULL, "not a host"},
		{"\xff.com", NULL, "internationalised"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena arena;
		struct bytes out;
		struct err err = {0};
		int rc;

		print_message("%s\n", rows[i].in);
		arena_init(&arena, 65536);
		rc = host_pattern(&arena, bytes_str(rows[i].in), &out, &err);
		assert_int_equal(rc, rows[i].out ? 0 : -1);
		if (rows[i].out)
			assert_true(bytes_is(out, rows[i].out));
		else
			assert_non_null(strstr(err.text, rows[i].error));
		arena_release(&arena);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_canonical_gives_one_form),
		cmocka_unit_test(host_canonical_refuses_what_has_two_readings),
		cmocka_unit_test(host_canonical_refuses_a_nul),
		cmocka_unit_test(host_canonical_takes_253_bytes_and_no_more),
		cmocka_unit_test(host_matches_compares_whole_labels),
		cmocka_unit_test(host_pattern_checks_what_a_policy_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
