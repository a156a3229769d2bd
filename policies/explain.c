#include "policies/explain.h"

#include "common/cleanup.h"
#include "policies/explain_rule.h"

/* ---- network ---- */

static int add_rules(const struct policy *policy, struct buf *out)
{
	size_t until = buf_len(out) + EXPLAIN_RULES_BYTES;

	for (size_t i = 0; i < policy->rule_count; i++) {
		if (buf_len(out) > until)
			return buf_add_format(out, "- and %zu more rules.\n",
					      policy->rule_count - i);
		if (explain_rule(&policy->rules[i], out) < 0)
			return -1;
	}
	return 0;
}

static int add_tunnels(const struct policy *policy, struct buf *out)
{
	if (policy->tunnel.count == 0)
		return 0;
	if (buf_add_str(out, "TLS with these hosts is passed on unread: ") <
		    0 ||
	    explain_list(out, &policy->tunnel) < 0)
		return -1;
	return buf_add_str(out, ".\n");
}

static int add_decisions(const struct policy *policy, struct buf *out)
{
	static const char *const fallbacks[] = {
		[POLICY_DENY] = "What no rule names is refused.\n",
		[POLICY_ALLOW] = "What no rule names is allowed.\n",
		[POLICY_ASK] = "For what no rule names, a person is asked.\n",
	};

	if (policy->rule_count > 0 &&
	    (buf_add_str(out, "The first rule that fits a request decides:\n"
			      "\n") < 0 ||
	     add_rules(policy, out) < 0 || buf_add_str(out, "\n") < 0))
		return -1;
	return buf_add_str(out, fallbacks[policy->fallback]);
}

static int add_network(const struct policy *policy, struct buf *out)
{
	if (buf_add_str(out, "\n## Network\n\n") < 0)
		return -1;
	if (policy->rule_count == 0 && policy->repo_count == 0 &&
	    policy->fallback == POLICY_DENY)
		return buf_add_str(out, "Nothing can be reached.\n");
	if (add_decisions(policy, out) < 0 ||
	    explain_rate(out, "All requests together: ", &policy->rate) < 0)
		return -1;
	if (policy->script.len > 0 &&
	    buf_add_str(out, "A script of the policy may refuse more.\n") < 0)
		return -1;
	return add_tunnels(policy, out);
}

/* ---- credentials, by name ---- */

/* Which of the requests there. */
static int add_bounds(const struct policy_credential *credential,
		      struct buf *out)
{
	for (size_t i = 0; i < credential->port_count; i++)
		if (buf_add_format(out, "%s%u", i ? ", " : " on port ",
				   credential->ports[i]) < 0)
			return -1;
	if (credential->methods.count > 0 &&
	    (buf_add_str(out, ", methods ") < 0 ||
	     explain_list(out, &credential->methods) < 0))
		return -1;
	if (credential->paths.count > 0 &&
	    (buf_add_str(out, ", paths ") < 0 ||
	     explain_list(out, &credential->paths) < 0))
		return -1;
	return 0;
}

static int add_attach(const struct policy_credential *credential,
		      struct buf *out)
{
	static const char *const words[ATTACH_MAX] = {
		[ATTACH_SIGV4] = " (they are signed again)",
		[ATTACH_CERTIFICATE] = " (as a TLS client certificate)",
	};

	if (credential->attach == ATTACH_HEADER ||
	    credential->attach == ATTACH_QUERY)
		return buf_add_format(out, " as the %s `%.*s`",
				      credential->attach == ATTACH_HEADER
					      ? "header"
					      : "parameter",
				      BYTES_ARGS(credential->field));
	return words[credential->attach]
		       ? buf_add_str(out, words[credential->attach])
		       : 0;
}

static int add_places(unsigned places, struct buf *out)
{
	static const char *const words[] = {"headers", "Basic", "the query",
					    "the path", "the body"};
	const char *before = ", and may be sent in ";

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!(places & 1u << i))
			continue;
		if (buf_add_format(out, "%s%s", before, words[i]) < 0)
			return -1;
		before = ", ";
	}
	return 0;
}

static int add_placeholder(const struct policy_credential *credential,
			   struct buf *out)
{
	int result = 0;

	if (credential->placeholder_text.len > 0)
		result = buf_add_format(
			out, "; a stand-in without worth is `%.*s`",
			BYTES_ARGS(credential->placeholder_text));
	else if (credential->placeholder_env.count == 0)
		return 0;
	else if (buf_add_str(out, "; a stand-in without worth is in ") < 0 ||
		 explain_list(out, &credential->placeholder_env) < 0)
		return -1;
	return result < 0 ? -1 : add_places(credential->places, out);
}

static int add_credential(const struct policy_credential *credential,
			  struct buf *out)
{
	const char *where = credential->attach == ATTACH_PLACEHOLDER
				    ? "takes its stand-in's place in"
				    : "added to";

	if (buf_add_format(out, "- `%.*s`: %s requests for ",
			   BYTES_ARGS(credential->name), where) < 0 ||
	    explain_list(out, &credential->hosts) < 0 ||
	    add_bounds(credential, out) < 0 || add_attach(credential, out) < 0)
		return -1;
	if (add_placeholder(credential, out) < 0)
		return -1;
	return buf_add_str(out, "\n");
}

