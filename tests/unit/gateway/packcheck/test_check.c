#include "tests/unit/gateway/packcheck/check_bench.h"

static void check_proves_a_fast_forward_from_the_pack(void **state)
{
	struct bench *bench = *state;

	commits(bench, 3);
	push_range(bench, bench->oids[0], bench->oids[2], NULL);
	begin(bench, bench->oids[0], bench->oids[2]);
	ASSERT_RESULT(bench, PACK_PASSED);
}

static void check_proves_a_merge_of_the_old_tip(void **state)
{
	struct bench *bench = *state;
	char merged[RUN_OID_LEN + 1];

	commits(bench, 2);
	RUN_GIT(bench->repo, "checkout", "-q", "-b", "side", bench->oids[0]);
	RUN_GIT(bench->repo, "commit", "-q", "--allow-empty", "-m", "side");
	RUN_GIT(bench->repo, "merge", "-q", "--no-edit", "main");
	run_oid(bench->repo, "HEAD", merged);
	push_range(bench, bench->oids[1], merged, NULL);
	begin(bench, bench->oids[1], merged);
	ASSERT_RESULT(bench, PACK_PASSED);
}

static void check_sees_a_rewrite_when_all_history_is_there(void **state)
{
	struct bench *bench = *state;
	char other[RUN_OID_LEN + 1], revs[64];

	commits(bench, 2);
	RUN_GIT(bench->repo, "checkout", "-q", "--orphan", "other");
	RUN_GIT(bench->repo, "commit", "-q", "-m", "other");
	run_oid(bench->repo, "HEAD", other);
	(void)snprintf(revs, sizeof(revs), "%s\n", other);
	pack_of(bench, revs, NULL, &bench->pushed);
	begin(bench, bench->oids[1], other);
	ASSERT_RESULT(bench, PACK_REWRITE);
	assert_int_equal(bench->verdict.index, 0);
}

static void check_asks_for_what_lies_between_and_proves_it(void **state)
{
	struct bench *bench = *state;

	/* 0 is the branch, 1 and 2 are on upstream's main, 3 is new. */
	commits(bench, 4);
	push_range(bench, bench->oids[2], bench->oids[3], NULL);
	begin(bench, bench->oids[0], bench->oids[3]);
	ASSERT_RESULT(bench, PACK_UNPROVEN);
	assert_int_equal(bench->verdict.wants_count, 1);
	assert_int_equal(bench->verdict.wants_kind, WANTS_COMMITS);
	assert_true(bytes_is(bench->verdict.wants[0].oid, bench->oids[2]));
	more(bench, bench->oids[0]);
	ASSERT_RESULT(bench, PACK_PASSED);
}

static void check_proves_a_tip_that_upstream_has_already(void **state)
{
	struct bench *bench = *state;

	commits(bench, 3);
	push_range(bench, bench->oids[2], bench->oids[2], NULL);
	assert_int_equal(buf_len(&bench->pushed), 32);
	begin(bench, bench->oids[0], bench->oids[2]);
	ASSERT_RESULT(bench, PACK_UNPROVEN);
	assert_true(bytes_is(bench->verdict.wants[0].oid, bench->oids[2]));
	more(bench, bench->oids[0]);
	ASSERT_RESULT(bench, PACK_PASSED);
}

static void check_sees_a_rewrite_after_asking(void **state)
{
	struct bench *bench = *state;
	char other[RUN_OID_LEN + 1];
	unsigned rounds = 0;

	/* The branch is at 1; the push goes off at 0. */
	commits(bench, 2);
	RUN_GIT(bench->repo, "checkout", "-q", "-b", "other", bench->oids[0]);
	RUN_GIT(bench->repo, "commit", "-q", "--allow-empty", "-m", "other");
	run_oid(bench->repo, "HEAD", other);
	push_range(bench, bench->oids[0], other, NULL);
	begin(bench, bench->oids[1], other);
	while (bench->verdict.result == PACK_UNPROVEN && rounds++ < ROUNDS_MAX)
		more(bench, bench->oids[1]);
	ASSERT_RESULT(bench, PACK_REWRITE);
	assert_true(rounds >= 1 && rounds <= 2);
}

