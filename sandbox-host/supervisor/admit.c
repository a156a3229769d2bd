/*
 * `commands` of the policy: is the command that somebody asks for one that may
 * run? The sandbox holds whatever is said here.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/digest.h"
#include "policies/command/judge.h"
#include "policies/command/spell.h"
#include "sandbox-host/supervisor/parts.h"

#define HIDDEN_NAME_MAX 256

/* Terminated words: `env NAME=VALUE... COMMAND`, of those variables which
 * change what programs do: they are judged as well, and what others hold, a
 * secret perhaps, is nobody's business. NULL: no memory. */
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
	for (size_t i = 0; words && i < request->env_count; i++) {
		struct bytes rest = request->env[i].text, name;

		(void)bytes_split(&rest, '=', &name);
		if (!variable_is_dangerous(name))
			continue;
		if (*count == 0)
			words[(*count)++] = "env";
		words[(*count)++] = arena_str(arena, request->env[i].text);
	}
	for (size_t i = 0; words && i < argv_count; i++)
		words[(*count)++] = arena_str(arena, argv[i].text);
	for (size_t i = 0; words && i < *count; i++)
		if (!words[i])
			return NULL;
	return words;
}

static enum admission say(const struct command_verdict *verdict,
			  struct err *err)
{
	auto_type(buf_release) struct buf words;

	buf_init(&words, COMMAND_REASON_MAX);
	(void)command_verdict_words(verdict, &words);
	(void)err_set(err, ERR_DENIED, "%s: %s",
		      constraint_name(verdict->constraint), buf_str(&words));
	return ADMIT_NOT;
}

static bool has_dollar(const struct command_line *what)
{
	for (size_t i = 0; i < what->count; i++)
		if (strchr(what->words[i], '$'))
			return true;
	return false;
}

/* # with NAME=@DIGEST: variables that a shell may put into the command. Their
 * values are not shown, but what is approved is for these alone. The key is
 * ours: nobody finds a value by trying. */
static int add_hidden(struct supervisor *supervisor,
		      const struct exec_request *request, struct buf *out)
{
	const char *before = " # with ";

	if (!supervisor->ask_key[0])
		random_id(supervisor->ask_key);
	for (size_t i = 0; i < request->env_count; i++) {
		struct bytes text = request->env[i].text, rest = text, name;
		char shown[HIDDEN_NAME_MAX + 32];
		const char *const word = shown;
		uint8_t digest[DIGEST_LEN];

		(void)bytes_split(&rest, '=', &name);
		if (variable_is_dangerous(name))
			continue;
		digest_sha256(bytes_str(supervisor->ask_key), text, digest);
		if (name.len > HIDDEN_NAME_MAX)
			return -1;
		(void)snprintf(shown, sizeof(shown),
			       "%.*s=@%02x%02x%02x%02x%02x%02x",
			       BYTES_ARGS(name), digest[0], digest[1],
			       digest[2], digest[3], digest[4], digest[5]);
		if (buf_add_str(out, before) < 0 ||
		    command_spell(&word, 1, (struct bytes){0}, out) < 0)
			return -1;
		before = " ";
	}
	return 0;
}

/* What is too long to be read is not asked. */
static enum admission question_of(struct supervisor *supervisor,
				  const struct exec_request *request,
				  const struct command_line *what,
				  const struct command_verdict *verdict,
				  struct ask_question *question,
				  struct err *err)
{
	auto_type(buf_release) struct buf command;
	auto_type(buf_release) struct buf words;

	buf_init(&command, PROPOSAL_PATH_MAX);
	buf_init(&words, COMMAND_REASON_MAX);
	(void)command_verdict_words(verdict, &words);
	if (command_spell(what->words, what->count, request->cwd, &command) <
		    0 ||
	    (has_dollar(what) && add_hidden(supervisor, request, &command) < 0))
		return say(verdict, err);
	(void)snprintf(question->command, sizeof(question->command), "%s",
		       buf_str(&command));
	(void)snprintf(question->words, sizeof(question->words), "%s",
		       buf_str(&words));
	(void)snprintf(question->rule, sizeof(question->rule), "%.*s",
		       BYTES_ARGS(verdict->rule));
	return ADMIT_ASK;
}

