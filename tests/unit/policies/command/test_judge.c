#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "policies/command/judge.h"

static struct policy *compiled(const char *text)
{
	struct buf out;
	struct policy_errors errors = {.out = &out, .file = "p"};
	struct policy *policy;

	buf_init(&out, 65536);
	policy = policy_compile(bytes_str(text), NULL, &errors);
	if (!policy)
		fail_msg("%s", buf_str(&out));
	buf_release(&out);
	return policy;
}

struct judged {
	enum verdict_kind kind;
	enum constraint constraint;
	enum command_risk risk;
	char words[COMMAND_REASON_MAX];
	char trace[4096];
};

static void judge(const struct policy *policy, const struct command_line *what,
		  struct judged *judged)
{
	const struct command_facts facts = {.policy = policy,
					    .home = bytes_str("/home/u"),
					    .workspace = bytes_str("/work/x")};
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf words;
	auto_type(buf_release) struct buf trace;
	struct command_verdict verdict;

	arena_init(&arena, COMMAND_ARENA_MAX);
	buf_init(&words, COMMAND_REASON_MAX - 1);
	buf_init(&trace, 1024 * 1024);
	command_judge(&facts, what, &arena, &trace, &verdict);
	assert_int_equal(command_verdict_words(&verdict, &words), 0);
	judged->kind = verdict.kind;
	judged->constraint = verdict.constraint;
	judged->risk = verdict.risk;
	(void)snprintf(judged->words, sizeof(judged->words), "%s",
		       buf_len(&words) ? buf_str(&words) : "");
	(void)snprintf(judged->trace, sizeof(judged->trace), "%s",
		       buf_len(&trace) ? buf_str(&trace) : "");
}

static void judge_text(const struct policy *policy, const char *text,
		       struct judged *judged)
{
	judge(policy, &(struct command_line){.line = bytes_str(text)}, judged);
}

/* ---- risks ---- */

static void check_risks(const char *const *lines, size_t count,
			enum command_risk risk)
{
	struct policy *policy =
		compiled("version: 1\ncommands: {autonomy: supervised}\n");
	struct judged judged;
	size_t wrong = 0;

	for (size_t i = 0; i < count; i++) {
		judge_text(policy, lines[i], &judged);
		if (judged.risk == risk &&
		    judged.kind ==
			    (risk == RISK_LOW ? VERDICT_ALLOW : VERDICT_ASK))
			continue;
		wrong++;
		print_error("%s: %s, not %s\n%s", lines[i],
			    command_risk_name(judged.risk),
			    command_risk_name(risk), judged.trace);
	}
	policy_free(policy);
	assert_int_equal(wrong, 0);
}

static void what_only_reads_is_low(void **state)
{
	static const char *const lines[] = {
#include "tests/unit/policies/command/risks_low.inc"
	};

	(void)state;
	check_risks(lines, ARRAY_SIZE(lines), RISK_LOW);
}

static void what_writes_is_medium(void **state)
{
	static const char *const lines[] = {
#include "tests/unit/policies/command/risks_medium.inc"
	};

	(void)state;
	check_risks(lines, ARRAY_SIZE(lines), RISK_MEDIUM);
}

static void what_cannot_be_undone_or_told_is_high(void **state)
{
	static const char *const lines[] = {
#include "tests/unit/policies/command/risks_high.inc"
	};

	(void)state;
	check_risks(lines, ARRAY_SIZE(lines), RISK_HIGH);
}

/* ---- lists and autonomy ---- */

struct row {
	const char *commands; /* of the policy */
	const char *line;
	enum verdict_kind kind;
	enum constraint constraint;
};

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct judged judged;
		char text[1024];
		struct policy *policy;

		(void)snprintf(text, sizeof(text), "version: 1\n%s\n",
			       rows[i].commands);
		policy = compiled(text);
		judge_text(policy, rows[i].line, &judged);
		if (judged.kind != rows[i].kind ||
		    judged.constraint != rows[i].constraint)
			fail_msg("%s\n%s: %d %s (%s)\n%s", rows[i].commands,
				 rows[i].line, judged.kind,
				 constraint_name(judged.constraint),
				 judged.words, judged.trace);
		policy_free(policy);
	}
}

#define ALLOW VERDICT_ALLOW, CONSTRAINT_none
#define ASK   VERDICT_ASK, CONSTRAINT_approval_pending
#define DENY  VERDICT_DENY, CONSTRAINT_command_not_allowed
#define RISKY VERDICT_DENY, CONSTRAINT_command_risk
#define VAGUE VERDICT_DENY, CONSTRAINT_command_ambiguous
#define FILES VERDICT_DENY, CONSTRAINT_filesystem

#define READ "commands: {autonomy: read-only}"
#define FULL "commands: {autonomy: full}"
#define SUPER                                                                  \
	"commands: {autonomy: supervised, allow: [git, npm, make], "           \
	"deny: [sudo]}"
