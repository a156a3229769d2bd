/*
 * One push's check: does every update that must go forward from its old tip,
 * and is what it brings as the rules of the policy want it? First
 * the pushed pack is asked; what it lacks is named (wants) and comes as
 * further packs from upstream, until the answer is yes or no. Only commits
 * whose bytes were hashed here count; a peer's word never does.
 */
#ifndef GATEWAY_PACKCHECK_CHECK_H
#define GATEWAY_PACKCHECK_CHECK_H

#include "common/digest.h"
#include "gateway/flow/messages.h"
#include "gateway/packcheck/look.h"
#include "gateway/packcheck/oid_queue.h"
#include "gateway/packcheck/protect.h"
#include "gateway/packcheck/store.h"
#include "gateway/packcheck/walk.h"
#include "policies/inspect/prints.h"
#include "policies/push_checks.h"

#define CHECK_UPDATES_MAX 256
#define CHECK_WANTS_MAX	  256
/* Objects that may be asked for, all rounds together. */
#define CHECK_ASKED_MAX 8192
/* A pushed pack, and all that is fetched beside it. */
#define CHECK_PACK_MAX	  ((uint64_t)512 << 20)
#define CHECK_OBJECTS_MAX 5000000

/* Whether upstream's branches and tags lead to commits (WANTS_KNOWN). */
enum check_asks {
	ASKS_OBJECTS, /* not that */
	ASKS_NEWEST,  /* of those that change a protected path */
	ASKS_OLDEST,
	ASKS_BEGINS /* to what the push builds on */
};

struct pack_check {
	struct pack_store store;
	struct pack_limits limits;
	struct look_rules rules;
	struct commit_rules commits;
	struct secret_prints *prints; /* NULL: none */
	uint8_t exempt_digest[DIGEST_LEN];
	bool has_digest;
	/* What looks like a token, and is none. */
	uint8_t exempt_texts[PACK_EXEMPT_MAX][PACK_EXEMPT_TEXT_MAX];
	struct bytes exempt[PACK_EXEMPT_MAX];
	size_t exempt_count;
	bool is_deaf; /* what to look for could not be understood */
	struct {
		git_oid from, ancestor;
		bool must_forward;
	} updates[CHECK_UPDATES_MAX];
	size_t update_count;
	size_t at;		  /* updates before it are proven */
	struct bytes pushed;	  /* its pack, while bases are missing */
	struct pack_adding ahead; /* of it, before the question came */
	bool is_pushed_added, is_looked_at;
	git_oid asked[CHECK_ASKED_MAX];
	size_t asked_count;
	struct walk walk;
	struct finding finding;
	size_t compared; /* the paths of the updates before it are untouched */
	bool is_open;	 /* more was asked for */
	struct protect protect;
	struct oid_queue known; /* of its commits, those upstream has */
	enum check_asks asks;	/* what the next pack tells */
	git_oid is_new;		/* the last that upstream has not */
	bool is_begin_known;	/* what the push builds on is upstream's */
	char globs[PROTECT_PATTERNS_MAX][PUSH_PROTECT_LEN_MAX];
	char want_text[CHECK_WANTS_MAX][GIT_OID_HEXSZ];
	struct msg_pack_oid wants[CHECK_WANTS_MAX];
	struct err err;
};

/* Take the pushed pack's next bytes, before its last came and the question
 * is known. What is wrong with them is the verdict's then. */
void pack_check_ahead(struct pack_check *check, struct bytes bytes);
/* What to look for, when secrets are denied: before the question. */
void pack_check_secrets(struct pack_check *check,
			const struct msg_pack_secrets *secrets);
/* Begin a check that is zeroed, or was released, or took bytes ahead: with
 * the question and the whole pushed pack (borrowed until release).
 * verdict borrows from check, until the next call. */
void pack_check_begin(struct pack_check *check,
		      const struct msg_pack_check *ask, struct bytes pushed,
		      struct msg_pack_verdict *verdict);
/* Go on with a pack of what was wanted. */
void pack_check_more(struct pack_check *check, struct bytes pack,
		     struct msg_pack_verdict *verdict);
void pack_check_release(struct pack_check *check);

#endif
