#include "cli/policy/test.h"
#include "cli/arguments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/policy/beyond.h"
#include "cli/policy/command.h"
#include "cli/policy/guardrail.h"
#include "cli/policy/which.h"
#include "cli/policy_file.h"
#include "common/cleanup.h"
#include "common/secret.h"
#include "gateway/http/head.h"
#include "policies/decide.h"
#include "policies/guardrail.h"
#include "policies/inspect/inspection.h"
#include "policies/inspect/prints.h"
#include "policies/lfs.h"
#include "policies/repo_path.h"
#include "policies/url.h"

#define REPORT_BYTES_MAX (256 * 1024)
#define SECRET_BYTES_MAX (16 * 1024)

struct policy_options {
	struct policy_which which;
	const char *command; /* a line of a shell, instead of a request */
	const char *body;    /* a file, "-": stdin */
	struct buf held;     /* what is in it */
	struct fields headers;
	struct secret_prints *prints; /* of --secret; NULL: none */
	bool is_push;
};

static void options_release(struct policy_options *options)
{
	buf_release(&options->held);
	prints_free(options->prints);
}

/* EXIT_OK, or another: told. */
static int read_body(struct policy_options *options)
{
	bool is_stdin = !strcmp(options->body, "-");
	auto_fd int fd = is_stdin ? dup(STDIN_FILENO)
				  : open(options->body, O_RDONLY | O_CLOEXEC);
	char piece[16384];
	ssize_t got = fd < 0 ? -1 : 1;

	while (got > 0) {
		got = read(fd, piece, sizeof(piece));
		if (got > 0 &&
		    buf_add(&options->held, bytes_from(piece, (size_t)got)) < 0)
			return cli_fail(EXIT_FAILED,
					"%s is larger than any rule can "
					"look at",
					options->body);
	}
	return got < 0 ? cli_fail(EXIT_INVALID, "--body %s: %s", options->body,
				  strerror(errno))
		       : EXIT_OK;
}

static int add_header(struct policy_options *options, char *text)
{
	char *colon = strchr(text, ':');
	struct bytes name = {NULL, 0}, value = {NULL, 0};

	if (colon) {
		name = bytes_from(text, (size_t)(colon - text));
		value = bytes_trim(bytes_str(colon + 1));
	}
	if (!http_is_token(name) || !http_is_value(value))
		return cli_fail(-1, "no header field: %s", text);
	if (fields_add(&options->headers, name, value) < 0)
		return cli_fail(-1, "more than %d headers", HEAD_FIELDS_MAX);
	return 0;
}

/* What `secret put` would take for its value. */
static int read_secret(const char *path, struct secret *value, struct err *err)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_system(err, "open it");
	return secret_read_fd(value, fd, SECRET_BYTES_MAX, err);
}

static int take_secret(struct policy_options *options,
		       const struct secret *value, struct err *err)
{
	struct bytes bytes = secret_view(value);

	if (bytes.len && bytes.data[bytes.len - 1] == '\n')
		bytes.len--;
	if (bytes.len < PRINTS_SECRET_MIN)
		return err_set(err, ERR_INVALID,
			       "what is shorter than %d bytes is not looked "
			       "for",
			       PRINTS_SECRET_MIN);
	if (!options->prints)
		options->prints = prints_new();
	return options->prints
		       ? prints_add(options->prints, bytes_str("given secret"),
				    bytes, err)
		       : err_set(err, ERR_SYSTEM, "memory is out");
}

/* As parse(). */
static int add_secret(struct policy_options *options, const char *path)
{
	struct secret value;
	struct err err;
	int code = EXIT_OK;

	secret_protect_process();
	secret_init(&value);
	if (read_secret(path, &value, &err) < 0)
		code = EXIT_INVALID;
	else if (take_secret(options, &value, &err) < 0)
		code = -1;
	secret_release(&value);
	return code == EXIT_OK
		       ? code
		       : cli_fail(code, "--secret %s: %s", path, err.text);
}

