/*
 * Token buckets: what passes, what is left, and when the rest would pass.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/decide/bucket.h"

#define START 1000000u

static struct bucket made(uint64_t count, uint64_t period_ms)
{
	struct bucket bucket;

	bucket_init(&bucket, (struct policy_quota){count, period_ms}, START);
	return bucket;
}

static void bucket_without_a_quota_has_no_limit(void **state)
{
	struct bucket bucket = made(0, 0);

	(void)state;
	assert_true(bucket_left(&bucket, START) == UINT64_MAX);
	bucket_take(&bucket, START, UINT64_MAX);
	assert_int_equal(bucket_wait_ms(&bucket, START, UINT64_MAX), 0);
}

static void bucket_gives_all_of_its_quota_at_once_and_no_more(void **state)
{
	struct bucket bucket = made(600, 60000);

	(void)state;
	for (int i = 0; i < 600; i++) {
		assert_int_equal(bucket_wait_ms(&bucket, START, 1), 0);
		bucket_take(&bucket, START, 1);
	}
	assert_int_equal(bucket_left(&bucket, START), 0);
	assert_int_equal(bucket_wait_ms(&bucket, START, 1), 100);
}

static void bucket_fills_evenly_and_never_over(void **state)
{
	struct bucket bucket = made(600, 60000);

	(void)state;
	bucket_take(&bucket, START, 600);
	assert_int_equal(bucket_left(&bucket, START + 99), 0);
	assert_int_equal(bucket_left(&bucket, START + 100), 1);
	assert_int_equal(bucket_left(&bucket, START + 30000), 300);
	assert_int_equal(bucket_left(&bucket, START + 60000), 600);
	assert_int_equal(bucket_left(&bucket, START + 600000), 600);
}

/* Asking often must not lose what a part of a token is worth. */
static void bucket_gains_the_same_however_often_it_is_asked(void **state)
{
	static const struct policy_quota quotas[] = {
		{7, 1000}, {1, 3600000}, {1000003, 60000}, {3, 7}};

	(void)state;
	for (size_t i = 0; i < sizeof(quotas) / sizeof(quotas[0]); i++) {
		uint64_t period = quotas[i].period_ms;
		struct bucket often = made(quotas[i].count, period);
		struct bucket once = often;

		bucket_take(&often, START, quotas[i].count);
		bucket_take(&once, START, quotas[i].count);
		for (uint64_t ms = 0; ms < period && ms < 5000; ms++)
			(void)bucket_left(&often, START + ms);
		assert_int_equal(bucket_left(&often, START + period - 1),
				 bucket_left(&once, START + period - 1));
		assert_int_equal(bucket_left(&often, START + period),
				 quotas[i].count);
	}
}

static void bucket_says_exactly_when_it_would_pass(void **state)
{
	static const struct {
		struct policy_quota quota;
		uint64_t taken, wanted;
	} cases[] = {
		{{600, 60000}, 600, 1},
		{{600, 60000}, 599, 600},
		{{7, 1000}, 5, 3},
		{{200ull << 30, 3600000}, 200ull << 30, 1},
		{{200ull << 30, 3600000}, 150ull << 30, 60ull << 30},
		{{1, 86400000}, 1, 1},
		{{UINT64_MAX / 2, UINT32_MAX}, UINT64_MAX / 2, 1ull << 60},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bucket bucket =
			made(cases[i].quota.count, cases[i].quota.period_ms);
		uint64_t wait;

		bucket_take(&bucket, START, cases[i].taken);
		wait = bucket_wait_ms(&bucket, START, cases[i].wanted);
		assert_true(wait > 0 && wait <= cases[i].quota.period_ms);
		assert_true(bucket_wait_ms(&bucket, START + wait - 1,
					   cases[i].wanted) > 0);
		assert_int_equal(
			bucket_wait_ms(&bucket, START + wait, cases[i].wanted),
			0);
	}
}

