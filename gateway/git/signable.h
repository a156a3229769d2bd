/*
 * What git gives its signing program: a whole commit or tag without its
 * signature (git-hash-object(1) -t commit, -t tag; untrusted). Read
 * strictly, so that nothing else is ever signed for what it is not: headers
 * that git itself writes, in git's order, each once, and whose author,
 * committer or tagger is the one given.
 *
 *	tree OID		object OID
 *	parent OID (any)	type commit|tree|blob|tag
 *	author WHO WHEN		tag NAME
 *	committer WHO WHEN	tagger WHO WHEN
 *	encoding NAME (or not)
 *	mergetag ... (any)	(empty line)
 *	(empty line)		message
 *	message
 */
#ifndef GATEWAY_GIT_SIGNABLE_H
#define GATEWAY_GIT_SIGNABLE_H

#include "common/err.h"
#include "policies/sign_rule.h"

#define SIGNABLE_BYTES_MAX (1024 * 1024)

struct signable {
	struct bytes tag; /* a tag's name; empty: it is a commit */
	struct bytes oid; /* a commit's tree, what a tag is of */
};

/* Read object; what is found borrows from it. 0; or -1, and *err says in one
 * line what is against it. */
int signable_read(struct bytes object, const struct policy_sign *sign,
		  struct signable *found, struct err *err);

#endif