static void check_sees_that_going_back_is_a_rewrite(void **state)
{
	struct bench *bench = *state;
	unsigned rounds = 0;

	commits(bench, 3);
	push_range(bench, bench->oids[0], bench->oids[0], NULL);
	begin(bench, bench->oids[2], bench->oids[0]);
	while (bench->verdict.result == PACK_UNPROVEN && rounds++ < ROUNDS_MAX)
		more(bench, bench->oids[2]);
	ASSERT_RESULT(bench, PACK_REWRITE);
}

/* A file long enough for git to write deltas. */
static void long_commit(struct bench *bench, size_t at, const char *end)
{
	auto_type(buf_release) struct buf text;

	buf_init(&text, 1 << 20);
	for (size_t i = 0; i < 3000; i++)
		assert_int_equal(buf_add_format(&text, "line %zu\n", i * i), 0);
	assert_int_equal(buf_add_str(&text, end), 0);
	run_write(bench->repo, "long", buf_str(&text));
	RUN_GIT(bench->repo, "add", "long");
	RUN_GIT(bench->repo, "commit", "-q", "-m", end);
	run_oid(bench->repo, "HEAD", bench->oids[at]);
}

static void check_reads_a_thin_pack_once_it_has_the_bases(void **state)
{
	struct bench *bench = *state;
	unsigned rounds = 0;

	long_commit(bench, 0, "one");
	long_commit(bench, 1, "two");
	push_range(bench, bench->oids[0], bench->oids[1], "--thin");
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_UNPROVEN);
	assert_int_equal(bench->verdict.wants_kind, WANTS_BASES);
	while (bench->verdict.result == PACK_UNPROVEN && rounds++ < ROUNDS_MAX)
		more(bench, bench->oids[0]);
	ASSERT_RESULT(bench, PACK_PASSED);
}

static void check_gives_up_on_a_base_that_is_nowhere(void **state)
{
	struct bench *bench = *state;
	auto_type(buf_release) struct buf empty;
	char revs[128];

	long_commit(bench, 0, "one");
	long_commit(bench, 1, "two");
	push_range(bench, bench->oids[0], bench->oids[1], "--thin");
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_UNPROVEN);
	buf_init(&empty, RUN_OUTPUT_MAX);
	(void)snprintf(revs, sizeof(revs), "^%s\n", bench->oids[0]);
	pack_of(bench, revs, NULL, &empty);
	pack_check_more(&bench->check, buf_view(&empty), &bench->verdict);
	ASSERT_RESULT(bench, PACK_INVALID);
}

static void check_believes_no_object_id_that_was_not_hashed(void **state)
{
	struct bench *bench = *state;

	commits(bench, 2);
	push_range(bench, bench->oids[0], bench->oids[1], NULL);
	/* The pack is sound; the tip that was named is not in it. */
	begin(bench, bench->oids[0], OID_NOWHERE);
	ASSERT_RESULT(bench, PACK_UNPROVEN);
	assert_true(bytes_is(bench->verdict.wants[0].oid, OID_NOWHERE));
	/* A peer that answers with something else proves nothing. */
	pack_check_more(&bench->check, buf_view(&bench->pushed),
			&bench->verdict);
	ASSERT_RESULT(bench, PACK_REWRITE);
}

