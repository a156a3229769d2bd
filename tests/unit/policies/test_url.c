#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "policies/url.h"

static void url_gives_what_the_gateway_would_see(void **state)
{
	static const struct {
		const char *url, *host;
		uint16_t port;
		bool is_tls;
		const char *path, *query;
	} rows[] = {
		{"https://a.example", "a.example", 443, true, "/", ""},
		{"http://a.example/", "a.example", 80, false, "/", ""},
		{"https://A.Example./x", "a.example", 443, true, "/x", ""},
		{"https://a.example:8443/x?y=1", "a.example", 8443, true, "/x",
		 "y=1"},
		{"https://a.example?y=/z", "a.example", 443, true, "/", "y=/z"},
		{"https://a.example#part", "a.example", 443, true, "/", ""},
		{"https://a.example/x?y#/?part", "a.example", 443, true, "/x",
		 "y"},
		{"https://10.0.0.1/", "10.0.0.1", 443, true, "/", ""},
		{"https://[::1]:8443/x", "::1", 8443, true, "/x", ""},
		{"https://[2001:DB8::1]/", "2001:db8::1", 443, true, "/", ""},
		{"https://a.example/%7ex", "a.example", 443, true, "/~x", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(arena_release) struct arena arena;
		struct request_facts facts = {0};
		enum constraint constraint;
		struct err err;

		arena_init(&arena, 64 * 1024);
		assert_int_equal(url_facts(rows[i].url, &arena, &facts,
					   &constraint, &err),
				 0);
		assert_true(bytes_is(facts.target.host, rows[i].host));
		assert_int_equal(facts.target.port, rows[i].port);
		assert_int_equal(facts.is_tls, rows[i].is_tls);
		assert_true(bytes_is(facts.path, rows[i].path));
		assert_true(bytes_is(facts.query, rows[i].query));
	}
}

static void url_refuses_what_is_none(void **state)
{
	static const struct {
		const char *url;
		enum constraint constraint;
	} rows[] = {
		{"", CONSTRAINT_none},
		{"a.example", CONSTRAINT_none},
		{"ftp://a.example/", CONSTRAINT_none},
		{"git@github.com:acme/widgets", CONSTRAINT_none},
		{"https://", CONSTRAINT_none},
		{"https:///x", CONSTRAINT_none},
		{"https://u:p@a.example/", CONSTRAINT_none},
		{"https://a.example:0/", CONSTRAINT_none},
		{"https://a.example:65536/", CONSTRAINT_none},
		{"https://a.example:/", CONSTRAINT_none},
		{"https://a.example:x/", CONSTRAINT_none},
		{"https://0x7f.1/", CONSTRAINT_none},
		{"https://[::1/", CONSTRAINT_none},
		{"https://a_b.example/", CONSTRAINT_none},
		/* What the gateway would refuse itself is a verdict. */
		{"https://a.example/x%2fy", CONSTRAINT_path_ambiguous},
		{"https://a.example/x/../y", CONSTRAINT_path_ambiguous},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(arena_release) struct arena arena;
		struct request_facts facts = {0};
		enum constraint constraint;
		struct err err = {0};

		arena_init(&arena, 64 * 1024);
		assert_int_equal(url_facts(rows[i].url, &arena, &facts,
					   &constraint, &err),
				 -1);
		assert_int_equal(constraint, rows[i].constraint);
		assert_true(err.text[0] != '\0');
	}
}

static void a_url_beyond_ascii_becomes_the_one_of_a_rule(void **state)
{
	static const struct {
		const char *url, *ascii;
	} rows[] = {
		{"https://bücher.example", "https://xn--bcher-kva.example"},
		{"https://BÜCHER.example:8443/ü?ü#ü",
		 "https://xn--bcher-kva.example:8443/ü?ü#ü"},
		{"http://faß.example?x", "http://xn--fa-hia.example?x"},
		/* Nothing to convert, or nothing that is a host. */
		{"https://a.example/ü", "https://a.example/ü"},
		{"https://A_b.example/", "https://A_b.example/"},
		{"https://[::1]:8443/ü", "https://[::1]:8443/ü"},
		{"https://ü:p@a.example/", "https://ü:p@a.example/"},
		{"ftp://bücher.example/", "ftp://bücher.example/"},
		{"https://", "https://"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(arena_release) struct arena arena;
		const char *url = rows[i].url;
		struct err err;

		arena_init(&arena, 64 * 1024);
		assert_int_equal(url_to_ascii(&url, &arena, &err), 0);
		assert_string_equal(url, rows[i].ascii);
	}
}

static void a_url_whose_letters_make_no_host_is_refused(void **state)
{
	/* A fullwidth solidus is a '/' once it is converted; the last is no
	 * UTF-8. */
	static const char *const rows[] = {
		"https://good.example／.bad.example/",
		"https://a＠b.example/",
		"https://ü..example/",
		"https://\xff.example/",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(arena_release) struct arena arena;
		const char *url = rows[i];
		struct err err = {0};

		arena_init(&arena, 64 * 1024);
		assert_int_equal(url_to_ascii(&url, &arena, &err), -1);
		assert_true(err.text[0] != '\0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(url_gives_what_the_gateway_would_see),
		cmocka_unit_test(url_refuses_what_is_none),
		cmocka_unit_test(a_url_beyond_ascii_becomes_the_one_of_a_rule),
		cmocka_unit_test(a_url_whose_letters_make_no_host_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
