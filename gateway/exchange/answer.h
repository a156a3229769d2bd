/*
 * What an endpoint answered (untrusted), as a token or as words of ours.
 */
#ifndef GATEWAY_EXCHANGE_ANSWER_H
#define GATEWAY_EXCHANGE_ANSWER_H

#include <jansson.h>

#include "common/err.h"
#include "gateway/flow/messages_tokens.h"

/* A lifetime that is no lifetime of a token. */
#define ANSWER_LIFETIME_MAX_S (10ull * 365 * 24 * 3600)

struct answer {
	json_t *root; /* what exchanged borrows from */
	struct msg_exchanged exchanged;
};

/* Read the answer of a token endpoint (RFC 6749 5.1, 5.2) or of GitHub to a
 * request of `wanted`. 0, or -1 with *err: released already. */
int answer_read(struct answer *answer, const struct config_source *source,
		unsigned status, struct bytes body, uint64_t wall_ms,
		struct err *err);
void answer_release(struct answer *answer);

/* Read GitHub's answer to request_owner(): is the repository, "owner/name",
 * of the source's installation? 0, or -1 with *err. */
int answer_owner(const struct config_source *source, unsigned status,
		 struct bytes body, struct bytes repository, struct err *err);

#endif
