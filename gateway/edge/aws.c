/*
 * Requests that the courier signs again (sigv4): which can be, and the hash
 * of their body, which the signature is over.
 */
#include "common/cleanup.h"
#include "gateway/edge/attach.h"
#include "policies/query.h"

static const char payload_field[] = "X-Amz-Content-Sha256";

static int refuse(struct conn *conn, const char *what, const char *instead)
{
	conn_refuse(conn, CONSTRAINT_signature_not_supported, "%s", what);
	conn->refusal.try_instead = bytes_str(instead);
	return -1;
}

static bool starts(struct bytes text, const char *prefix)
{
	return bytes_is_nocase(bytes_slice(text, 0, strlen(prefix)), prefix);
}

static bool is_presigned(struct bytes name)
{
	static const char *const names[] = {
		"X-Amz-Signature",	"X-Amz-Algorithm", "X-Amz-Credential",
		"X-Amz-Security-Token", "AWSAccessKeyId",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (bytes_is_nocase(name, names[i]))
			return true;
	return false;
}

static int check_query(struct conn *conn)
{
	struct fields pairs;
	struct err err;

	if (query_parse(&conn->arena, conn->errand->request.query, &pairs,
			&err) < 0) {
		conn_refuse(conn, CONSTRAINT_path_ambiguous, "%s", err.text);
		return -1;
	}
	for (size_t i = 0; i < pairs.count; i++)
		if (is_presigned(pairs.items[i].name))
			return refuse(conn,
				      "presigned URLs are not signed again",
				      "send the request itself: it is signed "
				      "outside the sandbox");
	return 0;
}

static int check_field(struct conn *conn, const struct field *field)
{
	static const char send_whole[] =
		"send the body whole, with its hash or without one";

	if (bytes_is_nocase(field->name, "X-Amz-Region-Set") ||
	    (bytes_is_nocase(field->name, "Authorization") &&
	     starts(field->value, "AWS4-ECDSA-")))
		return refuse(conn, "SigV4A is not served",
			      "sign for one region (AWS4-HMAC-SHA256)");
	if (bytes_is_nocase(field->name, payload_field) &&
	    starts(field->value, "STREAMING-"))
		return refuse(conn,
			      "bodies that are signed piece by piece are not "
			      "served",
			      send_whole);
	if (bytes_is_nocase(field->name, "Content-Encoding") &&
	    bytes_find_bytes(field->value, bytes_str("aws-chunked"), 0) >= 0)
		return refuse(conn, "aws-chunked bodies are not served",
			      send_whole);
	return 0;
}

int aws_check(struct conn *conn)
{
	const struct fields *fields = &conn->errand->request.fields;

	if (conn->errand->request.is_websocket)
		return refuse(conn, "a WebSocket cannot be signed for",
			      "use ordinary requests");
	for (size_t i = 0; i < fields->count; i++)
		if (check_field(conn, &fields->items[i]) < 0)
			return -1;
	if (fields_count_of(fields, payload_field) > 1)
		return refuse(conn, "two hashes of one body",
			      "send X-Amz-Content-Sha256 once");
	return check_query(conn);
}

/* The hash that the client gives: 64 hex digits; false: none of these. */
static bool given(const struct conn *conn, uint8_t digest[DIGEST_LEN])
{
	const struct field *field =
		fields_find(&conn->errand->request.fields, payload_field);

	return field && field->value.len == 2 * DIGEST_LEN &&
	       bytes_from_hex(field->value, digest) == 0;
}

bool aws_wants_hash(const struct conn *conn,
		    const struct policy_credential *credential)
{
	uint8_t digest[DIGEST_LEN];

	return !given(conn, digest) && !credential->may_be_unsigned;
}

/* A hash that is given is verified by the courier, while the body passes. */
int aws_hash(struct conn *conn, const struct policy_credential *credential)
{
	uint8_t digest[DIGEST_LEN];
	bool is_given = given(conn, digest);

	if (conn->errand->request.framing == FRAMING_NONE)
		return 0;
	if (!is_given && !conn->look)
		return credential->may_be_unsigned
			       ? 0
			       : refuse(conn, "the body's hash is not known",
					"send X-Amz-Content-Sha256");
	if (!is_given)
		digest_sha256(look_body(conn), bytes_from(NULL, 0), digest);
	conn->errand->request.body_sha256 =
		arena_copy(&conn->arena, bytes_from(digest, sizeof(digest)));
	if (conn->errand->request.body_sha256.len == DIGEST_LEN)
		return 0;
	conn_refuse(conn, CONSTRAINT_internal, "memory is out");
	return -1;
}
