/*
 * What a session may have signed: git[].push.sign. One identity and one key
 * for all repositories of a policy, since a commit does not say where it
 * will go.
 */
#ifndef POLICIES_SIGN_RULE_H
#define POLICIES_SIGN_RULE_H

#include <stdbool.h>

#include "common/bytes.h"

#define SIGN_NAME_MAX  128
#define SIGN_EMAIL_MAX 254

struct policy_sign {
	bool is_on;
	struct bytes secret; /* the key's name in the vault; empty: one that
				is made for the session */
	struct bytes name;   /* author, committer and tagger must be these */
	struct bytes email;
};

struct policy;

/* May a tag of that name (untrusted, without refs/tags/) be signed: may the
 * session create or move it in a repository with `sign`? */
bool sign_allows_tag(const struct policy *policy, struct bytes name);

#endif
