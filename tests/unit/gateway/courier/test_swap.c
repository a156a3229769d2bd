/* A secret in a placeholder's place: the courier believes no edge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/courier/attach.h"
#include "policies/placeholder.h"

#define HOST	 "api.example"
#define SECRET	 "real \"secret\"/1"
#define TEXT_MAX 512

static const struct scope_host hosts[] = {{BYTES_LITERAL(HOST), 443}};
static const struct scope_text methods[] = {{BYTES_LITERAL("POST")}};
static const struct scope_text paths[] = {{BYTES_LITERAL("/v1/**")}};
static const struct scope_binding bindings[] = {
	{
		.name = BYTES_LITERAL("all"),
		.secret = BYTES_LITERAL("s"),
		.attach = ATTACH_PLACEHOLDER,
		.hosts = hosts,
		.hosts_count = 1,
		.methods = methods,
		.methods_count = 1,
		.paths = paths,
		.paths_count = 1,
		.places = PLACE_MAX - 1,
	},
	{
		.name = BYTES_LITERAL("heads"),
		.secret = BYTES_LITERAL("s"),
		.attach = ATTACH_PLACEHOLDER,
		.hosts = hosts,
		.hosts_count = 1,
		.places = PLACE_HEADER,
	},
	{
		.name = BYTES_LITERAL("own"),
		.secret = BYTES_LITERAL("s"),
		.attach = ATTACH_PLACEHOLDER,
		.hosts = hosts,
		.hosts_count = 1,
		.places = PLACE_HEADER,
		.placeholder = BYTES_LITERAL("MY_OWN_KEY"),
	},
};

struct fixture {
	struct keeper keeper;
	struct courier courier;
	struct leg leg;
	char placeholder[PLACEHOLDER_SIZE];
};

static const uint8_t lease[DIGEST_LEN] = {7};

static void set_up(struct fixture *fixture, const char *binding)
{
	const struct session_package package = {
		.id = bytes_str("s-1"),
		.expires_ms = UINT64_MAX,
		.lease_hash = bytes_from(lease, sizeof(lease)),
		.scope = {.hosts = hosts,
			  .hosts_count = ARRAY_SIZE(hosts),
			  .bindings = bindings,
			  .bindings_count = ARRAY_SIZE(bindings)},
	};
	struct leg *leg = &fixture->leg;
	struct err err;
	auto_fd int fd = package_seal(&package, &err);
	struct package *opened = package_open(fd, &err);

	*fixture = (struct fixture){.leg.kind = LEG_REQUEST};
	assert_non_null(opened);
	assert_non_null(session_add(&fixture->keeper.sessions, opened, &err));
	fixture->courier.keeper = &fixture->keeper;
	leg->courier = &fixture->courier;
	leg->target.port = 443;
	leg->target.scheme = SCHEME_HTTPS;
	leg->target.kind = host_canonical(bytes_str(HOST), leg->target.host);
	(void)snprintf(leg->session, sizeof(leg->session), "s-1");
	(void)snprintf(leg->binding, sizeof(leg->binding), "%s", binding);
	for (size_t i = 0; i < ARRAY_SIZE(bindings); i++)
		if (bytes_is(bindings[i].name, binding))
			assert_int_equal(scope_binding_mark(&bindings[i],
							    leg->mark, &err),
					 0);
	(void)placeholder_make(lease, bytes_str(binding), SHAPE_OPAQUE,
			       PLACEHOLDER_VALUE, fixture->placeholder);
	if (!strcmp(binding, "own"))
		(void)snprintf(fixture->placeholder,
			       sizeof(fixture->placeholder), "MY_OWN_KEY");
}

static void tear_down(struct fixture *fixture)
{
	swap_body_end(&fixture->leg);
	session_table_release(&fixture->keeper.sessions);
}

/* '@' stands for the placeholder. */
static struct bytes text_of(const struct fixture *fixture, const char *text,
			    char room[TEXT_MAX])
{
	size_t len = 0;

	for (; *text; text++)
		len += (size_t)snprintf(room + len, TEXT_MAX - len,
					*text == '@' ? "%s" : "%.1s",
					*text == '@' ? fixture->placeholder
						     : text);
	return bytes_from(room, len);
}

struct asked {
	const char *method, *path, *name, *value;
	struct leg_swap swaps[2];
	size_t count;
};

static int check(struct fixture *fixture, const struct asked *asked)
{
	char path[TEXT_MAX], value[TEXT_MAX];
	const struct leg_field field = {bytes_str(asked->name),
					text_of(fixture, asked->value, value)};
	struct err err;
	int result;

	fixture->leg.request = (struct leg_request){
		.method = bytes_str(asked->method),
		.path = text_of(fixture, asked->path, path),
		.fields = &field,
		.fields_count = 1,
		.has_body = true,
		.has_length = true,
		.body_len = 200,
		.swaps = asked->swaps,
		.swaps_count = asked->count,
	};
	result = grant_check(&fixture->leg, &err);
	fixture->leg.request.fields_count = 0;
	return result;
}

