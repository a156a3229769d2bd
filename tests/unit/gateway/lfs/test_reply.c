#include "gateway/lfs/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/lfs/permits.h"

#define OID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NOW UINT64_C(1700000000000) /* 2023-11-14T22:13:20Z */

static const struct lfs_object object = {OID, 7};
static const struct lfs_batch upload = {
	.operation = LFS_UPLOAD, .objects = &object, .count = 1};

struct parsed {
	struct arena arena;
	struct lfs_reply reply;
	int result;
};

static struct parsed parse(const char *text)
{
	struct parsed parsed;
	struct err err;

	arena_init(&parsed.arena, 1 << 20);
	parsed.result = lfs_reply_parse(bytes_str(text), &upload, NOW,
					&parsed.arena, &parsed.reply, &err);
	return parsed;
}

/* The only action's life; 0: it was refused. */
static uint64_t life_of(const char *life)
{
	char text[1024];
	struct parsed parsed;
	uint64_t ms = 0;

	(void)snprintf(text, sizeof(text),
		       "{\"objects\":[{\"oid\":\"" OID
		       "\",\"size\":7,\"actions\":{\"upload\":{\"href\":"
		       "\"https://a.example/x\"%s}}}]}",
		       life);
	parsed = parse(text);
	assert_int_equal(parsed.result, 0);
	if (parsed.reply.answers[0].action_count == 1)
		ms = parsed.reply.answers[0].actions[0].life_ms;
	else
		assert_int_equal(parsed.reply.answers[0].error, 410);
	arena_release(&parsed.arena);
	return ms;
}

static void a_permission_lives_as_long_as_both_say(void **state)
{
	(void)state;
	assert_int_equal(life_of(""), LFS_PERMIT_MS);
	assert_int_equal(life_of(",\"expires_in\":60"), 60000);
	assert_int_equal(life_of(",\"expires_in\":999999"), LFS_PERMIT_MS);
	assert_int_equal(life_of(",\"expires_in\":-1"), 0);
	assert_int_equal(life_of(",\"expires_at\":\"2023-11-14T22:13:30Z\""),
			 10000);
	assert_int_equal(life_of(",\"expires_at\":\"2023-11-14T22:13:20Z\""),
			 0);
	assert_int_equal(life_of(",\"expires_at\":\"soon\""), 0);
	assert_int_equal(life_of(",\"expires_at\":\"0001-01-01T00:00:00Z\""),
			 LFS_PERMIT_MS);
}

static void urls_are_strict(void **state)
{
	static const struct {
		const char *href, *host, *path; /* host NULL: refused */
		uint16_t port;
	} rows[] = {
		{"https://A.example/x?y=%2F", "a.example", "/x?y=%2F", 443},
		{"HTTPS://a.example:8443/", "a.example", "/", 8443},
		{"https://[2001:db8::1]:9/x", "2001:db8::1", "/x", 9},
		{"https://10.0.0.1/x", "10.0.0.1", "/x", 443},
		{"http://a.example/x", NULL, NULL, 0},
		{"https://a.example", NULL, NULL, 0},
		{"https:///x", NULL, NULL, 0},
		{"https://u@a.example/x", NULL, NULL, 0},
		{"https://a.example:0/x", NULL, NULL, 0},
		{"https://a.example:x/x", NULL, NULL, 0},
		{"https://a.example/x#y", NULL, NULL, 0},
		{"https://a.example/x y", NULL, NULL, 0},
		{"https://a.example/x\r\nHost: b", NULL, NULL, 0},
		{"https://2130706433/x", NULL, NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(arena_release) struct arena arena;
		struct target target;
		struct bytes path;
		struct err err;
		int result;

		arena_init(&arena, 1 << 20);
		print_message("%s\n", rows[i].href);
		result = lfs_href_parse(bytes_str(rows[i].href), &arena,
					&target, &path, &err);
		assert_int_equal(result, rows[i].host ? 0 : -1);
		if (result < 0)
			continue;
		assert_string_equal(target.host, rows[i].host);
		assert_int_equal(target.port, rows[i].port);
		assert_int_equal(target.scheme, SCHEME_HTTPS);
		assert_true(bytes_is(path, rows[i].path));
	}
}

#define HREF "\"href\":\"https://a.example/x\""

static void header_fields_are_those_that_may_be(void **state)
{
	struct parsed parsed = parse(
		"{\"objects\":[{\"oid\":\"" OID
		"\",\"actions\":{\"upload\":{" HREF
		",\"header\":{\"Authorization\":\"t\",\"Host\":\"b\","
		"\"Content-Length\":\"1\",\"Transfer-Encoding\":\"chunked\"}}"
		"}}]}");
	const struct lfs_action *action = &parsed.reply.answers[0].actions[0];

	(void)state;
	assert_int_equal(action->fields.count, 1);
	assert_true(bytes_is(action->fields.items[0].name, "Authorization"));
	arena_release(&parsed.arena);
	parsed = parse("{\"objects\":[{\"oid\":\"" OID
		       "\",\"actions\":{\"upload\":{" HREF
		       ",\"header\":{\"X\":\"a\\r\\nB: c\"}}}}]}");
	assert_int_equal(parsed.result, 0);
	assert_int_equal(parsed.reply.answers[0].action_count, 0);
	assert_int_equal(parsed.reply.answers[0].error, 502);
	arena_release(&parsed.arena);
}

static void what_the_server_leaves_out_is_an_error(void **state)
{
	struct parsed parsed = parse("{\"objects\":[]}");
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, 4096);
	assert_int_equal(parsed.result, 0);
	assert_int_equal(lfs_reply_write(&parsed.reply, &out), 0);
	assert_non_null(strstr(buf_str(&out), "\"code\":404"));
	arena_release(&parsed.arena);
}

