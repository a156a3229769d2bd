#include "tests/unit/gateway/packcheck/check_bench.h"

/* Its answer, with what is wanted given as often as it helps. */
static void settle(struct bench *bench)
{
	for (size_t i = 0;
	     i < ROUNDS_MAX && bench->verdict.result == PACK_UNPROVEN; i++)
		more(bench, bench->oids[0]);
}

static void protects(struct bench *bench, const char *glob)
{
	static struct msg_pack_path path;

	path.path = bytes_str(glob);
	bench->ask.protect = &path;
	bench->ask.protect_count = 1;
}

/* Three commits: of a file, of one in a directory, of the file again. */
static void three_commits(struct bench *bench)
{
	run_commit(bench->repo, "one");
	run_oid(bench->repo, "HEAD", bench->oids[0]);
	RUN_GIT(bench->repo, "update-index", "--add", "--cacheinfo",
		"100644,e69de29bb2d1d6434b8b29ae775ad8c2e48c5391,dir/g");
	RUN_GIT(bench->repo, "hash-object", "-w", "--stdin");
	RUN_GIT(bench->repo, "commit", "-q", "-m", "two");
	run_oid(bench->repo, "HEAD", bench->oids[1]);
	run_commit(bench->repo, "three");
	run_oid(bench->repo, "HEAD", bench->oids[2]);
}

static void check_compares_paths_with_the_old_tip(void **state)
{
	static const struct {
		const char *glob;
		size_t from, to;
		bool is_refused;
	} rows[] = {
		{"f", 0, 2, true},	 {"f", 0, 1, false},
		{"f", 1, 2, true},	 {"dir/**", 0, 2, true},
		{"dir/**", 1, 2, false}, {"dir/*", 0, 1, true},
		{"dir", 0, 1, true},	 {"DIR/G", 0, 1, true},
		{"**/g", 0, 1, true},	 {"**/f", 0, 2, true},
		{"g", 0, 2, false},	 {"dir/f", 0, 2, false},
		{"**", 0, 1, true},	 {"dir/g/x", 0, 2, false},
	};
	struct bench *bench = *state;

	three_commits(bench);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *from = bench->oids[rows[i].from];
		const char *to = bench->oids[rows[i].to];

		protects(bench, rows[i].glob);
		push_range(bench, from, to, NULL);
		begin(bench, from, to);
		ASSERT_RESULT(bench, PACK_UNPROVEN);
		assert_int_equal(bench->verdict.wants_kind, WANTS_STATES);
		settle(bench);
		if (bench->verdict.result !=
		    (rows[i].is_refused ? PACK_REFUSED : PACK_PASSED))
			fail_msg("row %zu: %.*s", i,
				 BYTES_ARGS(bench->verdict.detail));
		if (rows[i].is_refused) {
			assert_int_equal(bench->verdict.constraint,
					 CONSTRAINT_push_path_protected);
			assert_int_equal(bench->verdict.index, 0);
		}
		pack_check_release(&bench->check);
	}
}

static void check_compares_a_new_refs_commits_with_their_parents(void **state)
{
	static const char none[] = "0000000000000000000000000000000000000000";
	struct bench *bench = *state;

	three_commits(bench);
	bench->updates[0].must_forward = false;
	protects(bench, "dir/**");
	bench->upstream = bench->oids[1];
	push_range(bench, bench->oids[1], bench->oids[2], NULL);
	begin(bench, none, bench->oids[2]);
	ASSERT_RESULT(bench, PACK_UNPROVEN);
	settle(bench);
	ASSERT_RESULT(bench, PACK_PASSED);
	pack_check_release(&bench->check);
	bench->upstream = bench->oids[0];
	push_range(bench, bench->oids[0], bench->oids[2], NULL);
	begin(bench, none, bench->oids[2]);
	settle(bench);
	ASSERT_RESULT(bench, PACK_REFUSED);
	pack_check_release(&bench->check);
	/* A root begins from nothing. */
	protects(bench, "f");
	pack_of(bench, bench->oids[2], NULL, &bench->pushed);
	begin(bench, none, bench->oids[2]);
	settle(bench);
	ASSERT_RESULT(bench, PACK_REFUSED);
	pack_check_release(&bench->check);
	/* What upstream has is no change of this push. */
	bench->upstream = bench->oids[2];
	push_range(bench, bench->oids[2], bench->oids[2], NULL);
	begin(bench, none, bench->oids[2]);
	settle(bench);
	ASSERT_RESULT(bench, PACK_PASSED);
}

/* All of upstream's history comes, as git sends it to a branch that is new
 * where it does not know what leads to it. */
