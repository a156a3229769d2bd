/*
 * An upload's body: however its bytes are cut, the parts are the same, what
 * must be offered again stays small, and every byte of a part is the body's.
 * The first byte says how many bytes come at once.
 */
#include <assert.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "sandbox-host/api/multipart.h"

#define OUT_MAX (1 << 22)

/* Events as text; false when the body is none. */
static bool read_parts(struct bytes body, size_t step, struct buf *out)
{
	auto_type(buf_release) struct buf pending;
	struct multipart parts;

	buf_init(&pending, body.len + 1);
	buf_init(out, OUT_MAX);
	assert(multipart_open(&parts, bytes_str("multipart/form-data; "
						"boundary=b")) == 0);
	while (body.len > 0) {
		enum multipart_event event = MULTIPART_DATA;

		if (buf_add(&pending, bytes_slice(body, 0, step)) < 0)
			abort();
		body = bytes_slice(body, step, body.len);
		while (event != MULTIPART_MORE) {
			struct bytes rest = buf_view(&pending);
			size_t before = rest.len;
			struct bytes data;

			event = multipart_next(&parts, &rest, &data);
			assert(rest.len <= before);
			if (event == MULTIPART_INVALID)
				return false;
			if (event == MULTIPART_BEGIN || event == MULTIPART_END)
				(void)buf_add_byte(out, 0xff);
			assert(event != MULTIPART_DATA || data.len > 0);
			if (buf_add(out, data) < 0)
				abort();
			buf_consume(&pending, before - rest.len);
		}
		assert(buf_len(&pending) <= MULTIPART_KEPT_MAX);
	}
	return multipart_is_over(&parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_type(buf_release) struct buf whole;
	auto_type(buf_release) struct buf cut;
	struct bytes body = bytes_from(data, size);
	bool is_good;

	buf_init(&whole, 0);
	buf_init(&cut, 0);
	if (size < 2 || size > OUT_MAX / 4)
		return 0;
	body = bytes_slice(body, 1, size);
	is_good = read_parts(body, body.len, &whole);
	assert(read_parts(body, (size_t)data[0] + 1, &cut) == is_good);
	if (is_good)
		assert(bytes_equal(buf_view(&whole), buf_view(&cut)));
	return 0;
}
