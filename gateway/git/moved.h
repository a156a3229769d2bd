/*
 * Where an upstream says that a repository is now (untrusted): a forge
 * answers for the old name with a redirect to the new one.
 *
 *	Location: https://github.com/acme/new.git/info/refs?service=...
 *	git_moved_to():	url "https://github.com/acme/new", to be written into
 *			a policy
 */
#ifndef GATEWAY_GIT_MOVED_H
#define GATEWAY_GIT_MOVED_H

#include "gateway/flow/target.h"
#include "policies/policy.h"

/* Is it one of the statuses that say so (RFC 9110 15.4)? */
bool git_is_redirect(unsigned status);

/* Read the Location of an answer to a request for one of the repository's
 * endpoints, made to `from`. What comes before an endpoint's own part is the
 * repository: *repo has host, port and path, and url without ".git", all in
 * arena. 0, or -1: it is no repository's URL that a policy could name. */
int git_moved_to(struct bytes location, const struct target *from,
		 struct arena *arena, struct policy_repo *repo);

#endif
