#include "gateway/packcheck/check.h"

#include "common/cleanup.h"
#include "gateway/packcheck/commits.h"
#include "gateway/packcheck/oid_queue.h"

static void say(struct pack_check *check, struct msg_pack_verdict *verdict,
		enum pack_result result, const char *detail)
{
	*verdict = (struct msg_pack_verdict){
		.result = (uint8_t)result,
		.index = (uint32_t)check->at,
		.detail = bytes_str(detail),
	};
}

static void invalid(struct pack_check *check, struct msg_pack_verdict *verdict)
{
	say(check, verdict, PACK_INVALID, check->err.text);
}

/* The pushed pack, or what the policy says of it. */
static void refuse(struct pack_check *check, struct msg_pack_verdict *verdict)
{
	if (check->finding.constraint == CONSTRAINT_none) {
		invalid(check, verdict);
		/* A pack that is too large may be a sound one. */
		if (check->err.code != ERR_TOO_LARGE)
			return;
		finding_set(&check->finding, CONSTRAINT_push_too_large, "%s",
			    check->err.text);
	}
	say(check, verdict, PACK_REFUSED, check->finding.text);
	verdict->constraint = (uint16_t)check->finding.constraint;
	verdict->index = CHECK_UPDATES_MAX;
}

static bool was_asked(const struct pack_check *check, const git_oid *oid)
{
	for (size_t i = 0; i < check->asked_count; i++)
		if (git_oid_equal(&check->asked[i], oid))
			return true;
	return false;
}

/* Put an object on the list of wants, unless it was asked for before. */
static void want(struct pack_check *check, struct msg_pack_verdict *verdict,
		 enum pack_wants kind, const git_oid *oid)
{
	size_t at = verdict->wants_count;

	if (at == CHECK_WANTS_MAX || check->asked_count == CHECK_ASKED_MAX ||
	    was_asked(check, oid))
		return;
	check->asked[check->asked_count++] = *oid;
	(void)git_oid_fmt(check->want_text[at], oid);
	check->wants[at].oid = bytes_from(check->want_text[at], GIT_OID_HEXSZ);
	verdict->wants_kind = (uint8_t)kind;
	verdict->wants = check->wants;
	verdict->wants_count = at + 1;
}

/* ---- the pushed pack ---- */

void pack_check_ahead(struct pack_check *check, struct bytes bytes)
{
	if (!check->store.odb &&
	    (pack_store_init(&check->store, &check->err) < 0 ||
	     pack_store_begin(&check->store, &check->ahead, CHECK_OBJECTS_MAX,
			      &check->err) < 0)) {
		pack_store_release(&check->store);
		return;
	}
	if (check->ahead.indexer &&
	    bytes.len <= CHECK_PACK_MAX - check->ahead.fed)
		(void)pack_store_feed(&check->ahead, bytes, &check->err);
}

static enum pack_added add_whole(struct pack_check *check)
{
	if (check->ahead.indexer)
		return pack_store_finish(&check->store, &check->ahead,
					 check->pushed, &check->limits,
					 &check->err);
	return pack_store_add(&check->store, check->pushed, &check->limits,
			      &check->err);
}

/* False: the verdict is set. */
static bool look_at_pushed(struct pack_check *check,
			   struct msg_pack_verdict *verdict)
{
	static const git_oid none;

	check->store.modules = none;
	check->commits.seen = 0;
	check->is_looked_at = pack_look(&check->store, &check->rules,
					&check->finding, &check->err) == 0 &&
			      check->finding.constraint == CONSTRAINT_none;
	if (!check->is_looked_at) {
		refuse(check, verdict);
		return false;
	}
	if (git_oid_is_zero(&check->store.modules))
		return true;
	check->is_looked_at = false;
	say(check, verdict, PACK_UNPROVEN, ".gitmodules is not in the pack");
	want(check, verdict, WANTS_BASES, &check->store.modules);
	if (verdict->wants_count > 0)
		return false;
	(void)err_set(&check->err, ERR_MISSING,
		      "look at the pack: a .gitmodules is nowhere");
	refuse(check, verdict);
	return false;
}

