#include <stdio.h>

#include "common/cleanup.h"
#include "policies/compile.h"
#include "policies/decide.h"
#include "policies/permissions.h"
#include "policies/ref.h"
#include "policies/repo_path.h"

struct repo_nodes {
	const struct text_node *repo, *credential, *read, *push, *lfs;
};

struct push_nodes {
	const struct text_node *branches, *verbs, *tags, *protect, *limits,
		*secrets, *sign, *options, *commits;
};

/* ---- push ---- */

/* Is the pattern, with something for its stars, a ref that can be? */
static bool pattern_is_ref(struct bytes pattern, const char *prefix)
{
	char ref[REF_NAME_MAX + 1];
	int len = snprintf(ref, sizeof(ref), "%s%.*s", prefix,
			   BYTES_ARGS(pattern));

	if (len < 0 || (size_t)len >= sizeof(ref))
		return false;
	for (int i = 0; i < len; i++)
		if (ref[i] == '*')
			ref[i] = 'x';
	return ref_is_valid(bytes_str(ref));
}

static bool read_pattern(struct reader *reader, const struct text_node *node,
			 const char *prefix, struct bytes *pattern)
{
	if (!compile_expand(compile_of(reader), node, EXPAND_TEXT, pattern))
		return false;
	if (bytes_starts_with(*pattern, bytes_str("refs/")))
		return reader_error(reader, node, "write it without \"%s\"",
				    prefix);
	if (!pattern_is_ref(*pattern, prefix))
		return reader_error(reader, node,
				    "\"%.*s\" cannot be the name of a ref",
				    BYTES_ARGS(*pattern));
	return true;
}

static bool branch_item(struct reader *reader, const struct text_node *node,
			void *item)
{
	return read_pattern(reader, node, "refs/heads/", item);
}

static bool tag_item(struct reader *reader, const struct text_node *node,
		     void *item)
{
	return read_pattern(reader, node, "refs/tags/", item);
}

static bool verb_item(struct reader *reader, const struct text_node *node,
		      void *item)
{
	static const struct choice choices[] = {
		{"create", VERB_CREATE},
		{"fast-forward", VERB_FAST_FORWARD},
		{"rewrite", VERB_REWRITE},
		{"delete", VERB_DELETE},
	};

	return reader_choice(reader, node, choices, ARRAY_SIZE(choices), item);
}

static void read_verbs(struct compile *compile, const struct text_node *node,
		       struct policy_repo *repo)
{
	void *items = NULL;
	size_t count = 0;

	repo->verbs = 0;
	if (!reader_list(&compile->reader, node, sizeof(int), verb_item, &items,
			 &count))
		return;
	for (size_t i = 0; i < count; i++)
		repo->verbs |= ((const unsigned *)items)[i];
	if (node->count == 0)
		text_error(&compile->reader.source, node->at,
			   "a push without verbs can do nothing");
}

static void read_push(struct compile *compile, const struct text_node *node,
		      struct policy_repo *repo)
{
	static const struct reader_field fields[] = {
		{"branches", reader_keep,
		 offsetof(struct push_nodes, branches)},
		{"verbs", reader_keep, offsetof(struct push_nodes, verbs)},
		{"tags", reader_keep, offsetof(struct push_nodes, tags)},
		{"protect", reader_keep, offsetof(struct push_nodes, protect)},
		{"limits", reader_keep, offsetof(struct push_nodes, limits)},
		{"secrets", reader_keep, offsetof(struct push_nodes, secrets)},
		{"sign", reader_keep, offsetof(struct push_nodes, sign)},
		{"options", reader_keep, offsetof(struct push_nodes, options)},
		{"commits", reader_keep, offsetof(struct push_nodes, commits)},
	};
	struct reader *reader = &compile->reader;
	struct push_nodes nodes = {0};

	if (!reader_map(reader, node, fields, ARRAY_SIZE(fields), &nodes))
		return;
	repo->verbs = VERB_CREATE | VERB_FAST_FORWARD;
	if (nodes.verbs)
		read_verbs(compile, nodes.verbs, repo);
	if (nodes.protect)
		compile_push_protect(compile, nodes.protect, &repo->checks);
	if (nodes.secrets)
		compile_push_secrets(compile, nodes.secrets, &repo->checks);
	if (nodes.limits)
		compile_push_limits(compile, nodes.limits, &repo->checks);
	if (nodes.options)
		compile_push_options(compile, nodes.options, &repo->options);
	if (nodes.commits)
		compile_push_commits(compile, nodes.commits,
				     &repo->checks.commits);
	if (nodes.sign)
		compile_sign(compile, nodes.sign, repo);
	if (nodes.branches)
		(void)reader_strings(reader, nodes.branches, branch_item,
				     &repo->branches);
	if (nodes.tags)
		(void)reader_strings(reader, nodes.tags, tag_item, &repo->tags);
	if ((!nodes.branches || !nodes.branches->count) &&
	    (!nodes.tags || !nodes.tags->count))
		text_error(&reader->source, node->at,
			   "a push without branches or tags can do nothing");
}

/* ---- a repository ---- */

static bool is_same(const struct policy_repo *a, const struct policy_repo *b)
{
	bool same_path = a->ignores_case ? bytes_equal_nocase(a->path, b->path)
					 : bytes_equal(a->path, b->path);

	return same_path && a->port == b->port && bytes_equal(a->host, b->host);
}

