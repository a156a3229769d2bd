/*
 * Hosts and patterns from anybody: the canonical form is one, is its own
 * canonical form, and what a pattern matches ends with it.
 */
#include <assert.h>
#include <stdint.h>

#include "policies/host.h"
#include "policies/host_range.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_canonical(struct bytes in)
{
	char out[HOST_NAME_MAX_LEN + 1];
	char again[HOST_NAME_MAX_LEN + 1];
	enum host_kind kind = host_canonical(in, out);
	struct bytes host;

	if (kind == HOST_INVALID)
		return;
	host = bytes_str(out);
	assert(host.len > 0 && host.len <= HOST_NAME_MAX_LEN);
	assert(host_canonical(host, again) == kind);
	assert(bytes_is(host, again));
	assert(host_matches(host, host));
	assert(host_matches(bytes_str("*"), host) == (kind == HOST_NAME));
	for (size_t i = 0; i < host.len; i++)
		assert(out[i] > ' ' && out[i] < 0x7f &&
		       !(out[i] >= 'A' && out[i] <= 'Z'));
}

static void check_pattern(struct bytes in)
{
	struct arena arena;
	struct bytes pattern;
	struct bytes again;
	struct err err;

	arena_init(&arena, 65536);
	if (host_pattern(&arena, in, &pattern, &err) == 0) {
		assert(pattern.len > 0);
		assert(host_pattern(&arena, pattern, &again, &err) == 0);
		assert(bytes_equal(pattern, again));
		assert(bytes_find(pattern, '*', 1) < 0);
		assert(!host_matches(pattern, bytes_str("127.0.0.1")) ||
		       bytes_is(pattern, "127.0.0.1"));
	}
	arena_release(&arena);
}

static void check_range(struct bytes in)
{
	struct arena arena;
	struct bytes range, again;
	struct err err;

	arena_init(&arena, 65536);
	if (host_range_pattern(&arena, in, &range, &err) == 0) {
		assert(host_range_pattern(&arena, range, &again, &err) == 0);
		assert(bytes_equal(range, again));
		assert(host_range_covers(range, range));
		assert(!host_matches(bytes_str("*"), range));
	}
	arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes in = bytes_from(data, len);
	struct bytes pattern;

	check_canonical(in);
	check_pattern(in);
	check_range(in);
	if (bytes_split(&in, '\n', &pattern) && host_matches(pattern, in))
		assert(pattern.data[0] == '*' || bytes_equal(pattern, in) ||
		       host_range_covers(pattern, in));
	return 0;
}
