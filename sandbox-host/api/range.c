#include "sandbox-host/api/range.h"

#define DIGITS_MAX 19

static enum range_kind parse_suffix(struct bytes text, uint64_t size,
				    struct range *range)
{
	uint64_t len;

	if (bytes_to_u64(text, DIGITS_MAX, &len) < 0 || len == 0)
		return RANGE_NONE;
	if (len > size)
		len = size;
	*range = (struct range){size - len, len};
	return len > 0 ? RANGE_PART : RANGE_NONE;
}

enum range_kind range_parse(struct bytes field, uint64_t size,
			    struct range *range)
{
	struct bytes rest = field, first;
	uint64_t from, to = UINT64_MAX - 1;

	*range = (struct range){0, size};
	if (!bytes_split(&rest, '=', &first) ||
	    !bytes_is_nocase(bytes_trim(first), "bytes") ||
	    bytes_find(rest, ',', 0) >= 0)
		return RANGE_ALL;
	rest = bytes_trim(rest);
	if (!bytes_split(&rest, '-', &first))
		return RANGE_NONE;
	if (first.len == 0)
		return parse_suffix(rest, size, range);
	if (bytes_to_u64(first, DIGITS_MAX, &from) < 0 ||
	    (rest.len > 0 && bytes_to_u64(rest, DIGITS_MAX, &to) < 0) ||
	    from > to || from >= size)
		return RANGE_NONE;
	if (to >= size)
		to = size - 1;
	*range = (struct range){from, to - from + 1};
	return RANGE_PART;
}