/* False: the verdict is set. */
static bool add_pushed(struct pack_check *check,
		       struct msg_pack_verdict *verdict)
{
	switch (add_whole(check)) {
	case PACK_ADDED:
		check->is_pushed_added = true;
		check->asked_count = 0;
		check->store.pushed = check->store.last;
		return look_at_pushed(check, verdict);
	case PACK_BROKEN:
		break;
	case PACK_LACKS_BASE:
		say(check, verdict, PACK_UNPROVEN,
		    "the pack has deltas against objects outside it");
		want(check, verdict, WANTS_BASES, &check->store.missing);
		if (verdict->wants_count > 0)
			return false;
		(void)err_set(&check->err, ERR_MISSING,
			      "check the pack: the base of a delta is nowhere");
		break;
	}
	refuse(check, verdict);
	return false;
}

/* ---- the proof ---- */

static void want_frontier(struct pack_check *check,
			  struct msg_pack_verdict *verdict)
{
	say(check, verdict, PACK_UNPROVEN, "the pack does not reach its base");
	for (size_t i = 0; i < check->walk.frontier_count; i++)
		want(check, verdict, WANTS_COMMITS, &check->walk.frontier[i]);
	/* Upstream was asked for all of it, and had no way to the old tip. */
	if (verdict->wants_count == 0)
		say(check, verdict, PACK_REWRITE,
		    "the new tip is not a descendant of the old one");
}

/* ---- protected paths ---- */

/* Commits first: their trees come with them. */
static void want_states(struct pack_check *check,
			struct msg_pack_verdict *verdict)
{
	const struct protect *protect = &check->protect;

	say(check, verdict, PACK_UNPROVEN,
	    "what stands at the protected paths is not known");
	verdict->index = (uint32_t)check->compared;
	for (size_t i = 0; i < protect->commit_count; i++)
		want(check, verdict, WANTS_STATES, &protect->commits[i]);
	for (size_t i = 0;
	     protect->commit_count == 0 && i < protect->tree_count; i++)
		want(check, verdict, WANTS_TREES, &protect->trees[i]);
	if (verdict->wants_count > 0)
		return;
	(void)err_set(&check->err, ERR_MISSING,
		      "compare the trees: one of them is nowhere");
	invalid(check, verdict);
}

/* A commit that no update leads to would be upstream's, and a new branch may
 * begin at any commit that upstream has. */
static bool leads_to_all(struct pack_check *check)
{
	auto_type(oid_queue_release) struct oid_queue all = {0};
	bool is_whole = true;

	for (size_t i = 0; i < check->update_count; i++) {
		auto_type(commits_release) struct commits commits = {0};

		(void)commits_list(&commits, &check->store,
				   &check->updates[i].from, false);
		for (size_t j = 0; j < commits.count && is_whole; j++)
			is_whole = oid_queue_push(&all, &commits.oids[j],
						  COMMITS_MAX) == 0;
	}
	return is_whole && commits_are_all(&check->store, &all);
}

/* ---- what upstream has ---- */

static void ask_known(struct pack_check *check,
		      struct msg_pack_verdict *verdict, enum check_asks asks)
{
	check->asks = asks;
	check->asked_count = 0;
	say(check, verdict, PACK_UNPROVEN, "it is not known what upstream has");
}

/* git sends commits that upstream has when it does not know the tips that lead
 * to them: none of those is the push's change, but where an update's tip is
 * one, it changes the ref. Asked are the newest that was found, which decides,
 * and the oldest, which is the one to name. False: what was found stays. */
static bool doubt(struct pack_check *check, struct msg_pack_verdict *verdict)
{
	const struct protect *protect = &check->protect;
	bool is_newest = git_oid_equal(&check->is_new, &protect->newest);

	if (!pack_store_is_pushed(&check->store, &protect->newest) ||
	    oid_queue_has(&check->known, &protect->newest) ||
	    (is_newest && git_oid_equal(&protect->newest, &protect->oldest)))
		return false;
	ask_known(check, verdict, is_newest ? ASKS_OLDEST : ASKS_NEWEST);
	want(check, verdict, WANTS_KNOWN,
	     is_newest ? &protect->oldest : &protect->newest);
	return true;
}

