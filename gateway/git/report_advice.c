#include "common/cleanup.h"
#include "gateway/git/report.h"

/* Of each list, so many are shown. */
#define SHOWN_MAX 5
#define HEADS	  "refs/heads/"

/* A verb's denial says which in its reason. */
static bool is_of_a_verb(const struct verdict *verdict)
{
	return verdict->constraint == CONSTRAINT_push_verb_not_allowed &&
	       verdict->reason.len > 0;
}

static int add_denied(const struct push *push, struct buf *out)
{
	size_t shown = 0, left = 0;

	for (size_t i = 0; i < push->update_count; i++) {
		const struct push_update *update = &push->updates[i];
		const struct verdict *verdict = &update->verdict;
		struct bytes text;

		if (verdict->kind == VERDICT_ALLOW ||
		    verdict->constraint == CONSTRAINT_none)
			continue;
		if (shown++ >= SHOWN_MAX) {
			left++;
			continue;
		}
		text = is_of_a_verb(verdict) ? verdict->reason
					     : bytes_str(constraint_text(
						       verdict->constraint));
		if (buf_add_format(out, "  %.*s: %.*s\n",
				   BYTES_ARGS(update->ref),
				   BYTES_ARGS(text)) < 0)
			return -1;
	}
	return left ? buf_add_format(out, "  and %zu more\n", left) : 0;
}

static int add_verbs(const struct policy_repo *repo, struct buf *out)
{
	static const struct {
		unsigned bit;
		const char *name;
	} verbs[] = {{VERB_CREATE, "create"},
		     {VERB_FAST_FORWARD, "fast-forward"},
		     {VERB_REWRITE, "rewrite"},
		     {VERB_DELETE, "delete"}};
	const char *comma = " (";

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!(repo->verbs & verbs[i].bit))
			continue;
		if (buf_add_format(out, "%s%s", comma, verbs[i].name) < 0)
			return -1;
		comma = ", ";
	}
	return buf_add_str(out, comma[0] == ',' ? ")\n" : "\n");
}

static int add_patterns(const struct policy_strings *patterns,
			const char *prefix, const char **comma, struct buf *out)
{
	for (size_t i = 0; i < patterns->count && i < SHOWN_MAX; i++) {
		if (buf_add_format(out, "%s%s%.*s", *comma, prefix,
				   BYTES_ARGS(patterns->items[i])) < 0)
			return -1;
		*comma = ", ";
	}
	return patterns->count > SHOWN_MAX ? buf_add_str(out, ", ...") : 0;
}

static int add_allowed(const struct policy_repo *repo, struct buf *out)
{
	const char *comma = "";

	if (repo->branches.count + repo->tags.count == 0)
		return buf_add_str(out, "this session may only read here\n");
	if (buf_add_str(out, "this session may push: ") < 0 ||
	    add_patterns(&repo->branches, "", &comma, out) < 0 ||
	    add_patterns(&repo->tags, "refs/tags/", &comma, out) < 0)
		return -1;
	return add_verbs(repo, out);
}

/* The first branch of the policy that is a name and not a pattern; else the
 * first pattern. Empty: none. */
static struct bytes branch_of(const struct policy_repo *repo)
{
	const struct policy_strings *branches = &repo->branches;

	for (size_t i = 0; i < branches->count; i++)
		if (bytes_find(branches->items[i], '*', 0) < 0)
			return branches->items[i];
	return branches->count ? branches->items[0] : bytes_str(NULL);
}

static bool has_denial(const struct push *push, enum constraint constraint)
{
	for (size_t i = 0; i < push->update_count; i++)
		if (push->updates[i].verdict.constraint == constraint)
			return true;
	return false;
}

/* The branch of the first update that was denied for it. */
static struct bytes denied_branch(const struct push *push,
				  enum constraint constraint)
{
	for (size_t i = 0; i < push->update_count; i++) {
		struct bytes ref = push->updates[i].ref;

		if (push->updates[i].verdict.constraint == constraint &&
		    bytes_starts_with(ref, bytes_str(HEADS)))
			return bytes_slice(ref, strlen(HEADS), ref.len);
	}
	return bytes_str(NULL);
}