/* 0; -1: the words are wrong; or an exit code: told. */
static int parse(struct cli *cli, struct policy_options *options)
{
	static const struct option table[] = {
		POLICY_WHICH_OPTIONS,
		{"header", required_argument, NULL, 'h'},
		{"body", required_argument, NULL, 'd'},
		{"secret", required_argument, NULL, 's'},
		{"command", required_argument, NULL, 'l'},
		{NULL, 0, NULL, 0},
	};
	int option, taken = EXIT_OK;

	while (taken == EXIT_OK &&
	       (option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
		       -1) {
		if (policy_which_take(&options->which, option, optarg))
			continue;
		if (option == 'd')
			options->body = optarg;
		else if (option == 'l')
			options->command = optarg;
		else if (option == 's')
			taken = add_secret(options, optarg);
		else if (option != 'h' || add_header(options, optarg) < 0)
			return -1;
	}
	if (taken != EXIT_OK)
		return taken;
	if (!options->which.policy)
		return cli_wrong(cli, "--policy FILE is missing");
	if (options->command)
		return arguments_count(cli, 0, 0);
	if (arguments_count(cli, 2, 3) < 0)
		return -1;
	options->is_push = !strcmp(cli->argv[optind], "PUSH");
	return arguments_count(cli, options->is_push ? 3 : 2,
			       options->is_push ? 3 : 2);
}

static int tell(struct cli *cli, const struct verdict *verdict,
		struct buf *trace)
{
	static const char *const words[VERDICT_KIND_MAX] = {
		[VERDICT_DENY] = "deny",
		[VERDICT_ALLOW] = "allow",
		[VERDICT_ASK] = "ask",
		[VERDICT_LOOK] = "deny",
	};
	const char *word = words[verdict->kind];
	bool allowed = verdict->kind == VERDICT_ALLOW;
	bool says_why = verdict->constraint != CONSTRAINT_none;

	if (cli->json) {
		json_t *value = json_pack(
			"{s:s, s:s, s:s%, s:s%, s:s%, s:s%}", "verdict", word,
			"constraint", constraint_name(verdict->constraint),
			"rule",
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

		(void)cli_print(cli, value, NULL);
		json_decref(value);
	} else {
		(void)printf("%s%s%.*s%s%s%s%.*s\n", word,
			     verdict->rule.len ? " by " : "",
			     BYTES_ARGS(verdict->rule), says_why ? ": " : "",
			     says_why ? constraint_name(verdict->constraint)
				      : "",
			     verdict->reason.len ? ": " : "",
			     BYTES_ARGS(verdict->reason));
		if (verdict->credential.len)
			(void)printf("credential: %.*s\n",
				     BYTES_ARGS(verdict->credential));
		(void)printf("%.*s", BYTES_ARGS(buf_view(trace)));
	}
	return allowed ? EXIT_OK : EXIT_WOULD_DENY;
}

static struct bytes value_of(const struct fields *fields, const char *name)
{
	const struct field *field = fields_find(fields, name);

	return field ? field->value : bytes_from(NULL, 0);
}

static bool denies_secrets(const struct policy *policy)
{
	for (size_t i = 0; policy && i < policy->rule_count; i++)
		if (policy->rules[i].body &&
		    policy->rules[i].body->deny_secrets)
			return true;
	return false;
}

/* The gateway looks for the session's own secrets as well, by fingerprints
 * that the vault gives nobody else. */
static void trace_secrets(const struct policy *policy,
			  const struct policy_options *options,
			  struct buf *trace)
{
	if ((policy->credential_count == 0 && !options->prints) ||
	    (!denies_secrets(policy) && !denies_secrets(policy->guardrail)))
		return;
	(void)buf_add_str(trace,
			  options->prints
				  ? "body: the given secrets are looked for; "
				    "those of the vault are not\n"
				  : "body: the secrets of the vault are not "
				    "looked for, as a session would "
				    "(--secret)\n");
}

/* The decision by the body, as the gateway makes it: held, decoded, seen. */
static struct verdict test_body(const struct policy *policy,
				const struct policy_options *options,
				struct request_facts *facts, uint64_t look_max,
				struct buf *trace)
{
	const struct inspect_source source = {
		.type = value_of(&options->headers, "Content-Type"),
		.encoding = value_of(&options->headers, "Content-Encoding"),
		.query = facts->query,
		.body = buf_view(&options->held),
		.decoded_max = look_max,
		.prints = options->prints,
	};
	struct verdict verdict;
	struct err err;

	if (fields_count_of(&options->headers, "Content-Type") > 1 ||
	    fields_count_of(&options->headers, "Content-Encoding") > 1)
		return beyond_refuse(
			CONSTRAINT_body_unreadable,
			bytes_str("Content-Type and Content-Encoding "
				  "may stand only once each"));
	if (source.body.len > look_max)
		return beyond_refuse(CONSTRAINT_body_too_large,
				     bytes_from(NULL, 0));
	facts->body = inspection_new(&source, &err);
	if (!facts->body) {
		(void)buf_add_format(trace, "body: %s\n", err.text);
		return beyond_refuse(CONSTRAINT_body_unreadable,
				     bytes_from(NULL, 0));
	}
	(void)buf_add_str(trace, "body: looked into\n");
	trace_secrets(policy, options, trace);
	facts->body_bytes = source.body.len;
	verdict = decide_request(policy, facts, trace);
	inspection_free(facts->body);
	facts->body = NULL;
	return verdict;
}

/* What the guardrail says to a git endpoint of a repository. */
static struct verdict test_guard(const struct policy *policy,
				 const struct policy_repo *repo,
				 const struct request_facts *facts,
				 struct buf *trace)
{
	(void)buf_add_str(trace, "git: a repository of the policy\n");
	if (repo->guard)
		(void)buf_add_str(trace, "guardrail/git: the same "
					 "repository\n");
	return guard_git(policy, facts, repo, trace);
}

/* As the git lane says it before it has seen what is pushed. */
static struct verdict test_git(const struct policy *policy,
			       const struct policy_repo *repo,
			       enum git_endpoint endpoint,
			       const struct request_facts *facts,
			       struct buf *trace)
{
	struct verdict verdict = test_guard(policy, repo, facts, trace);
	bool any = repo->verbs && (repo->branches.count || repo->tags.count);

	if (verdict.kind != VERDICT_ALLOW)
		return verdict;
	if (endpoint == GIT_ADVERTISE_READ || endpoint == GIT_UPLOAD_PACK)
		return decide_fetch(repo);
	if (any && endpoint != GIT_DUMB && endpoint != GIT_AMBIGUOUS) {
		(void)buf_add_str(trace, "git: a push; its refs decide: policy "
					 "test PUSH URL REF\n");
		verdict.credential = repo->credential;
		return verdict;
	}
	verdict.kind = VERDICT_DENY;
	verdict.constraint = endpoint == GIT_DUMB ? CONSTRAINT_git_dumb_http
			     : endpoint == GIT_AMBIGUOUS
				     ? CONSTRAINT_git_not_allowed
				     : CONSTRAINT_push_ref_not_allowed;
	return verdict;
}

/* Of LFS: as far as it does not depend on what a batch or lock says. */
static struct verdict test_lfs(const struct policy *policy,
			       const struct policy_repo *repo,
			       const struct request_facts *facts,
			       struct buf *trace)
{
	struct verdict verdict = test_guard(policy, repo, facts, trace);
	struct lfs_path at;

	if (verdict.kind != VERDICT_ALLOW)
		return verdict;
	(void)buf_add_str(trace, "git: LFS: an upload or lock also needs a "
				 "ref that may be pushed\n");
	if (lfs_endpoint_of(facts, &at) == LFS_OTHER) {
		verdict.kind = VERDICT_DENY;
		verdict.constraint = CONSTRAINT_lfs_not_allowed;
	} else if (!decide_lfs_writes(repo)) {
		verdict = decide_fetch(repo);
	}
	return verdict;
}

static struct verdict test_request(const struct policy *policy,
				   const struct policy_options *options,
				   struct request_facts *facts,
				   struct buf *trace)
{
	struct bytes repo_path;
	enum git_endpoint endpoint = git_endpoint_of(facts, &repo_path);
	const struct policy_repo *repo =
		decide_repo(policy, &facts->target, repo_path);
	struct verdict verdict;
	struct lfs_path at;

	facts->has_body = buf_len(&options->held) > 0;
	if (lfs_path_split(facts->path, &at)) {
		repo = decide_repo(policy, &facts->target,
				   repo_path_canonical(at.base));
		if (repo)
			return test_lfs(policy, repo, facts, trace);
	}
	if (endpoint != GIT_NONE && repo)
		return test_git(policy, repo, endpoint, facts, trace);
	verdict = decide_request(policy, facts, trace);
	return verdict.kind == VERDICT_LOOK ? test_body(policy, options, facts,
							verdict.look_max, trace)
					    : verdict;
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
	struct bytes path = repo_path_canonical(facts->path);
	const struct policy_repo *repo =
		decide_repo(policy, &facts->target, path);
	struct request_facts sent = *facts;
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
	sent.method = bytes_str("POST");
	sent.path = bytes_str(
		arena_format(arena, "%.*s/git-receive-pack", BYTES_ARGS(path)));
	verdict = test_guard(policy, repo, &sent, trace);
	if (verdict.kind != VERDICT_ALLOW)
		return verdict;
	verdict = decide_push(repo, &push, &needs_proof);
	(void)buf_add_format(trace, "git: update of %s%s\n", full,
			     needs_proof ? " (a fast-forward must be proven)"
					 : "");
	return verdict;
}

/* What is asked, and all that it is decided with. */
struct test {
	const struct policy *policy;
	const struct policy_options *options;
	const char *guardrail; /* in words */
};

/* What the gateway would not run here decides there as well. */
static void trace_script(const struct policy *policy,
			 const struct verdict *verdict, struct buf *trace)
{
	if (policy->script.len && verdict->kind != VERDICT_DENY)
		(void)buf_add_str(trace, "script: not asked here, as the "
					 "gateway would\n");
}

/* A handshake is asked for by its URL, or by its header field. *url becomes
 * the http(s) URL of the same. 0, or -1: told. */
static int take_handshake(const struct policy_options *options,
			  struct bytes method, const char **url,
			  struct arena *arena, bool *is_websocket)
{
	struct bytes text = bytes_str(*url), rest = text, scheme;
	bool is_ws = bytes_split(&rest, ':', &scheme) &&
		     (bytes_is_nocase(scheme, "ws") ||
		      bytes_is_nocase(scheme, "wss"));

	*is_websocket =
		is_ws || bytes_is_nocase(value_of(&options->headers, "Upgrade"),
					 "websocket");
	if (!*is_websocket)
		return 0;
	if (options->is_push || !bytes_is(method, "GET"))
		return cli_fail(-1, "a WebSocket begins with GET");
	if (is_ws)
		*url = arena_format(arena, "http%s:%.*s",
				    scheme.len == strlen("wss") ? "s" : "",
				    BYTES_ARGS(rest));
	return *url ? 0 : cli_fail(-1, "memory is out");
}

static int test(struct cli *cli, const struct test *of, struct arena *arena)
{
	const struct policy *policy = of->policy;
	const struct policy_options *options = of->options;
	auto_type(buf_release) struct buf trace;
	char **words = cli->argv + optind;
	struct request_facts facts = {.method = bytes_str(words[0])};
	const char *url = words[1];
	enum constraint constraint;
	struct verdict verdict;
	struct err err;

	buf_init(&trace, REPORT_BYTES_MAX);
	if (take_handshake(options, facts.method, &url, arena,
			   &facts.is_websocket) < 0)
		return EXIT_USAGE;
	(void)buf_add_format(&trace, "guardrail: %s\n", of->guardrail);
	if (url_to_ascii(&url, arena, &err) < 0)
		return cli_fail(EXIT_USAGE, "%s", err.text);
	if (url_facts(url, arena, &facts, &constraint, &err) < 0) {
		if (constraint == CONSTRAINT_none)
			return cli_fail(EXIT_USAGE, "%s", err.text);
		verdict = beyond_refuse(constraint, bytes_str(err.text));
	} else if (options->is_push) {
		verdict = test_push(policy, &facts, words[2], arena, &trace);
	} else if (!head_method_is_known(facts.method)) {
		verdict =
			beyond_refuse(CONSTRAINT_method_unknown, facts.method);
	} else if (beyond_is_request(&facts, &options->headers, arena,
				     &verdict)) {
		verdict = test_request(policy, options, &facts, &trace);
		verdict = beyond_rules(policy, &facts, verdict, arena);
		trace_script(policy, &verdict, &trace);
	}
	return tell(cli, &verdict, &trace);
}

int policy_test(struct cli *cli)
{
	struct field room[HEAD_FIELDS_MAX];
	auto_type(options_release) struct policy_options options = {
		.headers = {room, 0, HEAD_FIELDS_MAX},
	};
	struct policy_variables variables;
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf text;
	auto_type(guardrail_release) struct guardrail guardrail;
	struct test of = {.options = &options, .guardrail = guardrail.where};
	struct policy *policy;
	int exit_code;

	guardrail_init(&guardrail);
	arena_init(&arena, 1024 * 1024);
	buf_init(&text, 0);
	buf_init(&options.held, POLICY_BODY_MAX + 1);
	exit_code = parse(cli, &options);
	if (exit_code < 0)
		return cli_usage(cli);
	if (exit_code == EXIT_OK && options.body)
		exit_code = read_body(&options);
	if (exit_code != EXIT_OK)
		return exit_code;
	variables = policy_which_variables(&options.which, "s-test");
	policy = policy_file_read(options.which.policy, &variables, &text);
	if (!policy)
		return EXIT_INVALID;
	if (options.command) {
		exit_code = policy_test_command(cli, policy, options.command);
		policy_free(policy);
		return exit_code;
	}
	of.policy = policy;
	exit_code = guardrail_bind(&guardrail, options.which.guardrail,
				   &variables, policy);
	if (exit_code == EXIT_OK)
		exit_code = test(cli, &of, &arena);
	policy_free(policy);
	return exit_code;
}
