/*
 * `commands` of the policy: is the command that somebody asks for one that may
 * run? The sandbox holds whatever is said here.
 */
#include "common/cleanup.h"
#include "common/clock.h"
#include "policies/command/judge.h"
#include "sandbox-host/supervisor/parts.h"

/* Terminated words: `env NAME=VALUE... COMMAND`, so that variables which
 * change what programs do are judged as well. NULL: no memory. */
static const char **words_of(const struct exec_request *request,
			     struct arena *arena, size_t *count)
{
	bool is_judged = request->judged_count > 0;
	const struct text_item *argv =
		is_judged ? request->judged : request->argv;
	size_t argv_count =
		is_judged ? request->judged_count : request->argv_count;
	size_t room = 1 + request->env_count + argv_count;
	const char **words = arena_array(arena, room, sizeof(*words));

	*count = 0;
	if (words && request->env_count > 0)
		words[(*count)++] = "env";
	for (size_t i = 0; words && i < request->env_count; i++)
		words[(*count)++] = arena_str(arena, request->env[i].text);
	for (size_t i = 0; words && i < argv_count; i++)
		words[(*count)++] = arena_str(arena, argv[i].text);
	for (size_t i = 0; words && i < *count; i++)
		if (!words[i])
			return NULL;
	return words;
}

static int say(const struct command_verdict *verdict, struct err *err)
{
	auto_type(buf_release) struct buf words;

	buf_init(&words, COMMAND_REASON_MAX);
	(void)command_verdict_words(verdict, &words);
	return err_set(err, ERR_DENIED, "%s: %s",
		       constraint_name(verdict->constraint), buf_str(&words));
}

int exec_admit(struct supervisor *supervisor,
	       const struct exec_request *request, struct err *err)
{
	const struct command_facts facts = {
		.policy = supervisor->policy,
		.home = supervisor->request.home,
		.workspace = bytes_str(supervisor->workspace),
		.cwd = request->cwd,
	};
	auto_type(arena_release) struct arena words;
	auto_type(arena_release) struct arena arena;
	struct command_line what = {.count = 0};
	struct command_verdict verdict;

	if (!supervisor->policy->commands.is_set)
		return 0;
	arena_init(&words, 2 * REQUEST_BYTES_MAX);
	arena_init(&arena, COMMAND_ARENA_MAX);
	what.words = words_of(request, &words, &what.count);
	if (!what.words)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	command_admit(&supervisor->gate, &facts, &what, clock_monotonic_ms(),
		      &arena, &verdict);
	return verdict.kind == VERDICT_ALLOW ? 0 : say(&verdict, err);
}