static void check_asks_which_changes_upstream_has(void **state)
{
	static const char none[] = "0000000000000000000000000000000000000000";
	static const struct {
		const char *glob;
		size_t upstream;
		bool is_refused;
		const char *named; /* "" or its change */
	} rows[] = {
		{"dir/**", 1, false, ""}, {"dir/**", 0, true, "dir/g"},
		{"f", 2, false, ""},	  {"f", 1, true, "f"},
		{"f", 0, true, "f"},
	};
	struct bench *bench = *state;

	three_commits(bench);
	bench->updates[0].must_forward = false;
	pack_of(bench, bench->oids[2], NULL, &bench->pushed);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		protects(bench, rows[i].glob);
		bench->upstream = bench->oids[rows[i].upstream];
		begin(bench, none, bench->oids[2]);
		ASSERT_RESULT(bench, PACK_UNPROVEN);
		assert_int_equal(bench->verdict.wants_kind, WANTS_KNOWN);
		settle(bench);
		ASSERT_RESULT(bench,
			      rows[i].is_refused ? PACK_REFUSED : PACK_PASSED);
		assert_true(bytes_ends_with(bench->verdict.detail,
					    bytes_str(rows[i].named)));
		pack_check_release(&bench->check);
	}
}

/* What upstream's branches lead to changes a ref that is put on it. */
static void check_compares_an_update_to_what_upstream_has(void **state)
{
	static const struct {
		const char *glob;
		const char *named; /* NULL: it passes */
	} rows[] = {{"dir/**", "dir/g"}, {"other", NULL}};
	struct bench *bench = *state;

	three_commits(bench);
	bench->upstream = bench->oids[2];
	pack_of(bench, bench->oids[1], NULL, &bench->pushed);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		protects(bench, rows[i].glob);
		begin(bench, bench->oids[0], bench->oids[1]);
		settle(bench);
		ASSERT_RESULT(bench,
			      rows[i].named ? PACK_REFUSED : PACK_PASSED);
		if (rows[i].named)
			assert_true(bytes_ends_with(bench->verdict.detail,
						    bytes_str(rows[i].named)));
		pack_check_release(&bench->check);
	}
}

static void check_wants_a_base_that_upstreams_branches_lead_to(void **state)
{
	static const char none[] = "0000000000000000000000000000000000000000";
	static const size_t upstreams[] = {0, 1, 2};
	struct bench *bench = *state;

	three_commits(bench);
	bench->updates[0].must_forward = false;
	protects(bench, "other");
	push_range(bench, bench->oids[1], bench->oids[2], NULL);
	for (size_t i = 0; i < ARRAY_SIZE(upstreams); i++) {
		bench->upstream = bench->oids[upstreams[i]];
		begin(bench, none, bench->oids[2]);
		settle(bench);
		ASSERT_RESULT(bench,
			      upstreams[i] == 0 ? PACK_REFUSED : PACK_PASSED);
		if (upstreams[i] == 0)
			assert_int_equal(bench->verdict.constraint,
					 CONSTRAINT_push_path_protected);
		pack_check_release(&bench->check);
	}
}

static void check_gives_up_on_a_state_that_is_nowhere(void **state)
{
	struct bench *bench = *state;

	three_commits(bench);
	protects(bench, "f");
	push_range(bench, bench->oids[0], bench->oids[1], NULL);
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_UNPROVEN);
	/* Something else comes, and comes again. */
	pack_check_more(&bench->check, buf_view(&bench->pushed),
			&bench->verdict);
	ASSERT_RESULT(bench, PACK_INVALID);
	pack_check_more(&bench->check, buf_view(&bench->pushed),
			&bench->verdict);
	ASSERT_RESULT(bench, PACK_INVALID);
}

static void check_names_a_file_that_is_too_large(void **state)
{
	struct bench *bench = *state;

	commits(bench, 2);
	push_range(bench, bench->oids[0], bench->oids[1], NULL);
	bench->ask.file_bytes_max = strlen("commit 1") - 1;
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_REFUSED);
	assert_int_equal(bench->verdict.constraint, CONSTRAINT_push_too_large);
	assert_true(bytes_starts_with(bench->verdict.detail,
				      bytes_str("f has 8 bytes")));
	pack_check_release(&bench->check);
	bench->ask.file_bytes_max++;
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_PASSED);
}

