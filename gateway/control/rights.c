#include "gateway/control/rights.h"

#include "common/log.h"

static bool is_lent(struct bytes secret)
{
	static const struct bytes prefix = BYTES_LITERAL(POLICY_LENT);

	return bytes_equal(bytes_slice(secret, 0, prefix.len), prefix);
}

static bool wants_vault(const struct policy *policy)
{
	for (size_t i = 0; i < policy->credential_count; i++)
		if (!is_lent(policy->credentials[i].secret))
			return true;
	return policy->sign.secret.len > 0;
}

bool rights_to_secrets(struct conn *conn, const struct policy *policy)
{
	if (conn->who.is_admin || !wants_vault(policy))
		return true;
	log_warn("uid %u may not use secrets", conn->who.uid);
	conn_refuse(conn, 403,
		    "only administrators may have sessions whose policy has "
		    "credentials or sign with a key of the vault: root, the "
		    "gateway's user, and the group sallyport where root runs "
		    "it; a gateway of your own is named by SALLYPORT_RUN");
	return false;
}
