#include "gateway/vault/scope.h"

#include "policies/host.h"

static bool is_canonical(struct bytes host)
{
	char canonical[HOST_NAME_MAX_LEN + 1];

	return host_canonical(host, canonical) != HOST_INVALID &&
	       bytes_is(host, canonical);
}

/* While a policy is replaced the courier may still, or already, hold another
 * binding of that name. */
static bool is_marked(const struct scope_binding *binding, struct bytes mark)
{
	uint8_t own[DIGEST_LEN];
	struct err err;

	return scope_binding_mark(binding, own, &err) == 0 &&
	       bytes_equal(mark, bytes_from(own, sizeof(own)));
}

enum constraint vault_scope_check(const struct session_table *sessions,
				  const struct msg_token_get *wanted,
				  uint64_t wall_ms,
				  const struct scope_binding **binding)
{
	const struct session *session = session_find(sessions, wanted->session);
	const struct scope *scope;

	*binding = NULL;
	if (!session)
		return CONSTRAINT_session_revoked;
	if (session_is_expired(session, wall_ms))
		return CONSTRAINT_lease_expired;
	if (!is_canonical(wanted->host))
		return CONSTRAINT_request_malformed;
	scope = session_scope(session);
	*binding = scope_binding_named(scope, wanted->binding);
	if (!*binding || !is_marked(*binding, wanted->mark)) {
		*binding = NULL;
		return CONSTRAINT_credential_unavailable;
	}
	if (scope_binding_allows(*binding, wanted->host, wanted->port) &&
	    scope_allows_target(scope, wanted->host, wanted->port))
		return CONSTRAINT_none;
	*binding = NULL;
	return CONSTRAINT_host_not_allowed;
}