static void refuse_path(struct pack_check *check,
			struct msg_pack_verdict *verdict)
{
	refuse(check, verdict);
	verdict->index = (uint32_t)check->compared;
}

/* gitformat-pack(5): nothing was left to send. */
static bool is_empty_pack(struct bytes pack)
{
	static const uint8_t head[] = {'P', 'A', 'C', 'K', 0, 0,
				       0,   2,	 0,   0,   0, 0};

	return bytes_starts_with(pack, bytes_from(head, sizeof(head)));
}

/* An old tip is upstream's. */
static bool is_old_tip(const struct pack_check *check, const git_oid *oid)
{
	for (size_t i = 0; i < check->update_count; i++)
		if (git_oid_equal(&check->updates[i].ancestor, oid))
			return true;
	return false;
}

/* What the push builds on is upstream's to know: a forge may keep objects that
 * none of its branches leads to, of a fork for one. */
static void pass(struct pack_check *check, struct msg_pack_verdict *verdict)
{
	auto_type(oid_queue_release) struct oid_queue begins = {0};
	const git_oid *oid;
	int status = 0;

	for (size_t i = 0;
	     i < check->update_count && status == 0 &&
	     check->protect.glob_count > 0 && !check->is_begin_known;
	     i++)
		status =
			commits_begins(&check->store, &check->updates[i].from,
				       &check->known, &begins, CHECK_WANTS_MAX);
	if (status < 0) {
		finding_set(&check->finding, CONSTRAINT_push_path_protected,
			    "the push builds on too many commits");
		refuse(check, verdict);
		return;
	}
	ask_known(check, verdict, ASKS_BEGINS);
	while ((oid = oid_queue_pop(&begins)) != NULL)
		if (!is_old_tip(check, oid))
			want(check, verdict, WANTS_KNOWN, oid);
	if (verdict->wants_count > 0)
		return;
	check->asks = ASKS_OBJECTS;
	say(check, verdict, PACK_PASSED, "");
}

static void name_begins(struct pack_check *check, size_t count)
{
	finding_set(&check->finding, CONSTRAINT_push_path_protected,
		    "no branch or tag of upstream's leads to %s commit %.12s",
		    count > 1 ? "all that it builds on, as" : "its base,",
		    check->want_text[0]);
}

/* What was asked for by ask_known(). False: the verdict is set. */
static bool take_known(struct pack_check *check, bool is_known,
		       struct msg_pack_verdict *verdict)
{
	enum check_asks asks = check->asks;

	check->asks = ASKS_OBJECTS;
	switch (asks) {
	case ASKS_NEWEST:
		if (!is_known)
			check->is_new = check->protect.newest;
		else if (oid_queue_push(&check->known, &check->protect.newest,
					COMMITS_MAX) < 0)
			break;
		check->finding = (struct finding){0};
		return true;
	case ASKS_BEGINS:
		check->is_begin_known = is_known;
		if (is_known)
			return true;
		name_begins(check, check->asked_count);
		refuse(check, verdict);
		return false;
	case ASKS_OLDEST:
		if (is_known)
			check->finding = check->protect.newest_finding;
		break;
	case ASKS_OBJECTS:
	default:
		break;
	}
	refuse_path(check, verdict);
	return false;
}

/* ---- all of it ---- */

/* Compare the updates' trees in turn; true: none changes a protected path. */
static bool compare_paths(struct pack_check *check,
			  struct msg_pack_verdict *verdict)
{
	struct protect *protect = &check->protect;

