#include "gateway/git/ruling.h"

#include "policies/decide.h"

#define PROOFS_MAX 256

static const struct bytes reason_stale = BYTES_LITERAL("fetch first");
static const struct bytes reason_atomic = BYTES_LITERAL("atomic push failed");
static const struct bytes reason_innocent =
	BYTES_LITERAL("refused with the rest of the push");

static struct verdict deny(enum constraint constraint, struct bytes rule,
			   struct bytes reason)
{
	return (struct verdict){.kind = VERDICT_DENY,
				.constraint = constraint,
				.rule = rule,
				.reason = reason};
}

static enum push_verb verb_of(const struct push_update *update)
{
	if (git_oid_is_zero(update->old_oid))
		return PUSH_CREATE;
	return git_oid_is_zero(update->new_oid) ? PUSH_DELETE : PUSH_UPDATE;
}

static struct verdict ask(struct push_update *update,
			  const struct policy_repo *repo)
{
	struct push_facts facts = {.ref = update->ref, .verb = update->verb};

	update->needs_proof = false;
	return decide_push(repo, &facts, &update->needs_proof);
}

/* Does the client's idea of the ref agree with upstream's? Without a whole
 * list of refs nothing agrees. */
static bool is_current(const struct push_update *update,
		       const struct git_refs *refs)
{
	const struct git_ref *ref = git_refs_find(refs, update->ref);

	if (ref)
		return bytes_equal(ref->oid, update->old_oid);
	return refs->is_whole && !refs->is_partial &&
	       git_oid_is_zero(update->old_oid);
}

static void decide_update(struct push_update *update,
			  const struct policy_repo *repo,
			  const struct git_refs *refs)
{
	update->verb = verb_of(update);
	update->verdict = ask(update, repo);
	if (update->verdict.kind == VERDICT_ALLOW && !is_current(update, refs))
		update->verdict = deny(CONSTRAINT_push_stale,
				       update->verdict.rule, reason_stale);
}

/* The whole from its parts: one denial takes the others with it. */
static void settle(struct push *push, struct ruling *ruling)
{
	*ruling = (struct ruling){.is_allowed = true};
	if (push->update_count > 0)
		ruling->verdict = push->updates[0].verdict;
	for (size_t i = 0; i < push->update_count; i++) {
		const struct push_update *update = &push->updates[i];

		ruling->needs_proof |= update->needs_proof;
		if (update->verdict.kind == VERDICT_ALLOW)
			continue;
		if (ruling->denied_count++ == 0)
			ruling->verdict = update->verdict;
		ruling->is_allowed = false;
	}
	if (ruling->is_allowed)
		return;
	ruling->needs_proof = false;
	for (size_t i = 0; i < push->update_count; i++) {
		struct push_update *update = &push->updates[i];

		update->needs_proof = false;
		if (update->verdict.kind == VERDICT_ALLOW)
			update->verdict =
				deny(CONSTRAINT_none, update->verdict.rule,
				     push->is_atomic ? reason_atomic
						     : reason_innocent);
	}
}

void push_decide(struct push *push, const struct policy_repo *repo,
		 const struct git_refs *refs, struct ruling *ruling)
{
	if (push->update_count == 0) {
		push_refuse(push, CONSTRAINT_push_malformed,
			    bytes_str("the push names no ref"), ruling);
		return;
	}
	if (push->oid_hex_len != refs->oid_hex_len) {
		push_refuse(push, CONSTRAINT_push_malformed,
			    bytes_str("the repository has another object "
				      "format"),
			    ruling);
		return;
	}
	for (size_t i = 0; i < push->update_count; i++)
		decide_update(&push->updates[i], repo, refs);
	settle(push, ruling);
}

void push_decide_options(struct push *push, const struct policy_repo *repo,
			 struct arena *arena, struct ruling *ruling)
{
	for (size_t i = 0; i < push->option_count; i++) {
		const char *reason;

		if (decide_push_option(repo, push->options[i]))
			continue;
		reason = arena_format(arena,
				      "the session may not push with -o "
				      "%.*s",
				      BYTES_ARGS(push->options[i]));
		push_refuse(push, CONSTRAINT_push_option_not_allowed,
			    bytes_str(reason), ruling);
		return;
	}
}

void push_proven(struct push *push, const struct policy_repo *repo,
		 struct ruling *ruling)
{
	for (size_t i = 0; i < push->update_count; i++) {
		struct push_update *update = &push->updates[i];

		if (!update->needs_proof)
			continue;
		update->verb = PUSH_FAST_FORWARD;
		update->verdict = ask(update, repo);
	}
	settle(push, ruling);
}

void push_disproven(struct push *push, size_t index, enum constraint constraint,
		    struct bytes reason, struct ruling *ruling)
{
	struct push_update *update;

	if (index >= push->update_count) {
		push_refuse(push, constraint, reason, ruling);
		return;
	}
	update = &push->updates[index];
	if (constraint == CONSTRAINT_push_not_fast_forward)
		update->verb = PUSH_REWRITE;
	update->verdict = deny(constraint, update->verdict.rule, reason);
	settle(push, ruling);
}

void push_refuse(struct push *push, enum constraint constraint,
		 struct bytes reason, struct ruling *ruling)
{
	for (size_t i = 0; i < push->update_count; i++) {
		struct push_update *update = &push->updates[i];

		update->verdict =
			deny(constraint, update->verdict.rule, reason);
	}
	settle(push, ruling);
	ruling->is_allowed = false;
	ruling->verdict = deny(constraint, ruling->verdict.rule, reason);
}

int push_proof_ask(const struct push *push, bool is_looked_at,
		   struct arena *arena, struct msg_pack_check *ask_,
		   size_t **indexes)
{
	struct msg_pack_update *updates;
	size_t count = 0;

	updates = arena_array(arena, PROOFS_MAX, sizeof(*updates));
	*indexes = arena_array(arena, PROOFS_MAX, sizeof(**indexes));
	if (!updates || !*indexes)
		return -1;
	for (size_t i = 0; i < push->update_count; i++) {
		const struct push_update *update = &push->updates[i];

		if (!update->needs_proof &&
		    (!is_looked_at || git_oid_is_zero(update->new_oid)))
			continue;
		if (count == PROOFS_MAX)
			return -1;
		updates[count].old_oid = update->old_oid;
		updates[count].new_oid = update->new_oid;
		updates[count].must_forward = update->needs_proof;
		(*indexes)[count++] = i;
	}
	ask_->updates = updates;
	ask_->updates_count = count;
	return 0;
}
