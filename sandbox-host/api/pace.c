#include "sandbox-host/api/pace.h"

#include <assert.h>

#include "sandbox-host/api/share.h"

#define FNV_BASE  2166136261u /* FNV-1a, of 32 bits */
#define FNV_PRIME 16777619u

unsigned pace_key(size_t index)
{
	assert(index < API_KEYS_MAX);
	return (unsigned)index;
}

/* Ids are random, and ours: nobody picks one to meet another's. */
unsigned pace_box(struct bytes sandbox)
{
	uint32_t digest = FNV_BASE;

	for (size_t i = 0; i < sandbox.len; i++)
		digest = (digest ^ sandbox.data[i]) * FNV_PRIME;
	return API_KEYS_MAX + (digest & (PACE_BOXES_MAX - 1));
}

bool pace_take(struct pace *pace, unsigned client, uint64_t now_ms)
{
	bool has_token = client >= API_KEYS_MAX;

	assert(client < PACE_CLIENTS_MAX);
	if (now_ms - pace->begun_ms >= PACE_MS)
		*pace = (struct pace){.begun_ms = now_ms};
	if (!share_allows(pace->own[client], PACE_MAX, pace->total, PACE_MAX) ||
	    (has_token && !share_allows(pace->own[client], PACE_TOKENS_MAX,
					pace->tokens, PACE_TOKENS_MAX)))
		return false;
	pace->own[client]++;
	pace->total++;
	pace->tokens += has_token;
	return true;
}

/* ---- at a time ---- */

bool pace_hold(struct pace_held *held, unsigned client, size_t max)
{
	size_t tokens_max = max / 4 * 3;
	uint16_t *own;

	assert(client < PACE_CLIENTS_MAX);
	if (client < API_KEYS_MAX)
		return true;
	own = &held->own[client - API_KEYS_MAX];
	if (*own == UINT16_MAX ||
	    !share_allows(*own, tokens_max, held->tokens, tokens_max))
		return false;
	++*own;
	held->tokens++;
	return true;
}

void pace_let_go(struct pace_held *held, unsigned client)
{
	assert(client < PACE_CLIENTS_MAX);
	if (client < API_KEYS_MAX)
		return;
	assert(held->own[client - API_KEYS_MAX] > 0);
	held->own[client - API_KEYS_MAX]--;
	held->tokens--;
}
