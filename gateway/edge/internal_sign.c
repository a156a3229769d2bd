/*
 * POST http://sallyport.internal/sign: a commit or a tag, as git gives it to
 * its signing program; the answer is its signature, armored. What is not the
 * session's to have signed is refused, and nobody else sees it: the vault
 * gets its digest.
 */
#include "common/base64.h"
#include "common/cleanup.h"
#include "gateway/edge/internal.h"
#include "gateway/git/signable.h"
#include "gateway/upstream/dial.h"

#define ARMOR_BEGIN "-----BEGIN SSH SIGNATURE-----\n"
#define ARMOR_END   "-----END SSH SIGNATURE-----\n"
#define ARMOR_LINE  70
#define ARMOR_MAX   (4 * SIGN_BLOB_MAX)

static enum step refuse(struct conn *conn, const char *why, const char *instead)
{
	conn_refuse(conn, CONSTRAINT_sign_not_allowed, "%s", why);
	conn->refusal.try_instead = bytes_str(instead);
	return STEP_DENY;
}

/* ---- the answer ---- */

static int armor(struct bytes blob, struct buf *out)
{
	char text[BASE64_LEN(SIGN_BLOB_MAX) + 1];
	struct bytes rest;

	base64_encode(blob, text);
	rest = bytes_str(text);
	if (buf_add_str(out, ARMOR_BEGIN) < 0)
		return -1;
	while (rest.len > 0) {
		if (buf_add(out, bytes_slice(rest, 0, ARMOR_LINE)) < 0 ||
		    buf_add_byte(out, '\n') < 0)
			return -1;
		rest = bytes_slice(rest, ARMOR_LINE, rest.len);
	}
	return buf_add_str(out, ARMOR_END);
}

static void take_signed(struct conn *conn, struct rpc_outcome *outcome)
{
	const struct msg_signed *made = outcome->message;
	struct internal *internal = conn->internal;
	auto_type(buf_release) struct buf out;

	buf_init(&out, ARMOR_MAX);
	if (outcome->err) {
		conn_refuse(conn, constraint_of_outcome(outcome), "%s",
			    outcome->err->text);
		internal->next = STEP_DENY;
	} else if (armor(made->blob, &out) < 0) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		internal->next = STEP_DENY;
	} else {
		internal->next =
			internal_reply(conn, 200, "text/plain", buf_view(&out));
	}
}

/* ---- the question ---- */

static enum step ask_for(struct conn *conn, struct bytes object,
			 const struct signable *found)
{
	struct keeper_peer *courier =
		keeper_peer_of(conn->edge->keeper, ROLE_COURIER);
	uint8_t digest[DIGEST_SHA512_LEN];
	const struct msg_sign message = {
		.digest = bytes_from(digest, sizeof(digest)),
		.request_id = bytes_str(conn->request_id),
		.tag = found->tag,
		.oid = found->oid,
	};
	const struct rpc_call call = {
		.type = MSG_SIGN,
		.schema = &msg_sign_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &msg_signed_schema,
	};

	digest_sha512(object, digest);
	return conn_ask(conn, courier ? courier->rpc : NULL, &call,
			take_signed) < 0
		       ? STEP_DENY
		       : STEP_STAY;
}

enum step internal_sign(struct conn *conn)
{
	const struct policy *policy = conn->law->policy;
	struct bytes object = buf_view(&conn->internal->body);
	struct signable found;
	struct err err;

	if (!policy->sign.is_on)
		return refuse(conn, "the policy has nothing signed",
			      "commit without a signature (--no-gpg-sign)");
	if (signable_read(object, &policy->sign, &found, &err) < 0)
		return refuse(conn, err.text,
			      "commit as the author that git is set up with "
			      "here (--reset-author)");
	if (found.tag.len > 0 && !sign_allows_tag(policy, found.tag))
		return refuse(conn,
			      "the session may not push a tag of this name",
			      "tag with a name that the policy lets you push");
	return ask_for(conn, object, &found);
}