static int add_credentials(const struct policy *policy, struct buf *out)
{
	if (policy->credential_count == 0)
		return 0;
	if (buf_add_str(out, "\n## Credentials\n\nThey are added outside the "
			     "sandbox; you never see them and need none of "
			     "your own.\n\n") < 0)
		return -1;
	for (size_t i = 0; i < policy->credential_count; i++)
		if (add_credential(&policy->credentials[i], out) < 0)
			return -1;
	return 0;
}

/* ---- git ---- */

static int add_verbs(unsigned verbs, struct buf *out)
{
	static const struct {
		unsigned verb;
		const char *word;
	} words[] = {
		{VERB_CREATE, "create"},
		{VERB_FAST_FORWARD, "fast-forward"},
		{VERB_REWRITE, "rewrite"},
		{VERB_DELETE, "delete"},
	};
	const char *before = "";

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!(verbs & words[i].verb))
			continue;
		if (buf_add_format(out, "%s%s", before, words[i].word) < 0)
			return -1;
		before = ", ";
	}
	return 0;
}

static int add_pushes(const struct policy_repo *repo, struct buf *out)
{
	if (repo->branches.count + repo->tags.count == 0 || repo->verbs == 0)
		return buf_add_str(out, "; no push.\n");
	if (buf_add_str(out, "; push (") < 0 ||
	    add_verbs(repo->verbs, out) < 0 || buf_add_str(out, ") to ") < 0)
		return -1;
	if (repo->branches.count > 0 &&
	    (buf_add_str(out, "branches ") < 0 ||
	     explain_list(out, &repo->branches) < 0))
		return -1;
	if (repo->tags.count > 0 &&
	    (buf_add_str(out, repo->branches.count ? " and tags " : "tags ") <
		     0 ||
	     explain_list(out, &repo->tags) < 0))
		return -1;
	return buf_add_str(out, " alone.\n") < 0 ? -1 : explain_push(repo, out);
}

static int add_repos(const struct policy *policy, struct buf *out)
{
	for (size_t i = 0; i < policy->repo_count; i++) {
		const struct policy_repo *repo = &policy->repos[i];

		if (buf_add_format(out, "- %.*s: %s", BYTES_ARGS(repo->url),
				   repo->read ? "clone and fetch"
					      : "no clone, no fetch") < 0 ||
		    add_pushes(repo, out) < 0)
			return -1;
	}
	return 0;
}

static int add_signing(const struct policy_sign *sign, struct buf *out)
{
	if (!sign->is_on)
		return 0;
	return buf_add_format(out,
			      "\nCommits and tags are signed by a key outside: "
			      "git is set up for it. Author,\ncommitter and "
			      "tagger must be `%.*s <%.*s>`.\n",
			      BYTES_ARGS(sign->name), BYTES_ARGS(sign->email));
}

static int add_git(const struct policy *policy, struct buf *out)
{
	if (policy->repo_count == 0)
		return 0;
	if (buf_add_str(out, "\n## Git\n\n") < 0 || add_repos(policy, out) < 0)
		return -1;
	return add_signing(&policy->sign, out);
}

/* ---- what narrows all of this ---- */

static int add_guardrail(const struct policy *guardrail, struct buf *out)
{
	if (!guardrail)
		return 0;
	if (buf_add_str(out, "\n## Guardrail\n\nOf all of the above only that "
			     "passes which the operator's guardrail lets\npass "
			     "as well. ") < 0 ||
	    add_decisions(guardrail, out) < 0)
		return -1;
	if (guardrail->repo_count == 0)
		return 0;
	if (buf_add_str(out, "\nOf these repositories no more than:\n\n") < 0)
		return -1;
	return add_repos(guardrail, out);
}

/* ---- the sandbox ---- */

static int add_paths(struct buf *out, const char *what,
		     const struct policy_strings *paths)
{
	if (paths->count == 0)
		return 0;
	if (buf_add_str(out, what) < 0 || explain_list(out, paths) < 0)
		return -1;
	return buf_add_str(out, ".\n");
}

