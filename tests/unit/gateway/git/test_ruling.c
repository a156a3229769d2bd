#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/git/ruling.h"
#include "tests/unit/gateway/git/repo_fixture.h"

#define MINE  "refs/heads/agent/42"
#define MAIN  "refs/heads/main"
#define ALL   (VERB_CREATE | VERB_FAST_FORWARD | VERB_REWRITE | VERB_DELETE)
#define USUAL (VERB_CREATE | VERB_FAST_FORWARD)

static struct push_update update_of(const char *old_oid, const char *new_oid,
				    const char *ref)
{
	return (struct push_update){.old_oid = bytes_str(old_oid),
				    .new_oid = bytes_str(new_oid),
				    .ref = bytes_str(ref)};
}

static struct push push_of(struct push_update *updates, size_t count)
{
	return (struct push){
		.updates = updates, .update_count = count, .oid_hex_len = 40};
}

/* Upstream's refs: MINE at tip (NULL: absent), MAIN is never learned. */
static void refs_of(struct git_refs *refs, const char *tip)
{
	git_refs_init(refs);
	refs->oid_hex_len = 40;
	if (tip)
		git_refs_add(refs, bytes_str(MINE), bytes_str(tip));
	assert_int_equal(git_refs_seal(refs), 0);
}

static void push_decides_each_verb_by_its_right(void **state)
{
	static const struct {
		const char *old_oid, *new_oid, *ref;
		const char *tip;
		unsigned verbs;
		enum constraint constraint; /* none: allowed */
		bool needs_proof;
		enum push_verb verb;
	} rows[] = {
		{OID_ZERO, OID_B, MINE, NULL, USUAL, CONSTRAINT_none, false,
		 PUSH_CREATE},
		{OID_ZERO, OID_B, MINE, NULL, VERB_FAST_FORWARD,
		 CONSTRAINT_push_verb_not_allowed, false, PUSH_CREATE},
		{OID_A, OID_B, MINE, OID_A, USUAL, CONSTRAINT_none, true,
		 PUSH_UPDATE},
		{OID_A, OID_B, MINE, OID_A, ALL, CONSTRAINT_none, false,
		 PUSH_UPDATE},
		{OID_A, OID_B, MINE, OID_A, VERB_CREATE,
		 CONSTRAINT_push_verb_not_allowed, false, PUSH_UPDATE},
		{OID_A, OID_ZERO, MINE, OID_A, USUAL,
		 CONSTRAINT_push_verb_not_allowed, false, PUSH_DELETE},
		{OID_A, OID_ZERO, MINE, OID_A, ALL, CONSTRAINT_none, false,
		 PUSH_DELETE},
		{OID_ZERO, OID_B, MAIN, NULL, ALL,
		 CONSTRAINT_push_ref_not_allowed, false, PUSH_CREATE},
		{OID_A, OID_B, MAIN, NULL, ALL, CONSTRAINT_push_ref_not_allowed,
		 false, PUSH_UPDATE},
		{OID_ZERO, OID_B, "refs/tags/agent/42", NULL, ALL,
		 CONSTRAINT_push_ref_not_allowed, false, PUSH_CREATE},
		{OID_ZERO, OID_B, "refs/heads/agent/420", NULL, ALL,
		 CONSTRAINT_push_ref_not_allowed, false, PUSH_CREATE},
		{OID_ZERO, OID_B, "refs/heads/Agent/42", NULL, ALL,
		 CONSTRAINT_push_ref_not_allowed, false, PUSH_CREATE},
		/* lies about the old tip (E9, E25) */
		{OID_A, OID_B, MINE, OID_C, ALL, CONSTRAINT_push_stale, false,
		 PUSH_UPDATE},
		{OID_A, OID_B, MINE, NULL, ALL, CONSTRAINT_push_stale, false,
		 PUSH_UPDATE},
		{OID_ZERO, OID_B, MINE, OID_A, ALL, CONSTRAINT_push_stale,
		 false, PUSH_CREATE},
		{OID_A, OID_ZERO, MINE, OID_C, ALL, CONSTRAINT_push_stale,
		 false, PUSH_DELETE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct policy_repo repo = fixture_repo(rows[i].verbs);
		struct push_update update = update_of(
			rows[i].old_oid, rows[i].new_oid, rows[i].ref);
		struct push push = push_of(&update, 1);
		bool allowed = rows[i].constraint == CONSTRAINT_none;
		struct git_refs refs;
		struct ruling ruling;

		refs_of(&refs, rows[i].tip);
		push_decide(&push, &repo, &refs, &ruling);
		if (ruling.is_allowed != allowed ||
		    update.verdict.constraint != rows[i].constraint)
			fail_msg("row %zu: %s", i,
				 constraint_name(update.verdict.constraint));
		assert_int_equal(ruling.needs_proof, rows[i].needs_proof);
		assert_int_equal(update.needs_proof, rows[i].needs_proof);
		assert_int_equal(update.verb, rows[i].verb);
		assert_int_equal(ruling.denied_count, !allowed);
		assert_int_equal(ruling.verdict.constraint, rows[i].constraint);
		git_refs_release(&refs);
	}
}

static void push_trusts_no_list_of_refs_that_is_not_whole(void **state)
{
	const struct policy_repo repo = fixture_repo(USUAL);
	struct push_update update = update_of(OID_ZERO, OID_B, MINE);
	struct push push = push_of(&update, 1);
	struct git_refs refs;
	struct ruling ruling;

	(void)state;
	refs_of(&refs, NULL);
	push_decide(&push, &repo, &refs, &ruling);
	assert_true(ruling.is_allowed);
	refs.is_partial = true;
	push_decide(&push, &repo, &refs, &ruling);
	assert_false(ruling.is_allowed);
	refs.is_partial = false;
	refs.is_whole = false;
	push_decide(&push, &repo, &refs, &ruling);
	assert_false(ruling.is_allowed);
	assert_int_equal(ruling.verdict.constraint, CONSTRAINT_push_stale);
	git_refs_release(&refs);
}

static void push_takes_the_object_format_from_upstream(void **state)
{
	const struct policy_repo repo = fixture_repo(USUAL);
	struct push_update update = update_of(OID_ZERO, OID_B, MINE);
	struct push push = push_of(&update, 1);
	struct git_refs refs;
	struct ruling ruling;

	(void)state;
	refs_of(&refs, NULL);
	refs.oid_hex_len = 64;
	push_decide(&push, &repo, &refs, &ruling);
	assert_false(ruling.is_allowed);
	assert_int_equal(ruling.verdict.constraint, CONSTRAINT_push_malformed);
	refs.oid_hex_len = 40;
	push_decide(&push, &repo, &refs, &ruling);
	assert_true(ruling.is_allowed);
	git_refs_release(&refs);
}

static void push_is_refused_whole_for_one_ref(void **state)
{
	const struct policy_repo repo = fixture_repo(USUAL);
	struct push_update updates[] = {
		update_of(OID_A, OID_B, MINE),
		update_of(OID_A, OID_B, MAIN),
		update_of(OID_ZERO, OID_B, "refs/tags/v1"),
	};
	struct push push = push_of(updates, 3);
	struct git_refs refs;
	struct ruling ruling;

	(void)state;
	refs_of(&refs, OID_A);
	for (int atomic = 0; atomic < 2; atomic++) {
		push.is_atomic = atomic;
		push_decide(&push, &repo, &refs, &ruling);
		assert_false(ruling.is_allowed);
		assert_false(ruling.needs_proof);
		assert_int_equal(ruling.denied_count, 2);
		assert_int_equal(ruling.verdict.constraint,
				 CONSTRAINT_push_ref_not_allowed);
		assert_int_equal(updates[0].verdict.kind, VERDICT_DENY);
		assert_int_equal(updates[0].verdict.constraint,
				 CONSTRAINT_none);
		assert_false(updates[0].needs_proof);
		assert_true(bytes_is(updates[0].verdict.reason,
				     atomic ? "atomic push failed"
					    : "refused with the rest of the "
					      "push"));
	}
	/* The twin: alone, the innocent one passes. */
	push.update_count = 1;
	push_decide(&push, &repo, &refs, &ruling);
	assert_true(ruling.is_allowed);
	git_refs_release(&refs);
}

static void push_passes_once_it_is_proven(void **state)
{
	const struct policy_repo repo = fixture_repo(USUAL);
	struct push_update update = update_of(OID_A, OID_B, MINE);
	struct push push = push_of(&update, 1);
	struct msg_pack_check ask = {0};
	struct git_refs refs;
	struct ruling ruling;
	struct arena arena;
	size_t *indexes;

	(void)state;
	arena_init(&arena, 65536);
	refs_of(&refs, OID_A);
	push_decide(&push, &repo, &refs, &ruling);
	assert_true(ruling.needs_proof);
	assert_int_equal(push_proof_ask(&push, false, &arena, &ask, &indexes),
			 0);
	assert_int_equal(ask.updates_count, 1);
	assert_true(bytes_is(ask.updates[0].old_oid, OID_A));
	assert_true(bytes_is(ask.updates[0].new_oid, OID_B));
	assert_int_equal(indexes[0], 0);
	push_proven(&push, &repo, &ruling);
	assert_true(ruling.is_allowed);
	assert_false(ruling.needs_proof);
	assert_int_equal(update.verb, PUSH_FAST_FORWARD);
	git_refs_release(&refs);
	arena_release(&arena);
}

static void push_is_refused_when_it_is_disproven(void **state)
{
	const struct policy_repo repo = fixture_repo(USUAL);
	struct push_update update = update_of(OID_A, OID_B, MINE);
	struct push push = push_of(&update, 1);
	struct git_refs refs;
	struct ruling ruling;

	(void)state;
	refs_of(&refs, OID_A);
	push_decide(&push, &repo, &refs, &ruling);
	push_disproven(&push, 0, CONSTRAINT_push_not_fast_forward,
		       bytes_str(NULL), &ruling);
	assert_false(ruling.is_allowed);
	assert_int_equal(update.verb, PUSH_REWRITE);
	assert_int_equal(ruling.verdict.constraint,
			 CONSTRAINT_push_not_fast_forward);
	push_decide(&push, &repo, &refs, &ruling);
	push_disproven(&push, 9, CONSTRAINT_push_pack_invalid,
		       bytes_str("cut short"), &ruling);
	assert_false(ruling.is_allowed);
	assert_int_equal(update.verdict.constraint,
			 CONSTRAINT_push_pack_invalid);
	push_decide(&push, &repo, &refs, &ruling);
	push_refuse(&push, CONSTRAINT_audit_unavailable, bytes_str(NULL),
		    &ruling);
	assert_false(ruling.is_allowed);
	assert_int_equal(ruling.verdict.constraint,
			 CONSTRAINT_audit_unavailable);
	git_refs_release(&refs);
}

static void push_without_refs_is_refused(void **state)
{
	const struct policy_repo repo = fixture_repo(ALL);
	struct push push = push_of(NULL, 0);
	struct git_refs refs;
	struct ruling ruling;

	(void)state;
	refs_of(&refs, NULL);
	push_decide(&push, &repo, &refs, &ruling);
	assert_false(ruling.is_allowed);
	assert_int_equal(ruling.verdict.constraint, CONSTRAINT_push_malformed);
	git_refs_release(&refs);
}

static void refs_find_what_was_added_and_refuse_doubles(void **state)
{
	struct git_refs refs;
	char name[64];

	(void)state;
	git_refs_init(&refs);
	for (size_t i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "refs/heads/%zu", i);
		git_refs_add(&refs, bytes_str(name), bytes_str(OID_A));
	}
	assert_null(git_refs_find(&refs, bytes_str("refs/heads/7")));
	assert_int_equal(git_refs_seal(&refs), 0);
	assert_non_null(git_refs_find(&refs, bytes_str("refs/heads/7")));
	assert_non_null(git_refs_find(&refs, bytes_str("refs/heads/999")));
	assert_null(git_refs_find(&refs, bytes_str("refs/heads/1000")));
	assert_null(git_refs_find(&refs, bytes_str("refs/heads/")));
	assert_null(git_refs_find(&refs, bytes_str("")));
	git_refs_add(&refs, bytes_str("refs/heads/7"), bytes_str(OID_B));
	assert_int_equal(git_refs_seal(&refs), -1);
	assert_null(git_refs_find(&refs, bytes_str("refs/heads/7")));
	git_refs_release(&refs);
}