static void bucket_never_passes_more_than_it_holds(void **state)
{
	struct bucket bucket = made(10, 1000);

	(void)state;
	assert_true(bucket_wait_ms(&bucket, START, 11) == BUCKET_NEVER);
	assert_int_equal(bucket_wait_ms(&bucket, START, 10), 0);
}

static void bucket_takes_what_is_left_when_more_is_asked(void **state)
{
	struct bucket bucket = made(10, 1000);

	(void)state;
	bucket_take(&bucket, START, 50);
	assert_int_equal(bucket_left(&bucket, START), 0);
	assert_int_equal(bucket_left(&bucket, START + 500), 5);
}

static void bucket_does_not_run_backwards(void **state)
{
	struct bucket bucket = made(10, 1000);

	(void)state;
	bucket_take(&bucket, START, 10);
	assert_int_equal(bucket_left(&bucket, START + 500), 5);
	assert_int_equal(bucket_left(&bucket, START), 5);
	assert_int_equal(bucket_left(&bucket, START + 500), 5);
}

static void bucket_follows_another_with_the_part_that_was_left(void **state)
{
	static const struct {
		struct policy_quota before;
		uint64_t taken, after_ms;
		struct policy_quota quota;
		uint64_t left;
	} rows[] = {
		{{10, 1000}, 4, 0, {10, 1000}, 6},
		{{10, 1000}, 4, 0, {100, 1000}, 60},
		{{10, 1000}, 10, 0, {100, 1000}, 0},
		{{10, 1000}, 1, 0, {3, 1000}, 2},
		{{10, 1000}, 10, 500, {100, 5000}, 50},
		{{10, 1000}, 10, 5000, {100, 5000}, 100},
		{{UINT64_MAX, 1000}, UINT64_MAX / 2 + 1, 0, {100, 1000}, 49},
		/* One of them has no limit. */
		{{0, 0}, 5, 0, {10, 1000}, 10},
		{{10, 1000}, 10, 0, {0, 0}, UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t now = START + rows[i].after_ms;
		struct bucket before, bucket;

		bucket_init(&before, rows[i].before, START);
		bucket_take(&before, START, rows[i].taken);
		bucket_init(&bucket, rows[i].quota, now);
		bucket_follow(&bucket, &before);
		assert_true(bucket_left(&bucket, now) == rows[i].left);
	}
}

static void bucket_keeps_parts_of_a_token_for_the_same_quota(void **state)
{
	struct bucket before = made(10, 1000), bucket;

	(void)state;
	bucket_take(&before, START, 10);
	assert_int_equal(bucket_left(&before, START + 50), 0);
	bucket_init(&bucket, before.quota, START + 50);
	bucket_follow(&bucket, &before);
	assert_int_equal(bucket_left(&bucket, START + 100), 1);
}

static void bucket_says_whether_it_is_full(void **state)
{
	struct bucket bucket = made(10, 1000), free = made(0, 0);

	(void)state;
	assert_true(bucket_is_full(&bucket, START));
	bucket_take(&bucket, START, 1);
	assert_false(bucket_is_full(&bucket, START + 99));
	assert_true(bucket_is_full(&bucket, START + 100));
	bucket_take(&free, START, 1);
	assert_true(bucket_is_full(&free, START));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bucket_without_a_quota_has_no_limit),
		cmocka_unit_test(
			bucket_gives_all_of_its_quota_at_once_and_no_more),
		cmocka_unit_test(bucket_fills_evenly_and_never_over),
		cmocka_unit_test(
			bucket_gains_the_same_however_often_it_is_asked),
		cmocka_unit_test(bucket_says_exactly_when_it_would_pass),
		cmocka_unit_test(bucket_never_passes_more_than_it_holds),
		cmocka_unit_test(bucket_takes_what_is_left_when_more_is_asked),
		cmocka_unit_test(bucket_does_not_run_backwards),
		cmocka_unit_test(
			bucket_follows_another_with_the_part_that_was_left),
		cmocka_unit_test(
			bucket_keeps_parts_of_a_token_for_the_same_quota),
		cmocka_unit_test(bucket_says_whether_it_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
