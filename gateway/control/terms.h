/*
 * What a session keeps from its beginning, whatever is configured later: the
 * guardrail, its connections, the certificates its programs trust, the files
 * with secrets that its sandbox hides. The terms
 * are a digest of them: a session that was begun ahead is as good as one that
 * begins now, as long as they are the same.
 */
#ifndef GATEWAY_CONTROL_TERMS_H
#define GATEWAY_CONTROL_TERMS_H

#include "common/digest.h"
#include "gateway/flow/config.h"
#include "gateway/flow/messages.h"

#define TERMS_SIZE (2 * DIGEST_LEN + 1)

/* The configuration's part of them. */
void terms_of_config(const struct gateway_config *config,
		     uint8_t out[DIGEST_LEN]);
/* The whole, in hex. */
void terms_write(const uint8_t part[DIGEST_LEN], const struct msg_ca *ca,
		 char out[TERMS_SIZE]);

#endif
