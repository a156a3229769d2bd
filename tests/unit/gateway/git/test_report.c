#include "tests/unit/gateway/git/run_git.h"

#include "common/cleanup.h"
#include "common/pktline.h"
#include "gateway/git/commands.h"
#include "gateway/git/report.h"
#include "tests/unit/gateway/git/repo_fixture.h"

#define MINE "refs/heads/agent/42"
#define MAIN "refs/heads/main"
#define NG_MAIN                                                                \
	"ng " MAIN " push_ref_not_allowed: the session may not push this "     \
	"ref\n"

/* A push of MINE and MAIN that was refused for MAIN. */
struct refused {
	struct policy_repo repo;
	struct push_update updates[2];
	struct push push;
	struct ruling ruling;
};

static void refused_init(struct refused *refused, const char *ref)
{
	struct git_refs refs;

	*refused = (struct refused){
		.repo = fixture_repo(VERB_CREATE | VERB_FAST_FORWARD)};
	refused->updates[0] = (struct push_update){.old_oid = bytes_str(OID_A),
						   .new_oid = bytes_str(OID_B),
						   .ref = bytes_str(ref)};
	refused->updates[1] = (struct push_update){.old_oid = bytes_str(OID_A),
						   .new_oid = bytes_str(OID_B),
						   .ref = bytes_str(MINE)};
	refused->push = (struct push){.updates = refused->updates,
				      .update_count = 2,
				      .oid_hex_len = 40,
				      .report = REPORT_STATUS_V2,
				      .has_side_band = true,
				      .has_pack = true};
	git_refs_init(&refs);
	refs.oid_hex_len = 40;
	git_refs_add(&refs, bytes_str(MINE), bytes_str(OID_A));
	assert_int_equal(git_refs_seal(&refs), 0);
	push_decide(&refused->push, &refused->repo, &refs, &refused->ruling);
	git_refs_release(&refs);
}

/* Join the payloads of one side-band of a body; "plain" is band 0. */
static void band_of(struct bytes body, unsigned band, struct buf *out)
{
	while (body.len > 0) {
		struct bytes payload;
		size_t used;
		enum pktline_kind kind = pktline_next(body, &payload, &used);

		assert_true(kind == PKTLINE_DATA || kind == PKTLINE_FLUSH);
		body = bytes_slice(body, used, body.len);
		if (kind == PKTLINE_DATA && payload.data[0] == band)
			assert_int_equal(buf_add(out, bytes_slice(payload, 1,
								  payload.len)),
					 0);
		if (kind == PKTLINE_FLUSH)
			assert_int_equal(body.len, 0);
	}
}

/* The lines of a report, one after the other; ends with "." for its flush. */
static void lines_of(struct bytes report, struct buf *out)
{
	while (report.len > 0) {
		struct bytes payload;
		size_t used;
		enum pktline_kind kind = pktline_next(report, &payload, &used);

		report = bytes_slice(report, used, report.len);
		if (kind == PKTLINE_FLUSH)
			assert_int_equal(buf_add_str(out, "."), 0);
		else
			assert_int_equal(buf_add(out, payload), 0);
	}
}

static void report_refuses_in_gits_words(void **state)
{
	auto_type(buf_release) struct buf body, report, lines, text;
	struct refused refused;

	(void)state;
	refused_init(&refused, MAIN);
	buf_init(&body, 65536);
	buf_init(&report, 65536);
	buf_init(&lines, 65536);
	buf_init(&text, 65536);
	assert_int_equal(
		report_refuse(&refused.push, bytes_str("no\nnever\n"), &body),
		0);
	band_of(buf_view(&body), 1, &report);
	band_of(buf_view(&body), 2, &text);
	lines_of(buf_view(&report), &lines);
	assert_string_equal(buf_str(&text), "no\nnever\n");
	assert_string_equal(buf_str(&lines),
			    "unpack ok\n" NG_MAIN "ng " MINE
			    " refused with the rest of the push\n.");
}