static void check_knows_what_commits_must_be_like(void **state)
{
	static const struct {
		struct msg_pack_commits rules[2];
		size_t count;
		enum constraint constraint;
		const char *why;
	} rows[] = {
#define RULE(member, text) {.member = BYTES_LITERAL(text)}
		{{RULE(author, "one <one@a\\.example>")}, 1, 0, NULL},
		{{RULE(author, "one <one@a\\.exampl>")},
		 1,
		 CONSTRAINT_push_commit_not_allowed,
		 "has the author \"one <one@a.example>\""},
		{{RULE(author, "one")},
		 1,
		 CONSTRAINT_push_commit_not_allowed,
		 "must match one"},
		{{RULE(committer, "two <.*>")}, 1, 0, NULL},
		{{RULE(committer, "one <.*>")},
		 1,
		 CONSTRAINT_push_commit_not_allowed,
		 "has the committer \"two <two@a.example>\""},
		{{RULE(subject, "fix: x")}, 1, 0, NULL},
		{{RULE(subject, "fix: ")},
		 1,
		 CONSTRAINT_push_commit_not_allowed,
		 "has the subject \"fix: x\""},
		{{RULE(message, "fix: x\n\nbody")}, 1, 0, NULL},
		{{RULE(message, "fix: x")},
		 1,
		 CONSTRAINT_push_commit_not_allowed,
		 "has the message \"fix: x??body\""},
		{{{.count_max = 1}}, 1, 0, NULL},
		{{RULE(author, "one .*"), RULE(subject, "fix.*")}, 2, 0, NULL},
		{{RULE(author, "one .*"), RULE(subject, "feat.*")},
		 2,
		 CONSTRAINT_push_commit_not_allowed,
		 "must match feat.*"},
#undef RULE
	};
	struct bench *bench = *state;

	commits(bench, 1);
	RUN_GIT(bench->repo, "-c", "user.name=two", "-c",
		"user.email=two@a.example", "commit", "-q", "--allow-empty",
		"--author=one <one@a.example>", "-m", "fix: x\n\nbody");
	run_oid(bench->repo, "HEAD", bench->oids[1]);
	push_range(bench, bench->oids[0], bench->oids[1], NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bench->ask.commits = rows[i].rules;
		bench->ask.commits_count = rows[i].count;
		begin(bench, bench->oids[0], bench->oids[1]);
		if (bench->verdict.constraint != rows[i].constraint)
			fail_msg("row %zu: %.*s", i,
				 BYTES_ARGS(bench->verdict.detail));
		if (rows[i].why &&
		    bytes_find_bytes(bench->verdict.detail,
				     bytes_str(rows[i].why), 0) < 0)
			fail_msg("row %zu: %.*s", i,
				 BYTES_ARGS(bench->verdict.detail));
		pack_check_release(&bench->check);
	}
}

static void check_counts_commits(void **state)
{
	struct msg_pack_commits rules = {.count_max = 2};
	struct bench *bench = *state;

	commits(bench, 4);
	bench->ask.commits = &rules;
	bench->ask.commits_count = 1;
	push_range(bench, bench->oids[0], bench->oids[3], NULL);
	begin(bench, bench->oids[0], bench->oids[3]);
	ASSERT_RESULT(bench, PACK_REFUSED);
	assert_int_equal(bench->verdict.constraint, CONSTRAINT_push_too_large);
	pack_check_release(&bench->check);
	rules.count_max = 3;
	begin(bench, bench->oids[0], bench->oids[3]);
	ASSERT_RESULT(bench, PACK_PASSED);
}

static void check_refuses_rules_for_commits_that_it_cannot_read(void **state)
{
	static const struct msg_pack_commits rules = {
		.subject = BYTES_LITERAL("(")};
	struct bench *bench = *state;

	commits(bench, 2);
	bench->ask.commits = &rules;
	bench->ask.commits_count = 1;
	push_range(bench, bench->oids[0], bench->oids[1], NULL);
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_INVALID);
}

#define SECRET "a secret of one's own, 7f3"

/* The last commit's message, or its file, holds it. */
static void commit_with(struct bench *bench, const char *file,
			const char *message)
{
	run_write(bench->repo, "f", file);
	RUN_GIT(bench->repo, "add", "f");
	RUN_GIT(bench->repo, "commit", "-q", "-m", message);
	run_oid(bench->repo, "HEAD", bench->oids[1]);
	push_range(bench, bench->oids[0], bench->oids[1], NULL);
}

static void tell_secret(struct bench *bench)
{
	struct secret_prints *prints = prints_new();
	auto_type(buf_release) struct buf bytes;
	struct msg_pack_secrets secrets = {0};
	struct err err;

	assert_non_null(prints);
	buf_init(&bytes, PRINTS_BYTES_MAX);
	assert_int_equal(
		prints_add(prints, bytes_str("own"), bytes_str(SECRET), &err),
		0);
	assert_int_equal(prints_write(prints, &bytes), 0);
	secrets.prints = buf_view(&bytes);
	pack_check_secrets(&bench->check, &secrets);
	prints_free(prints);
}

