#include "gateway/h2/budget.h"

#define MILLI 1000

void h2_budget_init(struct h2_budget *budget, uint64_t now_ms)
{
	*budget = (struct h2_budget){
		.frames_milli = (uint64_t)H2_FRAMES_MAX * MILLI,
		.resets_milli = (uint64_t)H2_RESETS_MAX * MILLI,
		.filled_ms = now_ms,
	};
}

static void add(uint64_t *bucket, uint64_t milli, uint64_t max)
{
	*bucket += milli;
	if (*bucket > max * MILLI)
		*bucket = max * MILLI;
}

static void fill(struct h2_budget *budget, uint64_t now_ms)
{
	uint64_t passed = now_ms - budget->filled_ms;

	/* An hour fills both, however much longer it was. */
	if (passed > 3600ull * MILLI)
		passed = 3600ull * MILLI;
	budget->filled_ms = now_ms;
	add(&budget->frames_milli, passed * H2_FRAMES_PER_S, H2_FRAMES_MAX);
	add(&budget->resets_milli, passed * H2_RESETS_PER_S, H2_RESETS_MAX);
}

static bool take(uint64_t *bucket)
{
	if (*bucket < MILLI)
		return false;
	*bucket -= MILLI;
	return true;
}

bool h2_budget_frame(struct h2_budget *budget, uint64_t now_ms)
{
	fill(budget, now_ms);
	return take(&budget->frames_milli);
}

bool h2_budget_reset(struct h2_budget *budget, uint64_t now_ms)
{
	fill(budget, now_ms);
	return take(&budget->resets_milli);
}

void h2_budget_earn(struct h2_budget *budget, size_t len, bool is_cut)
{
	if (!is_cut || len >= H2_EARNS_FROM)
		add(&budget->frames_milli, H2_FRAMES_EARNED * MILLI,
		    H2_FRAMES_MAX);
}