static int add_filesystem(const struct policy *policy, struct buf *out)
{
	const struct policy_filesystem *filesystem = &policy->filesystem;
	static const char *const modes[] = {
		[WORKSPACE_WRITE] = "read and write it",
		[WORKSPACE_READ] = "only read it",
		[WORKSPACE_OVERLAY] = ("read and write it; what you change is "
				       "kept apart until a person commits it"),
	};
	struct bytes workspace = filesystem->workspace;

	if (workspace.len == 0)
		workspace = bytes_str(".");
	if (buf_add_format(out,
			   "\n## Files\n\n- The workspace is `%.*s`; you may "
			   "%s.\n",
			   BYTES_ARGS(workspace),
			   modes[filesystem->workspace_mode]) < 0)
		return -1;
	if (filesystem->has_read) {
		if (add_paths(out, "- Beside it you may read only ",
			      &filesystem->read) < 0)
			return -1;
	} else if (buf_add_str(out, "- The rest of the system can be read, "
				    "not written.\n") < 0) {
		return -1;
	}
	if (add_paths(out, "- You may also write to ", &filesystem->write) <
		    0 ||
	    add_paths(out, "- Hidden: ", &filesystem->hide) < 0 ||
	    add_paths(out, "- Hidden is also what is named in the files ",
		      &filesystem->ignore_files) < 0)
		return -1;
	if (add_paths(out, "- Never writable: ", &filesystem->protect) < 0)
		return -1;
	if (filesystem->workspace_mode == WORKSPACE_READ &&
	    filesystem->write.count == 0)
		return 0;
	return buf_add_str(out, "- What acts outside of the sandbox is never "
				"writable: hooks and settings of git,\n"
				"  start-up files of shells, settings of "
				"editors and agents.\n");
}

static int add_count(struct buf *out, const char *what, uint64_t count)
{
	return count ? buf_add_format(out, "- %s: %llu\n", what,
				      (unsigned long long)count)
		     : 0;
}

static int add_bytes(struct buf *out, const char *what, uint64_t size)
{
	if (size == 0)
		return 0;
	return buf_add_format(out, "- %s: ", what) < 0 ||
			       explain_bytes(out, size) < 0 ||
			       buf_add_str(out, "\n") < 0
		       ? -1
		       : 0;
}

static int add_limits(const struct policy *policy, struct buf *out)
{
	const struct policy_limits *limits = &policy->limits;

	if (!limits->memory_bytes && !limits->processes && !limits->time_ms &&
	    !limits->cpu_milli && !limits->disk_bytes && !limits->files)
		return 0;
	if (buf_add_str(out, "\n## Limits\n\n") < 0 ||
	    add_bytes(out, "Memory", limits->memory_bytes) < 0 ||
	    add_bytes(out, "Disk", limits->disk_bytes) < 0 ||
	    add_count(out, "Processes", limits->processes) < 0 ||
	    add_count(out, "Open files of a process", limits->files) < 0)
		return -1;
	if (limits->cpu_milli &&
	    buf_add_format(out, "- Cores: %g\n",
			   (double)limits->cpu_milli / 1000) < 0)
		return -1;
	if (limits->time_ms && (buf_add_str(out, "- Time: ") < 0 ||
				explain_period(out, limits->time_ms) < 0 ||
				buf_add_str(out, "\n") < 0))
		return -1;
	return 0;
}

static int add_environment(const struct policy *policy, struct buf *out)
{
	const struct policy_environment *environment = &policy->environment;

	if (environment->pass.count + environment->set_count == 0)
		return 0;
	if (buf_add_str(out, "\n## Environment\n\n") < 0 ||
	    add_paths(out, "- Passed in: ", &environment->pass) < 0 ||
	    (environment->pass.count > 0 &&
	     buf_add_str(out, "- Never passed in: what is called as "
			      "credentials are (`*_TOKEN`, `*PASSWORD`, "
			      "...).\n") < 0))
		return -1;
	for (size_t i = 0; i < environment->set_count; i++)
		if (buf_add_format(out, "- Set: `%.*s`\n",
				   BYTES_ARGS(environment->set[i].name)) < 0)
			return -1;
	return 0;
}

/* ---- all of it ---- */

static bool asks(const struct policy *policy)
{
	for (size_t i = 0; i < policy->rule_count; i++)
		if (policy->rules[i].action == POLICY_ASK)
			return true;
	return policy->fallback == POLICY_ASK;
}

static int add_help(const struct policy *policy, struct buf *out)
{
	if (buf_add_str(out,
			"\n## When something is refused\n\n"
			"The answer says which constraint failed and by which "
			"rule; trying again does not\nhelp. "
			"`GET http://sallyport.internal/denials` shows the "
			"last refusals.\n") < 0)
		return -1;
	if (!asks(policy))
		return 0;
	return buf_add_str(
		out,
		"Where a person is asked the request waits. Answered "
		"`approval_pending` it waited in\nvain: send it again once "
		"`GET http://sallyport.internal/proposals/ID?wait=30` says\n"
		"`approved`. To ask before trying: `POST "
		"http://sallyport.internal/proposals` with\n"
		"`{\"method\": \"POST\", \"url\": \"https://...\", \"why\": "
		"\"...\"}`.\n");
}

int policy_explain(const struct policy *policy, struct buf *out)
{
	if (buf_add_format(out, "# What this sandbox may do (policy %.*s)\n",
			   BYTES_ARGS(policy->name.len
					      ? policy->name
					      : bytes_str("without a name"))) <
		    0 ||
	    add_network(policy, out) < 0 || add_credentials(policy, out) < 0 ||
	    add_git(policy, out) < 0 ||
	    add_guardrail(policy->guardrail, out) < 0 ||
	    add_filesystem(policy, out) < 0 ||
	    explain_commands(policy, out) < 0 || add_limits(policy, out) < 0 ||
	    add_environment(policy, out) < 0)
		return -1;
	return add_help(policy, out);
}
