#include "cli/policy/command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "policies/command/judge.h"

#define TRACE_BYTES_MAX (1024 * 1024)

static const char *text_of(struct bytes bytes)
{
	return bytes.data ? (const char *)bytes.data : "";
}

static void tell_json(struct cli *cli, const struct command_verdict *verdict,
		      const char *word, struct buf *trace)
{
	json_t *value = json_pack(
		"{s:s, s:s, s:s, s:s%, s:s%, s:s%, s:I, s:I, s:s%}", "verdict",
		word, "constraint", constraint_name(verdict->constraint),
		"risk", command_risk_name(verdict->risk), "rule",
		text_of(verdict->rule), verdict->rule.len, "reason",
		text_of(verdict->reason), verdict->reason.len, "command",
		text_of(verdict->command), verdict->command.len, "at",
		(json_int_t)verdict->at, "length", (json_int_t)verdict->len,
		"trace", buf_len(trace) ? buf_str(trace) : "", buf_len(trace));

	(void)cli_print(cli, value, NULL);
	json_decref(value);
}

static int tell(struct cli *cli, const struct command_verdict *verdict,
		struct buf *trace)
{
	static const char *const words[VERDICT_KIND_MAX] = {
		[VERDICT_DENY] = "deny",
		[VERDICT_ALLOW] = "allow",
		[VERDICT_ASK] = "ask",
	};
	const char *word = words[verdict->kind];
	bool says_why = verdict->constraint != CONSTRAINT_none;

	if (cli->json) {
		tell_json(cli, verdict, word, trace);
	} else {
		(void)printf("%s%s%.*s%s%s%s%.*s\n", word,
			     verdict->rule.len ? " by " : "",
			     BYTES_ARGS(verdict->rule), says_why ? ": " : "",
			     says_why ? constraint_name(verdict->constraint)
				      : "",
			     verdict->reason.len ? ": " : "",
			     BYTES_ARGS(verdict->reason));
		(void)printf("%.*s", BYTES_ARGS(buf_view(trace)));
	}
	return verdict->kind == VERDICT_ALLOW ? EXIT_OK : EXIT_WOULD_DENY;
}

/* The policy's workspace as a path, whether it is there or not. */
static const char *workspace_of(const struct policy *policy,
				struct arena *arena)
{
	struct bytes path = policy->filesystem.workspace;
	const char *home = getenv("HOME");
	char here[PATH_MAX];

	if (path.len > 0 && path.data[0] == '/')
		return arena_str(arena, path);
	if (path.len > 0 && path.data[0] == '~' && home)
		return arena_format(arena, "%s%.*s", home,
				    BYTES_ARGS(bytes_slice(path, 1, path.len)));
	if (!getcwd(here, sizeof(here)))
		return NULL;
	return arena_format(arena, "%s/%.*s", here, BYTES_ARGS(path));
}

int policy_test_command(struct cli *cli, const struct policy *policy,
			const char *line)
{
	auto_type(arena_release) struct arena arena;
	auto_type(arena_release) struct arena paths;
	auto_type(buf_release) struct buf trace;
	const struct command_line what = {.line = bytes_str(line)};
	struct command_facts facts = {.policy = policy,
				      .home = bytes_str(getenv("HOME"))};
	struct command_verdict verdict;
	const char *workspace;

	arena_init(&arena, COMMAND_ARENA_MAX);
	arena_init(&paths, 4 * PATH_MAX);
	buf_init(&trace, TRACE_BYTES_MAX);
	workspace = workspace_of(policy, &paths);
	if (!workspace)
		return cli_fail(EXIT_FAILED, "the current directory is gone");
	facts.workspace = bytes_str(workspace);
	if (!policy->commands.is_set)
		(void)buf_add_str(&trace, "commands: the policy has none, so "
					  "no line is judged\n");
	command_judge(&facts, &what, &arena, &trace, &verdict);
	return tell(cli, &verdict, &trace);
}
