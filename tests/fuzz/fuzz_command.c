/*
 * Command lines from anybody. What is found lies within the line; more
 * autonomy never allows less; a denied command behind a whole line is found.
 */
#include <assert.h>
#include <stdint.h>

#include "common/buf.h"
#include "policies/command/judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define FILES "version: 1\nfilesystem: {hide: [~/.ssh, '**/.env']}\n"

static struct policy *compiled(const char *text)
{
	struct policy_errors errors = {.file = "p"};
	struct policy *policy = policy_compile(bytes_str(text), NULL, &errors);

	assert(policy);
	return policy;
}

static enum verdict_kind judged(const struct policy *policy, struct bytes line)
{
	const struct command_facts facts = {.policy = policy,
					    .home = bytes_str("/home/u"),
					    .workspace = bytes_str("/work")};
	const struct command_line what = {.line = line};
	struct command_verdict verdict;
	enum verdict_kind kind;
	struct buf words;
	struct arena arena;

	arena_init(&arena, COMMAND_ARENA_MAX);
	buf_init(&words, COMMAND_REASON_MAX);
	command_judge(&facts, &what, &arena, NULL, &verdict);
	kind = verdict.kind;
	assert(verdict.at + verdict.len <= line.len);
	assert((kind == VERDICT_ALLOW) ==
	       (verdict.constraint == CONSTRAINT_none));
	assert(command_verdict_words(&verdict, &words) == 0);
	buf_release(&words);
	arena_release(&arena);
	return kind;
}

static bool is_whole(struct bytes line)
{
	struct shell_line read;
	struct arena arena;
	bool whole;

	arena_init(&arena, SHELL_ARENA_MAX);
	shell_parse(line, bytes_str("/home/u"), &arena, &read);
	whole = !read.ambiguous;
	assert(read.ambiguous_at <= line.len);
	for (const struct shell_command *at = read.first; at; at = at->next)
		assert(at->at <= at->end && at->end <= line.len);
	arena_release(&arena);
	return whole;
}

static void check_denied(const struct policy *policy, struct bytes line)
{
	struct buf longer;

	buf_init(&longer, SHELL_LINE_MAX);
	if (buf_add(&longer, line) == 0 &&
	    buf_add_str(&longer, "\nsudo ls") == 0 &&
	    is_whole(buf_view(&longer)))
		assert(judged(policy, buf_view(&longer)) == VERDICT_DENY);
	buf_release(&longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct policy *reads, *asks, *full;
	struct bytes line = bytes_from(data, len);
	enum verdict_kind kinds[3];

	if (!reads) {
		reads = compiled(FILES "commands: {autonomy: read-only}\n");
		asks = compiled(FILES "commands: {deny: [sudo]}\n");
		full = compiled(FILES "commands: {autonomy: full}\n");
	}
	kinds[0] = judged(reads, line);
	kinds[1] = judged(asks, line);
	kinds[2] = judged(full, line);
	if (kinds[0] == VERDICT_ALLOW)
		assert(kinds[2] == VERDICT_ALLOW);
	if (kinds[1] == VERDICT_ALLOW)
		assert(kinds[0] == VERDICT_ALLOW);
	if (is_whole(line))
		check_denied(asks, line);
	return 0;
}
