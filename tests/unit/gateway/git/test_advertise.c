#include "tests/unit/gateway/git/run_git.h"

#include "common/cleanup.h"
#include "common/pktline.h"
#include "gateway/git/advertise.h"
#include "tests/unit/gateway/git/repo_fixture.h"

#define MINE	"refs/heads/agent/42"
#define SERVICE "# service=git-receive-pack\n"
#define CAPS                                                                   \
	"report-status report-status-v2 delete-refs side-band-64k quiet "      \
	"atomic ofs-delta push-options push-cert=17 session-id=x "             \
	"object-format=sha1 agent=git/2.39.5"
#define KEPT                                                                   \
	"report-status report-status-v2 delete-refs side-band-64k quiet "      \
	"atomic ofs-delta push-options object-format=sha1 agent=git/2.39.5"
#define LINES_MAX 8

/* '|' is NUL; "=..." stands for its bytes as they are. */
static void build(const char *const *lines, struct buf *out)
{
	for (size_t i = 0; i < LINES_MAX && lines[i]; i++) {
		size_t len = strlen(lines[i]);
		char copy[1024];

		if (lines[i][0] == '=') {
			assert_int_equal(buf_add_str(out, lines[i] + 1), 0);
			continue;
		}
		assert_true(len < sizeof(copy));
		for (size_t j = 0; j < len; j++)
			copy[j] = lines[i][j];
		for (size_t j = 0; j < len; j++)
			if (copy[j] == '|')
				copy[j] = '\0';
		assert_int_equal(pktline_add(out, bytes_from(copy, len)), 0);
	}
}

struct rewritten {
	struct git_refs refs;
	struct buf out;
	struct err err;
	bool is_error;
	int status;
};

static void rewrite(struct rewritten *done, struct bytes input, size_t step,
		    const struct policy_repo *repo, unsigned flags)
{
	struct advertise adv;

	*done = (struct rewritten){0};
	git_refs_init(&done->refs);
	buf_init(&done->out, RUN_OUTPUT_MAX);
	advertise_init(&adv, repo, &done->refs, flags);
	for (size_t at = 0; at < input.len && done->status == 0; at += step) {
		struct bytes piece = bytes_slice(input, at, at + step);
		size_t before = buf_len(&done->out);

		done->status =
			advertise_feed(&adv, piece, &done->out, &done->err);
		assert_true(buf_len(&done->out) - before <=
			    ADVERTISE_OUT_MAX(piece.len));
	}
	if (done->status == 0)
		done->status = advertise_end(&adv, &done->err);
	done->is_error = adv.is_error;
	advertise_release(&adv);
}

static void rewritten_release(struct rewritten *done)
{
	git_refs_release(&done->refs);
	buf_release(&done->out);
}

static void check(const char *const *input, const char *const *output,
		  unsigned verbs, unsigned flags)
{
	const struct policy_repo repo = fixture_repo(verbs);
	auto_type(buf_release) struct buf in, expected;

	buf_init(&in, 65536);
	buf_init(&expected, 65536);
	build(input, &in);
	build(output, &expected);
	for (size_t step = 1; step < 200; step += 33) {
		struct rewritten done;

		rewrite(&done, buf_view(&in), step, &repo, flags);
		assert_int_equal(done.status, 0);
		if (!bytes_equal(buf_view(&done.out), buf_view(&expected)))
			fail_msg("step %zu:\n%.*s\nand not\n%.*s", step,
				 BYTES_ARGS(buf_view(&done.out)),
				 BYTES_ARGS(buf_view(&expected)));
		rewritten_release(&done);
	}
}

static void advertise_hides_names_and_keeps_tips(void **state)
{
	static const char *const in[LINES_MAX] = {SERVICE,
						  "=0000",
						  OID_A " refs/heads/main|" CAPS
							"\n",
						  OID_B " " MINE "\n",
						  OID_C " refs/tags/v1",
						  "=0000"};
	static const char *const out[LINES_MAX] = {SERVICE,
						   "=0000",
						   OID_A " .have|" KEPT "\n",
						   OID_B " " MINE "\n",
						   OID_C " .have\n",
						   "=0000"};

	(void)state;
	check(in, out, VERB_CREATE | VERB_FAST_FORWARD, 0);
}

static void advertise_says_what_the_policy_says(void **state)
{
	static const char *const in[LINES_MAX] = {
		SERVICE, "=0000", OID_B " " MINE "|" CAPS "\n", "=0000"};
	static const char *const kept[LINES_MAX] = {
		SERVICE, "=0000", OID_B " " MINE "|" KEPT "\n", "=0000"};
	static const char *const no_thin[LINES_MAX] = {
		SERVICE, "=0000", OID_B " " MINE "|" KEPT " no-thin\n",
		"=0000"};

	(void)state;
	check(in, kept, VERB_FAST_FORWARD | VERB_DELETE, 0);
	check(in, kept, VERB_FAST_FORWARD, 0);
	check(in, no_thin, VERB_FAST_FORWARD, ADVERTISE_NO_THIN);
}

