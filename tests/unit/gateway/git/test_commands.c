#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/git/commands.h"
#include "gateway/git/packets.h"
#include "tests/unit/gateway/git/repo_fixture.h"

/*
 * A body is a list of strings: "=..." stands for its bytes as they are,
 * anything else for one pkt-line; '|' stands for NUL.
 */
#define LINES_MAX 6
#define REF	  "refs/heads/agent/42"
#define NEW	  OID_ZERO " " OID_A " "
#define MOVE	  OID_A " " OID_B " "
#define DROP	  OID_A " " OID_ZERO " "
#define CAPS                                                                   \
	"| report-status-v2 side-band-64k object-format=sha1 agent=git/2.39.5"
#define OK  NEW REF CAPS
#define END "=0000"

static void add_text(struct buf *out, const char *text)
{
	for (; *text; text++)
		assert_int_equal(
			buf_add_byte(out, *text == '|' ? 0 : (uint8_t)*text),
			0);
}

static void build(const char *const *lines, struct buf *out)
{
	for (size_t i = 0; i < LINES_MAX && lines[i]; i++) {
		struct buf payload;

		buf_init(&payload, PKTLINE_PAYLOAD_MAX);
		if (lines[i][0] == '=') {
			add_text(out, lines[i] + 1);
		} else {
			add_text(&payload, lines[i]);
			assert_int_equal(pktline_add(out, buf_view(&payload)),
					 0);
		}
		buf_release(&payload);
	}
}

struct parsed {
	struct arena arena;
	struct commands cmd;
	enum commands_result result;
	size_t taken; /* bytes of the body that were commands */
};

/* Parse body in pieces of step bytes, and its end. */
static void parse(struct parsed *parsed, struct bytes body, size_t step)
{
	size_t used;

	arena_init(&parsed->arena, COMMANDS_ARENA_MAX);
	commands_init(&parsed->cmd, &parsed->arena);
	parsed->result = COMMANDS_MORE;
	parsed->taken = 0;
	for (size_t at = 0; at < body.len && parsed->result == COMMANDS_MORE;
	     at += step) {
		parsed->result = commands_feed(
			&parsed->cmd, bytes_slice(body, at, at + step), &used);
		parsed->taken += used;
	}
	if (parsed->result == COMMANDS_MORE)
		parsed->result = commands_end(&parsed->cmd);
}

static void parsed_release(struct parsed *parsed)
{
	commands_release(&parsed->cmd);
	arena_release(&parsed->arena);
}

struct row {
	const char *reason;
	const char *bad[LINES_MAX];
	const char *good[LINES_MAX]; /* empty: the usual push */
};

#define WIDTH	     "not lower-case hex of one width"
#define NAME	     "ref name is not valid"
#define SPLIT	     "not <old> <new> <ref>"
#define PACKET	     "not a pkt-line"
#define EARLY	     "ends early"
#define UNKNOWN	     "not known"
#define OPTION	     "push option is not a line of text"
#define BAD_REF(ref) {NAME, {NEW ref CAPS, END}, {0}}