static void report_answers_each_client_in_kind(void **state)
{
	static const struct {
		enum push_report report;
		bool has_side_band, is_heard;
		const char *start;
	} kinds[] = {
		{REPORT_STATUS, true, true, "0008\x02no\n"},
		{REPORT_STATUS_V2, true, true, "0008\x02no\n"},
		{REPORT_STATUS, false, true, "000eunpack ok\n"},
		{REPORT_STATUS_V2, false, true, "000eunpack ok\n"},
		{REPORT_NONE, true, true, "0008\x02no\n0000"},
		{REPORT_NONE, false, false, "000bERR no\n"},
	};
	struct refused refused;

	(void)state;
	refused_init(&refused, MAIN);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		auto_type(buf_release) struct buf body;

		buf_init(&body, 65536);
		refused.push.report = kinds[i].report;
		refused.push.has_side_band = kinds[i].has_side_band;
		assert_int_equal(report_is_heard(&refused.push),
				 kinds[i].is_heard);
		assert_int_equal(
			report_refuse(&refused.push, bytes_str("no\n"), &body),
			0);
		assert_true(bytes_starts_with(buf_view(&body),
					      bytes_str(kinds[i].start)));
	}
}

static void report_says_fetch_first_and_atomic_as_git_does(void **state)
{
	auto_type(buf_release) struct buf body, lines;
	struct refused refused;

	(void)state;
	buf_init(&body, 65536);
	buf_init(&lines, 65536);
	refused_init(&refused, MINE);
	refused.push.report = REPORT_STATUS;
	refused.push.has_side_band = false;
	refused.updates[0].verdict.constraint = CONSTRAINT_push_stale;
	refused.updates[0].verdict.kind = VERDICT_DENY;
	refused.updates[0].verdict.reason = bytes_str("fetch first");
	refused.updates[1].verdict =
		(struct verdict){.kind = VERDICT_DENY,
				 .reason = bytes_str("atomic push failed")};
	assert_int_equal(report_refuse(&refused.push, bytes_str("no\n"), &body),
			 0);
	lines_of(buf_view(&body), &lines);
	assert_string_equal(buf_str(&lines),
			    "unpack ok\nng " MINE " fetch first\nng " MINE
			    " atomic push failed\n.");
}

static void report_keeps_a_reason_on_its_line(void **state)
{
	auto_type(buf_release) struct buf body, lines;
	struct refused refused;

	(void)state;
	buf_init(&body, 65536);
	buf_init(&lines, 65536);
	refused_init(&refused, MAIN);
	refused.push.update_count = 1;
	refused.push.has_side_band = false;
	refused.updates[0].verdict.reason = bytes_str("a\nok " MAIN "\x1b[1m");
	assert_int_equal(report_refuse(&refused.push, bytes_str("no\n"), &body),
			 0);
	lines_of(buf_view(&body), &lines);
	assert_string_equal(buf_str(&lines),
			    "unpack ok\nng " MAIN
			    " push_ref_not_allowed: a ok " MAIN " [1m\n.");
}

static void report_says_what_is_malformed(void **state)
{
	auto_type(buf_release) struct buf body, plain;
	const struct verdict verdict = {
		.kind = VERDICT_DENY,
		.constraint = CONSTRAINT_push_malformed,
		.reason = bytes_str("a ref is named twice"),
	};
	struct push push = {.has_side_band = true, .report = REPORT_STATUS};

	(void)state;
	buf_init(&body, 65536);
	buf_init(&plain, 65536);
	assert_int_equal(report_malformed(&push, &verdict, &body), 0);
	assert_true(bytes_find_bytes(buf_view(&body),
				     bytes_str("unpack push_malformed: a ref "
					       "is named twice\n0000"),
				     0) > 0);
	push = (struct push){0};
	assert_int_equal(report_malformed(&push, &verdict, &plain), 0);
	assert_string_equal(buf_str(&plain),
			    "0046ERR sallyport: push refused: push_malformed: "
			    "a ref is named twice\n");
}