static void check_refuses_a_damaged_pack(void **state)
{
	struct bench *bench = *state;
	size_t len;

	commits(bench, 2);
	push_range(bench, bench->oids[0], bench->oids[1], NULL);
	len = buf_len(&bench->pushed);
	for (int kind = 0; kind < 7; kind++) {
		auto_free uint8_t *copy = malloc(len + 1);
		struct bytes pack = bytes_from(copy, len);

		assert_non_null(copy);
		memcpy(copy, buf_view(&bench->pushed).data, len);
		copy[len] = 'x';
		if (kind == 0)
			copy[len - 1] ^= 1; /* trailer */
		else if (kind == 1)
			copy[len / 2] ^= 0x40; /* an object */
		else if (kind == 2)
			pack.len = len - 21; /* cut short */
		else if (kind == 3)
			copy[11]++; /* one object more than there is */
		else if (kind == 4)
			copy[8] = 0xff; /* 4,278,190,083 objects */
		else if (kind == 5)
			pack.len = len + 1; /* a byte after the trailer */
		else
			pack.len = 31;
		bench->updates[0].old_oid = bytes_str(bench->oids[0]);
		bench->updates[0].new_oid = bytes_str(bench->oids[1]);
		pack_check_begin(&bench->check, &bench->ask, pack,
				 &bench->verdict);
		/* A trailer is no object: it may say that it is a huge one. */
		if (bench->verdict.result !=
			    (kind == 4 ? PACK_REFUSED : PACK_INVALID) &&
		    (kind != 3 || bench->verdict.result != PACK_REFUSED))
			fail_msg("kind %d: result %u", kind,
				 bench->verdict.result);
		assert_true(bench->verdict.detail.len > 0);
		pack_check_release(&bench->check);
	}
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_PASSED);
}

/* The pack's first bytes in pieces, then the question with all of it. */
static void begin_ahead(struct bench *bench, struct bytes ahead)
{
	for (size_t at = 0; at < ahead.len; at += 7)
		pack_check_ahead(&bench->check, bytes_slice(ahead, at, at + 7));
	begin(bench, bench->oids[0], bench->oids[1]);
}

static void check_indexes_a_pack_while_it_arrives(void **state)
{
	struct bench *bench = *state;
	size_t len;

	commits(bench, 2);
	push_range(bench, bench->oids[0], bench->oids[1], NULL);
	len = buf_len(&bench->pushed);
	for (size_t ahead = 1; ahead <= len; ahead += len / 5) {
		begin_ahead(bench,
			    bytes_slice(buf_view(&bench->pushed), 0, ahead));
		ASSERT_RESULT(bench, PACK_PASSED);
		pack_check_release(&bench->check);
	}
}

static void check_asks_for_bases_after_indexing_ahead(void **state)
{
	struct bench *bench = *state;

	commits(bench, 2);
	push_range(bench, bench->oids[0], bench->oids[1], "--thin");
	begin_ahead(bench, buf_view(&bench->pushed));
	for (int i = 0;
	     i < ROUNDS_MAX && bench->verdict.result == PACK_UNPROVEN; i++)
		more(bench, bench->oids[0]);
	ASSERT_RESULT(bench, PACK_PASSED);
}

static void check_refuses_what_was_damaged_ahead(void **state)
{
	struct bench *bench = *state;
	struct bytes pack;

	commits(bench, 2);
	push_range(bench, bench->oids[0], bench->oids[1], NULL);
	pack = buf_view(&bench->pushed);
	/* Not a pack; one that is not what was read ahead; one that shrank. */
	begin_ahead(bench, bytes_str("PACK is not what follows here, no"));
	ASSERT_RESULT(bench, PACK_INVALID);
	pack_check_release(&bench->check);
	pack_check_ahead(&bench->check, bytes_slice(pack, 0, pack.len / 2));
	pack_check_ahead(&bench->check, bytes_slice(pack, 0, 40));
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_INVALID);
	pack_check_release(&bench->check);
	pack_check_ahead(&bench->check, pack);
	bench->pushed.end -= 30;
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_INVALID);
	pack_check_release(&bench->check);
	bench->pushed.end += 30;
	begin_ahead(bench, buf_view(&bench->pushed));
	ASSERT_RESULT(bench, PACK_PASSED);
}

static void check_keeps_its_bounds_ahead(void **state)
{
	struct bench *bench = *state;

	commits(bench, 2);
	push_range(bench, bench->oids[0], bench->oids[1], NULL);
	bench->ask.objects_max = 1;
	begin_ahead(bench, buf_view(&bench->pushed));
	ASSERT_RESULT(bench, PACK_REFUSED);
	assert_int_equal(bench->verdict.constraint, CONSTRAINT_push_too_large);
	pack_check_release(&bench->check);
	bench->ask.objects_max = OBJECTS_MAX;
	begin_ahead(bench, buf_view(&bench->pushed));
	ASSERT_RESULT(bench, PACK_PASSED);
}

