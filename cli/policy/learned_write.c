/*
 * The whole policy: what was learnt, and what else the session ran with.
 */
#include <stdlib.h>

#include "cli/policy/learned.h"
#include "cli/policy/yaml.h"
#include "common/cleanup.h"

#define REPORT_BYTES_MAX (16 * 1024)

const struct text_node *learned_credential(const struct learned *learned,
					   struct bytes name)
{
	const struct text_node *at =
		learned->source
			? text_child(learned->source->root, "credentials")
			: NULL;

	for (at = at ? at->first : NULL; at; at = at->next) {
		const struct text_node *child = text_child(at, "name");

		if (child && bytes_equal(child->value, name))
			return at;
	}
	return NULL;
}

/* ---- network ---- */

static void put_network(struct learned *learned, struct yaml *yaml)
{
	static const char *const keys[] = {"tls", "addresses", "limits", "rate",
					   "script"};
	const struct text_node *network =
		learned->source ? text_child(learned->source->root, "network")
				: NULL;

	for (size_t i = 0; network && i < ARRAY_SIZE(keys); i++)
		if (text_child(network, keys[i]))
			yaml_node(yaml, 2, text_child(network, keys[i]));
}

/* ---- credentials ---- */

static int by_text(const void *a, const void *b)
{
	const struct bytes *one = a;
	const struct bytes *two = b;
	size_t len = one->len < two->len ? one->len : two->len;
	int order = len ? memcmp(one->data, two->data, len) : 0;

	return order ? order : (one->len > two->len) - (one->len < two->len);
}

/* Where a credential went, sorted, each host once; hosts[] has room for all
 * requests and repositories. */
static size_t hosts_of(struct learned *learned, struct bytes name,
		       struct bytes *hosts)
{
	size_t count = 0, kept = 0;

	for (const struct learned_request *request = learned->requests; request;
	     request = request->hh.next)
		if (learned_is_wanted(learned, request) &&
		    bytes_equal(request->credential, name))
			hosts[count++] = request->host;
	for (size_t i = 0; i < learned->repo_count; i++)
		if (bytes_equal(learned->repos[i].credential, name))
			hosts[count++] = learned->repos[i].host;
	if (count)
		qsort(hosts, count, sizeof(*hosts), by_text);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || !bytes_equal(hosts[i], hosts[kept - 1]))
			hosts[kept++] = hosts[i];
	return kept;
}

static void put_credential(struct yaml *yaml, const struct text_node *node,
			   const struct bytes *hosts, size_t count)
{
	/* The first stands behind the dash. */
	for (const struct text_node *item = node->first; item;
	     item = item->next) {
		yaml_put(yaml, item == node->first ? "  - " : "    ");
		if (!bytes_is(item->key, "hosts")) {
			yaml_pair(yaml, 4, item);
			continue;
		}
		yaml_put(yaml, "hosts: [");
		for (size_t i = 0; i < count; i++) {
			yaml_put(yaml, i ? ", " : "");
			yaml_quote(yaml, hosts[i]);
		}
		yaml_put(yaml, "]\n");
	}
}

static int put_credentials(struct learned *learned, struct yaml *yaml)
{
	const struct text_node *at =
		learned->source
			? text_child(learned->source->root, "credentials")
			: NULL;
	size_t max = HASH_COUNT(learned->requests) + learned->repo_count;
	auto_free struct bytes *hosts = calloc(max + 1, sizeof(*hosts));
	bool has_begun = false;

	if (!hosts)
		return -1;
	for (at = at ? at->first : NULL; at; at = at->next) {
		const struct text_node *name = text_child(at, "name");
		size_t count = hosts_of(learned, name->value, hosts);

		if (count == 0)
			continue;
		yaml_put(yaml, has_begun ? "" : "credentials:\n");
		has_begun = true;
		put_credential(yaml, at, hosts, count);
	}
	return 0;
}

/* ---- git ---- */

