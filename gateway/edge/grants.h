/*
 * What a person has granted this session, as far as the edge has heard: a
 * shortcut only. The ledger holds the grants; what is not here is asked
 * there, so nothing is lost when the edge restarts or this is full. What was
 * granted once is never here.
 */
#ifndef GATEWAY_EDGE_GRANTS_H
#define GATEWAY_EDGE_GRANTS_H

#include "common/digest.h"
#include "gateway/flow/proposal.h"

#define GRANTS_MAX 128

struct grant {
	uint8_t question[DIGEST_LEN];
	char id[PROPOSAL_ID_MAX + 1]; /* of the proposal; "": no grant */
	uint64_t until_ms;	      /* wall clock */
};

struct grants {
	struct grant grants[GRANTS_MAX];
	size_t next;
};

/* Remember an approved proposal; the oldest makes room. */
void grants_add(struct grants *grants, const struct proposal *approved);
/* The grant that answers this question now, or NULL. */
const struct grant *grants_find(const struct grants *grants,
				const struct proposal *question,
				uint64_t now_ms);

#endif
