#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "common/cleanup.h"
#include "policies/decide.h"
#include "policies/host.h"
#include "policies/path.h"
#include "policies/repo_path.h"

#define REPORT_BYTES_MAX (256 * 1024)

struct policy_options {
	const char *policy;
	const char *repo;
	const char *branch;
};

/* Compile a file; its errors go to stderr. */
static struct policy *compile(const char *path,
			      const struct policy_variables *variables,
			      int *exit_code)
{
	auto_type(buf_release) struct buf text;
	auto_type(buf_release) struct buf report;
	struct policy_errors errors = {.out = &report, .file = path};
	struct policy *policy;
	struct err err;

	buf_init(&text, POLICY_TEXT_MAX + 1);
	buf_init(&report, REPORT_BYTES_MAX);
	if (cli_read_file(path, &text, &err) < 0) {
		*exit_code = cli_fail(EXIT_INVALID, "%s", err.text);
		return NULL;
	}
	policy = policy_compile(buf_view(&text), variables, &errors);
	if (!policy) {
		(void)fprintf(stderr, "%.*s", BYTES_ARGS(buf_view(&report)));
		(void)fprintf(stderr, "%s: %zu error%s\n", path, errors.count,
			      errors.count == 1 ? "" : "s");
		*exit_code = EXIT_INVALID;
	}
	return policy;
}

int cmd_policy_check(struct cli *cli)
{
	struct policy *policy;
	int exit_code = EXIT_OK;

	if (cli->argc < 2)
		return cli_usage(cli);
	for (int i = 1; i < cli->argc; i++) {
		policy = compile(cli->argv[i], NULL, &exit_code);
		if (policy)
			(void)printf("%s: ok, %zu rules\n", cli->argv[i],
				     policy->rule_count);
		policy_free(policy);
	}
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
	return options->policy && cli->argc - optind >= 2 ? 0 : -1;
}

/* A URL into facts, in arena. 0, or -1 with *err. */
static int url_facts(const char *url, struct arena *arena,
		     struct request_facts *facts, struct err *err)
{
	struct bytes rest = bytes_str(url), authority, path, host;
	char *canonical = arena_alloc(arena, HOST_NAME_MAX_LEN + 1);
	uint64_t port;

	facts->is_tls = bytes_starts_with(rest, bytes_str("https://"));
	if (!facts->is_tls && !bytes_starts_with(rest, bytes_str("http://")))
		return err_set(err, ERR_INVALID, "'%s' is no http(s) URL", url);
	rest = bytes_slice(rest, facts->is_tls ? 8 : 7, rest.len);
	path = rest;
	if (bytes_split(&path, '/', &authority))
		path = bytes_slice(rest, authority.len, rest.len);
	else
		path = bytes_str("/");
	facts->query = path;
	if (!bytes_split(&facts->query, '?', &path))
		facts->query = bytes_from(NULL, 0);
	port = facts->is_tls ? 443 : 80;
	if (bytes_split(&authority, ':', &host) &&
	    (bytes_to_u64(authority, 5, &port) < 0 || port > 65535))
		return err_set(err, ERR_INVALID, "'%s' has no port", url);
	if (!canonical || host_canonical(host, canonical) == HOST_INVALID)
		return err_set(err, ERR_INVALID, "'%s' has no host", url);
	facts->target.host = bytes_str(canonical);
	facts->target.port = (uint16_t)port;
	return path_normalise(arena, path, &facts->path, err);
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
				const char *ref, struct buf *trace)
{
	const struct push_facts push = {bytes_str(ref), PUSH_UPDATE};
	const struct policy_repo *repo = decide_repo(
		policy, &facts->target, repo_path_canonical(facts->path));
	bool needs_proof = false;
	struct verdict verdict = {.constraint = CONSTRAINT_git_not_allowed};

	if (!repo) {
		(void)buf_add_str(trace, "git: no repository of the policy\n");
		return verdict;
	}
	verdict = decide_push(repo, &push, &needs_proof);
	(void)buf_add_format(trace, "git: update of %s%s\n", ref,
			     needs_proof ? " (a fast-forward must be proven)"
					 : "");
	return verdict;
}

int cmd_policy_test(struct cli *cli)
{
	struct policy_options options = {0};
	struct policy_variables variables;
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf trace;
	struct request_facts facts = {0};
	struct policy *policy;
	struct verdict verdict;
	struct err err;
	int exit_code = EXIT_OK;

	arena_init(&arena, 1024 * 1024);
	buf_init(&trace, REPORT_BYTES_MAX);
	if (parse(cli, &options) < 0)
		return cli_usage(cli);
	variables = (struct policy_variables){
		.session_id = bytes_str("s-test"),
		.branch = bytes_str(options.branch),
		.repo = bytes_str(options.repo),
	};
	policy = compile(options.policy, &variables, &exit_code);
	if (!policy)
		return exit_code;
	facts.method = bytes_str(cli->argv[optind]);
	if (url_facts(cli->argv[optind + 1], &arena, &facts, &err) < 0) {
		exit_code = cli_fail(EXIT_USAGE, "%s", err.text);
	} else {
		bool is_push = bytes_is(facts.method, "PUSH") &&
			       cli->argc - optind == 3;

		verdict = is_push ? test_push(policy, &facts,
					      cli->argv[optind + 2], &trace)
				  : test_request(policy, &facts, &trace);
		exit_code = tell(cli, &verdict, &trace);
	}
	policy_free(policy);
	return exit_code;
}