static const struct row rows[] = {
	/* refs (security E7, E8) */
	BAD_REF("HEAD"),
	BAD_REF("main"),
	BAD_REF("refs/heads/HEAD"),
	BAD_REF("refs/heads/../heads/main"),
	BAD_REF("refs/heads/a..b"),
	BAD_REF("refs/heads/a//b"),
	BAD_REF("refs/heads//agent/42"),
	BAD_REF("/refs/heads/agent/42"),
	BAD_REF("refs/heads/agent/42/"),
	BAD_REF("refs/heads/agent/42.lock"),
	BAD_REF("refs/heads/agent/42."),
	BAD_REF("refs/heads/.agent/42"),
	BAD_REF("refs/heads/agent/42 "),
	BAD_REF(" refs/heads/agent/42"),
	BAD_REF("refs/heads/agent 42"),
	BAD_REF("refs/heads/agent/42\t"),
	BAD_REF("refs/heads/agent/42\r"),
	BAD_REF("refs/heads/agent/42\x7f"),
	BAD_REF("refs/heads/agent/42\xe2\x80\x8b"),
	BAD_REF("refs/heads/\xef\xbd\x8d\x61in"),
	BAD_REF("refs/heads/agent/42~1"),
	BAD_REF("refs/heads/agent/42^0"),
	BAD_REF("refs/heads/agent:42"),
	BAD_REF("refs/heads/agent?42"),
	BAD_REF("refs/heads/agent*"),
	BAD_REF("refs/heads/agent[42"),
	BAD_REF("refs/heads/agent\\42"),
	BAD_REF("refs/heads/agent@{42}"),
	BAD_REF("refs/heads/refs/heads/main"),
	BAD_REF("refs/heads"),
	BAD_REF("refs/"),
	BAD_REF(""),
	/* object ids (E9) */
	{WIDTH, {OID_ZERO " 11 " REF CAPS, END}, {0}},
	{WIDTH, {OID_ZERO " " OID_A "1 " REF CAPS, END}, {0}},
	{WIDTH, {OID_ZERO_256 " " OID_A " " REF CAPS, END}, {0}},
	{WIDTH, {OID_ZERO " " OID_A_256 " " REF CAPS, END}, {0}},
	{WIDTH,
	 {OID_ZERO " 33333333333333333333333333333333333333AB " REF CAPS, END},
	 {OID_ZERO " " OID_C " " REF CAPS, END}},
	{WIDTH,
	 {OID_ZERO " 111111111111111111111111111111111111111g " REF CAPS, END},
	 {0}},
	{WIDTH,
	 {OK, MOVE "refs/heads/x", OID_ZERO_256 " " OID_A_256 " refs/heads/y",
	  END},
	 {OK, MOVE "refs/heads/x", NEW "refs/heads/y", END}},
	{"object-format", {OID_ZERO_256 " " OID_A_256 " " REF CAPS, END}, {0}},
	{"object-format",
	 {NEW REF "| object-format=sha256", END},
	 {NEW REF "| object-format=sha1", END}},
	{"object-format",
	 {OID_ZERO_256 " " OID_A_256 " " REF "| report-status", END},
	 {OID_ZERO_256 " " OID_A_256 " " REF
		       "| report-status object-format=sha256",
	  END}},
	{"object-format",
	 {OID_ZERO_256 " " OID_A_256 " " REF
		       "| object-format=sha256 object-format=sha1",
	  END},
	 {0}},
	{"the same", {OID_ZERO " " OID_ZERO " " REF CAPS, END}, {0}},
	{"the same", {OID_A " " OID_A " " REF CAPS, END}, {MOVE REF CAPS, END}},
	/* shape of a line */
	{SPLIT, {OID_ZERO, END}, {0}},
	{SPLIT, {OID_ZERO " " OID_A, END}, {0}},
	{WIDTH, {OID_ZERO "  " OID_A " " REF CAPS, END}, {0}},
	{WIDTH, {" " NEW REF CAPS, END}, {0}},
	{WIDTH, {OID_ZERO "\t" OID_A " " REF " x" CAPS, END}, {0}},
	{SPLIT, {"=0004", END}, {0}},
	{NAME, {NEW REF "\n\n", END}, {NEW REF "\n", END}},
	{UNKNOWN, {OK "\n\n", END}, {OK "\n", END}},
	{NAME, {NEW REF "\n" CAPS, END}, {0}},
	/* capabilities (E10) */
	{UNKNOWN, {NEW REF "| report-status evil", END}, {0}},
	{UNKNOWN, {NEW REF "|  report-status", END}, {0}},
	{UNKNOWN, {NEW REF "| report-status ", END}, {0}},
	{UNKNOWN,
	 {NEW REF "|report-status  quiet", END},
	 {NEW REF "|report-status quiet", END}},
	{UNKNOWN, {NEW REF "| REPORT-STATUS", END}, {0}},
	{UNKNOWN,
	 {NEW REF "| side-band", END},
	 {NEW REF "| side-band-64k", END}},
	{UNKNOWN, {NEW REF "| agent=", END}, {NEW REF "| agent=x", END}},
	{UNKNOWN,
	 {NEW REF "| agent=a\x01z", END},
	 {NEW REF "| agent=a-z", END}},
	{UNKNOWN, {NEW REF "| session-id=1", END}, {0}},
	{UNKNOWN, {NEW REF "| object-format=sha3", END}, {0}},
	{UNKNOWN,
	 {NEW REF "| report-status|quiet", END},
	 {NEW REF "| report-status quiet", END}},
	{UNKNOWN, {NEW REF "|| report-status", END}, {0}},
	{"stands there twice",
	 {NEW REF "| quiet quiet", END},
	 {NEW REF "| quiet", END}},
	{"stands there twice", {NEW REF "| agent=a agent=b", END}, {0}},
	{EARLY,
	 {NEW REF "| report-status push-options", END},
	 {NEW REF "| report-status push-options", END, END}},
	{EARLY,
	 {NEW REF "| push-options", END, "a=b"},
	 {NEW REF "| push-options", END, "a=b", END}},
	{OPTION,
	 {NEW REF "| push-options", END, "a\x01", END},
	 {NEW REF "| push-options", END, "a b\n", END}},
	{OPTION, {NEW REF "| push-options", END, "a|b", END}, {0}},
	{OPTION, {NEW REF "| push-options", END, "", END}, {0}},
	{OPTION, {NEW REF "| push-options", END, "\n", END}, {0}},
	{PACKET, {NEW REF "| push-options", END, "a=b", "=0001"}, {0}},
	{"after the first",
	 {OK, NEW "refs/heads/b" CAPS, END},
	 {OK, NEW "refs/heads/b", END}},
	{"after the first", {OK, NEW "refs/heads/b|", END}, {0}},
	/* order (E2, E3) */
	{"signed pushes", {"push-cert| report-status\n", END}, {0}},
	{"signed pushes", {OK, "push-cert|", END}, {0}},
	{"signed pushes", {OK, "push-cert-end\n", END}, {0}},
	{"shallow after",
	 {OK, "shallow " OID_A, END},
	 {"shallow " OID_A, OK, END}},
	{"without an object", {"shallow 1234", OK, END}, {0}},
	{"without an object", {"shallow " OID_A "|", OK, END}, {0}},
	{"two widths", {"shallow " OID_A_256, OK, END}, {0}},
	{"two widths", {"shallow " OID_A, "shallow " OID_A_256, OK, END}, {0}},
	{"no command", {"shallow " OID_A, END}, {0}},
	{SPLIT, {"shallow", OK, END}, {0}},
	{"named twice", {OK, MOVE REF, END}, {OK, MOVE REF "x", END}},
	{"named twice", {OK, MOVE "refs/heads/b", NEW REF, END}, {0}},
	/* framing (E5) */
	{PACKET, {OK, "=0001"}, {0}},
	{PACKET, {OK, "=0002"}, {0}},
	{PACKET, {OK, "=0003"}, {0}},
	{PACKET, {"=0001", OK, END}, {0}},
	{PACKET, {"=FFFF"}, {0}},
	{PACKET, {"=fff1"}, {0}},
	{PACKET, {"=006A"}, {0}},
	{PACKET, {"=+06a"}, {0}},
	{PACKET, {"=0x6a"}, {0}},
	{PACKET, {"= 06a"}, {0}},
	{PACKET, {"=PACK||||"}, {0}},
	{PACKET, {"=\x1f\x8b\x08|"}, {0}},
	{EARLY, {OK}, {OK, END}},
	{EARLY, {OK, "=00"}, {0}},
	{EARLY, {"=00"}, {0}},
	{EARLY, {NULL}, {0}},
	{"after the probe", {END, OK, END}, {0}},
	{"after the probe", {END, END}, {0}},
	{PACKET, {END, "=PACK"}, {0}},
};