/* What is at path, without opening it; -1 with errno (ELOOP:
 * RESOLVE_NO_SYMLINKS met one). One call: realpath() makes one of each part of
 * each link. */
static int look_at(const char *path, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve};

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static bool real_path(const char *path, char real[PATH_MAX])
{
	auto_fd int fd = look_at(path, 0);
	char link[32];
	ssize_t len;

	if (fd < 0)
		return false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, real, PATH_MAX - 1);
	if (len <= 0 || real[0] != '/')
		return false;
	real[len] = '\0';
	return true;
}

/* As the host has it, which shows it inside under the same name. The command
 * may change it as soon as this is said: mounts hold what is hidden. */
static struct bytes real_of(struct arena *arena, struct bytes path)
{
	const struct bytes unknown = bytes_from(NULL, 0);
	char *text = arena_str(arena, path);
	auto_fd int plain = text ? look_at(text, RESOLVE_NO_SYMLINKS) : -1;
	char real[PATH_MAX];
	char *name;

	if (!text)
		return unknown;
	if (plain >= 0 || errno != ELOOP)
		return path;
	if (real_path(text, real))
		return arena_copy(arena, bytes_str(real));
	name = strrchr(text, '/');
	if (!name || name == text || errno != ENOENT)
		return unknown;
	/* It is to be made. */
	*name = '\0';
	if (!real_path(text, real))
		return unknown;
	text = arena_format(arena, "%s/%s", real, name + 1);
	return text ? bytes_str(text) : unknown;
}

enum admission exec_admit(struct supervisor *supervisor,
			  const struct exec_request *request,
			  struct ask_question *question,
			  enum host_refusal *code, struct err *err)
{
	const struct command_facts facts = {
		.policy = supervisor->policy,
		.home = supervisor->request.home,
		.workspace = bytes_str(supervisor->workspace),
		.cwd = request->cwd,
		/* What an overlay changed is not there on the host. */
		.real = supervisor->policy->filesystem.workspace_mode ==
					WORKSPACE_OVERLAY
				? NULL
				: real_of,
	};
	auto_type(arena_release) struct arena words = {0};
	auto_type(arena_release) struct arena arena = {0};
	struct command_line what = {.count = 0};
	struct command_verdict verdict;

	*code = HOST_REFUSED_UNSUPPORTED;
	if (user_check(supervisor, &request->user, err) < 0)
		return ADMIT_NOT;
	*code = HOST_REFUSED_FORBIDDEN;
	if (!supervisor->policy->commands.is_set)
		return ADMIT;
	arena_init(&words, 2 * REQUEST_BYTES_MAX);
	arena_init(&arena, COMMAND_ARENA_MAX);
	what.words = words_of(request, &words, &what.count);
	if (!what.words) {
		(void)err_set(err, ERR_TOO_LARGE, "no memory");
		return ADMIT_NOT;
	}
	command_admit(&supervisor->gate, &facts, &what, clock_monotonic_ms(),
		      &arena, &verdict);
	if (verdict.kind == VERDICT_ASK)
		return question_of(supervisor, request, &what, &verdict,
				   question, err);
	return verdict.kind == VERDICT_ALLOW ? ADMIT : say(&verdict, err);
}

int exec_count(struct supervisor *supervisor, struct err *err)
{
	const struct command_verdict verdict = {
		.constraint = CONSTRAINT_limit_actions,
		.rule = bytes_str("commands.actions"),
	};

	if (action_window_take(&supervisor->gate.window,
			       clock_monotonic_ms()) == 0)
		return 0;
	(void)say(&verdict, err);
	return -1;
}
