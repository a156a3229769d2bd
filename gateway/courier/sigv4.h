/*
 * AWS Signature Version 4 (AWS General Reference, "Signing AWS API
 * requests"): pure functions of a request, a time and a key.
 */
#ifndef GATEWAY_COURIER_SIGV4_H
#define GATEWAY_COURIER_SIGV4_H

#include "common/arena.h"
#include "common/buf.h"
#include "gateway/flow/leg.h"
#include "policies/secret_parts.h"

#define SIGV4_TIME_SIZE 17 /* "20150830T123600Z" and NUL */
#define SIGV4_UNSIGNED	"UNSIGNED-PAYLOAD"

struct sigv4_request {
	struct bytes method;
	struct bytes path;  /* normalised, without query */
	struct bytes query; /* from sigv4_query() */
	/* Those to sign, Host among them. */
	const struct leg_field *fields;
	size_t fields_count;
	struct bytes payload; /* SHA-256 of the body in hex, or
				 SIGV4_UNSIGNED */
	const char *time;     /* "20150830T123600Z" */
	struct bytes region, service;
};

/* The time as it is signed. */
void sigv4_time(uint64_t wall_ms, char out[SIGV4_TIME_SIZE]);

/* Append the query (untrusted) as it is signed: sorted, every byte but the
 * unreserved ones escaped. It is to be sent so too. 0, or -1. */
int sigv4_query(struct arena *arena, struct bytes query, struct buf *out,
		struct err *err);

/* Append the value of Authorization. Temporaries live in arena. 0, or -1. */
int sigv4_sign(const struct sigv4_request *request, const struct sigv4_key *key,
	       struct arena *arena, struct buf *out, struct err *err);

#endif