static void put_refs(struct yaml *yaml, const struct learned_repo *repo,
		     bool is_tag)
{
	bool has_begun = false;

	for (const struct learned_ref *ref = repo->refs; ref; ref = ref->next) {
		if (ref->is_tag != is_tag)
			continue;
		if (!has_begun)
			yaml_put(yaml, "      %s:\n",
				 is_tag ? "tags" : "branches");
		has_begun = true;
		yaml_put(yaml, "        - ");
		yaml_quote(yaml, ref->name);
		if (ref->refused != CONSTRAINT_none)
			yaml_put(yaml, " # was refused: %s",
				 constraint_name(ref->refused));
		yaml_put(yaml, "\n");
	}
}

static void put_verbs(struct yaml *yaml, const struct learned_repo *repo)
{
	static const struct {
		unsigned verb;
		const char *name;
	} verbs[] = {
		{VERB_CREATE, "create"},
		{VERB_FAST_FORWARD, "fast-forward"},
		{VERB_REWRITE, "rewrite"},
		{VERB_DELETE, "delete"},
	};
	const char *comma = "";

	yaml_put(yaml, "      verbs: [");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!(repo->verbs & verbs[i].verb))
			continue;
		yaml_put(yaml, "%s%s", comma, verbs[i].name);
		comma = ", ";
	}
	yaml_put(yaml, "]%s\n",
		 repo->is_unproven ? " # nobody looked whether fast-forward "
				     "would do"
				   : "");
}

/* Of the policy that the session ran with: the same repository, or the one
 * that is the session's. */
static const struct text_node *source_repo(const struct learned *learned,
					   const struct learned_repo *repo)
{
	static const struct bytes variable = BYTES_LITERAL("${session.repo}");
	const struct policy *policy =
		learned->source ? learned->source->policy : NULL;
	const struct text_node *at =
		policy ? text_child(learned->source->root, "git") : NULL;
	const struct text_node *found = NULL;

	at = at ? at->first : NULL;
	for (size_t i = 0; at && i < policy->repo_count; i++, at = at->next) {
		const struct policy_repo *own = &policy->repos[i];

		if (own->port == repo->port &&
		    bytes_equal(own->host, repo->host) &&
		    bytes_equal_nocase(own->path, repo->path))
			return at;
		if (bytes_starts_with(text_child(at, "repo")->value, variable))
			found = at;
	}
	return found;
}

/* What else was asked of it, or of pushes to it. */
static void put_rest(struct yaml *yaml, int indent, const struct text_node *map,
		     const char *const *ours)
{
	for (const struct text_node *item = map ? map->first : NULL; item;
	     item = item->next) {
		size_t i = 0;

		while (ours[i] && !bytes_is(item->key, ours[i]))
			i++;
		if (!ours[i])
			yaml_node(yaml, indent, item);
	}
}

static void put_repo(struct learned *learned, struct yaml *yaml,
		     const struct learned_repo *repo)
{
	static const char *const ours[] = {"repo", "credential", "read", "push",
					   NULL};
	static const char *const push_ours[] = {"branches", "tags", "verbs",
						NULL};
	const struct text_node *source = source_repo(learned, repo);
	const struct text_node *push =
		source ? text_child(source, "push") : NULL;
	/* Protected paths need it. */
	bool reads = repo->has_fetched || !repo->refs ||
		     (push && text_child(push, "protect"));
	bool is_new = repo->has_fetched && !repo->was_read &&
		      repo->refused != CONSTRAINT_none;

	yaml_put(yaml, "  - repo: ");
	yaml_quote(yaml, repo->url);
	yaml_put(yaml, "\n");
	if (repo->credential.len &&
	    learned_credential(learned, repo->credential)) {
		yaml_put(yaml, "    credential: ");
		yaml_quote(yaml, repo->credential);
		yaml_put(yaml, "\n");
	} else if (repo->credential.len) {
		yaml_remark(yaml, 4,
			    "went with a credential that only --policy can "
			    "define: ",
			    repo->credential);
	}
	if (reads)
		yaml_put(yaml, "    read: true%s%s\n",
			 is_new ? " # was refused: " : "",
			 is_new ? constraint_name(repo->refused) : "");
	put_rest(yaml, 4, source, ours);
	if (!repo->refs)
		return;
	yaml_put(yaml, "    push:\n");
	put_refs(yaml, repo, false);
	put_refs(yaml, repo, true);
	put_verbs(yaml, repo);
	put_rest(yaml, 6, source ? text_child(source, "push") : NULL,
		 push_ours);
}

