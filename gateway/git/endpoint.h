/*
 * Smart HTTP's fixed strings (gitprotocol-http(5)), one row per endpoint
 * that policies/decide.h knows.
 */
#ifndef GATEWAY_GIT_ENDPOINT_H
#define GATEWAY_GIT_ENDPOINT_H

#include "common/bytes.h"
#include "policies/decide.h"

/* Every answer of ours about git carries this. */
#define GIT_CACHE_CONTROL "no-cache, max-age=0, must-revalidate"
/* How we call ourselves in "agent=" of what we write. */
#define GIT_AGENT "agent=sallyport/" SP_VERSION

/* "git-upload-pack" or "git-receive-pack"; NULL for the other endpoints. */
const char *git_service_name(enum git_endpoint endpoint);
/* Content-Type of the answer: "application/x-git-upload-pack-advertisement",
 * "application/x-git-receive-pack-result", ...; NULL for the others. */
const char *git_answer_type(enum git_endpoint endpoint);
/* Content-Type of the POST; NULL where the endpoint is no POST. */
const char *git_request_type(enum git_endpoint endpoint);

/* The value of a client's Git-Protocol field (untrusted): 0, 1 or 2 for
 * exactly "version=N", -1 for anything else (security E13: refuse). On
 * pushes the field is dropped whatever it says. */
int git_protocol_version(struct bytes value);

#endif
