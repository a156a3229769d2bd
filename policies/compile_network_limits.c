#include "common/cleanup.h"
#include "policies/compile.h"

struct limit {
	const char *key;
	enum network_limit_kind kind;
	uint64_t min, max;
	size_t offset;
};

#define X(field, key, kind, standard, min, max, what)                          \
	{key, kind, min, max, offsetof(struct network_limits, field)},
static const struct limit limits[] = {NETWORK_LIMITS(X)};
#undef X

static const struct network_limits defaults = {
#define X(field, key, kind, standard, min, max, what) .field = (standard),
	NETWORK_LIMITS(X)
#undef X
};

/* What a guardrail does not say does not narrow. */
static const struct network_limits widest = {
#define X(field, key, kind, standard, min, max, what) .field = (max),
	NETWORK_LIMITS(X)
#undef X
};

static bool read_value(struct reader *reader, const struct text_node *node,
		       const struct limit *limit, uint64_t *value)
{
	static const char *const units[] = {[LIMIT_COUNT] = "",
					    [LIMIT_BYTES] = " bytes",
					    [LIMIT_MS] = " ms"};

	if (limit->kind == LIMIT_COUNT)
		return reader_number(reader, node, limit->min, limit->max,
				     value);
	if (limit->kind == LIMIT_BYTES ? !reader_size(reader, node, value)
				       : !reader_duration(reader, node, value))
		return false;
	if (*value >= limit->min && *value <= limit->max)
		return true;
	return reader_error(reader, node, "this must be from %llu to %llu%s",
			    (unsigned long long)limit->min,
			    (unsigned long long)limit->max, units[limit->kind]);
}

/* offset: which of limits. */
static void read_limit(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset)
{
	const struct limit *limit = &limits[offset];
	uint64_t *to = (void *)((uint8_t *)target + limit->offset);
	uint64_t value;

	if (read_value(reader, node, limit, &value))
		*to = value;
}

void compile_network_limits(struct compile *compile,
			    const struct text_node *node)
{
	struct reader_field fields[ARRAY_SIZE(limits)];

	compile->policy->network_limits =
		compile->policy->is_guardrail ? widest : defaults;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		fields[i] = (struct reader_field){limits[i].key, read_limit, i};
	if (node)
		(void)reader_map(&compile->reader, node, fields,
				 ARRAY_SIZE(fields),
				 &compile->policy->network_limits);
}
