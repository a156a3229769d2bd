/*
 * What a SOCKS client sends, whole and in single bytes: the messages are the
 * same, and no more is taken than they have.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "gateway/listen/socks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGES_MAX 3

/* The results, and how much was taken in all. */
struct run {
	enum socks_result results[MESSAGES_MAX];
	size_t count, taken;
	struct socks socks;
};

static void play(struct run *run, struct bytes all, size_t step,
		 bool needs_password)
{
	enum socks_result result = SOCKS_MORE;
	size_t end = step;

	*run = (struct run){.socks.needs_password = needs_password};
	for (;;) {
		struct bytes input = bytes_slice(all, run->taken, end);
		size_t before = input.len;

		assert(before <= SOCKS_MESSAGE_MAX || step > 1);
		result = socks_take(&run->socks, &input);
		run->taken += before - input.len;
		if (result == SOCKS_MORE) {
			if (end >= all.len)
				return;
			end += step;
			continue;
		}
		assert(run->count < MESSAGES_MAX);
		run->results[run->count++] = result;
		if (result == SOCKS_REQUEST || result == SOCKS_INVALID)
			return;
	}
}

static void check(struct bytes all, bool needs_password)
{
	struct run pieces, whole;

	play(&pieces, all, 1, needs_password);
	play(&whole, all, all.len + 1, needs_password);
	assert(pieces.count == whole.count && pieces.taken == whole.taken);
	assert(!memcmp(pieces.results, whole.results, sizeof(whole.results)));
	assert(!strcmp(pieces.socks.host, whole.socks.host));
	assert(pieces.socks.port == whole.socks.port);
	assert(pieces.socks.refusal_len == whole.socks.refusal_len);
	if (whole.count && whole.results[whole.count - 1] == SOCKS_REQUEST)
		assert(whole.socks.port != 0 && whole.socks.host[0] != '\0');
	/* No request is taken of who gave none. */
	for (size_t i = 0; needs_password && i < whole.count; i++)
		assert(whole.results[i] != SOCKS_REQUEST ||
		       whole.results[1] == SOCKS_PASSWORD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A longer message than the longest is none. */
	check(bytes_from(data, size), false);
	check(bytes_from(data, size), true);
	return 0;
}