static void commands_refuse_what_is_not_strict_and_say_why(void **state)
{
	static const size_t steps[] = {1, 7, 100000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(buf_release) struct buf body;

		buf_init(&body, PUSH_COMMANDS_BYTES_MAX);
		build(rows[i].bad, &body);
		for (size_t j = 0; j < ARRAY_SIZE(steps); j++) {
			struct parsed parsed;

			parse(&parsed, buf_view(&body), steps[j]);
			if (parsed.result != COMMANDS_REFUSED)
				fail_msg("row %zu (%s) was not refused", i,
					 rows[i].reason);
			if (bytes_find_bytes(parsed.cmd.verdict.reason,
					     bytes_str(rows[i].reason), 0) < 0)
				fail_msg("row %zu: '%.*s' and not '%s'", i,
					 BYTES_ARGS(parsed.cmd.verdict.reason),
					 rows[i].reason);
			assert_int_equal(parsed.cmd.verdict.constraint,
					 CONSTRAINT_push_malformed);
			assert_int_equal(parsed.cmd.verdict.kind, VERDICT_DENY);
			parsed_release(&parsed);
		}
	}
}

static void commands_accept_the_twin_of_every_refusal(void **state)
{
	static const char *const usual[LINES_MAX] = {OK, END};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *const *lines =
			rows[i].good[0] ? rows[i].good : usual;
		auto_type(buf_release) struct buf body;
		struct parsed parsed;

		buf_init(&body, PUSH_COMMANDS_BYTES_MAX);
		build(lines, &body);
		parse(&parsed, buf_view(&body), 1);
		if (parsed.result != COMMANDS_PUSH)
			fail_msg("twin %zu was refused: %.*s", i,
				 BYTES_ARGS(parsed.cmd.verdict.reason));
		assert_int_equal(parsed.taken, buf_len(&body));
		parsed_release(&parsed);
	}
}

