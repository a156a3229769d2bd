#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/control/handlers.h"

static const struct route *find(const char *method, const char *path,
				struct bytes *name, char *allow)
{
	return route_find(control_routes, bytes_str(method), bytes_str(path),
			  name, allow);
}

static void route_finds_the_handler_and_the_name(void **state)
{
	static const struct {
		const char *method, *path, *name;
		void (*handle)(struct conn *conn);
	} rows[] = {
		{"POST", "/v1/sessions", "", handle_session_create},
		{"GET", "/v1/sessions", "", handle_session_list},
		{"GET", "/v1/sessions/s-1", "s-1", handle_session_show},
		{"DELETE", "/v1/sessions/s-1", "s-1", handle_session_end},
		{"POST", "/v1/sessions/s-1/records", "s-1",
		 handle_session_record},
		{"GET", "/v1/audit/verify", "", handle_audit_verify},
		{"PUT", "/v1/secrets/gh", "gh", handle_secret_put},
		{"POST", "/v1/secrets/gh", "gh", handle_secret_rotate},
	};
	char allow[ROUTE_ALLOW_SIZE];
	struct bytes name;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct route *route =
			find(rows[i].method, rows[i].path, &name, allow);

		assert_non_null(route);
		assert_ptr_equal(route->handle, rows[i].handle);
		assert_true(bytes_is(name, rows[i].name));
	}
}

static void route_tells_which_methods_a_path_has(void **state)
{
	char allow[ROUTE_ALLOW_SIZE];
	struct bytes name;

	(void)state;
	assert_null(find("PATCH", "/v1/sessions", &name, allow));
	assert_string_equal(allow, "POST, GET");
	assert_null(find("GET", "/v1/secrets/gh", &name, allow));
	assert_string_equal(allow, "PUT, POST, DELETE");
}

static void route_knows_no_other_path(void **state)
{
	static const char *const paths[] = {
		"/",
		"",
		"/v1",
		"/v1/session",
		"/v1/sessions/",
		"/v1/sessions/s-1/",
		"/v1/sessions/s-1/records/x",
		"/v1/sessions//records",
		"/v2/sessions",
	};
	char allow[ROUTE_ALLOW_SIZE];
	struct bytes name;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		assert_null(find("GET", paths[i], &name, allow));
		assert_string_equal(allow, "");
	}
}

static void route_lets_only_administrators_touch_secrets(void **state)
{
	size_t seen = 0;

	(void)state;
	for (const struct route *route = control_routes; route->method;
	     route++) {
		if (strncmp(route->path, "/v1/secrets", 11) != 0)
			continue;
		assert_int_equal(route->may, ROUTE_ADMIN);
		seen++;
	}
	assert_int_equal(seen, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(route_finds_the_handler_and_the_name),
		cmocka_unit_test(route_tells_which_methods_a_path_has),
		cmocka_unit_test(route_knows_no_other_path),
		cmocka_unit_test(route_lets_only_administrators_touch_secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