static void what_is_there_already_needs_no_action(void **state)
{
	struct parsed parsed =
		parse("{\"objects\":[{\"oid\":\"" OID "\",\"size\":7}]}");

	(void)state;
	assert_int_equal(parsed.result, 0);
	assert_int_equal(parsed.reply.answers[0].error, 0);
	assert_int_equal(parsed.reply.answers[0].action_count, 0);
	arena_release(&parsed.arena);
}

static void a_download_is_no_upload(void **state)
{
	struct parsed parsed =
		parse("{\"objects\":[{\"oid\":\"" OID
		      "\",\"size\":7,\"actions\":{\"download\":{" HREF
		      "},\"verify\":{" HREF "}}}]}");

	(void)state;
	assert_int_equal(parsed.result, 0);
	assert_int_equal(parsed.reply.answers[0].action_count, 0);
	arena_release(&parsed.arena);
}

/* ---- permissions ---- */

static void permissions_end_and_make_room(void **state)
{
	struct lfs_permits permits = {NULL, 0};
	struct lfs_action action = {
		.kind = LFS_ACT_DOWNLOAD,
		.path = BYTES_LITERAL("/x"),
		.life_ms = 1000,
	};
	char first[LFS_TRANSFER_ID_LEN + 1];
	const struct lfs_permit *permit =
		permits_add(&permits, &action, &object, NULL, false, 5000);

	(void)state;
	memcpy(first, permit->id, sizeof(first));
	assert_ptr_equal(permits_find(&permits, bytes_str(first), 5999),
			 permit);
	assert_null(permits_find(&permits, bytes_str("x"), 5999));
	assert_null(permits_find(&permits, bytes_str(first), 6000));
	assert_null(permits.head);
	assert_int_equal(permits.bytes, 0);

	permit = permits_add(&permits, &action, &object, NULL, false, 5000);
	memcpy(first, permit->id, sizeof(first));
	for (size_t i = 1; i < PERMITS_MAX; i++)
		(void)permits_add(&permits, &action, &object, NULL, false,
				  5000);
	assert_non_null(permits_find(&permits, bytes_str(first), 5000));
	(void)permits_add(&permits, &action, &object, NULL, false, 5000);
	assert_null(permits_find(&permits, bytes_str(first), 5000));
	assert_int_equal(HASH_COUNT(permits.head), PERMITS_MAX);
	permits_release(&permits);
	assert_int_equal(permits.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_permission_lives_as_long_as_both_say),
		cmocka_unit_test(urls_are_strict),
		cmocka_unit_test(header_fields_are_those_that_may_be),
		cmocka_unit_test(what_the_server_leaves_out_is_an_error),
		cmocka_unit_test(what_is_there_already_needs_no_action),
		cmocka_unit_test(a_download_is_no_upload),
		cmocka_unit_test(permissions_end_and_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