static void advertise_keeps_an_empty_repository(void **state)
{
	static const char *const in[LINES_MAX] = {
		SERVICE,
		"=0000",
		"version 1\n",
		OID_ZERO " capabilities^{}|report-status agent=x\n",
		"shallow " OID_A "\n",
		"=0000"};
	static const char *const out[LINES_MAX] = {
		SERVICE, "=0000",
		OID_ZERO " capabilities^{}|report-status agent=x\n",
		"shallow " OID_A "\n", "=0000"};

	(void)state;
	check(in, out, VERB_CREATE, 0);
}

static void advertise_passes_an_error_on(void **state)
{
	static const char *const in[LINES_MAX] = {
		SERVICE, "=0000", "ERR Repository not found.\n", "=0000"};
	static const char *const out[LINES_MAX] = {
		SERVICE, "=0000", "ERR Repository not found.\n"};
	const struct policy_repo repo = fixture_repo(VERB_CREATE);
	auto_type(buf_release) struct buf body;
	struct rewritten done;

	(void)state;
	check(in, out, VERB_CREATE, 0);
	buf_init(&body, 4096);
	build(in, &body);
	rewrite(&done, buf_view(&body), 5, &repo, 0);
	assert_true(done.is_error);
	assert_false(done.refs.is_whole);
	rewritten_release(&done);
}

static void advertise_learns_what_may_be_written(void **state)
{
	static const char *const in[LINES_MAX] = {SERVICE,
						  "=0000",
						  OID_A " refs/heads/main|" CAPS
							"\n",
						  OID_B " " MINE "\n",
						  OID_C " .have\n",
						  "=0000"};
	const struct policy_repo repo = fixture_repo(VERB_FAST_FORWARD);
	auto_type(buf_release) struct buf body;
	const struct git_ref *ref;
	struct rewritten done;

	(void)state;
	buf_init(&body, 4096);
	build(in, &body);
	rewrite(&done, buf_view(&body), 4096, &repo, 0);
	assert_true(done.refs.is_whole);
	assert_int_equal(done.refs.count, 1);
	assert_int_equal(done.refs.advertised, 2);
	assert_int_equal(done.refs.oid_hex_len, 40);
	ref = git_refs_find(&done.refs, bytes_str(MINE));
	assert_non_null(ref);
	assert_true(bytes_is(ref->oid, OID_B));
	assert_null(git_refs_find(&done.refs, bytes_str("refs/heads/main")));
	rewritten_release(&done);
}

static void advertise_keeps_tips_where_paths_are_protected(void **state)
{
	static const struct bytes paths[] = {BYTES_LITERAL("CODEOWNERS")};
	static const char *const in[LINES_MAX] = {SERVICE,
						  "=0000",
						  OID_A " refs/heads/main|" CAPS
							"\n",
						  OID_A " refs/heads/other\n",
						  OID_B " refs/pull/7/head\n",
						  OID_B " .have\n",
						  OID_C " refs/tags/v1\n",
						  "=0000"};
	struct policy_repo repo = fixture_repo(VERB_CREATE);
	auto_type(buf_release) struct buf body;

	(void)state;
	buf_init(&body, 4096);
	build(in, &body);
	for (size_t rules = 0; rules < 2; rules++) {
		struct rewritten done;

		repo.checks.protect = (struct policy_strings){paths, rules};
		rewrite(&done, buf_view(&body), 50, &repo, 0);
		assert_int_equal(done.status, 0);
		assert_int_equal(done.refs.tip_count, 2 * rules);
		assert_int_equal(git_refs_is_tip(&done.refs, bytes_str(OID_A)),
				 rules);
		assert_int_equal(git_refs_is_tip(&done.refs, bytes_str(OID_C)),
				 rules);
		assert_false(git_refs_is_tip(&done.refs, bytes_str(OID_B)));
		rewritten_release(&done);
	}
}

