#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "policies/policy.h"
#include "sandbox-host/api/spec.h"

#define ARENA_MAX (4 * 1024 * 1024)
#define NOW_MS	  1000000ull

static const struct api_policy named = {
	.name = BYTES_LITERAL("small"),
	.text = BYTES_LITERAL("version: 1\nname: small\n"),
};
static const struct api_config config = {
	.policies = &named,
	.policies_count = 1,
};

struct rig {
	struct arena arena;
	json_t *root;
	struct sandbox_request request;
	struct spec_fault fault;
};

static void rig_release(struct rig *rig)
{
	arena_release(&rig->arena);
	json_decref(rig->root);
}

static int read_text(struct rig *rig, const char *text)
{
	*rig = (struct rig){.root = json_loads(text, 0, NULL)};
	arena_init(&rig->arena, ARENA_MAX);
	assert_non_null(rig->root);
	return spec_read(&rig->arena, &config, rig->root, NOW_MS, &rig->request,
			 &rig->fault);
}

static void all_that_a_request_says_is_read(void **state)
{
	auto_type(rig_release) struct rig rig;
	const struct sandbox_request *request = &rig.request;

	(void)state;
	assert_int_equal(
		read_text(&rig,
			  "{\"image\":{\"uri\":\"py\"},\"entrypoint\":[\"a\","
			  "\"\"],\"env\":{\"K\":\"v=w\"},\"metadata\":{\"x.y/"
			  "z\":\"1\"},\"timeout\":60,\"resourceLimits\":{"
			  "\"cpu\":\"1.5\",\"memory\":\"1.5Gi\"},\"volumes\":["
			  "{\"name\":\"v\",\"host\":{\"path\":\"/a\"},"
			  "\"mountPath\":\"/b\",\"readOnly\":true,\"subPath\":"
			  "\"c\"}],\"extensions\":{\"sallyport.repo\":\"r\","
			  "\"sallyport.branch\":\"b\",\"sallyport.policy\":"
			  "\"small\"}}"),
		0);
	assert_true(bytes_is(request->image, "py"));
	assert_int_equal(request->entrypoint_count, 2);
	assert_true(bytes_is(request->env[0].text, "K=v=w"));
	assert_true(bytes_is(request->metadata[0].name, "x.y/z"));
	assert_int_equal(request->expires_ms, NOW_MS + 60000);
	assert_int_equal(request->cpu_milli, 1500);
	assert_int_equal(request->memory_bytes, 3ull << 29);
	assert_true(bytes_is(request->volumes[0].source, "/a"));
	assert_true(bytes_is(request->volumes[0].target, "/b"));
	assert_true(bytes_is(request->volumes[0].sub_path, "c"));
	assert_true(request->volumes[0].is_read_only);
	assert_true(bytes_is(request->repo, "r"));
	assert_true(bytes_is(request->branch, "b"));
	assert_true(bytes_equal(request->policy, named.text));
}

static void what_is_null_is_not_said(void **state)
{
	auto_type(rig_release) struct rig rig;

	(void)state;
	assert_int_equal(
		read_text(&rig, "{\"image\":{\"uri\":\"host\"},\"snapshotId\":"
				"null,\"env\":null,\"timeout\":null,"
				"\"networkPolicy\":null,\"volumes\":null,"
				"\"entrypoint\":null,\"platform\":null}"),
		0);
	assert_int_equal(rig.request.image.len, 0);
	assert_int_equal(rig.request.policy.len, 0);
	assert_int_equal(rig.request.expires_ms, 0);
	assert_int_equal(rig.request.entrypoint_count, 0);
}

static void a_note_is_kept_and_never_a_policy(void **state)
{
	auto_type(rig_release) struct rig rig;
	char text[4096], long_text[2000];
	ptrdiff_t at;

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	(void)snprintf(text, sizeof(text),
		       "{\"image\":{\"uri\":\"host\"},\"extensions\":{"
		       "\"sallyport.policy\":\"version: 1\\n\",\"mine\":\"%s\""
		       "}}",
		       long_text);
	assert_int_equal(read_text(&rig, text), 0);
	assert_true(rig.request.note.len > 0 &&
		    rig.request.note.len <= REQUEST_NOTE_MAX);
	at = bytes_find_bytes(rig.request.note, bytes_str("version"), 0);
	assert_true(at < 0);
}

