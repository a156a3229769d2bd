#include "policies/command/judge.h"

#include "common/cleanup.h"
#include "policies/command/judge_parts.h"
#include "policies/command/unwrap.h"

/* ---- variables ---- */

/* PAGER=cat, LESS=-R: values that run nothing else. */
static bool is_plain_value(const struct shell_word *word)
{
	struct bytes value = word->text;
	struct bytes name;

	if (!word_is_clear(word) || !bytes_split(&value, '=', &name))
		return false;
	if (bytes_is(name, "LESS"))
		return bytes_find(value, '+', 0) < 0;
	return text_is_one_of(name, "PAGER GIT_PAGER MANPAGER EDITOR VISUAL "
				    "GIT_EDITOR GIT_SEQUENCE_EDITOR") &&
	       text_is_one_of(value, "cat true :");
}

static void judge_assignments(struct judge *judge,
			      const struct shell_word *words, size_t count,
			      struct finding finding)
{
	for (size_t i = 0; i < count; i++) {
		size_t len = 0;

		while (len < words[i].text.len &&
		       words[i].text.data[len] != '=' &&
		       words[i].text.data[len] != '+')
			len++;
		if (!variable_is_dangerous(
			    bytes_slice(words[i].text, 0, len)) ||
		    is_plain_value(&words[i]))
			continue;
		finding.level = level_high("it sets a variable that changes "
					   "what programs do");
		judge_level(judge, &finding);
	}
}

/* ---- what a command runs ---- */

static void judge_code(struct judge *judge, struct bytes code, size_t at,
		       size_t end)
{
	const bool was_fixed = judge->is_fixed;
	const struct path_places places = judge->places;

	if (!was_fixed) {
		judge->is_fixed = true;
		judge->fixed_at = at;
		judge->fixed_end = end;
	}
	judge_line(judge, code);
	judge->is_fixed = was_fixed;
	judge->places.cwd_count = places.cwd_count;
	for (size_t i = 0; i < places.cwd_count; i++)
		judge->places.cwd[i] = places.cwd[i];
}

static void judge_inner(struct judge *judge, const struct command_call *call,
			size_t at, size_t end)
{
	struct finding finding = {.at = at, .end = end};
	const size_t directories = judge->places.cwd_count;
	struct unwrapped inner;

	command_unwrap(call, judge->arena, &inner);
	if (inner.ambiguous || (judge->depth == JUDGE_DEPTH_MAX &&
				(inner.call_count > 0 || inner.has_line))) {
		finding.level = level_ambiguous(
			inner.ambiguous ? inner.ambiguous
					: "it is nested too deep");
		judge_level(judge, &finding);
		return;
	}
	judge->depth++;
	if (inner.runs_anywhere)
		judge->places.cwd_count = 0;
	judge_assignments(judge, inner.assignments, inner.assignment_count,
			  finding);
	for (size_t i = 0; i < inner.call_count; i++)
		judge_call(judge, &inner.calls[i], at, end);
	if (inner.has_line)
		judge_code(judge, inner.line, at, end);
	judge->places.cwd_count = directories;
	judge->depth--;
}

/* Of `sh -c LINE` the line is what counts. */
static bool is_looked_through(const struct command_call *call,
			      struct arena *arena)
{
	struct unwrapped inner;

	if (!text_is_one_of(call_name(call), "sh bash dash ash"))
		return false;
	command_unwrap(call, arena, &inner);
	return inner.has_line;
}

void judge_call(struct judge *judge, const struct command_call *call, size_t at,
		size_t end)
{
	struct finding finding = {.at = at, .end = end, .call = call};
	const size_t directories = judge->places.cwd_count;

	if (is_looked_through(call, judge->arena) && call_is_system(call))
		finding.level = level_low();
	else
		finding.level = command_level_of(call);
	judge_level(judge, &finding);
	if (call_name(call).len == 0)
		return;
	judge_own_directory(judge, call);
	if (!is_looked_through(call, judge->arena))
		judge_paths(judge, call, at, end);
	judge_inner(judge, call, at, end);
	judge->places.cwd_count = directories;
}

/* ---- a line ---- */

static void judge_command(struct judge *judge,
			  const struct shell_command *command)
{
	struct command_call call = {command->words, command->word_count,
				    command->reads_pipe, false};
	size_t at = judge->is_fixed ? judge->fixed_at : command->at;
	size_t end = judge->is_fixed ? judge->fixed_end : command->end;
	struct finding finding = {.at = at, .end = end};

	judge_assignments(judge, command->assignments,
			  command->assignment_count, finding);
	judge_redirects(judge, command, call.count > 0 ? &call : NULL);
	if (call.count > 0) {
		judge_call(judge, &call, at, end);
	} else if (command->redirect_count == 0) {
		finding.level = level_low();
		judge_level(judge, &finding);
	}
}

void judge_line(struct judge *judge, struct bytes text)
{
	struct finding finding = {.at = judge->fixed_at,
				  .end = judge->fixed_end};
	struct shell_line line;

	shell_parse(text, judge->facts->home, judge->arena, &line);
	judge_directories(judge, &line);
	for (const struct shell_command *command = line.first; command;
	     command = command->next)
		judge_command(judge, command);
	if (!line.ambiguous)
		return;
	if (!judge->is_fixed) {
		finding.at = line.ambiguous_at;
		finding.end = text.len;
	}
	finding.level = level_ambiguous(line.ambiguous);
	judge_level(judge, &finding);
}

