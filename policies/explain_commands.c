#include "policies/explain_rule.h"

/* What a list names in words, at most this many of them. */
#define NAMED_MAX 100

static int add_entries(struct buf *out, const char *before,
		       const struct command_entries *entries)
{
	bool is_first = true;
	size_t shown = 0;

	for (size_t i = 0; i < entries->count && shown < NAMED_MAX; i++) {
		if (bytes_is(entries->items[i].text, "*"))
			continue;
		if (buf_add_format(out, "%s`%.*s`", is_first ? before : ", ",
				   BYTES_ARGS(entries->items[i].text)) < 0)
			return -1;
		is_first = false;
		shown++;
	}
	if (is_first)
		return 0;
	if (shown == NAMED_MAX && entries->count > shown &&
	    buf_add_str(out, " and others") < 0)
		return -1;
	return buf_add_str(out, ".\n");
}

static bool has_any(const struct command_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		if (bytes_is(entries->items[i].text, "*"))
			return true;
	return false;
}

static int add_autonomy(const struct policy_commands *commands, struct buf *out)
{
	static const char *const words[AUTONOMY_MAX] = {
		[AUTONOMY_READ_ONLY] =
			"- Run only what reads; all else is refused.\n",
		[AUTONOMY_SUPERVISED] =
			"- What reads runs at once. A person is asked about "
			"what writes, runs other code or\n"
			"  reaches out, and about what cannot be undone.\n",
		[AUTONOMY_FULL] =
			"- What reads or writes runs at once. What cannot be "
			"undone or told apart is\n"
			"  refused, unless it is allowed by name.\n",
	};

	if (has_any(&commands->deny))
		return buf_add_str(out, "- Nothing runs but what is allowed by "
					"name.\n");
	if (commands->autonomy == AUTONOMY_SUPERVISED &&
	    has_any(&commands->allow))
		return buf_add_str(out,
				   "- What reads or writes runs at once. A "
				   "person is asked about what cannot be\n"
				   "  undone or told apart.\n");
	return buf_add_str(out, words[commands->autonomy]);
}

static int add_hold(const struct policy_commands *commands, struct buf *out)
{
	if (commands->autonomy != AUTONOMY_SUPERVISED)
		return 0;
	if (buf_add_str(out, "- Who asks a person waits at most ") < 0 ||
	    explain_period(out, commands->hold_ms) < 0)
		return -1;
	return buf_add_str(out, ", and can run the same again once it is "
				"approved.\n");
}

static int add_limit(const struct policy_commands *commands, struct buf *out)
{
	if (commands->actions == 0)
		return 0;
	if (buf_add_format(out, "- At most %llu commands within ",
			   (unsigned long long)commands->actions) < 0 ||
	    explain_period(out, commands->actions_ms) < 0)
		return -1;
	return buf_add_str(out, ".\n");
}

int explain_commands(const struct policy *policy, struct buf *out)
{
	const struct policy_commands *commands = &policy->commands;

	if (!commands->is_set)
		return 0;
	if (buf_add_str(out,
			"\n## Commands\n\nEvery command of a line counts, "
			"also in substitutions, functions and behind `env`,\n"
			"`xargs`, `find -exec` or `sh -c`.\n\n") < 0 ||
	    add_autonomy(commands, out) < 0 ||
	    (commands->autonomy != AUTONOMY_READ_ONLY &&
	     add_entries(out, "- Allowed, whatever they do: ",
			 &commands->allow) < 0) ||
	    add_entries(out, "- Never: ", &commands->deny) < 0 ||
	    add_hold(commands, out) < 0 || add_limit(commands, out) < 0)
		return -1;
	return buf_add_str(
		out,
		"- High risk: `rm -r`, `sudo`, `dd`, `mkfs`, `chmod -R`, "
		"`git push --force`, `git reset\n"
		"  --hard`, `docker`, `ssh`, `eval`, code for an interpreter "
		"(`python -c`, `curl … | sh`),\n"
		"  and any line that can be read in two ways.\n"
		"- Write plainly: names of commands without variables, `./*.o` "
		"instead of `*.o`, paths\n"
		"  without variables where something is hidden, one command a "
		"line when in doubt.\n");
}
