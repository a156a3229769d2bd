#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "sandbox-host/api/route.h"

static const struct route lifecycle[] = {
	{"GET", "/health", ROUTE_OPEN, 0, ROUTE_WHOLE, NULL},
	{"GET", "/sandboxes", ROUTE_KEY, 0, ROUTE_WHOLE, NULL},
	{"POST", "/sandboxes", ROUTE_KEY, 9, ROUTE_WHOLE, NULL},
	{"GET", "/sandboxes/{}", ROUTE_KEY, 0, ROUTE_WHOLE, NULL},
	{"DELETE", "/sandboxes/{}", ROUTE_KEY, 0, ROUTE_WHOLE, NULL},
	{"GET", "/sandboxes/{}/endpoints/{}", ROUTE_KEY, 0, ROUTE_WHOLE, NULL},
	{0},
};
static const struct route execd[] = {
	{"GET", "/ping", ROUTE_TOKEN, 0, ROUTE_WHOLE, NULL},
	{"GET", "/v1/sandboxes", ROUTE_TOKEN, 0, ROUTE_WHOLE, NULL},
	{0},
};
static const struct route proxy[] = {
	{"*", "/{}/**", ROUTE_TOKEN, 0, ROUTE_STREAM, NULL},
	{0},
};
static const struct route_table tables[] = {
	{ROUTES_LIFECYCLE, lifecycle},
	{ROUTES_EXECD, execd},
	{ROUTES_PROXY, proxy},
	{ROUTE_PLACE_MAX, NULL},
};

static struct route_match find(const char *method, const char *path)
{
	struct route_match match;

	route_find(tables, bytes_str(method), bytes_str(path), &match);
	return match;
}

static void a_path_has_its_route_with_and_without_v1(void **state)
{
	static const struct {
		const char *method, *path;
		const struct route *route;
	} table[] = {
		{"GET", "/health", &lifecycle[0]},
		{"GET", "/v1/health", &lifecycle[0]},
		{"HEAD", "/v1/health", &lifecycle[0]},
		{"GET", "/v1/sandboxes", &lifecycle[1]},
		{"POST", "/v1/sandboxes", &lifecycle[2]},
		{"GET", "/sandboxes/x", &lifecycle[3]},
		{"DELETE", "/v1/sandboxes/x", &lifecycle[4]},
		{"GET", "/v1/sandboxes/x/endpoints/80", &lifecycle[5]},
		{"GET", "/v1/sandboxes/x/execd/ping", &execd[0]},
		{"GET", "/sandboxes/x/execd/v1/sandboxes", &execd[1]},
		{"BREW", "/sandboxes/x/proxy/80/a/b", &proxy[0]},
		{"GET", "/sandboxes/x/proxy/80", &proxy[0]},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_ptr_equal(find(table[i].method, table[i].path).route,
				 table[i].route);
}

static void what_stood_for_a_piece_is_told(void **state)
{
	struct route_match match =
		find("GET", "/v1/sandboxes/sb-a/endpoints/8080");

	(void)state;
	assert_int_equal(match.piece_count, 2);
	assert_true(bytes_is(match.pieces[0], "sb-a"));
	assert_true(bytes_is(match.pieces[1], "8080"));
	assert_int_equal(match.sandbox.len, 0);
	match = find("PUT", "/sandboxes/sb-a/proxy/80/a%20b/");
	assert_int_equal(match.place, ROUTES_PROXY);
	assert_true(bytes_is(match.sandbox, "sb-a"));
	assert_true(bytes_is(match.pieces[0], "80"));
	assert_true(bytes_is(match.rest, "/a%20b/"));
	assert_int_equal(find("GET", "/sandboxes/x/proxy/80").rest.len, 0);
}

static void what_is_not_there_has_no_route(void **state)
{
	static const char *const paths[] = {
		"/",
		"/v1",
		"/v1/v1/sandboxes",
		"/sandbox",
		"/sandboxes/",
		"/sandboxes/x/",
		"/sandboxes/x/endpoints",
		"/sandboxes/x/endpoints/",
		"/sandboxes/x/endpoints/1/2",
		"/health/x",
		"/sandboxes/x/execd",
		"/sandboxes/x/execd/health",
		"/sandboxes/x/proxy",
		"/sandboxes//execd/ping",
		"/execd/ping",
		"/ping",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct route_match match = find("GET", paths[i]);

		assert_null(match.route);
		assert_string_equal(match.allow, "");
	}
}

static void another_method_is_told_which_there_are(void **state)
{
	(void)state;
	assert_string_equal(find("PUT", "/sandboxes").allow, "GET, POST");
	assert_string_equal(find("PUT", "/v1/sandboxes/x").allow,
			    "GET, DELETE");
	assert_null(find("HEAD", "/sandboxes/x/metadata").route);
}

/* An endpoint's place decides which token lets in: no path may be read as one
 * of another. */
static void an_endpoint_is_not_mistaken_for_another(void **state)
{
	(void)state;
	assert_int_equal(find("GET", "/sandboxes/x/execd/ping").place,
			 ROUTES_EXECD);
	assert_int_equal(find("GET", "/sandboxes/x/egress/policy").place,
			 ROUTES_EGRESS);
	assert_int_equal(find("GET", "/sandboxes/execd").place,
			 ROUTES_LIFECYCLE);
	assert_int_equal(find("GET", "/sandboxes/x/execdx/ping").place,
			 ROUTES_LIFECYCLE);
	assert_int_equal(
		find("GET", "/sandboxes/x/proxy/80/sandboxes/y/execd/ping")
			.place,
		ROUTES_PROXY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_has_its_route_with_and_without_v1),
		cmocka_unit_test(what_stood_for_a_piece_is_told),
		cmocka_unit_test(what_is_not_there_has_no_route),
		cmocka_unit_test(another_method_is_told_which_there_are),
		cmocka_unit_test(an_endpoint_is_not_mistaken_for_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
