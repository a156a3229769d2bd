/* zlib's next_in is const when asked to be. */
#define ZLIB_CONST

#include "gateway/http/inflate.h"

#include <stdlib.h>
#include <zlib.h>

#define WINDOW_BITS_GZIP_ONLY (16 + MAX_WBITS)

struct inflater {
	bool is_gzip;
	bool is_over;
	uint64_t input;
	uint64_t output;
	uint64_t output_max;
	z_stream stream;
};

struct inflater *inflater_new(struct bytes coding, uint64_t output_max,
			      struct err *err)
{
	bool is_gzip = bytes_is_nocase(coding, "gzip") ||
		       bytes_is_nocase(coding, "x-gzip");
	struct inflater *inflater;

	if (!is_gzip && coding.len > 0 &&
	    !bytes_is_nocase(coding, "identity")) {
		err_set(err, ERR_UNSUPPORTED,
			"decode body: Content-Encoding is not gzip");
		return NULL;
	}
	inflater = calloc(1, sizeof(*inflater));
	if (!inflater ||
	    (is_gzip &&
	     inflateInit2(&inflater->stream, WINDOW_BITS_GZIP_ONLY) != Z_OK)) {
		free(inflater);
		err_set(err, ERR_LIBRARY, "decode body: memory is out");
		return NULL;
	}
	inflater->is_gzip = is_gzip;
	inflater->output_max = output_max;
	return inflater;
}

void inflater_free(struct inflater *inflater)
{
	if (!inflater)
		return;
	if (inflater->is_gzip)
		(void)inflateEnd(&inflater->stream);
	free(inflater);
}

/* Count what went in and came out; -1 past a bound. */
static int account(struct inflater *inflater, size_t used, size_t made,
		   struct err *err)
{
	inflater->input += used;
	inflater->output += made;
	if (inflater->output > inflater->output_max)
		return err_set(err, ERR_TOO_LARGE,
			       "decode body: it is larger than its limit");
	if (inflater->output > INFLATE_FREE_BYTES &&
	    inflater->output / INFLATE_RATIO_MAX > inflater->input)
		return err_set(err, ERR_TOO_LARGE,
			       "decode body: it is packed too densely");
	return 0;
}

static enum inflate_result step_identity(struct inflater *inflater,
					 struct bytes *input, uint8_t *out,
					 size_t *made, struct err *err)
{
	if (*made)
		memcpy(out, input->data, *made);
	*input = bytes_slice(*input, *made, input->len);
	if (account(inflater, *made, *made, err) < 0)
		return INFLATE_INVALID;
	return INFLATE_MORE;
}

static enum inflate_result step_gzip(struct inflater *inflater,
				     struct bytes *input, uint8_t *out,
				     size_t room, size_t *made, struct err *err)
{
	z_stream *stream = &inflater->stream;
	uInt avail_in = input->len > UINT32_MAX ? UINT32_MAX : (uInt)input->len;
	uInt avail_out = room > UINT32_MAX ? UINT32_MAX : (uInt)room;
	int result;

	stream->next_in = input->data;
	stream->avail_in = avail_in;
	stream->next_out = out;
	stream->avail_out = avail_out;
	result = inflate(stream, Z_NO_FLUSH);
	*made = avail_out - stream->avail_out;
	*input = bytes_slice(*input, avail_in - stream->avail_in, input->len);
	if (account(inflater, avail_in - stream->avail_in, *made, err) < 0)
		return INFLATE_INVALID;
	if (result == Z_STREAM_END) {
		inflater->is_over = true;
		return INFLATE_END;
	}
	/* Z_BUF_ERROR: no input, or no room; neither is an error. */
	if (result == Z_OK || result == Z_BUF_ERROR)
		return INFLATE_MORE;
	err_set(err, ERR_INVALID, "decode body: %s",
		stream->msg ? stream->msg : "it is not gzip");
	return INFLATE_INVALID;
}

enum inflate_result inflater_step(struct inflater *inflater,
				  struct bytes *input, uint8_t *out,
				  size_t room, size_t *made, struct err *err)
{
	*made = 0;
	if (inflater->is_over)
		return INFLATE_END;
	if (inflater->is_gzip)
		return step_gzip(inflater, input, out, room, made, err);
	*made = room < input->len ? room : input->len;
	return step_identity(inflater, input, out, made, err);
}

bool inflater_may_end(const struct inflater *inflater)
{
	return !inflater->is_gzip || inflater->is_over;
}
