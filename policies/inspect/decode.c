#include "policies/inspect/decode.h"

#include "common/cleanup.h"
#include "policies/inspect/decode_parts.h"
#include "policies/inspect/inspection.h"

typedef int decode_one(struct bytes in, struct buf *out, struct err *err);

/* identity has no function. */
static const struct coding {
	const char *name;
	decode_one *decode;
} codings[] = {
	{"gzip", decode_gzip},	     {"x-gzip", decode_gzip},
	{"br", decode_brotli},	     {"zstd", decode_zstd},
	{"deflate", decode_deflate}, {"identity", NULL},
};

size_t decode_room(struct buf *out, uint8_t **to, struct err *err)
{
	size_t room = buf_room(out);

	if (room > DECODE_STEP_MAX)
		room = DECODE_STEP_MAX;
	*to = room ? buf_reserve(out, room) : NULL;
	if (!*to) {
		err_set(err, ERR_TOO_LARGE,
			"decode body: more comes out than is allowed");
		return 0;
	}
	return room;
}

static const struct coding *coding_find(struct bytes name)
{
	for (size_t i = 0; i < ARRAY_SIZE(codings); i++)
		if (bytes_is_nocase(name, codings[i].name))
			return &codings[i];
	return NULL;
}

/* The codings in their order; their number, or -1. */
static int read_codings(struct bytes encoding,
			const struct coding *found[INSPECT_CODINGS_MAX],
			struct err *err)
{
	struct bytes name;
	bool is_more = bytes_trim(encoding).len > 0;
	int count = 0;

	while (is_more) {
		is_more = bytes_split(&encoding, ',', &name);
		if (count == INSPECT_CODINGS_MAX)
			return err_set(err, ERR_TOO_LARGE,
				       "decode body: too many codings");
		found[count] = coding_find(bytes_trim(name));
		if (!found[count])
			return err_set(err, ERR_UNSUPPORTED,
				       "decode body: unknown Content-Encoding");
		count++;
	}
	return count;
}

/* Bytes that may come out of body: one more tells that it was too much. */
static size_t output_max(struct bytes body, uint64_t max)
{
	uint64_t by_ratio = (uint64_t)body.len * INSPECT_RATIO_MAX;

	if (by_ratio < DECODE_SMALL_MAX)
		by_ratio = DECODE_SMALL_MAX;
	return by_ratio < max ? by_ratio : max;
}

static int undo(const struct coding *coding, size_t max, struct decoded *out,
		struct err *err)
{
	struct buf made;
	int rc;

	if (!coding->decode)
		return 0;
	buf_init(&made, max + 1);
	rc = coding->decode(out->content, &made, err);
	if (rc == 0 && buf_len(&made) > max)
		rc = err_set(err, ERR_TOO_LARGE,
			     "decode body: more comes out than is allowed");
	buf_release(&out->held);
	out->held = made;
	out->content = buf_view(&out->held);
	return rc;
}

int decode_content(struct bytes encoding, struct bytes body, uint64_t max,
		   struct decoded *out, struct err *err)
{
	const struct coding *found[INSPECT_CODINGS_MAX];
	int count;

	if (max > SIZE_MAX / 2)
		max = SIZE_MAX / 2;
	buf_init(&out->held, 0);
	out->content = body;
	if (body.len > max)
		return err_set(err, ERR_TOO_LARGE,
			       "decode body: it is larger than is allowed");
	count = read_codings(encoding, found, err);
	if (count < 0)
		return -1;
	while (count > 0)
		if (undo(found[--count], output_max(body, max), out, err) < 0)
			return -1;
	return 0;
}

void decoded_release(struct decoded *decoded)
{
	buf_release(&decoded->held);
	decoded->content = bytes_from(NULL, 0);
}
