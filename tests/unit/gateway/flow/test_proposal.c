#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/flow/proposal.h"
#include "gateway/flow/target.h"

static void names_lead_back_to_what_they_name(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PROPOSAL_STATE_MAX; i++)
		assert_int_equal(proposal_state_from_name(
					 bytes_str(proposal_state_name(i))),
				 i);
	for (unsigned i = 0; i < GRANT_SCOPE_MAX; i++)
		assert_int_equal(
			grant_scope_from_name(bytes_str(grant_scope_name(i))),
			i);
	assert_int_equal(proposal_state_from_name(bytes_str("open")),
			 PROPOSAL_STATE_MAX);
	assert_int_equal(grant_scope_from_name(bytes_str("")), GRANT_SCOPE_MAX);
}

static void words_name_the_port_where_it_is_odd(void **state)
{
	static const struct {
		const char *method, *host, *path, *words;
		uint16_t port;
		uint8_t scheme;
	} cases[] = {
		{"GET", "a.example", "/x", "GET https://a.example/x", 443,
		 SCHEME_HTTPS},
		{"GET", "a.example", "/x", "GET https://a.example:80/x", 80,
		 SCHEME_HTTPS},
		{"PUT", "a.example", "/", "PUT http://a.example/", 80,
		 SCHEME_HTTP},
		{"PUT", "2001:db8::1", "/", "PUT http://[2001:db8::1]:8080/",
		 8080, SCHEME_HTTP},
		{"CONNECT", "a.example", "", "CONNECT tcp://a.example:22", 22,
		 SCHEME_TCP},
		{PROPOSAL_COMMAND, "sandbox", "rm -r x", "EXEC rm -r x", 0,
		 SCHEME_TCP},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct proposal proposal = {
			.method = bytes_str(cases[i].method),
			.scheme = cases[i].scheme,
			.host = bytes_str(cases[i].host),
			.port = cases[i].port,
			.path = bytes_str(cases[i].path),
		};
		auto_type(buf_release) struct buf out;

		buf_init(&out, 256);
		assert_int_equal(proposal_add_words(&out, &proposal), 0);
		assert_string_equal(buf_str(&out), cases[i].words);
	}
}

static void a_proposal_survives_the_wire_whole(void **state)
{
	const struct proposal sent = {
		.id = bytes_str("p-1"),
		.session = bytes_str("s-1"),
		.rule = bytes_str("release"),
		.method = bytes_str("POST"),
		.scheme = SCHEME_HTTPS,
		.host = bytes_str("a.example"),
		.port = 443,
		.path = bytes_str("/x"),
		.credential = bytes_str("c"),
		.why = bytes_str("so"),
		.created_ms = 1,
		.expires_ms = 2,
		.state = PROPOSAL_APPROVED,
		.scope = GRANT_UNTIL,
		.until_ms = 3,
		.decided_ms = 4,
		.decided_by = 5,
	};
	auto_type(buf_release) struct buf out;
	auto_type(arena_release) struct arena arena;
	struct proposal got;
	struct err err;

	(void)state;
	buf_init(&out, 4096);
	arena_init(&arena, 4096);
	assert_int_equal(wire_encode(&proposal_schema, &sent, &out, &err), 0);
	assert_int_equal(wire_decode(&proposal_schema, buf_view(&out), &arena,
				     &got, &err),
			 0);
	assert_true(bytes_is(got.path, "/x") && bytes_is(got.why, "so"));
	assert_int_equal(got.decided_by, 5);
	assert_int_equal(got.scope, GRANT_UNTIL);
}

static void the_wire_refuses_states_and_schemes_that_are_none(void **state)
{
	struct proposal bad[3] = {{.state = PROPOSAL_STATE_MAX},
				  {.scope = GRANT_SCOPE_MAX},
				  {.scheme = SCHEME_TCP + 1}};
	auto_type(buf_release) struct buf out;
	struct err err;

	(void)state;
	buf_init(&out, 4096);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(
			wire_encode(&proposal_schema, &bad[i], &out, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_lead_back_to_what_they_name),
		cmocka_unit_test(words_name_the_port_where_it_is_odd),
		cmocka_unit_test(a_proposal_survives_the_wire_whole),
		cmocka_unit_test(
			the_wire_refuses_states_and_schemes_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