static void check_finds_secrets_where_they_are_denied(void **state)
{
	static const struct {
		const char *file, *message, *words; /* NULL: it passes */
	} rows[] = {
		{"text", "words", NULL},
		{"text " SECRET " text", "words", "f holds: own"},
		{"another text", "words " SECRET, "commit "},
		{"-----BEGIN PRIVATE KEY-----\n"
		 "MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9q"
		 "fSnF\n-----END PRIVATE KEY-----\n",
		 "words", "f holds: private key"},
	};
	struct bench *bench = *state;

	commits(bench, 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		commit_with(bench, rows[i].file, rows[i].message);
		for (int denied = 0; denied <= 1; denied++) {
			tell_secret(bench);
			bench->ask.deny_secrets = denied;
			begin(bench, bench->oids[0], bench->oids[1]);
			if (!denied || !rows[i].words) {
				ASSERT_RESULT(bench, PACK_PASSED);
			} else {
				ASSERT_RESULT(bench, PACK_REFUSED);
				assert_int_equal(bench->verdict.constraint,
						 CONSTRAINT_push_secret);
				assert_true(bytes_starts_with(
					bench->verdict.detail,
					bytes_str(rows[i].words)));
			}
			pack_check_release(&bench->check);
		}
		memcpy(bench->oids[0], bench->oids[1], RUN_OID_LEN);
	}
}

static void check_finds_secrets_in_names(void **state)
{
	static const struct {
		const char *name;
		bool is_found;
	} rows[] = {
		{"harmless", false},
		{SECRET, true},
		{"with " SECRET " in it", true},
	};
	struct bench *bench = *state;

	commits(bench, 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		run_write(bench->repo, rows[i].name, "text");
		RUN_GIT(bench->repo, "add", ".");
		RUN_GIT(bench->repo, "commit", "-q", "-m", "words");
		run_oid(bench->repo, "HEAD", bench->oids[1]);
		push_range(bench, bench->oids[0], bench->oids[1], NULL);
		tell_secret(bench);
		bench->ask.deny_secrets = true;
		begin(bench, bench->oids[0], bench->oids[1]);
		ASSERT_RESULT(bench,
			      rows[i].is_found ? PACK_REFUSED : PACK_PASSED);
		if (rows[i].is_found) {
			assert_int_equal(bench->verdict.constraint,
					 CONSTRAINT_push_secret);
			assert_true(bytes_starts_with(
				bench->verdict.detail,
				bytes_str("a name in tree ")));
			assert_true(bytes_find_bytes(bench->verdict.detail,
						     bytes_str(SECRET), 0) < 0);
			RUN_GIT(bench->repo, "reset", "-q", "--hard",
				bench->oids[0]);
		} else {
			memcpy(bench->oids[0], bench->oids[1], RUN_OID_LEN);
		}
		pack_check_release(&bench->check);
	}
}

static void check_refuses_when_it_is_not_told_the_secrets(void **state)
{
	const struct msg_pack_secrets broken = {.prints = bytes_str("x")};
	struct bench *bench = *state;

	commits(bench, 2);
	push_range(bench, bench->oids[0], bench->oids[1], NULL);
	pack_check_secrets(&bench->check, &broken);
	bench->ask.deny_secrets = true;
	begin(bench, bench->oids[0], bench->oids[1]);
	ASSERT_RESULT(bench, PACK_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(check_compares_paths_with_the_old_tip),
		BENCH_TEST(
			check_compares_a_new_refs_commits_with_their_parents),
		BENCH_TEST(check_asks_which_changes_upstream_has),
		BENCH_TEST(check_compares_an_update_to_what_upstream_has),
		BENCH_TEST(check_wants_a_base_that_upstreams_branches_lead_to),
		BENCH_TEST(check_gives_up_on_a_state_that_is_nowhere),
		BENCH_TEST(check_names_a_file_that_is_too_large),
		BENCH_TEST(check_knows_what_commits_must_be_like),
		BENCH_TEST(check_counts_commits),
		BENCH_TEST(check_refuses_rules_for_commits_that_it_cannot_read),
		BENCH_TEST(check_finds_secrets_where_they_are_denied),
		BENCH_TEST(check_finds_secrets_in_names),
		BENCH_TEST(check_refuses_when_it_is_not_told_the_secrets),
	};
	struct err err;

	if (pack_library_init(&err) < 0)
		return 1;
	return cmocka_run_group_tests_name("check_content", tests, NULL, NULL);
}