static const struct {
	const char *binding;
	struct asked asked;
	int result;
} rows[] = {
	{"all",
	 {"POST",
	  "/v1/a",
	  "X-Key",
	  "a @",
	  {{LEG_IN_FIELD, LEG_PLAIN, 0, 2}},
	  1},
	 0},
	{"all",
	 {"POST",
	  "/v1/@?@",
	  "X",
	  "y",
	  {{LEG_IN_PATH, LEG_PERCENT, 0, 4}, {LEG_IN_PATH, LEG_PERCENT, 0, 49}},
	  2},
	 0},
	{"all",
	 {"POST",
	  "/v1/",
	  "Authorization",
	  "me:@",
	  {{LEG_IN_BASIC, LEG_PLAIN, 0, 3}},
	  1},
	 0},
	{"all",
	 {"POST", "/v1/", "X", "y", {{LEG_IN_BODY, LEG_JSON, 0, 156}}, 1},
	 0},
	/* not there */
	{"all",
	 {"POST",
	  "/v1/a",
	  "X-Key",
	  "a @",
	  {{LEG_IN_FIELD, LEG_PLAIN, 0, 1}},
	  1},
	 -1},
	{"all",
	 {"POST", "/v1/a", "X-Key", "@", {{LEG_IN_FIELD, LEG_PLAIN, 1, 0}}, 1},
	 -1},
	{"all",
	 {"POST",
	  "/v1/a",
	  "X-Key",
	  "@",
	  {{LEG_IN_FIELD, LEG_PLAIN, 0, UINT64_MAX}},
	  1},
	 -1},
	{"all",
	 {"POST", "/v1/", "X", "y", {{LEG_IN_BODY, LEG_JSON, 0, 157}}, 1},
	 -1},
	/* twice the same, or across each other */
	{"all",
	 {"POST",
	  "/v1/a",
	  "X-Key",
	  "@",
	  {{LEG_IN_FIELD, LEG_PLAIN, 0, 0}, {LEG_IN_FIELD, LEG_PLAIN, 0, 0}},
	  2},
	 -1},
	{"all",
	 {"POST",
	  "/v1/",
	  "X",
	  "y",
	  {{LEG_IN_BODY, LEG_JSON, 0, 0}, {LEG_IN_BODY, LEG_JSON, 0, 10}},
	  2},
	 -1},
	/* written in a way that the place does not have */
	{"all",
	 {"POST",
	  "/v1/a",
	  "X-Key",
	  "@",
	  {{LEG_IN_FIELD, LEG_PERCENT, 0, 0}},
	  1},
	 -1},
	{"all",
	 {"POST", "/v1/@", "X", "y", {{LEG_IN_PATH, LEG_PLAIN, 0, 4}}, 1},
	 -1},
	{"all",
	 {"POST",
	  "/v1/a",
	  "X-Key",
	  "me:@",
	  {{LEG_IN_BASIC, LEG_PLAIN, 0, 3}},
	  1},
	 -1},
	/* the binding's own bounds */
	{"all", {"GET", "/v1/a", "X", "y", {{0}}, 0}, -1},
	{"all", {"POST", "/v2/a", "X", "y", {{0}}, 0}, -1},
	{"heads",
	 {"GET", "/v2/a", "X-Key", "@", {{LEG_IN_FIELD, LEG_PLAIN, 0, 0}}, 1},
	 0},
	{"heads",
	 {"GET", "/v2/@", "X", "y", {{LEG_IN_PATH, LEG_PERCENT, 0, 4}}, 1},
	 -1},
	{"heads",
	 {"GET", "/v2/?@", "X", "y", {{LEG_IN_PATH, LEG_PERCENT, 0, 5}}, 1},
	 -1},
	{"heads",
	 {"GET",
	  "/v2/",
	  "Authorization",
	  "me:@",
	  {{LEG_IN_BASIC, LEG_PLAIN, 0, 3}},
	  1},
	 -1},
	{"heads",
	 {"GET", "/v2/", "X", "y", {{LEG_IN_BODY, LEG_JSON, 0, 0}}, 1},
	 -1},
	{"own",
	 {"GET", "/v2/", "X", "a@", {{LEG_IN_FIELD, LEG_PLAIN, 0, 1}}, 1},
	 0},
	{"own",
	 {"GET", "/v2/", "X", "a@", {{LEG_IN_FIELD, LEG_PLAIN, 0, 0}}, 1},
	 -1},
	{"own",
	 {"GET",
	  "/v2/",
	  "X",
	  "NO_OWN_KEY",
	  {{LEG_IN_FIELD, LEG_PLAIN, 0, 0}},
	  1},
	 -1},
};

static void courier_looks_for_the_placeholder_itself(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture fixture;

		set_up(&fixture, rows[i].binding);
		if (check(&fixture, &rows[i].asked) != rows[i].result)
			fail_msg("row %zu", i);
		tear_down(&fixture);
	}
}

static void a_secret_is_escaped_as_its_place_wants_it(void **state)
{
	static const struct {
		enum leg_escape escape;
		const char *written;
	} ways[] = {
		{LEG_PLAIN, SECRET},
		{LEG_PERCENT, "real%20%22secret%22%2F1"},
		{LEG_JSON, "real \\\"secret\\\"/1"},
	};
	const struct msg_token token = {.attach = ATTACH_PLACEHOLDER,
					.secret = bytes_str(SECRET)};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const struct leg_swap swap = {LEG_IN_BODY,
					      (uint8_t)ways[i].escape, 0, 0};
		struct fixture fixture;
		struct err err;

		set_up(&fixture, "all");
		fixture.leg.request = (struct leg_request){
			.has_length = true,
			.body_len = 200,
			.swaps = &swap,
			.swaps_count = 1,
		};
		assert_int_equal(swap_body_begin(&fixture.leg, &token, &err),
				 0);
		assert_true(bytes_is(secret_view(&fixture.leg.body_secret),
				     ways[i].written));
		assert_int_equal(swap_body_len(&fixture.leg),
				 200 - strlen(fixture.placeholder) +
					 strlen(ways[i].written));
		tear_down(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(courier_looks_for_the_placeholder_itself),
		cmocka_unit_test(a_secret_is_escaped_as_its_place_wants_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
