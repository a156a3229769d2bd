#include "gateway/flow/proposal.h"

#include <assert.h>

#include "common/cleanup.h"
#include "gateway/flow/package.h"
#include "gateway/flow/target.h"

static const struct wire_field proposal_fields[] = {
	WIRE_TEXT(struct proposal, id, PROPOSAL_ID_MAX),
	WIRE_TEXT(struct proposal, session, SESSION_ID_MAX),
	WIRE_TEXT(struct proposal, rule, PROPOSAL_RULE_MAX),
	WIRE_TEXT(struct proposal, method, 32),
	WIRE_ENUM(struct proposal, scheme, SCHEME_TCP + 1),
	WIRE_TEXT(struct proposal, host, 256),
	WIRE_U16(struct proposal, port),
	WIRE_TEXT(struct proposal, path, PROPOSAL_PATH_MAX),
	WIRE_TEXT(struct proposal, credential, 128),
	WIRE_TEXT(struct proposal, why, PROPOSAL_WHY_MAX),
	WIRE_U64(struct proposal, created_ms),
	WIRE_U64(struct proposal, expires_ms),
	WIRE_ENUM(struct proposal, state, PROPOSAL_STATE_MAX),
	WIRE_ENUM(struct proposal, scope, GRANT_SCOPE_MAX),
	WIRE_U64(struct proposal, until_ms),
	WIRE_U64(struct proposal, decided_ms),
	WIRE_U32(struct proposal, decided_by),
};
const struct wire_schema proposal_schema =
	WIRE_SCHEMA("proposal", struct proposal, proposal_fields);

static const struct wire_field msg_proposal_ref_fields[] = {
	WIRE_TEXT(struct msg_proposal_ref, id, PROPOSAL_ID_MAX),
};
const struct wire_schema msg_proposal_ref_schema = WIRE_SCHEMA(
	"proposal-ref", struct msg_proposal_ref, msg_proposal_ref_fields);

static const struct wire_field msg_proposal_query_fields[] = {
	WIRE_TEXT(struct msg_proposal_query, session, SESSION_ID_MAX),
	WIRE_ENUM(struct msg_proposal_query, state, PROPOSAL_STATE_MAX + 1),
	WIRE_U64(struct msg_proposal_query, after),
};
const struct wire_schema msg_proposal_query_schema = WIRE_SCHEMA(
	"proposal-query", struct msg_proposal_query, msg_proposal_query_fields);

static const struct wire_field msg_proposal_list_fields[] = {
	WIRE_LIST(struct msg_proposal_list, proposals, PROPOSALS_LISTED_MAX,
		  &proposal_schema),
	WIRE_U64(struct msg_proposal_list, last),
	WIRE_BOOL(struct msg_proposal_list, more),
};
const struct wire_schema msg_proposal_list_schema = WIRE_SCHEMA(
	"proposal-list", struct msg_proposal_list, msg_proposal_list_fields);

static const struct wire_field msg_proposal_decide_fields[] = {
	WIRE_TEXT(struct msg_proposal_decide, id, PROPOSAL_ID_MAX),
	WIRE_BOOL(struct msg_proposal_decide, approve),
	WIRE_ENUM(struct msg_proposal_decide, scope, GRANT_SCOPE_MAX),
	WIRE_U64(struct msg_proposal_decide, until_ms),
	WIRE_U32(struct msg_proposal_decide, by),
};
const struct wire_schema msg_proposal_decide_schema =
	WIRE_SCHEMA("proposal-decide", struct msg_proposal_decide,
		    msg_proposal_decide_fields);

static const struct wire_field msg_proposal_found_fields[] = {
	WIRE_LIST(struct msg_proposal_found, proposals, 1, &proposal_schema),
	WIRE_BOOL(struct msg_proposal_found, has_changed),
};
const struct wire_schema msg_proposal_found_schema = WIRE_SCHEMA(
	"proposal-found", struct msg_proposal_found, msg_proposal_found_fields);

/* ---- names ---- */

static const char *const state_names[] = {
#define X(state, name) name,
	PROPOSAL_STATES(X)
#undef X
};
static const char *const scope_names[GRANT_SCOPE_MAX] = {
	[GRANT_ONCE] = "once",
	[GRANT_SESSION] = "session",
	[GRANT_UNTIL] = "until",
};

const char *proposal_state_name(enum proposal_state state)
{
	assert(state < PROPOSAL_STATE_MAX);
	return state_names[state];
}

enum proposal_state proposal_state_from_name(struct bytes name)
{
	enum proposal_state state = 0;

	while (state < PROPOSAL_STATE_MAX &&
	       !bytes_is(name, state_names[state]))
		state++;
	return state;
}

const char *grant_scope_name(enum grant_scope scope)
{
	assert(scope < GRANT_SCOPE_MAX);
	return scope_names[scope];
}

enum grant_scope grant_scope_from_name(struct bytes name)
{
	enum grant_scope scope = 0;

	while (scope < GRANT_SCOPE_MAX && !bytes_is(name, scope_names[scope]))
		scope++;
	return scope;
}

bool proposal_is_command(const struct proposal *proposal)
{
	return bytes_is(proposal->method, PROPOSAL_COMMAND);
}

int proposal_add_words(struct buf *out, const struct proposal *proposal)
{
	static const char *const schemes[] = {
		[SCHEME_HTTP] = "http",
		[SCHEME_HTTPS] = "https",
		[SCHEME_TCP] = "tcp",
	};
	static const uint16_t ports[] = {
		[SCHEME_HTTP] = 80,
		[SCHEME_HTTPS] = 443,
		[SCHEME_TCP] = 0,
	};
	bool is_v6 = proposal->host.len > 0 &&
		     memchr(proposal->host.data, ':', proposal->host.len);

	assert(proposal->scheme < ARRAY_SIZE(schemes));
	if (proposal_is_command(proposal))
		return buf_add_format(out, "%.*s %.*s",
				      BYTES_ARGS(proposal->method),
				      BYTES_ARGS(proposal->path));
	if (buf_add_format(out, "%.*s %s://%s%.*s%s",
			   BYTES_ARGS(proposal->method),
			   schemes[proposal->scheme], is_v6 ? "[" : "",
			   BYTES_ARGS(proposal->host), is_v6 ? "]" : "") < 0)
		return -1;
	if (proposal->port != ports[proposal->scheme] &&
	    buf_add_format(out, ":%u", (unsigned)proposal->port) < 0)
		return -1;
	return buf_add(out, proposal->path);
}