/* ---- words that are executed as they are ---- */

static bool join_words(struct judge *judge, const struct command_line *what,
		       struct shell_word *words)
{
	auto_type(buf_release) struct buf text;

	buf_init(&text, SHELL_LINE_MAX);
	for (size_t i = 0; i < what->count; i++) {
		struct bytes word = bytes_str(what->words[i]);
		size_t at = buf_len(&text) + (i > 0);

		if ((i > 0 && buf_add_byte(&text, ' ') < 0) ||
		    buf_add(&text, word) < 0)
			return false;
		words[i] = (struct shell_word){word, word, SHELL_QUOTED, at,
					       at + word.len};
	}
	judge->text = arena_copy(judge->arena, buf_view(&text));
	return judge->text.len == buf_len(&text);
}

static bool has_controls(const struct command_line *what)
{
	for (size_t i = 0; i < what->count; i++)
		for (const char *c = what->words[i]; *c; c++)
			if ((uint8_t)*c < ' ' && *c != '\n' && *c != '\t')
				return true;
	return false;
}

static void judge_words(struct judge *judge, const struct command_line *what)
{
	struct finding finding = {0};
	struct shell_word *words =
		arena_array(judge->arena, what->count, sizeof(*words));
	struct command_call call = {words, what->count, true, false};

	if (!words || what->count == 0 || !join_words(judge, what, words)) {
		finding.level = level_ambiguous("the line is empty or too "
						"long");
		judge_level(judge, &finding);
		return;
	}
	finding.end = judge->text.len;
	if (has_controls(what)) {
		finding.level = level_ambiguous("there is a control character "
						"in it");
		judge_level(judge, &finding);
	}
	judge_call(judge, &call, 0, judge->text.len);
}

/* ---- from outside ---- */

/* A directory without "." and ".."; otherwise: when none is given. */
static struct bytes directory(struct arena *arena, struct bytes given,
			      struct bytes otherwise)
{
	static const struct bytes root = BYTES_LITERAL("/");
	struct bytes plain;

	if (given.len == 0)
		return otherwise;
	return path_absolute(arena, root, given, &plain) ? plain : given;
}

void command_judge(const struct command_facts *facts,
		   const struct command_line *what, struct arena *arena,
		   struct buf *trace, struct command_verdict *verdict)
{
	struct judge judge = {
		.facts = facts,
		.arena = arena,
		.trace = trace,
		.verdict = verdict,
		.places = {.policy = facts->policy,
			   .cwd_count = 1,
			   .arena = arena,
			   .real = facts->real},
		.text = what->line,
	};
	struct path_places *places = &judge.places;

	*verdict = (struct command_verdict){.kind = VERDICT_ALLOW};
	if (!facts->policy->commands.is_set)
		return;
	places->home = directory(arena, facts->home, facts->home);
	places->workspace =
		directory(arena, facts->workspace, facts->workspace);
	places->cwd[0] = directory(arena, facts->cwd, places->workspace);
	if (what->words)
		judge_words(&judge, what);
	else
		judge_line(&judge, what->line);
	/* Nothing runs. */
	if (verdict->rule.len == 0)
		verdict->rule = bytes_str("commands");
	/* The last that the arena had may be lost: then nothing is sure. */
	if (!arena_alloc(arena, 1))
		*verdict = (struct command_verdict){
			.kind = VERDICT_DENY,
			.constraint = CONSTRAINT_command_ambiguous,
			.risk = RISK_HIGH,
			.rule = bytes_str("commands"),
			.reason = bytes_str("the line is too long"),
		};
}

int command_gate_open(struct command_gate *gate, const struct policy *policy)
{
	return action_window_open(&gate->window, &policy->commands);
}

void command_gate_close(struct command_gate *gate)
{
	action_window_close(&gate->window);
}

void command_admit(struct command_gate *gate, const struct command_facts *facts,
		   const struct command_line *what, uint64_t now_ms,
		   struct arena *arena, struct command_verdict *verdict)
{
	command_judge(facts, what, arena, NULL, verdict);
	if (verdict->kind != VERDICT_ALLOW)
		return;
	verdict->retry_ms = action_window_take(&gate->window, now_ms);
	if (verdict->retry_ms == 0)
		return;
	verdict->kind = VERDICT_DENY;
	verdict->constraint = CONSTRAINT_limit_actions;
	verdict->rule = bytes_str("commands.actions");
	verdict->reason = bytes_str("as many as the policy allows were run");
}

int command_verdict_words(const struct command_verdict *verdict,
			  struct buf *out)
{
	if (verdict->command.len > 0 &&
	    buf_add_format(out, "`%.*s`: ", BYTES_ARGS(verdict->command)) < 0)
		return -1;
	if (buf_add_str(out, constraint_text(verdict->constraint)) < 0)
		return -1;
	if (verdict->reason.len > 0 &&
	    buf_add_format(out, ": %.*s", BYTES_ARGS(verdict->reason)) < 0)
		return -1;
	return buf_add_format(out, " (%.*s)", BYTES_ARGS(verdict->rule));
}
