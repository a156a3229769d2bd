/*
 * A signature for a commit or a tag of an edge's own session: asked of the
 * vault, then on record, and only then the edge's.
 */
#include "gateway/courier/commit_sign.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"

#define SIGN_TIMEOUT_MS 10000
#define REQUEST_ID_MAX	32
#define OID_MAX		64

struct signing {
	struct courier *courier;
	struct rpc_ticket ticket; /* the edge's */
	char session[SESSION_ID_MAX + 1];
	char request_id[REQUEST_ID_MAX + 1];
	char tag[SIGN_TAG_MAX + 1];
	char oid[OID_MAX + 1];
	char digest[2 * SIGN_DIGEST_LEN + 1];
	char public_key[SIGN_KEY_MAX + 1];
	uint8_t blob[SIGN_BLOB_MAX];
	size_t blob_len;
};

static void on_recorded(bool ok, void *owner)
{
	auto_free struct signing *signing = owner;
	const struct msg_signed answer = {
		.blob = bytes_from(signing->blob, signing->blob_len),
		.public_key = bytes_str(signing->public_key),
	};

	if (ok)
		rpc_reply(signing->ticket, &msg_signed_schema, &answer, -1);
	else
		rpc_refuse(signing->ticket, CONSTRAINT_audit_unavailable, "%s",
			   constraint_text(CONSTRAINT_audit_unavailable));
}

/* The name of the key in the vault, or that it is the session's own. */
static struct bytes name_of(const struct signing *signing)
{
	const struct session *session =
		session_find(&signing->courier->keeper->sessions,
			     bytes_str(signing->session));
	struct bytes name = session ? session_scope(session)->sign_secret
				    : bytes_from(NULL, 0);

	return name.len > 0 ? name : bytes_str("session");
}

static int ask_record(struct signing *signing)
{
	char path[sizeof("refs/tags/") + SIGN_TAG_MAX];
	char detail[SIGN_KEY_MAX + 2 * SIGN_DIGEST_LEN + 16];
	struct record record = {
		.kind = RECORD_SECRET_USE,
		.allowed = true,
		.session = bytes_str(signing->session),
		.request_id = bytes_str(signing->request_id),
		.host = bytes_str("git"),
		.method = bytes_str("SIGN"),
		.credential = name_of(signing),
		.new_oid = bytes_str(signing->oid),
	};

	(void)snprintf(path, sizeof(path), "%s%s",
		       signing->tag[0] ? "refs/tags/" : "commit", signing->tag);
	(void)snprintf(detail, sizeof(detail), "%s sha512:%s",
		       signing->public_key, signing->digest);
	record.path = bytes_str(path);
	record.detail = bytes_str(detail);
	return keeper_record_durable(signing->courier->keeper, &record,
				     on_recorded, signing);
}

static void on_signed(struct rpc_outcome *outcome, void *owner)
{
	auto_free struct signing *signing = owner;
	const struct msg_signed *made = outcome->message;

	if (outcome->err) {
		rpc_refuse(signing->ticket,
			   outcome->refusal ? outcome->refusal->code
					    : CONSTRAINT_credential_unavailable,
			   "%s", outcome->err->text);
		return;
	}
	memcpy(signing->blob, made->blob.data, made->blob.len);
	signing->blob_len = made->blob.len;
	(void)snprintf(signing->public_key, sizeof(signing->public_key), "%.*s",
		       BYTES_ARGS(made->public_key));
	if (ask_record(signing) == 0)
		(void)take_ptr(&signing);
	else
		rpc_refuse(signing->ticket, CONSTRAINT_audit_unavailable, "%s",
			   constraint_text(CONSTRAINT_audit_unavailable));
}

static int ask(struct signing *signing, struct bytes digest, struct err *err)
{
	struct keeper_peer *vault =
		keeper_peer_of(signing->courier->keeper, ROLE_VAULT);
	const struct msg_sign_make message = {
		.session = bytes_str(signing->session),
		.digest = digest,
	};
	const struct rpc_call call = {
		.type = MSG_SIGN_MAKE,
		.schema = &msg_sign_make_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &msg_signed_schema,
		.timeout_ms = SIGN_TIMEOUT_MS,
		.on_outcome = on_signed,
		.owner = signing,
	};

	if (!vault)
		return err_set(err, ERR_CLOSED, "the vault is being restarted");
	return rpc_ask(vault->rpc, &call, NULL, err);
}

static void copy(char *to, size_t size, struct bytes from)
{
	(void)snprintf(to, size, "%.*s", BYTES_ARGS(from));
}

void courier_answer_sign(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct keeper_peer *edge = owner;
	const struct msg_sign *wanted = message;
	auto_free struct signing *signing = calloc(1, sizeof(*signing));
	struct err err = {.text = "memory is out"};

	(void)fd;
	if (wanted->digest.len != SIGN_DIGEST_LEN) {
		rpc_refuse(ticket, CONSTRAINT_request_malformed,
			   "this is no SHA-512");
		return;
	}
	if (signing) {
		signing->courier = edge->keeper->owner;
		signing->ticket = ticket;
		copy(signing->session, sizeof(signing->session),
		     bytes_str(edge->session));
		copy(signing->request_id, sizeof(signing->request_id),
		     wanted->request_id);
		copy(signing->tag, sizeof(signing->tag), wanted->tag);
		copy(signing->oid, sizeof(signing->oid), wanted->oid);
		bytes_to_hex(wanted->digest, signing->digest);
	}
	if (signing && ask(signing, wanted->digest, &err) == 0)
		(void)take_ptr(&signing);
	else
		rpc_refuse(ticket, CONSTRAINT_credential_unavailable, "%s",
			   err.text);
}
