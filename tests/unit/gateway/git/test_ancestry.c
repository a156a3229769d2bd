#include "tests/unit/gateway/git/run_git.h"

#include "common/cleanup.h"
#include "common/pktline.h"
#include "gateway/git/ancestry.h"
#include "gateway/git/endpoint.h"
#include "gateway/git/fetch.h"
#include "tests/unit/gateway/git/repo_fixture.h"

static bool may_be_shallow; /* what it was asked so */

static int read_answer(struct bytes body, size_t step, struct buf *pack,
		       struct err *err)
{
	struct ancestry_reader reader;
	int status = 0;

	ancestry_reader_init(&reader);
	reader.may_be_shallow = may_be_shallow;
	for (size_t at = 0; at < body.len && status == 0; at += step)
		status = ancestry_reader_feed(
			&reader, bytes_slice(body, at, at + step), pack, err);
	if (status == 0)
		status = ancestry_reader_end(&reader, err);
	ancestry_reader_release(&reader);
	return status;
}

static void ancestry_asks_for_wants_and_only_sound_ones(void **state)
{
	static const struct {
		const char *want, *have;
		size_t wants_count;
		int status;
	} rows[] = {
		{OID_A, OID_B, 1, 0},  {OID_A, "", 1, 0},
		{OID_A, "x", 1, -1},   {"x", OID_B, 1, -1},
		{OID_A, OID_B, 0, -1}, {OID_A_256, "", 1, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct msg_pack_oid want = {bytes_str(rows[i].want)};
		const struct ancestry_ask ask = {
			.wants = &want,
			.wants_count = rows[i].wants_count,
			.have = bytes_str(rows[i].have),
			.oid_hex_len = 40,
			.has_filter = true,
		};
		auto_type(buf_release) struct buf out;

		buf_init(&out, ANCESTRY_REQUEST_MAX);
		assert_int_equal(ancestry_write(&ask, &out), rows[i].status);
		if (rows[i].status == 0)
			assert_non_null(
				strstr(buf_str(&out), "want " OID_A "\n"));
	}
}

static void ancestry_has_the_tips_where_these_must_lead_to_it(void **state)
{
	const struct msg_pack_oid want = {bytes_str(OID_A)};
	const struct bytes tips[] = {BYTES_LITERAL(OID_B),
				     BYTES_LITERAL(OID_C)};
	const struct ancestry_ask ask = {.wants = &want,
					 .wants_count = 1,
					 .tips = tips,
					 .tips_count = ARRAY_SIZE(tips),
					 .oid_hex_len = 40,
					 .kind = WANTS_KNOWN,
					 .has_filter = true};
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, ANCESTRY_REQUEST_MAX);
	assert_int_equal(ancestry_write(&ask, &out), 0);
	assert_non_null(strstr(buf_str(&out), "filter tree:0"));
	assert_non_null(strstr(buf_str(&out), "want " OID_A "\n"));
	assert_non_null(strstr(buf_str(&out), "have " OID_B "\n"));
	assert_non_null(strstr(buf_str(&out), "have " OID_C "\n"));
}

static void ancestry_passes_our_own_check_of_fetches(void **state)
{
	const struct msg_pack_oid want = {bytes_str(OID_A)};
	const struct ancestry_ask ask = {.wants = &want,
					 .wants_count = 1,
					 .have = bytes_str(OID_B),
					 .oid_hex_len = 40,
					 .has_filter = true};
	auto_type(buf_release) struct buf body, out;
	struct fetch_request fetch;

	(void)state;
	buf_init(&body, ANCESTRY_REQUEST_MAX);
	buf_init(&out, ANCESTRY_REQUEST_MAX);
	assert_int_equal(ancestry_write(&ask, &body), 0);
	fetch_request_init(&fetch, 2);
	assert_int_equal(fetch_request_feed(&fetch, buf_view(&body), &out), 0);
	assert_int_equal(fetch_request_end(&fetch), 0);
	assert_true(bytes_equal(buf_view(&body), buf_view(&out)));
	fetch_request_release(&fetch);
}