/* A pattern as a name to type: agent/NAME for agent/ and a star. */
static int add_name(struct bytes pattern, struct buf *out)
{
	for (size_t i = 0; i < pattern.len; i++) {
		bool is_star = pattern.data[i] == '*';

		if (is_star && i > 0 && pattern.data[i - 1] == '*')
			continue;
		if ((is_star ? buf_add_str(out, "NAME")
			     : buf_add_byte(out, pattern.data[i])) < 0)
			return -1;
	}
	return 0;
}

/* The command to type instead. */
static int add_command(const struct report_advice *advice, struct buf *out)
{
	static const enum constraint behind[] = {
		CONSTRAINT_push_stale, CONSTRAINT_push_not_fast_forward};
	struct bytes branch;

	for (size_t i = 0; i < ARRAY_SIZE(behind); i++) {
		branch = denied_branch(advice->push, behind[i]);
		if (branch.len > 0)
			return buf_add_format(
				out, "try: git pull --rebase origin %.*s\n",
				BYTES_ARGS(branch));
	}
	branch = branch_of(advice->repo);
	if (branch.len == 0 ||
	    !has_denial(advice->push, CONSTRAINT_push_ref_not_allowed))
		return 0;
	if (buf_add_str(out, "try: git push origin HEAD:") < 0 ||
	    add_name(branch, out) < 0)
		return -1;
	return buf_add_byte(out, '\n');
}

static int add_reference(struct bytes rule, const struct report_advice *advice,
			 struct buf *out)
{
	struct {
		const char *name;
		struct bytes value;
	} parts[] = {{"rule", rule},
		     {"session", advice->session},
		     {"request", advice->request_id}};
	const char *comma = "";

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (parts[i].value.len == 0)
			continue;
		if (buf_add_format(out, "%s%s %.*s", comma, parts[i].name,
				   BYTES_ARGS(parts[i].value)) < 0)
			return -1;
		comma = ", ";
	}
	return comma[0] ? buf_add_byte(out, '\n') : 0;
}

static int add_all(const struct report_advice *advice, struct buf *text)
{
	const struct verdict *verdict = &advice->ruling->verdict;

	if (buf_add_format(text, "sallyport: push refused: %s\n",
			   constraint_name(verdict->constraint)) < 0 ||
	    add_denied(advice->push, text) < 0)
		return -1;
	if (verdict->reason.len > 0 &&
	    verdict->constraint != CONSTRAINT_push_stale &&
	    !is_of_a_verb(verdict) &&
	    buf_add_format(text, "reason: %.*s\n",
			   BYTES_ARGS(verdict->reason)) < 0)
		return -1;
	if (advice->repo && (add_allowed(advice->repo, text) < 0 ||
			     add_command(advice, text) < 0))
		return -1;
	return add_reference(verdict->rule, advice, text);
}

int report_advise(const struct report_advice *advice, struct buf *out)
{
	auto_type(buf_release) struct buf text;

	/* Names of a policy can be long: what does not fit is left out. */
	buf_init(&text, REPORT_ADVICE_MAX);
	(void)add_all(advice, &text);
	return buf_add(out, buf_view(&text));
}

int report_explain(const struct verdict *verdict,
		   const struct policy_repo *repo, struct buf *out)
{
	const struct bytes reason = verdict->reason;

	if (buf_add_format(out, "sallyport: %s: %s\n",
			   constraint_name(verdict->constraint),
			   constraint_text(verdict->constraint)) < 0)
		return -1;
	if (reason.len > 0 &&
	    buf_add_format(out, "reason: %.*s\n", BYTES_ARGS(reason)) < 0)
		return -1;
	if (verdict->rule.len > 0 &&
	    buf_add_format(out, "rule: %.*s\n", BYTES_ARGS(verdict->rule)) < 0)
		return -1;
	if (!repo)
		return 0;
	return buf_add_format(out, "this session's repository: %.*s\n",
			      BYTES_ARGS(repo->url));
}
