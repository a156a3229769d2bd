#include "tests/unit/gateway/git/run_git.h"

#include "common/cleanup.h"
#include "common/pktline.h"
#include "gateway/git/fetch.h"
#include "tests/unit/gateway/git/repo_fixture.h"

#define LINES_MAX 10

/* "=..." stands for its bytes as they are; '|' is NUL elsewhere. */
static void build(const char *const *lines, struct buf *out)
{
	for (size_t i = 0; i < LINES_MAX && lines[i]; i++) {
		struct bytes line = bytes_str(lines[i]);
		uint8_t copy[1024];

		if (lines[i][0] == '=') {
			assert_int_equal(buf_add_str(out, lines[i] + 1), 0);
			continue;
		}
		assert_true(line.len < sizeof(copy));
		for (size_t j = 0; j < line.len; j++)
			copy[j] = line.data[j] == '|' ? 0 : line.data[j];
		assert_int_equal(pktline_add(out, bytes_from(copy, line.len)),
				 0);
	}
}

struct row {
	int version;
	const char *in[LINES_MAX];
	const char *out[LINES_MAX]; /* empty: as it came in */
	enum constraint constraint;
};

#define V2_FETCH                                                               \
	"command=fetch", "agent=git/2.39.5", "object-format=sha1", "=0001"

static const struct row rows[] = {
	{2,
	 {V2_FETCH, "thin-pack", "ofs-delta", "want " OID_A "\n",
	  "have " OID_B "\n", "done\n", "=0000"},
	 {0},
	 CONSTRAINT_none},
	{2,
	 {"command=ls-refs\n", "agent=x", "=0001", "peel\n", "symrefs\n",
	  "unborn", "ref-prefix refs/heads/\n", "=0000"},
	 {0},
	 CONSTRAINT_none},
	{2, {"command=ls-refs\n", "=0000"}, {0}, CONSTRAINT_none},
	{2, {"=0000"}, {0}, CONSTRAINT_none},
	{2,
	 {V2_FETCH, "deepen 1", "shallow " OID_B, "filter blob:none",
	  "deepen-since 1700000000", "=0000"},
	 {0},
	 CONSTRAINT_none},
	{2,
	 {"command=fetch", "session-id=secret", "=0001", "want " OID_A,
	  "=0000"},
	 {"command=fetch", "=0001", "want " OID_A, "=0000"},
	 CONSTRAINT_none},
	{2,
	 {"command=object-info", "=0001", "size", "=0000"},
	 {0},
	 CONSTRAINT_git_not_allowed},
	{2, {"command=bundle-uri", "=0000"}, {0}, CONSTRAINT_git_not_allowed},
	{2, {"command=push", "=0000"}, {0}, CONSTRAINT_git_not_allowed},
	{2, {"command=fetch ", "=0000"}, {0}, CONSTRAINT_git_not_allowed},
	{2,
	 {V2_FETCH, "packfile-uris https", "want " OID_A, "=0000"},
	 {0},
	 CONSTRAINT_git_not_allowed},
	{2,
	 {"command=fetch", "server-option=x", "=0001", "=0000"},
	 {0},
	 CONSTRAINT_git_not_allowed},
	{2,
	 {V2_FETCH, "want 1234", "=0000"},
	 {0},
	 CONSTRAINT_request_malformed},
	{2,
	 {V2_FETCH, "want " OID_A " x", "=0000"},
	 {0},
	 CONSTRAINT_request_malformed},
	{2,
	 {V2_FETCH, "deepen -1", "=0000"},
	 {0},
	 CONSTRAINT_request_malformed},
	{2,
	 {V2_FETCH, "upload-everything", "=0000"},
	 {0},
	 CONSTRAINT_request_malformed},
	{2, {V2_FETCH, "peel", "=0000"}, {0}, CONSTRAINT_request_malformed},
	{2,
	 {V2_FETCH, "want " OID_A, "=0001", "=0000"},
	 {0},
	 CONSTRAINT_request_malformed},
	{2, {V2_FETCH, "want " OID_A}, {0}, CONSTRAINT_request_malformed},
	{2, {V2_FETCH, "=0000", "=0000"}, {0}, CONSTRAINT_request_malformed},
	{2, {V2_FETCH, "=00FF"}, {0}, CONSTRAINT_request_malformed},
	{2, {V2_FETCH, "=0002"}, {0}, CONSTRAINT_request_malformed},
	{2, {NULL}, {0}, CONSTRAINT_request_malformed},
	{2, {"want " OID_A, "=0000"}, {0}, CONSTRAINT_git_not_allowed},
	{0,
	 {"want " OID_A
	  " multi_ack_detailed side-band-64k thin-pack agent=git/2.0\n",
	  "want " OID_B "\n", "=0000", "have " OID_C "\n", "=0000", "0009done",
	  "=0000"},
	 {0},
	 CONSTRAINT_request_malformed},
	{0,
	 {"want " OID_A
	  " multi_ack_detailed side-band-64k thin-pack agent=git/2.0\n",
	  "want " OID_B "\n", "=0000", "have " OID_C "\n", "=0000", "done\n"},
	 {0},
	 CONSTRAINT_none},
	{0,
	 {"want " OID_A "\n", "=0000", "have " OID_C "\n", "=0000"},
	 {0},
	 CONSTRAINT_none},
	{1,
	 {"want " OID_A " session-id=secret ofs-delta\n", "deepen 1", "=0000",
	  "done"},
	 {"want " OID_A " ofs-delta\n", "deepen 1", "=0000", "done"},
	 CONSTRAINT_none},
	{0, {"=0000"}, {0}, CONSTRAINT_none},
	{0,
	 {"command=fetch", "=0001", "want " OID_A, "=0000"},
	 {0},
	 CONSTRAINT_request_malformed},
	{0,
	 {"want " OID_A " packfile-uris\n", "=0000", "done"},
	 {0},
	 CONSTRAINT_git_not_allowed},
	{0,
	 {"want " OID_A "\n", "want " OID_B " ofs-delta\n", "=0000", "done"},
	 {0},
	 CONSTRAINT_request_malformed},
	{0,
	 {"want " OID_A "\n", "=0001", "done"},
	 {0},
	 CONSTRAINT_request_malformed},
	{0,
	 {"want " OID_A "\n", "=0000", "done\n", "done\n"},
	 {0},
	 CONSTRAINT_request_malformed},
	{0,
	 {"have " OID_A "\n", "=0000", "done\n"},
	 {0},
	 CONSTRAINT_request_malformed},
};