static bool read_url(struct compile *compile, const struct text_node *node,
		     struct policy_repo *repo)
{
	const struct policy *policy = compile->policy;
	struct err err;

	if (!compile_expand(compile, node, EXPAND_TEXT, &repo->url))
		return false;
	if (repo_url_parse(compile->reader.arena, repo->url, repo, &err))
		return reader_error(&compile->reader, node, "%s", err.text);
	for (size_t i = 0; i < policy->repo_count; i++)
		if (is_same(repo, &policy->repos[i]))
			return reader_error(&compile->reader, node,
					    "this repository stands here "
					    "twice");
	return compile_not_tunnelled(compile, node, repo->host, "a repository");
}

/* Git speaks by itself: what goes with it must fit all it says. */
static bool check_kind(struct compile *compile, const struct text_node *node,
		       struct bytes name)
{
	const struct policy_credential *found =
		policy_credential_named(compile->policy, name);

	if (!found)
		return true; /* told already */
	if (found->attach == ATTACH_QUERY || found->attach == ATTACH_SIGV4 ||
	    found->attach == ATTACH_PLACEHOLDER)
		return reader_error(&compile->reader, node,
				    "a credential of this kind does not go "
				    "with git");
	if (found->methods.count || found->paths.count)
		return reader_error(&compile->reader, node,
				    "a credential with \"methods\" or "
				    "\"paths\" does not go with git");
	return true;
}

static void read_repo(struct compile *compile, const struct text_node *node,
		      struct policy_repo *repo)
{
	static const struct reader_field fields[] = {
		{"repo", reader_keep, offsetof(struct repo_nodes, repo)},
		{"credential", reader_keep,
		 offsetof(struct repo_nodes, credential)},
		{"read", reader_keep, offsetof(struct repo_nodes, read)},
		{"push", reader_keep, offsetof(struct repo_nodes, push)},
		{"lfs", reader_keep, offsetof(struct repo_nodes, lfs)},
	};
	struct reader *reader = &compile->reader;
	struct repo_nodes nodes = {NULL, NULL, NULL, NULL, NULL};
	bool has_url;

	if (!reader_map(reader, node, fields, ARRAY_SIZE(fields), &nodes) ||
	    !reader_require(reader, node, "repo"))
		return;
	has_url = read_url(compile, nodes.repo, repo);
	/* A placeholder's host is nobody's. */
	if (nodes.credential &&
	    compile_credential_name(compile, nodes.credential,
				    &repo->credential) &&
	    check_kind(compile, nodes.credential, repo->credential) &&
	    has_url &&
	    !(compile->is_check &&
	      bytes_starts_with(nodes.repo->value,
				bytes_str("${session.repo}"))))
		(void)compile_credential_covers(compile, nodes.credential,
						repo->credential, repo->host);
	if (nodes.read)
		(void)reader_bool(reader, nodes.read, &repo->read);
	if (nodes.push)
		read_push(compile, nodes.push, repo);
	if (has_url)
		compile_lfs(compile, nodes.lfs, repo);
	if (repo->checks.protect.count > 0 && !repo->read)
		text_error(
			&reader->source, nodes.push->at,
			"\"protect\" needs \"read: true\": what stands there "
			"must be known");
	if (!repo->read && !nodes.push)
		text_error(&reader->source, node->at,
			   "this opens nothing: say \"read: true\", \"push\" "
			   "or both");
}

/* What the session's lease leaves of it. A guardrail is no session's. */
static void narrow(struct compile *compile, const struct text_node *node,
		   struct policy_repo *repo)
{
	const struct policy_variables *variables = compile->variables;
	struct err err;

	if (!compile->policy->is_guardrail && repo->host.len &&
	    permissions_narrow(variables->permissions, variables->repo,
			       compile->reader.arena, repo, &err) < 0)
		text_error(&compile->reader.source, node->at, "%s", err.text);
}

/* What ${github.*} stands for, in a text that is checked alone too. */
static void note_github(struct compile *compile, const struct text_node *item,
			const struct policy_repo *repo)
{
	const struct text_node *url = text_child(item, "repo");
	struct bytes rest = bytes_slice(repo->path, 1, repo->path.len);
	bool is_placeholder = compile->is_check && url &&
			      url->kind == TEXT_SCALAR &&
			      bytes_is(url->value, "${session.repo}");

	if (compile->github.owner.len ||
	    (!repo->ignores_case && !is_placeholder))
		return;
	(void)bytes_split(&rest, '/', &compile->github.owner);
	compile->github.repo = rest;
	compile->github.credential = repo->credential;
}

void compile_git(struct compile *compile, const struct text_node *node)
{
	struct policy *policy = compile->policy;
	struct policy_repo *array;

	if (!node || !reader_kind(&compile->reader, node, TEXT_LIST))
		return;
	if (node->count > POLICY_REPOS_MAX) {
		text_error(&compile->reader.source, node->at,
			   "more than %d repositories", POLICY_REPOS_MAX);
		return;
	}
	array = arena_array(compile->reader.arena, node->count, sizeof(*array));
	if (!array) {
		text_error(&compile->reader.source, node->at, "no memory");
		return;
	}
	policy->repos = array;
	for (const struct text_node *item = node->first; item;
	     item = item->next) {
		read_repo(compile, item, &array[policy->repo_count]);
		note_github(compile, item, &array[policy->repo_count]);
		narrow(compile, item, &array[policy->repo_count]);
		policy->repo_count++;
	}
	compile_sign_settle(compile, node);
}