	protect->finding = &check->finding;
	protect->known = &check->known;
	protect->err = &check->err;
	for (; protect->glob_count > 0 && check->compared < check->update_count;
	     check->compared++) {
		switch (protect_update(
			protect, &check->store,
			&check->updates[check->compared].ancestor,
			&check->updates[check->compared].from)) {
		case PROTECT_PASSED:
			continue;
		case PROTECT_LACKING:
			want_states(check, verdict);
			return false;
		case PROTECT_FOUND:
			if (doubt(check, verdict))
				return false;
			break;
		case PROTECT_FAILED:
			break;
		}
		refuse_path(check, verdict);
		return false;
	}
	if (protect->glob_count == 0 || leads_to_all(check))
		return true;
	finding_set(&check->finding, CONSTRAINT_push_path_protected,
		    "the pack has commits that no ref of the push leads to");
	refuse(check, verdict);
	return false;
}

/* Prove the updates in turn, as far as the commits reach. */
static void prove(struct pack_check *check, struct msg_pack_verdict *verdict)
{
	for (; check->at < check->update_count; check->at++) {
		if (!check->updates[check->at].must_forward)
			continue;
		switch (walk_to(&check->walk, &check->store,
				&check->updates[check->at].from,
				&check->updates[check->at].ancestor)) {
		case WALK_REACHED:
			/* Who is asked for the next one may get another
			 * answer: what is left out depends on the old tip. */
			check->asked_count = 0;
			break;
		case WALK_FRONTIER:
			want_frontier(check, verdict);
			return;
		case WALK_EXHAUSTED:
			say(check, verdict, PACK_REWRITE,
			    "the new tip is not a descendant of the old one");
			return;
		case WALK_TOO_LONG:
			say(check, verdict, PACK_REWRITE,
			    "the history is too long to be proven");
			return;
		case WALK_NO_COMMIT:
			say(check, verdict, PACK_INVALID,
			    "the new tip or an ancestor is not a commit");
			return;
		}
	}
	if (compare_paths(check, verdict))
		pass(check, verdict);
}

static int read_oid(git_oid *oid, struct bytes hex)
{
	if (hex.len != GIT_OID_HEXSZ)
		return -1;
	return git_oid_fromstrn(oid, (const char *)hex.data, hex.len);
}

static int read_globs(struct pack_check *check,
		      const struct msg_pack_check *ask)
{
	struct protect *protect = &check->protect;

	if (ask->protect_count > PROTECT_PATTERNS_MAX)
		return -1;
	for (size_t i = 0; i < ask->protect_count; i++) {
		struct bytes path = ask->protect[i].path;

		if (path.len > PUSH_PROTECT_LEN_MAX)
			return -1;
		memcpy(check->globs[i], path.data, path.len);
		protect->globs[i] =
			bytes_from((const uint8_t *)check->globs[i], path.len);
	}
	protect->glob_count = ask->protect_count;
	return 0;
}