static const struct row list_rows[] = {
#include "tests/unit/policies/command/list_rows.inc"
};

static void autonomy_and_lists_decide(void **state)
{

	(void)state;
	check_rows(list_rows, ARRAY_SIZE(list_rows));
}

#define HIDE                                                                   \
	"filesystem: {hide: [~/.ssh, '**/.env', ./secrets, '/srv/*/key']}\n"   \
	"commands: {autonomy: full}"
#define HIDE_EVAL                                                              \
	"filesystem: {hide: [./secrets]}\n"                                    \
	"commands: {autonomy: full, allow: [eval]}"
#define LIST                                                                   \
	"filesystem: {read: [/srv/data], write: [~/.cache]}\n"                 \
	"commands: {autonomy: full, allow: [cp]}"
#define GLOBS                                                                  \
	"filesystem: {hide: ['**/*.{pem,key}', './id_?', './[ab]x', "          \
	"'./\\*y', "                                                           \
	"'/srv/[[:alpha:]]/k']}\n"                                             \
	"commands: {autonomy: full}"
static const struct row path_rows[] = {
#include "tests/unit/policies/command/path_rows.inc"
};

static void paths_are_checked_beside_the_policys(void **state)
{

	(void)state;
	check_rows(path_rows, ARRAY_SIZE(path_rows));
}

/* ---- links ---- */

static struct bytes follow(struct arena *arena, struct bytes path)
{
	(void)arena;
	if (bytes_is(path, "/work/x/link"))
		return bytes_str("/work/x/.env");
	if (bytes_is(path, "/work/x/out/f") ||
	    bytes_is(path, "/work/x/out/../f") ||
	    bytes_is(path, "/work/x/sub/../../x/out/../f"))
		return bytes_str("/srv/f");
	return bytes_is(path, "/work/x/lost") ? bytes_from(NULL, 0) : path;
}

static void what_links_lead_to_is_checked_too(void **state)
{
	static const struct {
		const char *line;
		enum verdict_kind kind;
	} rows[] = {
		{"cat link", VERDICT_DENY},
		{"cat ./sub/../link", VERDICT_DENY},
		{"cat --file=link", VERDICT_DENY},
		{"cat < link", VERDICT_DENY},
		{"cat out/f", VERDICT_DENY},
		{"cat out/../f", VERDICT_DENY},
		{"cat /work/x/out/../f", VERDICT_DENY},
		{"cd sub; cat ../../x/out/../f", VERDICT_DENY},
		{"cat sub/../f", VERDICT_ALLOW},
		{"echo x > out/f", VERDICT_DENY},
		{"cat lost fine /srv2", VERDICT_DENY},
		{"cat lost fine", VERDICT_ALLOW},
		{"echo x > fine", VERDICT_ALLOW},
	};
	struct policy *policy =
		compiled("version: 1\n"
			 "filesystem: {read: [/usr], hide: ['**/.env']}\n"
			 "commands: {autonomy: full}\n");
	struct command_facts facts = {.policy = policy,
				      .home = bytes_str("/home/u"),
				      .workspace = bytes_str("/work/x"),
				      .real = follow};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct command_line what = {
			.line = bytes_str(rows[i].line)};
		auto_type(arena_release) struct arena arena;
		struct command_verdict verdict;

		arena_init(&arena, COMMAND_ARENA_MAX);
		command_judge(&facts, &what, &arena, NULL, &verdict);
		if (verdict.kind != rows[i].kind)
			fail_msg("%s", rows[i].line);
	}
	policy_free(policy);
}

static struct bytes follow_two(struct arena *arena, struct bytes path)
{
	(void)arena;
	if (bytes_is(path, "/work/x/gone"))
		return bytes_from(NULL, 0);
	return bytes_is(path, "/work/x/link") ? bytes_str("/work/x/y") : path;
}

/* It says what follows a name a number of times. */
static enum verdict_kind judge_many(const char *name, size_t count)
{
	struct policy *policy = compiled("version: 1\n"
					 "filesystem: {hide: ['**/.env']}\n"
					 "commands: {autonomy: full}\n");
	struct command_facts facts = {.policy = policy,
				      .workspace = bytes_str("/work/x"),
				      .real = follow_two};
	auto_type(buf_release) struct buf line;
	auto_type(arena_release) struct arena arena;
	struct command_line what = {.count = 0};
	struct command_verdict verdict;