static void report_advises_a_name_where_the_policy_has_a_pattern(void **state)
{
	static const struct {
		struct bytes pattern;
		const char *line;
	} rows[] = {
		{BYTES_LITERAL("agent/*"),
		 "try: git push origin HEAD:agent/NAME\n"},
		{BYTES_LITERAL("**/x-*"),
		 "try: git push origin HEAD:NAME/x-NAME\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(buf_release) struct buf text;
		struct refused refused;
		struct report_advice advice;

		buf_init(&text, 65536);
		refused_init(&refused, MAIN);
		refused.push.update_count = 1;
		refused.repo.branches.items = &rows[i].pattern;
		refused.repo.branches.count = 1;
		push_disproven(&refused.push, 0,
			       CONSTRAINT_push_ref_not_allowed, bytes_str(NULL),
			       &refused.ruling);
		advice = (struct report_advice){
			.push = &refused.push,
			.ruling = &refused.ruling,
			.repo = &refused.repo,
		};
		assert_int_equal(report_advise(&advice, &text), 0);
		assert_non_null(strstr(buf_str(&text), rows[i].line));
	}
}

static void report_advises_what_to_type(void **state)
{
	static const struct {
		const char *ref;
		enum constraint constraint;
		const char *line;
	} rows[] = {
		{MAIN, CONSTRAINT_push_ref_not_allowed,
		 "try: git push origin HEAD:agent/42\n"},
		{MINE, CONSTRAINT_push_stale,
		 "try: git pull --rebase origin agent/42\n"},
		{MINE, CONSTRAINT_push_not_fast_forward,
		 "try: git pull --rebase origin agent/42\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(buf_release) struct buf text;
		struct refused refused;
		struct report_advice advice;

		buf_init(&text, 65536);
		refused_init(&refused, rows[i].ref);
		refused.push.update_count = 1;
		push_disproven(&refused.push, 0, rows[i].constraint,
			       bytes_str(NULL), &refused.ruling);
		advice = (struct report_advice){
			.push = &refused.push,
			.ruling = &refused.ruling,
			.repo = &refused.repo,
			.session = bytes_str("s-1"),
			.request_id = bytes_str("r-1"),
		};
		assert_int_equal(report_advise(&advice, &text), 0);
		assert_non_null(strstr(buf_str(&text), rows[i].line));
		assert_non_null(strstr(buf_str(&text),
				       constraint_name(rows[i].constraint)));
		assert_non_null(strstr(buf_str(&text),
				       "this session may push: agent/42 "
				       "(create, fast-forward)\n"));
		assert_non_null(strstr(buf_str(&text), "session s-1, "
						       "request r-1\n"));
	}
}

static void report_advice_stays_in_its_bound(void **state)
{
	static char longest[8192];
	auto_type(buf_release) struct buf text;
	struct report_advice advice;
	struct refused refused;

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	buf_init(&text, 65536);
	refused_init(&refused, MAIN);
	advice = (struct report_advice){.push = &refused.push,
					.ruling = &refused.ruling,
					.repo = &refused.repo,
					.session = bytes_str(longest)};
	assert_int_equal(report_advise(&advice, &text), 0);
	assert_true(buf_len(&text) > 0);
	assert_true(buf_len(&text) <= REPORT_ADVICE_MAX);
}

static void report_refuses_a_repository(void **state)
{
	auto_type(buf_release) struct buf body, text;
	const struct policy_repo repo = fixture_repo(0);
	const struct verdict verdict = {
		.kind = VERDICT_DENY,
		.constraint = CONSTRAINT_fetch_not_allowed,
	};

	(void)state;
	buf_init(&body, 65536);
	buf_init(&text, 65536);
	assert_int_equal(report_explain(&verdict, &repo, &text), 0);
	assert_string_equal(buf_str(&text),
			    "sallyport: fetch_not_allowed: the session may "
			    "not read this repository\nthis session's "
			    "repository: https://git.example/acme/widgets\n");
	assert_int_equal(report_refuse_repository(GIT_ADVERTISE_READ,
						  bytes_str("no\n"), &body),
			 0);
	assert_string_equal(buf_str(&body),
			    "001e# service=git-upload-pack\n0000000aERR no");
	assert_int_equal(
		report_refuse_repository(GIT_NONE, bytes_str("no"), &body), -1);
}

/* ---- upstream's report ---- */

static void read_report(struct report_reader *reader, const struct push *push,
			struct arena *arena, struct bytes body, size_t step)
{
	assert_int_equal(report_reader_init(reader, push, arena), 0);
	for (size_t at = 0; at < body.len; at += step)
		report_reader_feed(reader, bytes_slice(body, at, at + step));
}

static void report_reader_reads_what_we_write(void **state)
{
	struct refused refused;

	(void)state;
	refused_init(&refused, MAIN);
	for (int plain = 0; plain < 2; plain++) {
		auto_type(buf_release) struct buf body;
		struct report_reader reader;
		struct arena arena;

		refused.push.has_side_band = !plain;
		buf_init(&body, 65536);
		arena_init(&arena, 65536);
		assert_int_equal(
			report_refuse(&refused.push, bytes_str("no\n"), &body),
			0);
		for (size_t step = 1; step < 300; step += 50) {
			read_report(&reader, &refused.push, &arena,
				    buf_view(&body), step);
			assert_false(reader.is_broken);
			assert_true(reader.is_whole);
			assert_int_equal(reader.unpack, REPORT_OK);
			assert_int_equal(reader.ng_count, 2);
			assert_int_equal(reader.outcomes[0], REPORT_NG);
			assert_true(bytes_starts_with(
				reader.first_reason,
				bytes_str("push_ref_not_allowed")));
			report_reader_release(&reader);
		}
		arena_release(&arena);
	}
}

static void report_reader_stops_at_what_is_no_report(void **state)
{
	static const char twice[] = "000eunpack ok\n0017ok refs/heads/main\n"
				    "0017ok refs/heads/main\n0000";
	static const char *const bodies[] = {
		twice,
		"000eunpack ok\n0014ok refs/heads/x\n0000",
		"000eunpack ok\n0017ok refs/heads/main\n00000000",
		"000eunpack ok\n0009hello0000",
		"000eunpack ok\n00010000",
		"<html>",
		"000eunpack ok\n0017ok refs/heads/main\n0000",
	};
	struct refused refused;

	(void)state;
	refused_init(&refused, MAIN);
	refused.push.has_side_band = false;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct report_reader reader;
		struct arena arena;

		arena_init(&arena, 65536);
		read_report(&reader, &refused.push, &arena,
			    bytes_str(bodies[i]), 4);
		/* The last one is sound. */
		if (reader.is_broken != (i + 1 < ARRAY_SIZE(bodies)))
			fail_msg("body %zu: %s", i,
				 reader.is_broken ? "not read" : "believed");
		report_reader_release(&reader);
		arena_release(&arena);
	}
}

static void report_reader_reads_real_gits_report(void **state)
{
	static const char *const receive[] = {"git", "receive-pack",
					      "--stateless-rpc", ".", NULL};
	static const char *const pack[] = {"git",      "pack-objects", "--all",
					   "--stdout", "-q",	       NULL};
	char *upstream = run_repository(), *work = run_repository();
	auto_type(buf_release) struct buf body, out;
	struct report_reader reader;
	char tip[RUN_OID_LEN + 1];
	struct refused refused;
	struct leg_push leg;
	struct arena arena;

	(void)state;
	run_commit(work, "one");
	run_oid(work, "HEAD", tip);
	/* MAIN is claimed to be at OID_A, where it is not. */
	refused_init(&refused, MAIN);
	refused.updates[1].old_oid = bytes_str(OID_ZERO);
	refused.updates[0].new_oid = refused.updates[1].new_oid =
		bytes_str(tip);
	refused.updates[1].verb = PUSH_CREATE;
	arena_init(&arena, 65536);
	buf_init(&body, RUN_OUTPUT_MAX);
	buf_init(&out, RUN_OUTPUT_MAX);
	assert_int_equal(commands_to_leg(&refused.push, &arena, &leg), 0);
	assert_int_equal(commands_write(&leg, &body, NULL), 0);
	assert_int_equal(run_git(work, pack, bytes_str(NULL), &body), 0);
	(void)run_git(upstream, receive, buf_view(&body), &out);
	read_report(&reader, &refused.push, &arena, buf_view(&out), 5);
	assert_true(reader.is_whole);
	assert_false(reader.is_broken);
	assert_int_equal(reader.outcomes[0], REPORT_NG);
	assert_int_equal(reader.outcomes[1], REPORT_OK);
	assert_true(reader.first_reason.len > 0);
	report_reader_release(&reader);
	arena_release(&arena);
	run_remove(upstream);
	run_remove(work);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(report_refuses_in_gits_words),
		cmocka_unit_test(report_answers_each_client_in_kind),
		cmocka_unit_test(
			report_says_fetch_first_and_atomic_as_git_does),
		cmocka_unit_test(report_keeps_a_reason_on_its_line),
		cmocka_unit_test(report_says_what_is_malformed),
		cmocka_unit_test(report_advises_what_to_type),
		cmocka_unit_test(
			report_advises_a_name_where_the_policy_has_a_pattern),
		cmocka_unit_test(report_advice_stays_in_its_bound),
		cmocka_unit_test(report_refuses_a_repository),
		cmocka_unit_test(report_reader_reads_what_we_write),
		cmocka_unit_test(report_reader_stops_at_what_is_no_report),
		cmocka_unit_test(report_reader_reads_real_gits_report),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
