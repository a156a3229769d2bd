#include "gateway/flow/messages_sign.h"

#include "common/err.h"
#include "gateway/flow/package.h"
#include "policies/sign_rule.h"

#define REQUEST_ID_MAX 32
#define OID_HEX_MAX    64

static const struct wire_field sign_fields[] = {
	WIRE_BYTES(struct msg_sign, digest, SIGN_DIGEST_LEN),
	WIRE_TEXT(struct msg_sign, request_id, REQUEST_ID_MAX),
	WIRE_TEXT(struct msg_sign, tag, SIGN_TAG_MAX),
	WIRE_TEXT(struct msg_sign, oid, OID_HEX_MAX),
};
const struct wire_schema msg_sign_schema =
	WIRE_SCHEMA("sign", struct msg_sign, sign_fields);

static const struct wire_field make_fields[] = {
	WIRE_TEXT(struct msg_sign_make, session, SESSION_ID_MAX),
	WIRE_BYTES(struct msg_sign_make, digest, SIGN_DIGEST_LEN),
};
const struct wire_schema msg_sign_make_schema =
	WIRE_SCHEMA("sign-make", struct msg_sign_make, make_fields);

static const struct wire_field signed_fields[] = {
	WIRE_BYTES(struct msg_signed, blob, SIGN_BLOB_MAX),
	WIRE_TEXT(struct msg_signed, public_key, SIGN_KEY_MAX),
};
const struct wire_schema msg_signed_schema =
	WIRE_SCHEMA("signed", struct msg_signed, signed_fields);

static const struct wire_field signer_fields[] = {
	WIRE_BOOL(struct msg_signer, is_on),
	WIRE_TEXT(struct msg_signer, name, SIGN_NAME_MAX),
	WIRE_TEXT(struct msg_signer, email, SIGN_EMAIL_MAX),
	WIRE_TEXT(struct msg_signer, public_key, SIGN_KEY_MAX),
	WIRE_TEXT(struct msg_signer, why, ERR_TEXT_MAX),
};
const struct wire_schema msg_signer_schema =
	WIRE_SCHEMA("signer", struct msg_signer, signer_fields);
