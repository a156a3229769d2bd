/*
 * What an upstream sends, searched for a credential: the first byte says how
 * large the pieces are, and whether they are of a WebSocket, the rest is the
 * text. Nothing but a '*' ever takes another byte's place, nothing is lost, no
 * whole secret passes, and a text that is cut is one that is overwritten.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "gateway/courier/reflect.h"

#define SECRET	 "s%41\\e-c+ret/"
#define TEXT_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As a leg does it. What passed, in out; false: cut. */
static bool play(struct bytes text, size_t piece, bool masks,
		 uint8_t out[TEXT_MAX], bool *found)
{
	struct reflect reflect = {.masks = masks, .frames = piece % 2};
	uint8_t data[TEXT_MAX];
	size_t passed = 0, len = 0;
	ssize_t now = 0;
	struct err err;

	if (reflect_watch(&reflect, bytes_str(SECRET), &err) < 0)
		abort();
	while (len < text.len && now >= 0) {
		struct bytes next = bytes_slice(text, len, len + piece);
		size_t kept =
			passed < REFLECT_KEPT_MAX ? passed : REFLECT_KEPT_MAX;

		memcpy(data + len, next.data, next.len);
		len += next.len;
		now = reflect_scan(&reflect, data + passed - kept,
				   len - passed + kept, kept);
		assert(now <= (ssize_t)(len - passed));
		if (now > 0) {
			memcpy(out + passed, data + passed, (size_t)now);
			passed += (size_t)now;
		}
	}
	if (now >= 0)
		memcpy(out + passed, data + passed, len - passed);
	*found = reflect.found;
	reflect_release(&reflect);
	return now >= 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t out[TEXT_MAX], other[TEXT_MAX];
	bool was_masked, was_cut, passes;
	struct bytes text;

	if (size < 2 || size > TEXT_MAX)
		return 0;
	text = bytes_from(data + 1, size - 1);
	assert(play(text, data[0] + 1, true, out, &was_masked));
	for (size_t i = 0; i < text.len; i++)
		assert(out[i] == text.data[i] || out[i] == '*');
	assert(bytes_find_bytes(bytes_from(out, text.len), bytes_str(SECRET),
				0) < 0);
	if (!was_masked)
		assert(memcmp(out, text.data, text.len) == 0);
	passes = play(text, data[0] + 1, false, other, &was_cut);
	assert(passes == !was_masked && was_cut == was_masked);
	return 0;
}
