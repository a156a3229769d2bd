#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/policy_file.h"
#include "common/cleanup.h"
#include "gateway/http/head.h"
#include "policies/decide.h"
#include "policies/repo_path.h"
#include "policies/url.h"

#define REPORT_BYTES_MAX (256 * 1024)

struct policy_options {
	const char *policy;
	const char *repo;
	const char *branch;
	bool is_push;
};

/* ---- check ---- */

static json_t *check_one(const char *path, bool tells)
{
	auto_type(buf_release) struct buf text;
	auto_type(buf_release) struct buf report;
	size_t count;
	struct policy *policy;
	size_t rules = 0;

	buf_init(&report, REPORT_BYTES_MAX);
	policy = policy_file_try(path, NULL, &text, &report, &count);
	if (policy)
		rules = policy->rule_count;
	if (policy && tells)
		(void)printf("%s: ok, %zu rules\n", path, rules);
	else if (tells)
		(void)fprintf(stderr, "%.*s%s: %zu error%s\n",
			      BYTES_ARGS(buf_view(&report)), path, count,
			      count == 1 ? "" : "s");
	policy_free(policy);
	return json_pack("{s:s, s:b, s:I, s:I, s:s%}", "file", path, "valid",
			 count == 0, "rules", (json_int_t)rules, "errors",
			 (json_int_t)count, "report", buf_str(&report),
			 buf_len(&report));
}

int cmd_policy_check(struct cli *cli)
{
	json_t *files = json_array();
	int exit_code = EXIT_OK;

	if (arguments_words(cli, 1, INT_MAX) < 0) {
		json_decref(files);
		return cli_usage(cli);
	}
	for (int i = optind; i < cli->argc; i++) {
		json_t *file = check_one(cli->argv[i], !cli->json);

		if (!json_is_true(json_object_get(file, "valid")))
			exit_code = EXIT_INVALID;
		(void)json_array_append_new(files, file);
	}
	if (cli->json)
		(void)cli_print(cli, files, NULL);
	json_decref(files);
	return exit_code;
}

/* ---- test ---- */