static void commands_understand_every_client(void **state)
{
	static const struct {
		const char *lines[LINES_MAX];
		enum push_report report;
		bool has_side_band, is_atomic, is_quiet;
		const char *agent;
	} clients[] = {
		{{NEW REF "| report-status-v2 side-band-64k quiet atomic "
			  "object-format=sha1 agent=git/2.39.5",
		  END},
		 REPORT_STATUS_V2,
		 true,
		 true,
		 true,
		 "git/2.39.5"},
		{{NEW REF "| report-status side-band-64k\n", END},
		 REPORT_STATUS,
		 true,
		 false,
		 false,
		 ""},
		{{NEW REF "|agent=dulwich/0.21.2 delete-refs ofs-delta "
			  "report-status side-band-64k quiet",
		  END},
		 REPORT_STATUS,
		 true,
		 false,
		 true,
		 "dulwich/0.21.2"},
		{{NEW REF "| report-status report-status-v2", END},
		 REPORT_STATUS_V2,
		 false,
		 false,
		 false,
		 ""},
		{{NEW REF, END}, REPORT_NONE, false, false, false, ""},
		{{NEW REF "|", END}, REPORT_NONE, false, false, false, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		auto_type(buf_release) struct buf body;
		const struct push *push;
		struct parsed parsed;

		buf_init(&body, PUSH_COMMANDS_BYTES_MAX);
		build(clients[i].lines, &body);
		parse(&parsed, buf_view(&body), 3);
		push = &parsed.cmd.push;
		assert_int_equal(parsed.result, COMMANDS_PUSH);
		assert_int_equal(push->update_count, 1);
		assert_true(bytes_is(push->updates[0].ref, REF));
		assert_true(bytes_is(push->updates[0].old_oid, OID_ZERO));
		assert_true(bytes_is(push->updates[0].new_oid, OID_A));
		assert_int_equal(push->updates[0].verb, PUSH_CREATE);
		assert_int_equal(push->report, clients[i].report);
		assert_int_equal(push->has_side_band, clients[i].has_side_band);
		assert_int_equal(push->is_atomic, clients[i].is_atomic);
		assert_int_equal(push->is_quiet, clients[i].is_quiet);
		assert_true(bytes_is(push->agent, clients[i].agent));
		assert_true(push->has_pack);
		parsed_release(&parsed);
	}
}

static void commands_end_where_the_pack_begins(void **state)
{
	static const char *const lines[LINES_MAX] = {
		"shallow " OID_B, OK, MOVE "refs/heads/b", DROP "refs/heads/c",
		"=0000PACK||||"};
	auto_type(buf_release) struct buf body;
	struct parsed parsed;

	(void)state;
	buf_init(&body, PUSH_COMMANDS_BYTES_MAX);
	build(lines, &body);
	parse(&parsed, buf_view(&body), 50);
	assert_int_equal(parsed.result, COMMANDS_PUSH);
	assert_int_equal(parsed.taken, buf_len(&body) - 8);
	assert_int_equal(parsed.cmd.push.update_count, 3);
	assert_int_equal(parsed.cmd.push.updates[1].verb, PUSH_UPDATE);
	assert_int_equal(parsed.cmd.push.updates[2].verb, PUSH_DELETE);
	assert_int_equal(parsed.cmd.push.shallow_count, 1);
	assert_true(bytes_is(parsed.cmd.push.shallow[0], OID_B));
	parsed_release(&parsed);
}

static void commands_take_four_zeros_alone_as_a_probe(void **state)
{
	struct parsed parsed;

	(void)state;
	for (size_t step = 1; step < 5; step++) {
		parse(&parsed, bytes_str("0000"), step);
		assert_int_equal(parsed.result, COMMANDS_PROBE);
		assert_int_equal(parsed.cmd.push.update_count, 0);
		parsed_release(&parsed);
	}
}

static void add_many(struct buf *body, size_t count, const char *first)
{
	for (size_t i = 0; i < count; i++) {
		struct buf line;

		buf_init(&line, PKTLINE_PAYLOAD_MAX);
		assert_int_equal(
			buf_add_format(&line,
				       OID_ZERO " " OID_A " refs/tags/t%zu", i),
			0);
		if (i == 0)
			add_text(&line, first);
		assert_int_equal(pktline_add(body, buf_view(&line)), 0);
		buf_release(&line);
	}
	assert_int_equal(pktline_add_flush(body), 0);
}

static void commands_bound_the_number_of_refs(void **state)
{
	static const struct {
		size_t count;
		enum commands_result result;
	} sizes[] = {{2000, COMMANDS_PUSH},
		     {PUSH_UPDATES_MAX, COMMANDS_PUSH},
		     {PUSH_UPDATES_MAX + 1, COMMANDS_REFUSED}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		auto_type(buf_release) struct buf body;
		struct parsed parsed;

		buf_init(&body, 2 * PUSH_COMMANDS_BYTES_MAX);
		add_many(&body, sizes[i].count, CAPS);
		parse(&parsed, buf_view(&body), 65536);
		assert_int_equal(parsed.result, sizes[i].result);
		if (parsed.result == COMMANDS_REFUSED)
			assert_int_equal(parsed.cmd.verdict.constraint,
					 CONSTRAINT_push_too_large);
		else
			assert_int_equal(parsed.cmd.push.update_count,
					 sizes[i].count);
		parsed_release(&parsed);
	}
}

static void commands_bound_their_bytes(void **state)
{
	auto_type(buf_release) struct buf body;
	struct parsed parsed;
	char name[300];

	(void)state;
	memset(name, 'n', sizeof(name));
	buf_init(&body, 2 * PUSH_COMMANDS_BYTES_MAX);
	/* Long lines: bytes run out before refs do. */
	for (size_t i = 0; buf_len(&body) <= PUSH_COMMANDS_BYTES_MAX; i++)
		assert_int_equal(
			pktline_add_format(&body,
					   OID_ZERO " " OID_A
						    " refs/tags/%zu%.*s%s",
					   i, 230, name, i % 2 ? "" : "\n"),
			0);
	parse(&parsed, buf_view(&body), 4096);
	assert_int_equal(parsed.result, COMMANDS_REFUSED);
	assert_int_equal(parsed.cmd.verdict.constraint,
			 CONSTRAINT_push_too_large);
	parsed_release(&parsed);
}

/* ---- the pack's first bytes ---- */

static int gate_all(struct pack_gate *gate, const char *bytes, size_t len,
		    size_t step)
{
	struct bytes all = bytes_from(bytes, len);

	for (size_t at = 0; at < len; at += step)
		if (pack_gate_feed(gate, bytes_slice(all, at, at + step)) < 0)
			return -1;
	return pack_gate_end(gate);
}

#define TRAILER "0123456789abcdefghij"

static void pack_gate_wants_a_pack_where_one_belongs(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum constraint constraint;
	} packs[] = {
		{"PACK\0\0\0\2\0\0\0\1" TRAILER, 32, CONSTRAINT_none},
		{"PACK\0\0\0\3\0\0\0\0" TRAILER, 32, CONSTRAINT_none},
		{"PACK\0\0\0\2\0\0\0\x64" TRAILER, 32, CONSTRAINT_none},
		{"PACK\0\0\0\2\0\0\0\x65" TRAILER, 32,
		 CONSTRAINT_push_too_large},
		{"PACK\0\0\0\1\0\0\0\1" TRAILER, 32,
		 CONSTRAINT_push_pack_invalid},
		{"PACK\0\0\0\4\0\0\0\1" TRAILER, 32,
		 CONSTRAINT_push_pack_invalid},
		{"pACK\0\0\0\2\0\0\0\1" TRAILER, 32,
		 CONSTRAINT_push_pack_invalid},
		{"0000PACK\0\0\0\2" TRAILER, 32, CONSTRAINT_push_pack_invalid},
		{"PACK\0\0\0\2\0\0\0\1" TRAILER, 31,
		 CONSTRAINT_push_pack_invalid},
		{"PACK", 4, CONSTRAINT_push_pack_invalid},
		{"", 0, CONSTRAINT_push_pack_invalid},
		{"PACK\0\0\0\2\0\0\0\1" TRAILER TRAILER TRAILER TRAILER TRAILER
			 TRAILER,
		 112, CONSTRAINT_push_too_large},
	};
	const struct push push = {.has_pack = true};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(packs); i++) {
		for (size_t step = 1; step < 20; step += 6) {
			struct pack_gate gate;
			int status;

			pack_gate_init(&gate, &push, 100, 100);
			status = gate_all(&gate, packs[i].bytes, packs[i].len,
					  step);
			assert_int_equal(status,
					 packs[i].constraint == CONSTRAINT_none
						 ? 0
						 : -1);
			assert_int_equal(gate.verdict.constraint,
					 packs[i].constraint);
		}
	}
}

static void pack_gate_allows_no_byte_after_deletes(void **state)
{
	const struct push push = {.has_pack = false};
	struct pack_gate gate;

	(void)state;
	pack_gate_init(&gate, &push, 100, 100);
	assert_int_equal(gate_all(&gate, "", 0, 1), 0);
	pack_gate_init(&gate, &push, 100, 100);
	assert_int_equal(gate_all(&gate, "x", 1, 1), -1);
	assert_int_equal(gate.verdict.constraint, CONSTRAINT_push_malformed);
	assert_int_equal(pack_gate_end(&gate), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			commands_refuse_what_is_not_strict_and_say_why),
		cmocka_unit_test(commands_accept_the_twin_of_every_refusal),
		cmocka_unit_test(commands_understand_every_client),
		cmocka_unit_test(commands_end_where_the_pack_begins),
		cmocka_unit_test(commands_take_four_zeros_alone_as_a_probe),
		cmocka_unit_test(commands_bound_the_number_of_refs),
		cmocka_unit_test(commands_bound_their_bytes),
		cmocka_unit_test(pack_gate_wants_a_pack_where_one_belongs),
		cmocka_unit_test(pack_gate_allows_no_byte_after_deletes),
	};

	return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
