/*
 * pktline_next() over any bytes: it moves on or stops, never past the end,
 * and what it read is written again byte for byte.
 */
#include <assert.h>

#include "common/cleanup.h"
#include "common/pktline.h"

static int write_again(struct buf *out, enum pktline_kind kind,
		       struct bytes payload)
{
	switch (kind) {
	case PKTLINE_DATA:
		return pktline_add(out, payload);
	case PKTLINE_FLUSH:
		return pktline_add_flush(out);
	case PKTLINE_DELIM:
		return pktline_add_delim(out);
	case PKTLINE_END:
		return buf_add_str(out, "0002");
	case PKTLINE_MORE:
	case PKTLINE_INVALID:
	case PKTLINE_KIND_MAX:
		break;
	}
	return -1;
}

/* What is not whole yet must not change its mind once more bytes come. */
static void check_prefixes(struct bytes input)
{
	struct bytes payload, again;
	size_t used, used_again;
	enum pktline_kind kind = pktline_next(input, &payload, &used);

	for (size_t len = 0; len < 6 && len < input.len; len++) {
		enum pktline_kind early = pktline_next(
			bytes_slice(input, 0, len), &again, &used_again);

		assert(early == PKTLINE_MORE || early == kind);
		assert(used_again <= len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_type(buf_release) struct buf out;
	struct bytes rest = bytes_from(data, size), payload;
	size_t used, read = 0;

	buf_init(&out, size + 4);
	for (;;) {
		enum pktline_kind kind = pktline_next(rest, &payload, &used);

		check_prefixes(rest);
		assert(used <= rest.len && payload.len <= PKTLINE_PAYLOAD_MAX);
		if (kind == PKTLINE_MORE || kind == PKTLINE_INVALID) {
			assert(used == 0);
			break;
		}
		assert(used >= 4);
		if (write_again(&out, kind, payload) < 0)
			assert(!"what was read can be written");
		read += used;
		rest = bytes_slice(rest, used, rest.len);
	}
	assert(bytes_equal(buf_view(&out), bytes_from(data, read)));
	return 0;
}
