/*
 * How a credential stands in what goes out: as a field of the head, in the
 * URL, in a signature, or where its placeholder stood. The edge has dropped
 * what the sandbox sent in its place, and the courier drops it again.
 */
#ifndef GATEWAY_COURIER_ATTACH_H
#define GATEWAY_COURIER_ATTACH_H

#include "gateway/courier/courier.h"

#define ATTACH_TOKEN_MAX (16 * 1024)
#define GITHUB_USER	 "x-access-token"

/* The binding of the leg, or NULL: the session is over. */
const struct scope_binding *attach_binding(const struct leg *leg);

/* Is a field of that name the credential's own? Then it is not passed on. */
bool attach_owns_field(const struct scope_binding *binding, struct bytes name);

/* Write what is asked for, with query, into out (empty, wiped by the caller):
 * path with the parameter that is the secret, or with what took a
 * placeholder's place. 0, or -1 with *err. */
int attach_target(const struct leg *leg, const struct msg_token *token,
		  struct buf *out, struct err *err);
/* Append the fields that carry the credential of a request for target (from
 * attach_target(), or a push's path). 0, or -1 with *err. */
int attach_fields(const struct leg *leg, const struct msg_token *token,
		  struct bytes target, struct buf *out, struct err *err);
/* At most so many bytes are appended by both. */
size_t attach_bytes_max(const struct leg *leg);

/* Append text with all but the unreserved bytes escaped (RFC 3986 2.3). */
int attach_percent(struct buf *out, struct bytes text);
/* Append plain in base64; out has room. 0, or -1. */
int attach_base64(struct buf *out, struct bytes plain);

/* ---- request.c ---- */

/* Write head (and for a push the command list) into out, credential
 * included: out must be wiped by the caller. 0, or -1 with *err. */
int request_write(const struct leg *leg, const struct msg_token *token,
		  struct buf *out, struct err *err);

/* Look for every secret of the token in what comes back. 0, or -1 with
 * *err. */
int request_watch(struct leg *leg, const struct msg_token *token,
		  struct err *err);
/* Does this field of leg->request go out? */
bool request_passes_field(const struct leg *leg, size_t field);

/* ---- swap.c ---- */

/* Does each swap of leg->request name its binding's placeholder, in a place
 * that the binding has? 0, or -1 with *err. */
int swap_check(const struct leg *leg, const struct scope *scope,
	       struct err *err);
/* Is a secret put into that field? */
bool swap_has_field(const struct leg_request *request, size_t field);
/* Append the field, with the secret. 0, or -1 with *err. */
int swap_field(const struct leg *leg, const struct msg_token *token,
	       size_t field, struct buf *out, struct err *err);
/* Append the path with its query, with the secret. 0, or -1 with *err. */
int swap_target(const struct leg *leg, const struct msg_token *token,
		struct buf *out, struct err *err);
/* Keep what is written into the body, until swap_body_end(). 0, or -1. */
int swap_body_begin(struct leg *leg, const struct msg_token *token,
		    struct err *err);
void swap_body_end(struct leg *leg);
/* How long the body is with the secret in it. */
uint64_t swap_body_len(const struct leg *leg);
/* Send the next bytes of the body upstream, with the secret. 0, or -1. */
int swap_body(struct leg *leg, struct bytes bytes, struct err *err);

/* ---- sign.c: sigv4 ---- */

/* Append the fields of a request that is signed for target. 0, or -1. */
int sign_fields(const struct leg *leg, const struct msg_token *token,
		struct bytes target, struct buf *out, struct err *err);
/* What is asked for, its query in the order it is signed in. 0, or -1. */
int sign_target(const struct leg *leg, struct buf *out, struct err *err);
/* Hash the body that follows, where its hash is given; its next bytes; its
 * end. 0, or -1: it is another one, and its last bytes must not go out. */
int sign_body_begin(struct leg *leg, struct err *err);
int sign_body(struct leg *leg, struct bytes bytes, struct err *err);
int sign_body_end(struct leg *leg, struct err *err);

#endif