static void a_network_policy_becomes_a_policy_of_ours(void **state)
{
	static const char *const table[][2] = {
		{"{}", "\"network\":{\"default\":\"deny\"}"},
		{"{\"defaultAction\":\"allow\"}",
		 "\"rules\":[{\"hosts\":[\"*\",\"0.0.0.0/0\",\"::/0\"],"
		 "\"ports\":\"any\",\"action\":\"allow\"}]"},
		{"{\"egress\":[{\"action\":\"deny\",\"target\":\"a.example.com"
		 "\"},{\"action\":\"allow\",\"target\":\"*.example.com\"}]}",
		 "\"rules\":[{\"hosts\":[\"a.example.com\"],\"ports\":\"any\","
		 "\"action\":\"deny\"},{\"hosts\":[\"*.example.com\"],"
		 "\"ports\":\"any\",\"action\":\"allow\"}]"},
		{"{\"egress\":[{\"action\":\"deny\",\"target\":\"192.0.2.0/24"
		 "\"},{\"action\":\"allow\",\"target\":\"8.8.8.0/24\"}]}",
		 "\"addresses\":{\"deny\":[\"private\",\"link-local\","
		 "\"metadata\",\"loopback\",\"192.0.2.0/24\"]}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		auto_type(rig_release) struct rig rig;
		auto_type(buf_release) struct buf report;
		struct policy_variables variables = {0};
		struct policy_errors errors = {.out = &report, .file = "p"};
		struct policy *policy;
		char text[512];

		(void)snprintf(text, sizeof(text),
			       "{\"image\":{\"uri\":\"host\"},\"networkPolicy\""
			       ":%s}",
			       table[i][0]);
		assert_int_equal(read_text(&rig, text), 0);
		assert_true(bytes_find_bytes(rig.request.policy,
					     bytes_str(table[i][1]), 0) > 0);
		buf_init(&report, 4096);
		variables.session_id = bytes_str("s");
		policy =
			policy_compile(rig.request.policy, &variables, &errors);
		assert_non_null(policy);
		policy_free(policy);
	}
}

static void quantities_are_those_of_kubernetes(void **state)
{
	static const struct {
		const char *text;
		uint64_t thousandths; /* 0: it is none */
	} table[] = {
		{"1", 1000},
		{"500m", 500},
		{"0.25", 250},
		{"2k", 2000000},
		{"1Ki", 1024000},
		{"1.5Mi", 1572864000},
		{"1Ti", 1099511627776000},
		{"", 0},
		{"m", 0},
		{"-1", 0},
		{"1.", 0},
		{".5", 0},
		{"1.2345", 0},
		{"1 Gi", 0},
		{"1gi", 0},
		{"1e3", 0},
		{"999999999999999Ti", 0},
		{"9999999999999999", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		uint64_t value = 0;
		int result = spec_quantity(bytes_str(table[i].text), &value);

		assert_int_equal(result, table[i].thousandths ? 0 : -1);
		if (result == 0)
			assert_int_equal(value, table[i].thousandths);
	}
}

static void labels_are_those_of_kubernetes(void **state)
{
	static const struct {
		const char *key, *value;
		int result;
	} table[] = {
		{"a", "", 0},
		{"a/b", "c-d_e.f", 0},
		{"a.example/b", "1", 0},
		{"", "a", -1},
		{"/b", "a", -1},
		{"a/", "a", -1},
		{"a/b/c", "a", -1},
		{"-a", "a", -1},
		{"a", "b c", -1},
		{"a", "-b", -1},
		{"a\n", "b", -1},
		{"opensandbox.io/a", "b", -1},
	};
	struct spec_fault fault;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_int_equal(spec_label(bytes_str(table[i].key),
					    bytes_str(table[i].value), &fault),
				 table[i].result);
}

static void every_refusal_has_a_status_and_words(void **state)
{
	static const char *const table[] = {
		"[]",
		"{}",
		"{\"image\":{}}",
		"{\"image\":{\"uri\":\"host\"},\"env\":{\"A\":null}}",
		"{\"image\":{\"uri\":\"host\"},\"timeout\":1.5}",
		"{\"image\":{\"uri\":\"host\"},\"networkPolicy\":true}",
		"{\"image\":{\"uri\":\"host\"},\"networkPolicy\":{\"egress\":"
		"[{\"action\":\"allow\",\"target\":\"a\\\"b\"}]}}",
		"{\"image\":{\"uri\":\"host\"},\"networkPolicy\":{\"egress\":"
		"[{\"action\":\"allow\",\"target\":\"a\",\"x\":1}]}}",
		"{\"image\":{\"uri\":\"host\"},\"networkPolicy\":{\"egress\":"
		"[{\"action\":\"allow\",\"target\":\"10.0.0.0/8\"}]}}",
		"{\"image\":{\"uri\":\"host\"},\"networkPolicy\":{\"egress\":"
		"[{\"action\":\"deny\",\"target\":\"10.0.0.1/8\"}]}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		auto_type(rig_release) struct rig rig;

		assert_int_equal(read_text(&rig, table[i]), -1);
		assert_true(rig.fault.status >= 400);
		assert_true(rig.fault.text[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_a_request_says_is_read),
		cmocka_unit_test(what_is_null_is_not_said),
		cmocka_unit_test(a_note_is_kept_and_never_a_policy),
		cmocka_unit_test(a_network_policy_becomes_a_policy_of_ours),
		cmocka_unit_test(quantities_are_those_of_kubernetes),
		cmocka_unit_test(labels_are_those_of_kubernetes),
		cmocka_unit_test(every_refusal_has_a_status_and_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
