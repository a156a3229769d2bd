/*
 * What a peer may make us do for nothing: frames that carry no work (PING,
 * SETTINGS, PRIORITY, WINDOW_UPDATE, CONTINUATION, empty DATA)
 * and streams that end in a reset, whoever sent it (CVE-2023-44487 and its
 * like). Two buckets that fill with time; frames are also earned by the DATA
 * that we send, since a client answers it with WINDOW_UPDATEs. A frame cut
 * small by the peer's own window earns nothing.
 */
#ifndef GATEWAY_H2_BUDGET_H
#define GATEWAY_H2_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/flow/limits.h"

struct h2_budget {
	uint64_t frames_milli, resets_milli; /* thousandths */
	uint64_t filled_ms;
};

void h2_budget_init(struct h2_budget *budget, uint64_t now_ms);
/* Take one. False: there is none left. */
bool h2_budget_frame(struct h2_budget *budget, uint64_t now_ms);
bool h2_budget_reset(struct h2_budget *budget, uint64_t now_ms);
/* We sent len bytes of DATA, and would have sent more but for the peer's
 * window when is_cut. */
void h2_budget_earn(struct h2_budget *budget, size_t len, bool is_cut);

#endif