static int read_ask(struct pack_check *check, const struct msg_pack_check *ask)
{
	if (commit_rules_read(&check->commits, ask->commits, ask->commits_count,
			      &check->err) < 0)
		return -1;
	if (check->is_deaf && ask->deny_secrets)
		return err_set(&check->err, ERR_INVALID,
			       "check the push: what secrets there are is not "
			       "known");
	if (read_globs(check, ask) < 0)
		return err_set(&check->err, ERR_TOO_LARGE,
			       "check the push: too many protected paths");
	if (ask->updates_count > CHECK_UPDATES_MAX)
		return err_set(&check->err, ERR_TOO_LARGE,
			       "check the push: too many updates");
	for (size_t i = 0; i < ask->updates_count; i++) {
		check->updates[i].must_forward = ask->updates[i].must_forward;
		if (read_oid(&check->updates[i].from, ask->updates[i].new_oid) <
			    0 ||
		    read_oid(&check->updates[i].ancestor,
			     ask->updates[i].old_oid) < 0)
			return err_set(&check->err, ERR_UNSUPPORTED,
				       "check the push: only sha1 "
				       "repositories can be checked");
	}
	check->update_count = ask->updates_count;
	return 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void keep_exempt(struct pack_check *check,
			const struct msg_pack_secrets *secrets)
{
	check->exempt_count = secrets->exempt_count;
	for (size_t i = 0; i < secrets->exempt_count; i++) {
		struct bytes text = secrets->exempt[i].text;

		if (text.len)
			memcpy(check->exempt_texts[i], text.data, text.len);
		check->exempt[i] = bytes_from(check->exempt_texts[i], text.len);
	}
}

void pack_check_secrets(struct pack_check *check,
			const struct msg_pack_secrets *secrets)
{
	struct bytes digest = secrets->exempt_digest;

	prints_free(check->prints);
	check->prints = NULL;
	if (secrets->prints.len > 0)
		check->prints = prints_read(secrets->prints, &check->err);
	check->is_deaf = secrets->prints.len > 0 && !check->prints;
	check->has_digest = digest.len == DIGEST_LEN;
	if (check->has_digest)
		memcpy(check->exempt_digest, digest.data, DIGEST_LEN);
	keep_exempt(check, secrets);
}

static struct look_rules rules_of(struct pack_check *check,
				  const struct msg_pack_check *ask)
{
	return (struct look_rules){
		.file_bytes_max = ask->file_bytes_max,
		.deny_secrets = ask->deny_secrets,
		.secrets = {.prints = check->prints,
			    .exempt = check->exempt,
			    .exempt_count = check->exempt_count,
			    .exempt_digest = check->has_digest
						     ? check->exempt_digest
						     : NULL},
		.commits = ask->commits_count > 0 ? &check->commits : NULL,
	};
}

void pack_check_begin(struct pack_check *check,
		      const struct msg_pack_check *ask, struct bytes pushed,
		      struct msg_pack_verdict *verdict)
{
	check->pushed = pushed;
	check->limits = (struct pack_limits){
		.objects_max = least(ask->objects_max, CHECK_OBJECTS_MAX),
		.bytes_max = least(ask->bytes_max, CHECK_PACK_MAX),
	};
	check->rules = rules_of(check, ask);
	if (read_ask(check, ask) < 0 ||
	    (!check->store.odb &&
	     pack_store_init(&check->store, &check->err) < 0)) {
		invalid(check, verdict);
		return;
	}
	if (add_pushed(check, verdict))
		prove(check, verdict);
	check->is_open = verdict->result == PACK_UNPROVEN;
}

void pack_check_more(struct pack_check *check, struct bytes pack,
		     struct msg_pack_verdict *verdict)
{
	static const struct pack_limits fetched = {
		.objects_max = CHECK_OBJECTS_MAX,
		.bytes_max = CHECK_PACK_MAX,
	};

	bool is_right;

	if (!check->is_open) {
		say(check, verdict, PACK_INVALID, "no proof is going on");
		return;
	}
	check->is_open = false;
	if (check->asks != ASKS_OBJECTS) {
		if (take_known(check, is_empty_pack(pack), verdict))
			prove(check, verdict);
		check->is_open = verdict->result == PACK_UNPROVEN;
		return;
	}
	switch (pack_store_add(&check->store, pack, &fetched, &check->err)) {
	case PACK_ADDED:
		break;
	case PACK_LACKS_BASE:
		(void)err_set(&check->err, ERR_INVALID,
			      "check what was fetched: a base is missing");
		invalid(check, verdict);
		return;
	case PACK_BROKEN:
		invalid(check, verdict);
		return;
	}
	if (!check->is_pushed_added)
		is_right = add_pushed(check, verdict);
	else
		is_right =
			check->is_looked_at || look_at_pushed(check, verdict);
	if (is_right)
		prove(check, verdict);
	check->is_open = verdict->result == PACK_UNPROVEN;
}

void pack_check_release(struct pack_check *check)
{
	pack_adding_release(&check->ahead);
	pack_store_release(&check->store);
	prints_free(check->prints);
	commit_rules_release(&check->commits);
	oid_queue_release(&check->known);
	memset(check, 0, sizeof(*check));
}
