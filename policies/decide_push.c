#include "policies/decide.h"
#include "policies/decide_rule.h"
#include "policies/pattern.h"
#include "policies/ref.h"

static const struct bytes no_reason = {NULL, 0};

struct verdict decide_fetch(const struct policy_repo *repo)
{
	if (repo->guard && !repo->guard->read)
		return verdict_deny(CONSTRAINT_fetch_not_allowed,
				    bytes_str("guardrail/git"), no_reason);
	if (repo->read)
		return verdict_allow(repo->url);
	return verdict_deny(CONSTRAINT_fetch_not_allowed, repo->url, no_reason);
}

static bool any_matches(const struct policy_strings *patterns,
			struct bytes name)
{
	for (size_t i = 0; i < patterns->count; i++)
		if (ref_matches(patterns->items[i], name))
			return true;
	return false;
}

enum ref_kind { REF_FORBIDDEN, REF_BRANCH, REF_TAG };

/* What kind of ref it is; forbidden when no pattern names it. */
static enum ref_kind kind_of(const struct policy_repo *repo, struct bytes ref)
{
	static const struct bytes heads = BYTES_LITERAL("refs/heads/");
	static const struct bytes tags = BYTES_LITERAL("refs/tags/");

	if (!ref_is_valid(ref))
		return REF_FORBIDDEN;
	if (bytes_starts_with(ref, heads) &&
	    any_matches(&repo->branches, bytes_slice(ref, heads.len, ref.len)))
		return REF_BRANCH;
	if (bytes_starts_with(ref, tags) &&
	    any_matches(&repo->tags, bytes_slice(ref, tags.len, ref.len)))
		return REF_TAG;
	return REF_FORBIDDEN;
}

/* The rights of which one is enough for the verb. */
static unsigned verbs_for(enum push_verb verb, enum ref_kind kind)
{
	switch (verb) {
	case PUSH_CREATE:
		return VERB_CREATE;
	case PUSH_DELETE:
		return VERB_DELETE;
	case PUSH_UPDATE:
	case PUSH_FAST_FORWARD:
		/* A tag that moves is another tag, wherever it goes. */
		return kind == REF_TAG ? VERB_REWRITE
				       : VERB_FAST_FORWARD | VERB_REWRITE;
	case PUSH_REWRITE:
		return VERB_REWRITE;
	case PUSH_VERB_MAX:
		break;
	}
	return 0;
}

/* What the push wanted to do, and the right it would take. */
static struct bytes lacking(enum push_verb verb, enum ref_kind kind)
{
	static const struct bytes create =
		BYTES_LITERAL("the session may not create it: push.verbs has "
			      "no \"create\"");
	static const struct bytes update =
		BYTES_LITERAL("the session may not update it: push.verbs has "
			      "no \"fast-forward\"");
	static const struct bytes move =
		BYTES_LITERAL("the session may not move a tag: push.verbs has "
			      "no \"rewrite\"");
	static const struct bytes rewrite =
		BYTES_LITERAL("the session may not rewrite it: push.verbs has "
			      "no \"rewrite\"");
	static const struct bytes delete =
		BYTES_LITERAL("the session may not delete it: push.verbs has "
			      "no \"delete\"");

	switch (verb) {
	case PUSH_CREATE:
		return create;
	case PUSH_DELETE:
		return delete;
	case PUSH_UPDATE:
	case PUSH_FAST_FORWARD:
		return kind == REF_TAG ? move : update;
	case PUSH_REWRITE:
		return kind == REF_TAG ? move : rewrite;
	case PUSH_VERB_MAX:
		break;
	}
	return no_reason;
}

static struct verdict decide(const struct policy_repo *repo,
			     const struct push_facts *facts, bool *needs_proof)
{
	enum ref_kind kind = kind_of(repo, facts->ref);

	*needs_proof = false;
	if (kind == REF_FORBIDDEN)
		return verdict_deny(CONSTRAINT_push_ref_not_allowed, repo->url,
				    no_reason);
	if (repo->verbs & verbs_for(facts->verb, kind)) {
		*needs_proof = facts->verb == PUSH_UPDATE &&
			       !(repo->verbs & VERB_REWRITE);
		return verdict_allow(repo->url);
	}
	if (facts->verb == PUSH_REWRITE && kind == REF_BRANCH &&
	    (repo->verbs & VERB_FAST_FORWARD))
		return verdict_deny(CONSTRAINT_push_not_fast_forward, repo->url,
				    no_reason);
	return verdict_deny(CONSTRAINT_push_verb_not_allowed, repo->url,
			    lacking(facts->verb, kind));
}

struct verdict decide_push(const struct policy_repo *repo,
			   const struct push_facts *facts, bool *needs_proof)
{
	struct verdict verdict = decide(repo, facts, needs_proof);
	bool guard_needs_proof = false;
	struct verdict guard;

	if (!repo->guard || verdict.kind != VERDICT_ALLOW)
		return verdict;
	guard = decide(repo->guard, facts, &guard_needs_proof);
	*needs_proof |= guard_needs_proof;
	if (guard.kind == VERDICT_ALLOW)
		return verdict;
	*needs_proof = false;
	guard.rule = bytes_str("guardrail/git");
	return guard;
}

bool decide_proves_moves(const struct policy_repo *repo)
{
	if (!(repo->verbs & (VERB_FAST_FORWARD | VERB_REWRITE)))
		return false;
	return !(repo->verbs & VERB_REWRITE) ||
	       (repo->guard && !(repo->guard->verbs & VERB_REWRITE));
}

static bool option_matches(const struct policy_repo *repo, struct bytes option)
{
	for (size_t i = 0; i < repo->options.count; i++)
		if (pattern_ask(repo->options.items[i], option) ==
		    PATTERN_MATCHES)
			return true;
	return false;
}

bool decide_push_option(const struct policy_repo *repo, struct bytes option)
{
	return option_matches(repo, option) &&
	       (!repo->guard || option_matches(repo->guard, option));
}
