/*
 * A look at each object of the pushed pack: all of them get into the
 * repository, whether a commit leads to them or not.
 */
#ifndef GATEWAY_PACKCHECK_LOOK_H
#define GATEWAY_PACKCHECK_LOOK_H

#include "gateway/packcheck/commit_rules.h"
#include "gateway/packcheck/finding.h"
#include "gateway/packcheck/store.h"
#include "policies/inspect/secrets.h"

struct look_rules {
	uint64_t file_bytes_max; /* of a blob; 0: no limit */
	bool deny_secrets; /* in files and their names, commits and tags */
	struct secret_look secrets;
	struct commit_rules *commits; /* NULL: they may be anything */
};

/* Look at all of them; the first thing against a rule is in finding, which
 * the caller zeroed. 0, or -1: an object could not be read. */
int pack_look(struct pack_store *store, const struct look_rules *rules,
	      struct finding *finding, struct err *err);

#endif
