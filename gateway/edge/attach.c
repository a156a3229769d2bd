#include "gateway/edge/attach.h"

#include "common/cleanup.h"
#include "gateway/edge/placeholders.h"
#include "policies/query.h"
#include "policies/spelling.h"

static const struct policy_credential *credential_of(const struct conn *conn)
{
	return policy_credential_named(conn->law->policy,
				       conn->verdict.credential);
}

/* ---- a parameter that is ours ---- */

static int refuse_parameter(struct conn *conn, struct bytes name)
{
	conn_refuse(conn, CONSTRAINT_query_not_allowed,
		    "the parameter \"%.*s\" is added outside the sandbox",
		    BYTES_ARGS(name));
	conn->refusal.try_instead =
		bytes_str("leave the parameter out, or give it the "
			  "placeholder as its value");
	return -1;
}

static int parse_query(struct conn *conn, struct fields *pairs)
{
	struct err err;

	if (query_parse(&conn->arena, conn->errand->request.query, pairs,
			&err) == 0)
		return 0;
	conn_refuse(conn, CONSTRAINT_path_ambiguous, "%s", err.text);
	return -1;
}

static struct bytes next_pair(struct bytes *rest)
{
	struct bytes pair = {NULL, 0};

	while (rest->len && !pair.len)
		(void)bytes_split(rest, '&', &pair);
	return pair;
}

/* The client's own is dropped when it is the placeholder. */
static int drop_parameter(struct conn *conn,
			  const struct policy_credential *credential)
{
	struct request *request = &conn->errand->request;
	struct bytes rest = request->query;
	struct fields pairs;
	size_t len = 0;
	char *kept;

	if (parse_query(conn, &pairs) < 0)
		return -1;
	kept = arena_alloc(&conn->arena, rest.len + 1);
	if (!kept) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return -1;
	}
	for (size_t i = 0; i < pairs.count; i++) {
		struct bytes pair = next_pair(&rest);
		const struct field *field = &pairs.items[i];

		if (spelling_matches(SPELLING_PARAMETER, field->name,
				     credential->field)) {
			if (!swaps_hold(conn, credential, field->value))
				return refuse_parameter(conn, field->name);
			continue;
		}
		if (len)
			kept[len++] = '&';
		memcpy(kept + len, pair.data, pair.len);
		len += pair.len;
	}
	request->query = bytes_from(kept, len);
	request->has_query = len > 0;
	return 0;
}

/* ---- the head ---- */

/* Of the sandbox's own credentials those stay that hold the placeholder. */
static void keep_placeholders(struct conn *conn,
			      const struct policy_credential *credential)
{
	struct fields *fields = &conn->errand->request.fields;
	size_t kept = 0;

	for (size_t i = 0; i < fields->count; i++)
		if (!edit_is_credential(fields->items[i].name) ||
		    swaps_hold(conn, credential, fields->items[i].value))
			fields->items[kept++] = fields->items[i];
	fields->count = kept;
}

static int drop_own(struct conn *conn,
		    const struct policy_credential *credential, bool drops)
{
	bool keeps = credential && credential->attach == ATTACH_PLACEHOLDER;

	(void)edit_request(&conn->errand->request,
			   (credential || drops) && !keeps);
	if (!credential)
		return 0;
	if (keeps)
		keep_placeholders(conn, credential);
	if (credential->attach == ATTACH_HEADER)
		edit_drop(&conn->errand->request, credential->field);
	return credential->attach == ATTACH_QUERY
		       ? drop_parameter(conn, credential)
		       : 0;
}

/* ---- both ---- */

int attach_wants_body(struct conn *conn)
{
	const struct policy_credential *credential = credential_of(conn);

	if (!credential)
		return 0;
	if (credential->attach == ATTACH_SIGV4 && aws_check(conn) < 0)
		return -1;
	if (conn->errand->request.framing == FRAMING_NONE)
		return 0;
	return (credential->places & PLACE_BODY) ||
	       (credential->attach == ATTACH_SIGV4 &&
		aws_wants_hash(conn, credential));
}

int attach_prepare(struct conn *conn, bool drops)
{
	const struct policy_credential *credential = credential_of(conn);
	bool is_signed = credential && credential->attach == ATTACH_SIGV4;

	if (is_signed &&
	    (aws_check(conn) < 0 || aws_hash(conn, credential) < 0))
		return -1;
	if (drop_own(conn, credential, drops) < 0)
		return -1;
	return conn->law->placeholders ? swaps_find(conn, credential) : 0;
}
