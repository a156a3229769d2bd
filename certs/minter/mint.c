#include "certs/minter/mint.h"

int minter_open(struct minter *minter, int dir_fd, uint64_t wall_ms,
		struct err *err)
{
	*minter = (struct minter){0};
	buf_init(&minter->pem, MINT_BUNDLE_MAX);
	buf_init(&minter->pkcs12, MINT_BUNDLE_MAX);
	if (!ca_protect_memory(err) &&
	    !ca_open(dir_fd, wall_ms, &minter->ca, err) &&
	    !leaf_template_init(&minter->template, &minter->ca, err) &&
	    !bundle_pem(&minter->ca, &minter->pem, err) &&
	    !bundle_pkcs12(&minter->ca, &minter->pkcs12, err))
		return 0;
	minter_release(minter);
	return -1;
}

void minter_release(struct minter *minter)
{
	leaf_template_release(&minter->template);
	ca_release(&minter->ca);
	buf_release(&minter->pem);
	buf_release(&minter->pkcs12);
}

static bool may_refuse(const struct session *session, uint64_t wall_ms)
{
	struct mint_rate *rate = session->owner;
	uint64_t second = wall_ms / 1000;

	if (!rate)
		return false;
	if (rate->second != second)
		*rate = (struct mint_rate){.second = second};
	return rate->refusals++ < MINT_REFUSALS_PER_SECOND;
}

static enum constraint deny(enum constraint constraint, struct err *err)
{
	(void)err_set(err, ERR_DENIED, "%s", constraint_text(constraint));
	return constraint;
}

enum constraint mint_leaf(struct minter *minter, const struct session *session,
			  const struct msg_mint *wanted, uint64_t wall_ms,
			  struct leaf *leaf, struct err *err)
{
	struct leaf_request request = {
		.name = wanted->name,
		.public_key = wanted->public_key,
		.wall_ms = wall_ms,
		.valid_ms = LEAF_VALID_MS,
	};

	if (!session)
		return deny(CONSTRAINT_session_revoked, err);
	if (session_is_expired(session, wall_ms))
		return deny(CONSTRAINT_lease_expired, err);
	if (wanted->purpose == MINT_REFUSE) {
		if (!may_refuse(session, wall_ms))
			return deny(CONSTRAINT_limit_rate, err);
		request.valid_ms = MINT_REFUSAL_VALID_MS;
	} else if (!scope_allows_name(session_scope(session), wanted->name)) {
		return deny(CONSTRAINT_host_not_allowed, err);
	}
	return leaf_mint(&minter->template, &request, leaf, err)
		       ? CONSTRAINT_internal
		       : CONSTRAINT_none;
}
