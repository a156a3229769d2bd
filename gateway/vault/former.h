/*
 * Values that a secret had before it was given another: what is under way
 * still carries them, so they are still looked for in what sandboxes send.
 * In memory alone, as long as anything can be under way with them.
 */
#ifndef GATEWAY_VAULT_FORMER_H
#define GATEWAY_VAULT_FORMER_H

#include "common/secret.h"
#include "gateway/flow/limits.h"
#include "gateway/flow/messages_keepers.h"

#define FORMER_MAX     64 /* of all secrets; the oldest goes first */
#define FORMER_KEEP_MS (WEBSOCKET_TOTAL_MS + 60000)

struct former_value {
	char name[SECRET_NAME_MAX + 1];
	struct secret value;
	uint64_t until_ms; /* wall clock */
};

/* Zeroed memory is an empty one. */
struct former {
	struct former_value values[FORMER_MAX];
	size_t count; /* the oldest first */
};

/* Keep value (taken). */
void former_keep(struct former *former, struct bytes name, struct secret *value,
		 uint64_t now_ms);
/* Forget what is too old. */
void former_expire(struct former *former, uint64_t now_ms);
/* Forget every value of a name. */
void former_forget(struct former *former, struct bytes name);
void former_release(struct former *former);

#endif