static int by_url(const void *a, const void *b)
{
	const struct learned_repo *one = a;
	const struct learned_repo *two = b;

	return by_text(&one->url, &two->url);
}

void learned_write_git(struct learned *learned, struct yaml *yaml)
{
	if (learned->repo_count == 0)
		return;
	qsort(learned->repos, learned->repo_count, sizeof(learned->repos[0]),
	      by_url);
	yaml_put(yaml, "git:\n");
	for (size_t i = 0; i < learned->repo_count; i++)
		put_repo(learned, yaml, &learned->repos[i]);
}

/* ---- all ---- */

static void put_title(struct learned *learned, struct yaml *yaml,
		      struct bytes title)
{
	yaml_remark(yaml, 0, "", title);
	yaml_put(yaml,
		 "#\n"
		 "# What the session did, and nothing else, as far as the "
		 "record has it: it does\n"
		 "# not have queries, header fields and bodies%s.\n"
		 "# Who was inside could choose what it says: read it before "
		 "you use it.\n",
		 learned->source ? "; what rules asked of\n"
				   "# them is kept"
				 : "");
	yaml_put(yaml, "version: 1\nname: learned\n");
}

static void put_notes(struct learned *learned, struct yaml *yaml)
{
	if (learned->refused && !learned->wants_denied)
		yaml_put(yaml, "# left out: %zu refusals (see --denied)\n",
			 (size_t)learned->refused);
	for (const struct learned_note *note = learned->notes; note;
	     note = note->next)
		yaml_remark(yaml, 0, "left out: ", note->text);
	if (learned->more_notes)
		yaml_put(yaml, "# left out: %zu more\n", learned->more_notes);
}

static void put_sections(struct learned *learned, struct yaml *yaml)
{
	static const char *const keys[] = {"filesystem", "limits",
					   "environment"};

	for (size_t i = 0; learned->source && i < ARRAY_SIZE(keys); i++)
		if (text_child(learned->source->root, keys[i]))
			yaml_node(yaml, 0,
				  text_child(learned->source->root, keys[i]));
}

/* What is no policy is nobody's to use. */
static int check(struct bytes text, struct err *err)
{
	auto_type(buf_release) struct buf report;
	struct policy_errors errors = {.out = &report, .file = "learned"};
	struct policy *policy;

	buf_init(&report, REPORT_BYTES_MAX);
	policy = policy_compile(text, NULL, &errors);
	if (policy) {
		policy_free(policy);
		return 0;
	}
	return err_set(err, ERR_LIBRARY,
		       "what was recorded makes no policy:\n%.*s",
		       BYTES_ARGS(buf_view(&report)));
}

int learned_write(struct learned *learned, struct bytes title, struct buf *out,
		  struct err *err)
{
	auto_type(buf_release) struct buf network;
	struct yaml yaml = {.out = out};
	struct yaml inner = {.out = &network};
	size_t before = buf_len(out);

	buf_init(&network, POLICY_TEXT_MAX);
	put_title(learned, &yaml, title);
	if (learned_write_rules(learned, &inner) < 0)
		return err_set(err, ERR_TOO_LARGE, "memory is out");
	put_network(learned, &inner);
	yaml_put(&yaml, buf_len(&network) ? "network:\n" : "");
	yaml_raw(&yaml, buf_view(&network));
	if (put_credentials(learned, &yaml) < 0)
		return err_set(err, ERR_TOO_LARGE, "memory is out");
	learned_write_git(learned, &yaml);
	put_sections(learned, &yaml);
	put_notes(learned, &yaml);
	if (yaml.is_full || inner.is_full ||
	    buf_len(out) - before > POLICY_TEXT_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "the policy would be longer than %d bytes",
			       POLICY_TEXT_MAX);
	return check(bytes_slice(buf_view(out), before, buf_len(out)), err);
}