static int parse(struct cli *cli, struct policy_options *options)
{
	static const struct option table[] = {
		{"policy", required_argument, NULL, 'p'},
		{"repo", required_argument, NULL, 'r'},
		{"branch", required_argument, NULL, 'b'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		switch (option) {
		case 'p':
			options->policy = optarg;
			break;
		case 'r':
			options->repo = optarg;
			break;
		case 'b':
			options->branch = optarg;
			break;
		default:
			return -1;
		}
	}
	if (!options->policy || cli->argc - optind < 2)
		return -1;
	options->is_push = !strcmp(cli->argv[optind], "PUSH");
	return cli->argc - optind == (options->is_push ? 3 : 2) ? 0 : -1;
}

static int tell(struct cli *cli, const struct verdict *verdict,
		struct buf *trace)
{
	bool allowed = verdict->kind == VERDICT_ALLOW;

	if (cli->json) {
		json_t *value = json_pack(
			"{s:s, s:s, s:s%, s:s%, s:s%, s:s%}", "verdict",
			allowed ? "allow" : "deny", "constraint",
			constraint_name(verdict->constraint), "rule",
			verdict->rule.data ? (const char *)verdict->rule.data
					   : "",
			verdict->rule.len, "reason",
			verdict->reason.data
				? (const char *)verdict->reason.data
				: "",
			verdict->reason.len, "credential",
			verdict->credential.data
				? (const char *)verdict->credential.data
				: "",
			verdict->credential.len, "trace", buf_str(trace),
			buf_len(trace));

		(void)json_dumpf(value, stdout, JSON_INDENT(2));
		(void)putchar('\n');
		json_decref(value);
	} else {
		(void)printf(
			"%s by %.*s%s%s%s%.*s\n", allowed ? "allow" : "deny",
			BYTES_ARGS(verdict->rule), allowed ? "" : ": ",
			allowed ? "" : constraint_name(verdict->constraint),
			verdict->reason.len ? ": " : "",
			BYTES_ARGS(verdict->reason));
		if (verdict->credential.len)
			(void)printf("credential: %.*s\n",
				     BYTES_ARGS(verdict->credential));
		(void)printf("%.*s", BYTES_ARGS(buf_view(trace)));
	}
	return allowed ? EXIT_OK : EXIT_WOULD_DENY;
}

static struct verdict test_request(const struct policy *policy,
				   const struct request_facts *facts,
				   struct buf *trace)
{
	struct bytes repo_path;
	enum git_endpoint endpoint = git_endpoint_of(facts, &repo_path);
	const struct policy_repo *repo =
		decide_repo(policy, &facts->target, repo_path);

	if (endpoint == GIT_ADVERTISE_READ || endpoint == GIT_UPLOAD_PACK) {
		if (repo) {
			(void)buf_add_str(trace, "git: a repository of the "
						 "policy\n");
			return decide_fetch(repo);
		}
	}
	return decide_request(policy, facts, trace);
}

static struct verdict test_push(const struct policy *policy,
				const struct request_facts *facts,
				const char *ref, struct arena *arena,
				struct buf *trace)
{
	bool is_full = bytes_starts_with(bytes_str(ref), bytes_str("refs/"));
	const char *full =
		is_full ? ref : arena_format(arena, "refs/heads/%s", ref);
	const struct push_facts push = {bytes_str(full), PUSH_UPDATE};
	const struct policy_repo *repo = decide_repo(
		policy, &facts->target, repo_path_canonical(facts->path));
	bool needs_proof = false;
	struct verdict verdict = {
		.kind = VERDICT_DENY,
		.constraint = CONSTRAINT_git_not_allowed,
		.rule = bytes_str("default"),
	};

	if (!repo) {
		(void)buf_add_str(trace, "git: no repository of the policy\n");
		return verdict;
	}
	verdict = decide_push(repo, &push, &needs_proof);
	(void)buf_add_format(trace, "git: update of %s%s\n", full,
			     needs_proof ? " (a fast-forward must be proven)"
					 : "");
	return verdict;
}

/* What the gateway would say before it looks at any rule. */
static struct verdict refused(enum constraint constraint, struct bytes why)
{
	return (struct verdict){
		.kind = VERDICT_DENY,
		.constraint = constraint,
		.rule = bytes_str("gateway"),
		.reason = why,
	};
}

static int test(struct cli *cli, const struct policy *policy, bool is_push,
		struct arena *arena)
{
	auto_type(buf_release) struct buf trace;
	char **words = cli->argv + optind;
	struct request_facts facts = {.method = bytes_str(words[0])};
	enum constraint constraint;
	struct verdict verdict;
	struct err err;

	buf_init(&trace, REPORT_BYTES_MAX);
	if (url_facts(words[1], arena, &facts, &constraint, &err) < 0) {
		if (constraint == CONSTRAINT_none)
			return cli_fail(EXIT_USAGE, "%s", err.text);
		verdict = refused(constraint, bytes_str(err.text));
	} else if (is_push) {
		verdict = test_push(policy, &facts, words[2], arena, &trace);
	} else if (!head_method_is_known(facts.method)) {
		verdict = refused(CONSTRAINT_method_unknown, facts.method);
	} else {
		verdict = test_request(policy, &facts, &trace);
	}
	return tell(cli, &verdict, &trace);
}

int cmd_policy_test(struct cli *cli)
{
	struct policy_options options = {0};
	struct policy_variables variables;
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf text;
	struct policy *policy;
	int exit_code;

	arena_init(&arena, 1024 * 1024);
	buf_init(&text, 0);
	if (parse(cli, &options) < 0)
		return cli_usage(cli);
	variables = (struct policy_variables){
		.session_id = bytes_str("s-test"),
		.branch = bytes_str(options.branch),
		.repo = bytes_str(options.repo),
	};
	policy = policy_file_read(options.policy, &variables, &text);
	if (!policy)
		return EXIT_INVALID;
	exit_code = test(cli, policy, options.is_push, &arena);
	policy_free(policy);
	return exit_code;
}
