#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/script/vm.h"

static const struct msg_script_field fields[] = {
	{BYTES_LITERAL("Accept"), BYTES_LITERAL("text/html")},
	{BYTES_LITERAL("X-Tag"), BYTES_LITERAL("a")},
	{BYTES_LITERAL("x-tag"), BYTES_LITERAL("b")},
};

static const struct msg_script_request request = {
	.method = BYTES_LITERAL("POST"),
	.is_tls = true,
	.host = BYTES_LITERAL("api.example"),
	.port = 443,
	.path = BYTES_LITERAL("/v1/things"),
	.query = BYTES_LITERAL("q=1"),
	.fields = fields,
	.fields_count = ARRAY_SIZE(fields),
};

/* The verdict of a script's text; SCRIPT_KIND_MAX when it fails. */
static enum script_kind run(const char *text, char *reason, struct err *err)
{
	struct msg_script_verdict verdict;
	struct vm *vm = vm_new(bytes_str(text), err);
	int result;

	reason[0] = '\0';
	if (!vm)
		return SCRIPT_KIND_MAX;
	result = vm_decide(vm, &request, &verdict, err);
	if (result == 0)
		(void)snprintf(reason, SCRIPT_REASON_MAX + 1, "%.*s",
			       BYTES_ARGS(verdict.reason));
	vm_free(vm);
	return result < 0 ? SCRIPT_KIND_MAX : (enum script_kind)verdict.kind;
}

static void vm_decides_by_each_part_of_a_request(void **state)
{
	static const struct {
		const char *condition;
		enum script_kind kind;
	} rows[] = {
		{"r.method == 'POST'", SCRIPT_DENY},
		{"r.method == 'GET'", SCRIPT_NOTHING},
		{"r.scheme == 'https'", SCRIPT_DENY},
		{"r.host == 'api.example' and r.port == 443", SCRIPT_DENY},
		{"r.path:find('^/v1/')", SCRIPT_DENY},
		{"r.path:find('^/v2/')", SCRIPT_NOTHING},
		{"r.query == 'q=1'", SCRIPT_DENY},
		{"r.headers.accept == 'text/html'", SCRIPT_DENY},
		{"r.headers['x-tag'] == 'a, b'", SCRIPT_DENY},
		{"r.headers['X-Tag']", SCRIPT_NOTHING},
		{"r.headers.cookie", SCRIPT_NOTHING},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[256], reason[SCRIPT_REASON_MAX + 1];
		struct err err;

		(void)snprintf(text, sizeof(text),
			       "function decide(r) if %s then "
			       "return 'deny', 'row %zu' end end",
			       rows[i].condition, i);
		assert_int_equal(run(text, reason, &err), rows[i].kind);
		assert_int_equal(reason[0] != '\0',
				 rows[i].kind == SCRIPT_DENY);
	}
}

static void vm_allows_when_the_script_says_so(void **state)
{
	char reason[SCRIPT_REASON_MAX + 1];
	struct err err;

	(void)state;
	assert_int_equal(
		run("function decide() return 'allow' end", reason, &err),
		SCRIPT_ALLOW);
}

static void vm_fails_on_what_is_no_decision(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"function decide() return 1 end", "must return"},
		{"function decide() return true end", "must return"},
		{"function decide() return 'Deny' end", "must return"},
		{"function decide() error('no') end", "no"},
		{"function decide() return nothing.at.all end", "nil"},
		{"decide = 1", "decide"},
		{"x = 1", "decide"},
		{"function decide(", "script:1"},
		{"\x1bLua", "binary"},
		{"function decide() return io.open('/etc/passwd') end", "io"},
		{"function decide() return os.time() end", "os"},
		{"function decide() return require('os') end", "require"},
		{"function decide() return load('return 1')() end", "load"},
		{"function decide() return dofile('/x') end", "dofile"},
		{"function decide() return string.dump(decide) end", "dump"},
		{"function decide() return debug.getinfo(1) end", "debug"},
		{"function decide() local t = {} "
		 "for i = 1, 1e9 do t[i] = tostring(i) end end",
		 "memory"},
		{"function decide() return ('x'):rep(1e9) end", "memory"},
		{"function decide() return decide() + 1 end", "memory"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char reason[SCRIPT_REASON_MAX + 1];
		struct err err;

		assert_int_equal(run(rows[i].text, reason, &err),
				 SCRIPT_KIND_MAX);
		if (!strstr(err.text, rows[i].says))
			fail_msg("row %zu: %s", i, err.text);
	}
}

static void vm_goes_on_after_a_failure(void **state)
{
	static const char text[] =
		"n = 0 function decide() n = n + 1 "
		"if n == 1 then error('once') end return 'deny', n end";
	struct msg_script_verdict verdict;
	struct err err;
	struct vm *vm = vm_new(bytes_str(text), &err);

	(void)state;
	assert_non_null(vm);
	assert_int_equal(vm_decide(vm, &request, &verdict, &err), -1);
	assert_int_equal(vm_decide(vm, &request, &verdict, &err), 0);
	assert_int_equal(verdict.kind, SCRIPT_DENY);
	assert_true(bytes_is(verdict.reason, "2"));
	vm_free(vm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vm_decides_by_each_part_of_a_request),
		cmocka_unit_test(vm_allows_when_the_script_says_so),
		cmocka_unit_test(vm_fails_on_what_is_no_decision),
		cmocka_unit_test(vm_goes_on_after_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
