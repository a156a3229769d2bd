/* zlib's next_in is const when asked to be. */
#define ZLIB_CONST

#include <limits.h>
#include <zlib.h>

#include "policies/inspect/decode_parts.h"

#define WINDOW_BITS_GZIP_ONLY (16 + MAX_WBITS)

static int inflate_all(z_stream *stream, struct buf *out, struct err *err)
{
	for (;;) {
		uint8_t *to;
		size_t room = decode_room(out, &to, err);
		int rc;

		if (room == 0)
			return -1;
		stream->next_out = to;
		stream->avail_out = (unsigned)room;
		rc = inflate(stream, Z_NO_FLUSH);
		buf_commit(out, room - stream->avail_out);
		if (rc == Z_STREAM_END)
			break;
		if (rc != Z_OK || stream->avail_out > 0)
			return err_set(err, ERR_INVALID,
				       "decode body: damaged or unfinished");
	}
	if (stream->avail_in > 0)
		return err_set(err, ERR_INVALID,
			       "decode body: bytes after the end");
	return 0;
}

static int inflate_one(struct bytes in, int window_bits, struct buf *out,
		       struct err *err)
{
	z_stream stream = {.next_in = in.data};
	int rc;

	if (in.len > UINT_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "decode body: it is larger than is allowed");
	stream.avail_in = (unsigned)in.len;
	if (inflateInit2(&stream, window_bits) != Z_OK)
		return err_set(err, ERR_LIBRARY, "decode body: start zlib");
	rc = inflate_all(&stream, out, err);
	(void)inflateEnd(&stream);
	return rc;
}

int decode_gzip(struct bytes in, struct buf *out, struct err *err)
{
	return inflate_one(in, WINDOW_BITS_GZIP_ONLY, out, err);
}

int decode_deflate(struct bytes in, struct buf *out, struct err *err)
{
	return inflate_one(in, MAX_WBITS, out, err);
}