static void advertise_refuses_a_broken_upstream(void **state)
{
	static const char *const rows[][LINES_MAX] = {
		{NULL},
		{SERVICE},
		{SERVICE, "=0000"},
		{SERVICE, "=0000", OID_A " " MINE "|" CAPS},
		{"# service=git-upload-pack\n", "=0000",
		 OID_A " " MINE "|" CAPS, "=0000"},
		{SERVICE, "=0000", OID_A " " MINE, "=0000"},
		{SERVICE, "=0000", "=0000"},
		{SERVICE, "=0001"},
		{SERVICE, "=0000", OID_A " " MINE "|" CAPS, "=0001"},
		{SERVICE, "=0000", OID_A " " MINE "|" CAPS, "=00G4"},
		{SERVICE, "=0000", OID_A " " MINE "|" CAPS, "=0000", "=0000"},
		{SERVICE, "=0000", OID_A " " MINE "|" CAPS,
		 OID_B " refs/heads/x|quiet", "=0000"},
		{SERVICE, "=0000", OID_A " " MINE "|" CAPS, OID_B " " MINE,
		 "=0000"},
		{SERVICE, "=0000", OID_A " " MINE "|" CAPS, OID_A_256 " x",
		 "=0000"},
		{SERVICE, "=0000", OID_A " " MINE "|" CAPS, "junk", "=0000"},
		{SERVICE, "=0000", OID_A " " MINE "|" CAPS,
		 OID_ZERO " capabilities^{}", "=0000"},
		{SERVICE, "=0000", OID_A " capabilities^{}|" CAPS, "=0000"},
		{SERVICE, "=0000", OID_ZERO " capabilities^{}|" CAPS,
		 OID_A " " MINE, "=0000"},
		{SERVICE, "=0000", OID_A " " MINE "|object-format=md5",
		 "=0000"},
		{SERVICE, "=0000", OID_A " " MINE "|object-format=sha256",
		 "=0000"},
		{SERVICE, "=0000", OID_A " |" CAPS, "=0000"},
	};
	const struct policy_repo repo = fixture_repo(VERB_FAST_FORWARD);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(buf_release) struct buf body;
		struct rewritten done;

		buf_init(&body, 4096);
		build(rows[i], &body);
		rewrite(&done, buf_view(&body), 3, &repo, 0);
		if (done.status != -1)
			fail_msg("row %zu was taken", i);
		assert_false(done.refs.is_whole && done.status == 0);
		rewritten_release(&done);
	}
}

static void advertise_takes_wide_object_ids(void **state)
{
	static const char *const in[LINES_MAX] = {
		SERVICE, "=0000",
		OID_A_256 " " MINE "|report-status object-format=sha256\n",
		"=0000"};

	(void)state;
	check(in, in, VERB_FAST_FORWARD, 0);
}

static void advertise_holds_many_refs_in_little_memory(void **state)
{
	const struct policy_repo repo = fixture_repo(VERB_FAST_FORWARD);
	auto_type(buf_release) struct buf body;
	struct rewritten done;

	(void)state;
	buf_init(&body, RUN_OUTPUT_MAX);
	assert_int_equal(pktline_add_format(&body, SERVICE), 0);
	assert_int_equal(pktline_add_flush(&body), 0);
	assert_int_equal(pktline_add_format(&body, OID_A " " MINE "%c" KEPT, 0),
			 0);
	for (size_t i = 0; i < 100000; i++)
		assert_int_equal(pktline_add_format(
					 &body, OID_B " refs/pull/%zu/head", i),
				 0);
	assert_int_equal(pktline_add_flush(&body), 0);
	rewrite(&done, buf_view(&body), 16384, &repo, 0);
	assert_int_equal(done.status, 0);
	assert_int_equal(done.refs.advertised, 100001);
	assert_int_equal(done.refs.count, 1);
	assert_true(done.refs.arena.used < 4096);
	rewritten_release(&done);
}

/* What real git says, rewritten, is what real git understands. */
static void advertise_rewrites_what_real_git_says(void **state)
{
	static const char *const say[] = {
		"git", "receive-pack", "--http-backend-info-refs", ".", NULL};
	const struct policy_repo repo = fixture_repo(VERB_FAST_FORWARD);
	auto_type(buf_release) struct buf body;
	char tip[RUN_OID_LEN + 1];
	char *dir = run_repository();
	struct rewritten done;

	(void)state;
	run_commit(dir, "one");
	RUN_GIT(dir, "branch", "agent/42");
	RUN_GIT(dir, "tag", "v1");
	run_oid(dir, "HEAD", tip);
	buf_init(&body, RUN_OUTPUT_MAX);
	assert_int_equal(pktline_add_format(&body, SERVICE), 0);
	assert_int_equal(pktline_add_flush(&body), 0);
	assert_int_equal(run_git(dir, say, bytes_str(NULL), &body), 0);
	rewrite(&done, buf_view(&body), 11, &repo, 0);
	assert_int_equal(done.status, 0);
	assert_int_equal(done.refs.advertised, 3);
	assert_int_equal(done.refs.count, 1);
	assert_true(
		bytes_is(git_refs_find(&done.refs, bytes_str(MINE))->oid, tip));
	assert_true(bytes_find_bytes(buf_view(&done.out), bytes_str("main"),
				     0) < 0);
	assert_true(bytes_find_bytes(buf_view(&done.out), bytes_str("atomic"),
				     0) > 0);
	rewritten_release(&done);
	run_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(advertise_hides_names_and_keeps_tips),
		cmocka_unit_test(advertise_says_what_the_policy_says),
		cmocka_unit_test(advertise_keeps_an_empty_repository),
		cmocka_unit_test(advertise_passes_an_error_on),
		cmocka_unit_test(advertise_learns_what_may_be_written),
		cmocka_unit_test(
			advertise_keeps_tips_where_paths_are_protected),
		cmocka_unit_test(advertise_refuses_a_broken_upstream),
		cmocka_unit_test(advertise_takes_wide_object_ids),
		cmocka_unit_test(advertise_holds_many_refs_in_little_memory),
		cmocka_unit_test(advertise_rewrites_what_real_git_says),
	};

	return cmocka_run_group_tests_name("advertise", tests, NULL, NULL);
}
