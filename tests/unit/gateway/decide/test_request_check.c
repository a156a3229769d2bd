/* Requests: for this connection's host alone, then by the policy. */
#include "common/cleanup.h"
#include "policies.h"

static void request_must_be_for_its_connection(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		bool fits;
	} rows[] = {
		{"api.example.com", 0, true},
		{"API.example.com.", 443, true},
		{"api.example.com", 8443, false},
		{"github.com", 0, false},
		{"api.example.com.evil.net", 0, false},
		{"192.0.2.1", 0, false},
		{"api_example.com", 0, false},
	};
	struct target target = target_at("api.example.com", 443, SCHEME_HTTPS);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct request request =
			request_for("GET", rows[i].host, "/repos/acme/x");
		struct verdict verdict;

		request.port = rows[i].port;
		verdict = request_check(small_policy(), &target, &request);
		assert_int_equal(request_is_for(&request, &target),
				 rows[i].fits);
		assert_int_equal(verdict.constraint,
				 rows[i].fits ? CONSTRAINT_none
					      : CONSTRAINT_host_mismatch);
		assert_true(verdict.rule.len > 0);
	}
}

static void request_on_an_odd_port_must_name_it(void **state)
{
	struct target target =
		target_at("x.cdn.example.net", 8443, SCHEME_HTTPS);
	struct request request = request_for("GET", "x.cdn.example.net", "/");

	(void)state;
	assert_false(request_is_for(&request, &target));
	request.port = 8443;
	assert_true(request_is_for(&request, &target));
	assert_int_equal(request_check(small_policy(), &target, &request).kind,
			 VERDICT_ALLOW);
}

static void request_is_decided_by_method_and_path(void **state)
{
	static const struct {
		const char *method, *path;
		enum target_scheme scheme;
		enum constraint constraint;
	} rows[] = {
		{"GET", "/repos/acme/x", SCHEME_HTTPS, CONSTRAINT_none},
		{"GET", "/repos/acme/x", SCHEME_HTTP,
		 CONSTRAINT_scheme_not_allowed},
		{"GET", "/repos/other/x", SCHEME_HTTPS,
		 CONSTRAINT_path_not_allowed},
		{"PUT", "/repos/acme/x", SCHEME_HTTPS,
		 CONSTRAINT_method_not_allowed},
		{"POST", "/repos/acme/x", SCHEME_HTTPS,
		 CONSTRAINT_denied_by_rule},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target target =
			target_at("api.example.com", 0, rows[i].scheme);
		struct request request = request_for(
			rows[i].method, "api.example.com", rows[i].path);
		struct verdict verdict =
			request_check(small_policy(), &target, &request);

		assert_int_equal(verdict.constraint, rows[i].constraint);
		assert_int_equal(bytes_is(verdict.credential, "github"),
				 rows[i].constraint == CONSTRAINT_none);
	}
}

static void connect_inside_a_connection_is_refused(void **state)
{
	struct target target = target_at("api.example.com", 443, SCHEME_HTTPS);
	struct request request = request_for("CONNECT", "api.example.com", "");

	(void)state;
	request.form = FORM_AUTHORITY;
	assert_int_equal(
		request_check(small_policy(), &target, &request).constraint,
		CONSTRAINT_method_unknown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_must_be_for_its_connection),
		cmocka_unit_test(request_on_an_odd_port_must_name_it),
		cmocka_unit_test(request_is_decided_by_method_and_path),
		cmocka_unit_test(connect_inside_a_connection_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