static void check_keeps_its_bounds(void **state)
{
	struct bench *bench = *state;

	commits(bench, 2);
	push_range(bench, bench->oids[0], bench->oids[1], NULL);
	bench->ask.bytes_max = buf_len(&bench->pushed) - 1;
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_REFUSED);
	assert_int_equal(bench->verdict.constraint, CONSTRAINT_push_too_large);
	pack_check_release(&bench->check);
	bench->ask.bytes_max = buf_len(&bench->pushed);
	bench->ask.objects_max = 2;
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_REFUSED);
	assert_int_equal(bench->verdict.constraint, CONSTRAINT_push_too_large);
	pack_check_release(&bench->check);
	bench->ask.objects_max = 3;
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_PASSED);
}

static void check_wants_commits_at_the_tips(void **state)
{
	struct bench *bench = *state;
	char oid[RUN_OID_LEN + 1];

	commits(bench, 2);
	push_range(bench, bench->oids[0], bench->oids[1], NULL);
	run_oid(bench->repo, "HEAD^{tree}", oid);
	begin(bench, bench->oids[0], oid);
	ASSERT_RESULT(bench, PACK_INVALID);
	pack_check_release(&bench->check);
	begin(bench, bench->oids[0],
	      "11111111111111111111111111111111111111111111111111111111"
	      "11111111");
	ASSERT_RESULT(bench, PACK_INVALID);
}

static void check_names_the_update_that_is_no_fast_forward(void **state)
{
	struct bench *bench = *state;
	char other[RUN_OID_LEN + 1], revs[128];

	commits(bench, 2);
	RUN_GIT(bench->repo, "checkout", "-q", "--orphan", "other");
	RUN_GIT(bench->repo, "commit", "-q", "-m", "other");
	run_oid(bench->repo, "HEAD", other);
	(void)snprintf(revs, sizeof(revs), "%s\n%s\n", bench->oids[1], other);
	pack_of(bench, revs, NULL, &bench->pushed);
	bench->ask.updates_count = 2;
	bench->updates[1].old_oid = bytes_str(bench->oids[0]);
	bench->updates[1].new_oid = bytes_str(other);
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_REWRITE);
	assert_int_equal(bench->verdict.index, 1);
}

static void check_goes_on_only_while_something_is_open(void **state)
{
	struct bench *bench = *state;

	commits(bench, 2);
	push_range(bench, bench->oids[0], bench->oids[1], NULL);
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_PASSED);
	pack_check_more(&bench->check, buf_view(&bench->pushed),
			&bench->verdict);
	ASSERT_RESULT(bench, PACK_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(check_proves_a_fast_forward_from_the_pack),
		BENCH_TEST(check_proves_a_merge_of_the_old_tip),
		BENCH_TEST(check_sees_a_rewrite_when_all_history_is_there),
		BENCH_TEST(check_asks_for_what_lies_between_and_proves_it),
		BENCH_TEST(check_proves_a_tip_that_upstream_has_already),
		BENCH_TEST(check_sees_a_rewrite_after_asking),
		BENCH_TEST(check_sees_that_going_back_is_a_rewrite),
		BENCH_TEST(check_reads_a_thin_pack_once_it_has_the_bases),
		BENCH_TEST(check_gives_up_on_a_base_that_is_nowhere),
		BENCH_TEST(check_believes_no_object_id_that_was_not_hashed),
		BENCH_TEST(check_refuses_a_damaged_pack),
		BENCH_TEST(check_indexes_a_pack_while_it_arrives),
		BENCH_TEST(check_asks_for_bases_after_indexing_ahead),
		BENCH_TEST(check_refuses_what_was_damaged_ahead),
		BENCH_TEST(check_keeps_its_bounds_ahead),
		BENCH_TEST(check_keeps_its_bounds),
		BENCH_TEST(check_wants_commits_at_the_tips),
		BENCH_TEST(check_names_the_update_that_is_no_fast_forward),
		BENCH_TEST(check_goes_on_only_while_something_is_open),
	};
	struct err err;

	if (pack_library_init(&err) < 0)
		return 1;
	return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