	buf_init(&line, 64 * 1024);
	arena_init(&arena, COMMAND_ARENA_MAX);
	assert_int_equal(buf_add_str(&line, "cat"), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(buf_add_format(&line, " %s", name), 0);
	what.line = buf_view(&line);
	command_judge(&facts, &what, &arena, NULL, &verdict);
	policy_free(policy);
	return verdict.kind;
}

/* Each may take long. */
static void of_many_links_nobody_can_tell(void **state)
{
	static const char *const names[] = {"link", "gone"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(judge_many(names[i], PATHS_LINKS_MAX),
				 VERDICT_ALLOW);
		assert_int_not_equal(judge_many(names[i], PATHS_LINKS_MAX + 1),
				     VERDICT_ALLOW);
	}
	assert_int_equal(judge_many("file", 4000), VERDICT_ALLOW);
}

static void words_are_judged_as_they_are(void **state)
{
	static const char *const plain[] = {"echo", "$x; rm -rf y", NULL};
	static const char *const shell[] = {"sh", "-c", "sudo ls", NULL};
	static const char *const sudo[] = {"env", "sudo", "ls", NULL};
	struct policy *policy = compiled(
		"version: 1\ncommands: {autonomy: full, deny: [sudo]}\n");
	struct judged judged;

	(void)state;
	judge(policy, &(struct command_line){.words = plain, .count = 2},
	      &judged);
	assert_int_equal(judged.kind, VERDICT_ALLOW);
	judge(policy, &(struct command_line){.words = shell, .count = 3},
	      &judged);
	assert_int_equal(judged.constraint, CONSTRAINT_command_not_allowed);
	judge(policy, &(struct command_line){.words = sudo, .count = 3},
	      &judged);
	assert_string_equal(judged.words,
			    "`env sudo ls`: the policy does not allow this "
			    "command: it takes the rights of somebody else "
			    "(commands.deny: sudo)");
	judge(policy, &(struct command_line){.words = plain, .count = 0},
	      &judged);
	assert_int_equal(judged.constraint, CONSTRAINT_command_ambiguous);
	policy_free(policy);
}

static void a_refusal_names_the_part_of_the_line(void **state)
{
	struct policy *policy = compiled("version: 1\ncommands: {}\n");
	struct judged judged;

	(void)state;
	judge_text(policy, "ls -l && rm -r build; ls", &judged);
	assert_string_equal(judged.words,
			    "`rm -r build`: a person must allow this first: rm "
			    "-r removes a whole tree (commands.autonomy: "
			    "supervised)");
	assert_string_equal(
		judged.trace,
		"ls -l: low: allow by commands.autonomy: supervised\n"
		"rm -r build: high, rm -r removes a whole tree: ask by "
		"commands.autonomy: supervised\n"
		"ls: low: allow by commands.autonomy: supervised\n");
	policy_free(policy);
}

static void the_gate_counts_what_may_run(void **state)
{
	struct policy *policy =
		compiled("version: 1\ncommands: {actions: 2/1h}\n");
	const struct command_facts facts = {.policy = policy,
					    .workspace = bytes_str("/work/x")};
	const struct command_line low = {.line = bytes_str("ls")};
	const struct command_line high = {.line = bytes_str("rm -r x")};
	const uint64_t hour = 3600 * 1000;
	struct command_verdict verdict;
	struct command_gate gate;
	struct arena arena;
	static const struct {
		bool is_high;
		uint64_t now;
		enum constraint constraint;
		uint64_t retry;
	} rows[] = {
		{true, 1000, CONSTRAINT_approval_pending, 0},
		{false, 1000, CONSTRAINT_none, 0},
		{true, 1500, CONSTRAINT_approval_pending, 0},
		{false, 2000, CONSTRAINT_none, 0},
		{false, 2001, CONSTRAINT_limit_actions, 3600000 - 1001},
		{false, 3600999, CONSTRAINT_limit_actions, 1},
		{false, 3601000, CONSTRAINT_none, 0},
		{false, 3601500, CONSTRAINT_limit_actions, 500},
		{false, 3602000, CONSTRAINT_none, 0},
	};

	(void)state;
	(void)hour;
	assert_int_equal(command_gate_open(&gate, policy), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		arena_init(&arena, COMMAND_ARENA_MAX);
		command_admit(&gate, &facts, rows[i].is_high ? &high : &low,
			      rows[i].now, &arena, &verdict);
		assert_int_equal(verdict.constraint, rows[i].constraint);
		assert_int_equal(verdict.retry_ms, rows[i].retry);
		arena_release(&arena);
	}
	command_gate_close(&gate);
	policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_only_reads_is_low),
		cmocka_unit_test(what_writes_is_medium),
		cmocka_unit_test(what_cannot_be_undone_or_told_is_high),
		cmocka_unit_test(autonomy_and_lists_decide),
		cmocka_unit_test(paths_are_checked_beside_the_policys),
		cmocka_unit_test(what_links_lead_to_is_checked_too),
		cmocka_unit_test(of_many_links_nobody_can_tell),
		cmocka_unit_test(words_are_judged_as_they_are),
		cmocka_unit_test(a_refusal_names_the_part_of_the_line),
		cmocka_unit_test(the_gate_counts_what_may_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
