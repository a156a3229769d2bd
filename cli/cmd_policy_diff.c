/*
 * sallyport policy diff: what differs between two policies.
 */
#include <getopt.h>
#include <stdio.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/policy_file.h"
#include "common/cleanup.h"
#include "policies/diff.h"

#define DIFF_ARENA_MAX (256 * 1024 * 1024)

static void print_change(const struct policy_change *change)
{
	(void)printf("%-8s %.*s", policy_change_name(change->kind),
		     BYTES_ARGS(change->where));
	if (change->kind == CHANGE_CHANGED)
		(void)printf(": %.*s -> %.*s\n", BYTES_ARGS(change->before),
			     BYTES_ARGS(change->after));
	else if (change->kind == CHANGE_MOVED)
		(void)printf(": the order is another\n");
	else
		(void)printf(": %.*s\n",
			     BYTES_ARGS(change->before.len ? change->before
							   : change->after));
}

static json_t *text(struct bytes bytes)
{
	return bytes.len ? json_stringn((const char *)bytes.data, bytes.len)
			 : json_null();
}

static json_t *to_json(const struct policy_diff *diff)
{
	json_t *changes = json_array();

	for (const struct policy_change *change = diff->first; change;
	     change = change->next)
		(void)json_array_append_new(
			changes, json_pack("{s:s, s:o, s:o, s:o}", "change",
					   policy_change_name(change->kind),
					   "where", text(change->where),
					   "before", text(change->before),
					   "after", text(change->after)));
	return json_pack("{s:b, s:o}", "same", diff->count == 0, "changes",
			 changes);
}

static int show(struct cli *cli, const struct policy_diff *diff)
{
	json_t *value;

	if (cli->json) {
		value = to_json(diff);
		(void)cli_print(cli, value, NULL);
		json_decref(value);
	} else {
		for (const struct policy_change *change = diff->first; change;
		     change = change->next)
			print_change(change);
	}
	return diff->count == 0 ? EXIT_OK : EXIT_FAILED;
}

int cmd_policy_diff(struct cli *cli)
{
	auto_type(buf_release) struct buf before;
	auto_type(buf_release) struct buf after;
	auto_type(arena_release) struct arena arena;
	struct policy_diff diff;
	struct policy *policy;
	struct err err;

	buf_init(&before, 0);
	buf_init(&after, 0);
	arena_init(&arena, DIFF_ARENA_MAX);
	if (arguments_words(cli, 2, 2) < 0)
		return cli_usage(cli);
	for (int i = 0; i < 2; i++) {
		policy = policy_file_read(cli->argv[optind + i], NULL,
					  i == 0 ? &before : &after);
		if (!policy)
			return EXIT_INVALID;
		policy_free(policy);
	}
	if (policy_diff(buf_view(&before), buf_view(&after), &arena, &diff,
			&err) < 0)
		return cli_fail_err(&err);
	return show(cli, &diff);
}