static void fetch_passes_what_is_known_and_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *const *out =
			rows[i].out[0] ? rows[i].out : rows[i].in;

		for (size_t step = 1; step < 500; step += 83) {
			auto_type(buf_release) struct buf in, seen, expected;
			struct fetch_request fetch;
			int status = 0;

			buf_init(&in, 65536);
			buf_init(&seen, 65536);
			buf_init(&expected, 65536);
			build(rows[i].in, &in);
			build(out, &expected);
			fetch_request_init(&fetch, rows[i].version);
			for (size_t at = 0; at < buf_len(&in) && status == 0;
			     at += step)
				status = fetch_request_feed(
					&fetch,
					bytes_slice(buf_view(&in), at,
						    at + step),
					&seen);
			if (status == 0)
				status = fetch_request_end(&fetch);
			if (fetch.verdict.constraint != rows[i].constraint)
				fail_msg("row %zu: %s", i,
					 constraint_name(
						 fetch.verdict.constraint));
			assert_int_equal(status, rows[i].constraint ? -1 : 0);
			if (status == 0)
				assert_true(bytes_equal(buf_view(&seen),
							buf_view(&expected)));
			fetch_request_release(&fetch);
		}
	}
}

struct offer {
	const char *in[LINES_MAX];
	const char *out[LINES_MAX]; /* empty: as it came in */
	bool has_filter, is_v2;
	size_t oid_hex_len; /* 0: refused */
};

