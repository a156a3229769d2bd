#include "common/quantity.h"

#include <stdio.h>

#include "common/cleanup.h"

#define DIGITS_MAX 15

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit times[] = {
	{"ms", 1},	    {"s", 1000},     {"m", 60 * 1000},
	{"h", 3600 * 1000}, {"d", 86400000},
};
static const struct unit sizes[] = {
	{"B", 1},
	{"KiB", UINT64_C(1) << 10},
	{"MiB", UINT64_C(1) << 20},
	{"GiB", UINT64_C(1) << 30},
	{"TiB", UINT64_C(1) << 40},
};

static int read_unit(struct bytes word, const struct unit *units, size_t count,
		     uint64_t *value)
{
	size_t digits = 0;
	struct bytes unit;
	uint64_t number;

	while (digits < word.len && word.data[digits] >= '0' &&
	       word.data[digits] <= '9')
		digits++;
	unit = bytes_slice(word, digits, word.len);
	if (bytes_to_u64(bytes_slice(word, 0, digits), DIGITS_MAX, &number) ||
	    word.data[0] == '0')
		return -1;
	for (size_t i = 0; i < count; i++)
		if (bytes_is(unit, units[i].name))
			return __builtin_mul_overflow(number, units[i].factor,
						      value)
				       ? -1
				       : 0;
	return -1;
}

int quantity_time(struct bytes word, uint64_t *ms)
{
	return read_unit(word, times, ARRAY_SIZE(times), ms);
}

int quantity_size(struct bytes word, uint64_t *bytes)
{
	return read_unit(word, sizes, ARRAY_SIZE(sizes), bytes);
}

void quantity_time_text(uint64_t ms, char text[QUANTITY_TEXT_SIZE])
{
	size_t i = ARRAY_SIZE(times) - 1;

	if (ms == 0) {
		(void)snprintf(text, QUANTITY_TEXT_SIZE, "0");
		return;
	}
	while (ms % times[i].factor)
		i--;
	(void)snprintf(text, QUANTITY_TEXT_SIZE, "%llu%s",
		       (unsigned long long)(ms / times[i].factor),
		       times[i].name);
}
