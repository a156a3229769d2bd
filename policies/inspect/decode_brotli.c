#include <brotli/decode.h>

#include "policies/inspect/decode_parts.h"

static int step(BrotliDecoderState *state, struct bytes *in, struct buf *out,
		struct err *err)
{
	uint8_t *to;
	size_t room = decode_room(out, &to, err);
	size_t left = room;
	BrotliDecoderResult result;

	if (room == 0)
		return -1;
	result = BrotliDecoderDecompressStream(state, &in->len, &in->data,
					       &left, &to, NULL);
	buf_commit(out, room - left);
	if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT)
		return 1;
	if (result != BROTLI_DECODER_RESULT_SUCCESS)
		return err_set(err, ERR_INVALID,
			       "decode body: damaged or unfinished");
	return 0;
}

int decode_brotli(struct bytes in, struct buf *out, struct err *err)
{
	BrotliDecoderState *state =
		BrotliDecoderCreateInstance(NULL, NULL, NULL);
	int rc;

	if (!state)
		return err_set(err, ERR_LIBRARY, "decode body: start brotli");
	do {
		rc = step(state, &in, out, err);
	} while (rc > 0);
	BrotliDecoderDestroyInstance(state);
	if (rc == 0 && in.len > 0)
		return err_set(err, ERR_INVALID,
			       "decode body: bytes after the end");
	return rc;
}