static void ancestry_reads_a_pack_from_any_split(void **state)
{
	static const struct {
		const char *body, *pack;
		enum err_code code; /* none: read */
	} rows[] = {
		{"000dpackfile\n0009\x01PACK0008\x02...0006\x01!0000", "PACK!",
		 ERR_NONE},
		{"000cpackfile0009\x01PACK0000", "PACK", ERR_NONE},
		{"000dpackfile\n0009\x01PACK", NULL, ERR_CLOSED},
		{"000dpackfile\n000b\x03no way0000", NULL, ERR_DENIED},
		{"0011ERR not found", NULL, ERR_DENIED},
		{"0013acknowledgments", NULL, ERR_INVALID},
		{"000dpackfile\n00040000", NULL, ERR_INVALID},
		{"000dpackfile\n0006\x04x0000", NULL, ERR_INVALID},
		{"000dpackfile\n00000000", NULL, ERR_INVALID},
		{"0000", NULL, ERR_INVALID},
		{"<html>", NULL, ERR_INVALID},
		{"", NULL, ERR_CLOSED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bytes body = bytes_str(rows[i].body);

		for (size_t step = 1; step < 50; step += 7) {
			auto_type(buf_release) struct buf pack;
			struct err err = {0};
			int status;

			buf_init(&pack, 4096);
			status = read_answer(body, step, &pack, &err);
			if (status != (rows[i].pack ? 0 : -1) ||
			    (status < 0 && err.code != rows[i].code))
				fail_msg("row %zu: %s", i, err.text);
			if (status == 0)
				assert_string_equal(buf_str(&pack),
						    rows[i].pack);
		}
	}
}

/* Ask real upload-pack; index what comes with real git. */
static void ancestry_of_real_git_is_a_pack_of_commits(void **state)
{
	static const char *const serve[] = {"git", "upload-pack",
					    "--stateless-rpc", ".", NULL};
	static const char *const unpack[] = {"git", "unpack-objects", "-q",
					     NULL};
	char tip[RUN_OID_LEN + 1], old[RUN_OID_LEN + 1];
	char *upstream = run_repository(), *other = run_repository();
	const struct msg_pack_oid want = {bytes_from(tip, RUN_OID_LEN)};
	const struct ancestry_ask ask = {
		.wants = &want,
		.wants_count = 1,
		.have = bytes_from(old, RUN_OID_LEN),
		.oid_hex_len = 40,
		.has_filter = true,
	};
	auto_type(buf_release) struct buf body, answer, pack;
	struct err err;

	(void)state;
	RUN_GIT(upstream, "config", "uploadpack.allowFilter", "true");
	run_commit(upstream, "one");
	run_oid(upstream, "HEAD", old);
	run_commit(upstream, "two");
	run_commit(upstream, "three");
	run_oid(upstream, "HEAD", tip);
	buf_init(&body, ANCESTRY_REQUEST_MAX);
	buf_init(&answer, RUN_OUTPUT_MAX);
	buf_init(&pack, RUN_OUTPUT_MAX);
	assert_int_equal(ancestry_write(&ask, &body), 0);
	assert_int_equal(setenv("GIT_PROTOCOL", "version=2", 1), 0);
	assert_int_equal(run_git(upstream, serve, buf_view(&body), &answer), 0);
	assert_int_equal(unsetenv("GIT_PROTOCOL"), 0);
	assert_int_equal(read_answer(buf_view(&answer), 100, &pack, &err), 0);
	/* Two commits, nothing else: "PACK", version 2, count 2. */
	assert_memory_equal(buf_view(&pack).data, "PACK\0\0\0\2\0\0\0\2", 12);
	assert_int_equal(run_git(other, unpack, buf_view(&pack), NULL), 0);
	run_oid(other, tip, tip);
	run_remove(upstream);
	run_remove(other);
}

static void
ancestry_takes_shallow_commits_where_they_were_asked_for(void **state)
{
	static const struct {
		const char *body;
		bool asked, taken;
	} rows[] = {
		{"0010shallow-info0010shallow 12340001"
		 "000cpackfile0009\x01PACK0000",
		 true, true},
		{"0011shallow-info\n0001000cpackfile0009\x01PACK0000", true,
		 true},
		{"0010shallow-info0001000cpackfile0009\x01PACK0000", true,
		 true},
		{"0010shallow-info0001000cpackfile0009\x01PACK0000", false,
		 false},
		{"0010shallow-info00010010shallow-info0001000cpackfile"
		 "0009\x01PACK0000",
		 true, false},
		{"0010shallow-info0000", true, false},
		{"0001000cpackfile0009\x01PACK0000", true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(buf_release) struct buf pack;
		struct err err;

		buf_init(&pack, 4096);
		may_be_shallow = rows[i].asked;
		if (read_answer(bytes_str(rows[i].body), 1, &pack, &err) !=
		    (rows[i].taken ? 0 : -1))
			fail_msg("row %zu", i);
		may_be_shallow = false;
	}
}

/* Of real upload-pack: a commit with its trees, and trees alone. */
static void ancestry_of_real_git_is_what_its_kind_says(void **state)
{
	static const struct {
		enum pack_wants kind;
		const char *want;
		uint8_t objects;
	} rows[] = {
		{WANTS_COMMITS, "HEAD", 3},	 {WANTS_STATES, "HEAD", 2},
		{WANTS_TREES, "HEAD^{tree}", 1}, {WANTS_BASES, "HEAD:f", 1},
		{WANTS_BASES, "HEAD^{tree}", 2},
	};
	static const char *const serve[] = {"git", "upload-pack",
					    "--stateless-rpc", ".", NULL};
	char *upstream = run_repository();

	(void)state;
	RUN_GIT(upstream, "config", "uploadpack.allowFilter", "true");
	for (int i = 0; i < 3; i++)
		run_commit(upstream, i == 0 ? "0" : i == 1 ? "1" : "2");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char oid[RUN_OID_LEN + 1];
		const struct msg_pack_oid want = {bytes_from(oid, RUN_OID_LEN)};
		const struct ancestry_ask ask = {.wants = &want,
						 .wants_count = 1,
						 .oid_hex_len = 40,
						 .kind = rows[i].kind,
						 .has_filter = true};
		auto_type(buf_release) struct buf body, answer, pack;
		struct err err = {0};

		run_oid(upstream, rows[i].want, oid);
		buf_init(&body, ANCESTRY_REQUEST_MAX);
		buf_init(&answer, RUN_OUTPUT_MAX);
		buf_init(&pack, RUN_OUTPUT_MAX);
		assert_int_equal(ancestry_write(&ask, &body), 0);
		assert_int_equal(setenv("GIT_PROTOCOL", "version=2", 1), 0);
		assert_int_equal(
			run_git(upstream, serve, buf_view(&body), &answer), 0);
		assert_int_equal(unsetenv("GIT_PROTOCOL"), 0);
		may_be_shallow = rows[i].kind == WANTS_STATES;
		if (read_answer(buf_view(&answer), 100, &pack, &err) < 0)
			fail_msg("row %zu: %s", i, err.text);
		may_be_shallow = false;
		if (!pack.data || buf_len(&pack) < 12)
			fail_msg("row %zu: no pack", i);
		else
			assert_int_equal(buf_view(&pack).data[11],
					 rows[i].objects);
	}
	run_remove(upstream);
}

static void endpoints_have_their_exact_types(void **state)
{
	(void)state;
	assert_string_equal(git_service_name(GIT_RECEIVE_PACK),
			    "git-receive-pack");
	assert_string_equal(git_answer_type(GIT_ADVERTISE_WRITE),
			    "application/x-git-receive-pack-advertisement");
	assert_string_equal(git_answer_type(GIT_UPLOAD_PACK),
			    "application/x-git-upload-pack-result");
	assert_string_equal(git_request_type(GIT_RECEIVE_PACK),
			    "application/x-git-receive-pack-request");
	assert_null(git_request_type(GIT_ADVERTISE_READ));
	assert_null(git_answer_type(GIT_DUMB));
	assert_int_equal(git_protocol_version(bytes_str("version=2")), 2);
	assert_int_equal(git_protocol_version(bytes_str("version=0")), 0);
	assert_int_equal(git_protocol_version(bytes_str("version=3")), -1);
	assert_int_equal(git_protocol_version(bytes_str("version=2:x")), -1);
	assert_int_equal(git_protocol_version(bytes_str("")), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ancestry_asks_for_wants_and_only_sound_ones),
		cmocka_unit_test(
			ancestry_has_the_tips_where_these_must_lead_to_it),
		cmocka_unit_test(ancestry_passes_our_own_check_of_fetches),
		cmocka_unit_test(ancestry_reads_a_pack_from_any_split),
		cmocka_unit_test(ancestry_of_real_git_is_a_pack_of_commits),
		cmocka_unit_test(
			ancestry_takes_shallow_commits_where_they_were_asked_for),
		cmocka_unit_test(ancestry_of_real_git_is_what_its_kind_says),
		cmocka_unit_test(endpoints_have_their_exact_types),
	};

	return cmocka_run_group_tests_name("ancestry", tests, NULL, NULL);
}