static void refs_say_when_they_are_not_all(void **state)
{
	struct git_refs refs;
	char name[64];

	(void)state;
	git_refs_init(&refs);
	for (size_t i = 0; i < GIT_REFS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "refs/heads/%zu", i);
		git_refs_add(&refs, bytes_str(name), bytes_str(OID_A));
	}
	assert_false(refs.is_partial);
	git_refs_add(&refs, bytes_str("refs/heads/x"), bytes_str(OID_A));
	assert_true(refs.is_partial);
	assert_int_equal(refs.count, GIT_REFS_MAX);
	git_refs_release(&refs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(push_decides_each_verb_by_its_right),
		cmocka_unit_test(push_trusts_no_list_of_refs_that_is_not_whole),
		cmocka_unit_test(push_takes_the_object_format_from_upstream),
		cmocka_unit_test(push_is_refused_whole_for_one_ref),
		cmocka_unit_test(push_passes_once_it_is_proven),
		cmocka_unit_test(push_is_refused_when_it_is_disproven),
		cmocka_unit_test(push_without_refs_is_refused),
		cmocka_unit_test(refs_find_what_was_added_and_refuse_doubles),
		cmocka_unit_test(refs_say_when_they_are_not_all),
	};

	return cmocka_run_group_tests_name("ruling", tests, NULL, NULL);
}