static const struct offer offers[] = {
	{{"version 2\n", "agent=git/2.39.5\n", "ls-refs=unborn\n",
	  "fetch=shallow wait-for-done filter packfile-uris\n",
	  "server-option\n", "object-format=sha1\n", "object-info\n",
	  "bundle-uri\n", "=0000"},
	 {"version 2\n", "agent=git/2.39.5\n", "ls-refs=unborn\n",
	  "fetch=shallow wait-for-done filter\n", "object-format=sha1\n",
	  "=0000"},
	 true,
	 true,
	 40},
	{{"# service=git-upload-pack\n", "=0000", "version 2\n", "ls-refs",
	  "fetch", "object-format=sha256", "=0000"},
	 {"# service=git-upload-pack\n", "=0000", "version 2\n", "ls-refs",
	  "fetch\n", "object-format=sha256", "=0000"},
	 false,
	 true,
	 64},
	{{"# service=git-upload-pack\n", "=0000",
	  OID_A " HEAD|multi_ack filter agent=x\n", OID_A " refs/heads/main\n",
	  "=0000"},
	 {0},
	 true,
	 false,
	 40},
	{{"# service=git-upload-pack\n", "=0000", "version 1\n",
	  OID_A " HEAD|multi_ack\n", "shallow " OID_A, "=0000"},
	 {0},
	 false,
	 false,
	 40},
	{{"# service=git-upload-pack\n", "=0000",
	  OID_ZERO " capabilities^{}|multi_ack\n", "=0000"},
	 {0},
	 false,
	 false,
	 40},
	{{"# service=git-upload-pack\n", "=0000", "ERR no\n"},
	 {0},
	 false,
	 false,
	 40},
	{{"# service=git-receive-pack\n", "=0000", OID_A " HEAD|x", "=0000"},
	 {0},
	 false,
	 false,
	 0},
	{{"version 2\n", "object-format=md5\n", "=0000"}, {0}, false, false, 0},
	{{"version 2\n", "fetch\n"}, {0}, false, false, 0},
	{{"version 2\n", "fetch\n", "=0000", "=0000"}, {0}, false, false, 0},
	{{"# service=git-upload-pack\n", "=0000", OID_A " HEAD|x",
	  OID_A " refs/heads/main|y", "=0000"},
	 {0},
	 false,
	 false,
	 0},
	{{"# service=git-upload-pack\n", "=0000", "junk", "=0000"},
	 {0},
	 false,
	 false,
	 0},
	{{"=0000"}, {0}, false, false, 0},
	{{NULL}, {0}, false, false, 0},
};

static void fetch_offers_nothing_that_leads_elsewhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(offers); i++) {
		const char *const *out =
			offers[i].out[0] ? offers[i].out : offers[i].in;

		for (size_t step = 1; step < 300; step += 47) {
			auto_type(buf_release) struct buf in, seen, expected;
			struct fetch_advertise adv;
			struct err err;
			int status = 0;

			buf_init(&in, 65536);
			buf_init(&seen, 65536);
			buf_init(&expected, 65536);
			build(offers[i].in, &in);
			build(out, &expected);
			fetch_advertise_init(&adv);
			for (size_t at = 0; at < buf_len(&in) && status == 0;
			     at += step)
				status = fetch_advertise_feed(
					&adv,
					bytes_slice(buf_view(&in), at,
						    at + step),
					&seen, &err);
			if (status == 0)
				status = fetch_advertise_end(&adv, &err);
			if (status != (offers[i].oid_hex_len ? 0 : -1))
				fail_msg("offer %zu", i);
			if (status == 0) {
				assert_true(bytes_equal(buf_view(&seen),
							buf_view(&expected)));
				assert_int_equal(adv.has_filter,
						 offers[i].has_filter);
				assert_int_equal(adv.is_v2, offers[i].is_v2);
				assert_int_equal(adv.oid_hex_len,
						 offers[i].oid_hex_len);
			}
			fetch_advertise_release(&adv);
		}
	}
}

/* Real git's v2 offer, cut to what is kept, still has what clients need. */
static void fetch_understands_what_real_git_offers(void **state)
{
	static const char *const say[] = {
		"git", "upload-pack", "--http-backend-info-refs", ".", NULL};
	auto_type(buf_release) struct buf body, out;
	char *dir = run_repository();
	struct fetch_advertise adv;

	(void)state;
	run_commit(dir, "one");
	RUN_GIT(dir, "config", "uploadpack.allowFilter", "true");
	/* Not offered by itself from git 2.46 on. */
	RUN_GIT(dir, "config", "transfer.advertiseObjectInfo", "true");
	assert_int_equal(setenv("GIT_PROTOCOL", "version=2", 1), 0);
	buf_init(&body, RUN_OUTPUT_MAX);
	buf_init(&out, RUN_OUTPUT_MAX);
	assert_int_equal(run_git(dir, say, bytes_str(NULL), &body), 0);
	assert_int_equal(unsetenv("GIT_PROTOCOL"), 0);
	fetch_advertise_init(&adv);
	assert_int_equal(
		fetch_advertise_feed(&adv, buf_view(&body), &out, NULL), 0);
	assert_int_equal(fetch_advertise_end(&adv, NULL), 0);
	assert_true(adv.is_v2);
	assert_true(adv.has_filter);
	assert_true(bytes_find_bytes(buf_view(&body), bytes_str("object-info"),
				     0) > 0);
	assert_true(bytes_find_bytes(buf_view(&out), bytes_str("object-info"),
				     0) < 0);
	fetch_advertise_release(&adv);
	run_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fetch_passes_what_is_known_and_nothing_else),
		cmocka_unit_test(fetch_offers_nothing_that_leads_elsewhere),
		cmocka_unit_test(fetch_understands_what_real_git_offers),
	};

	return cmocka_run_group_tests_name("fetch", tests, NULL, NULL);
}
