#include "gateway/lfs/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/cleanup.h"

#define OID	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OBJECT	"{\"oid\":\"" OID "\",\"size\":7}"
#define OBJECTS "\"objects\":[" OBJECT "]"

static void batches_are_strict(void **state)
{
	static const struct {
		const char *text;
		enum constraint constraint;
	} rows[] = {
		{"{\"operation\":\"upload\"," OBJECTS "}", CONSTRAINT_none},
		{"{\"operation\":\"download\"," OBJECTS
		 ",\"ref\":{},\"hash_algo\":\"sha256\","
		 "\"transfers\":[\"x\",\"basic\"]}",
		 CONSTRAINT_none},
		{"{\"operation\":\"download\"," OBJECTS ",\"ref\":null}",
		 CONSTRAINT_none},
		{"{\"operation\":\"delete\"," OBJECTS "}",
		 CONSTRAINT_lfs_malformed},
		{"{" OBJECTS "}", CONSTRAINT_lfs_malformed},
		{"{\"operation\":\"upload\"}", CONSTRAINT_lfs_malformed},
		{"{\"operation\":\"upload\"," OBJECTS "," OBJECTS "}",
		 CONSTRAINT_lfs_malformed},
		{"{\"operation\":\"upload\"," OBJECTS ",\"x\":1}",
		 CONSTRAINT_lfs_malformed},
		{"{\"operation\":\"upload\",\"objects\":[" OBJECT "," OBJECT
		 "]}",
		 CONSTRAINT_lfs_malformed},
		{"{\"operation\":\"upload\"," OBJECTS ",\"ref\":\"a\"}",
		 CONSTRAINT_lfs_malformed},
		{"{\"operation\":\"upload\"," OBJECTS
		 ",\"ref\":{\"name\":\"refs/heads/a\",\"x\":1}}",
		 CONSTRAINT_lfs_malformed},
		{"{\"operation\":\"upload\"," OBJECTS
		 ",\"ref\":{\"name\":\"a\\u0000b\"}}",
		 CONSTRAINT_lfs_malformed},
		{"{\"operation\":\"upload\"," OBJECTS ",\"transfers\":[]}",
		 CONSTRAINT_lfs_malformed},
		{"{\"operation\":\"upload\"," OBJECTS ",\"transfers\":\"x\"}",
		 CONSTRAINT_lfs_malformed},
		{"{\"operation\":\"upload\"," OBJECTS ",\"hash_algo\":1}",
		 CONSTRAINT_lfs_malformed},
		{"{\"operation\":\"upload\",\"objects\":[{\"oid\":\"" OID
		 "\",\"size\":99999999999999999999}]}",
		 CONSTRAINT_lfs_malformed},
		{"{\"operation\":\"upload\",\"objects\":[{\"oid\":\"" OID
		 "\",\"size\":1099511627777}]}",
		 CONSTRAINT_lfs_too_large},
		{"{\"operation\":\"upload\"," OBJECTS "} x",
		 CONSTRAINT_lfs_malformed},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(arena_release) struct arena arena;
		struct lfs_fault fault = {.constraint = CONSTRAINT_none};
		struct lfs_batch batch;
		int result;

		arena_init(&arena, 1 << 20);
		print_message("%s\n", rows[i].text);
		result = lfs_batch_parse(bytes_str(rows[i].text), &arena,
					 &batch, &fault);
		assert_int_equal(
			result, rows[i].constraint == CONSTRAINT_none ? 0 : -1);
		if (result < 0)
			assert_int_equal(fault.constraint, rows[i].constraint);
	}
}

static void a_batch_is_written_anew(void **state)
{
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf out;
	struct lfs_fault fault;
	struct lfs_batch batch;

	(void)state;
	arena_init(&arena, 1 << 20);
	buf_init(&out, 4096);
	assert_int_equal(
		lfs_batch_parse(bytes_str("{ \"ref\": {\"name\": "
					  "\"refs/heads/a\"}, " OBJECTS
					  ", \"operation\": \"upload\"}"),
				&arena, &batch, &fault),
		0);
	assert_int_equal(batch.total, 7);
	assert_int_equal(lfs_batch_write(&batch, &out), 0);
	assert_string_equal(buf_str(&out),
			    "{\"operation\":\"upload\",\"transfers\":["
			    "\"basic\"],\"hash_algo\":\"sha256\"," OBJECTS
			    ",\"ref\":{\"name\":\"refs/heads/a\"}}");
}

static void locks_are_strict(void **state)
{
	static const struct {
		enum lfs_endpoint endpoint;
		const char *text, *written; /* NULL: refused */
	} rows[] = {
		{LFS_LOCK, "{\"path\":\"a\"}", "{\"path\":\"a\"}"},
		{LFS_LOCK,
		 "{\"path\":\"a\",\"ref\":{\"name\":\"refs/heads/b\"}}",
		 "{\"ref\":{\"name\":\"refs/heads/b\"},\"path\":\"a\"}"},
		{LFS_LOCK, "{}", NULL},
		{LFS_LOCK, "{\"path\":1}", NULL},
		{LFS_LOCK, "{\"path\":\"a\",\"force\":true}", NULL},
		{LFS_UNLOCK, "{\"force\":true}", "{\"force\":true}"},
		{LFS_UNLOCK, "{}", "{\"force\":false}"},
		{LFS_UNLOCK, "{\"force\":1}", NULL},
		{LFS_LOCKS_VERIFY, "{\"cursor\":\"c\",\"limit\":5}",
		 "{\"cursor\":\"c\",\"limit\":5}"},
		{LFS_LOCKS_VERIFY, "{\"limit\":1001}", NULL},
		{LFS_LOCKS_VERIFY, "{\"path\":\"a\"}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(arena_release) struct arena arena;
		auto_type(buf_release) struct buf out;
		struct lfs_fault fault;
		struct lfs_lock lock;
		int result;

		arena_init(&arena, 1 << 20);
		buf_init(&out, 4096);
		print_message("%s\n", rows[i].text);
		result = lfs_lock_parse(rows[i].endpoint,
					bytes_str(rows[i].text), &arena, &lock,
					&fault);
		assert_int_equal(result, rows[i].written ? 0 : -1);
		if (result < 0)
			continue;
		assert_int_equal(lfs_lock_write(rows[i].endpoint, &lock, &out),
				 0);
		assert_string_equal(buf_str(&out), rows[i].written);
	}
}

static void a_query_of_locks_has_known_names_once(void **state)
{
	(void)state;
	assert_true(lfs_locks_query_is_sound(bytes_str("")));
	assert_true(lfs_locks_query_is_sound(
		bytes_str("path=a&id=b&cursor=c&limit=1&refspec=r")));
	assert_false(lfs_locks_query_is_sound(bytes_str("path=a&path=b")));
	assert_false(lfs_locks_query_is_sound(bytes_str("x=1")));
	assert_false(lfs_locks_query_is_sound(bytes_str("path=a&&")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_are_strict),
		cmocka_unit_test(a_batch_is_written_anew),
		cmocka_unit_test(locks_are_strict),
		cmocka_unit_test(a_query_of_locks_has_known_names_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
