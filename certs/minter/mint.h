/*
 * What the minter decides: whether a session may have a leaf for a name.
 * Everything of a request is checked again here; the edge that asks is
 * believed in nothing (security B14-B17).
 */
#ifndef CERTS_MINTER_MINT_H
#define CERTS_MINTER_MINT_H

#include "certs/bundle.h"
#include "certs/leaf.h"
#include "gateway/flow/messages.h"
#include "gateway/session/session.h"

/* Leaves to say no with: any name, so few of them and short-lived. */
#define MINT_REFUSALS_PER_SECOND 20
#define MINT_REFUSAL_VALID_MS	 (3600ull * 1000)
#define MINT_BUNDLE_MAX		 8192

struct minter {
	struct ca ca;
	struct leaf_template template;
	struct buf pem;
	struct buf pkcs12;
};

/* session->owner: refusals signed in the current second. Without it (no
 * memory) none are signed. */
struct mint_rate {
	uint64_t second;
	unsigned refusals;
};

/* Load or make the CA in dir_fd and its bundles. 0, or -1. */
int minter_open(struct minter *minter, int dir_fd, uint64_t wall_ms,
		struct err *err);
void minter_release(struct minter *minter);

/* Sign a leaf for a session. CONSTRAINT_none, and *leaf is set; or why not,
 * with *err for people. session is NULL when the asker has none (any more).
 * wall_ms is now. */
enum constraint mint_leaf(struct minter *minter, const struct session *session,
			  const struct msg_mint *wanted, uint64_t wall_ms,
			  struct leaf *leaf, struct err *err);

#endif
