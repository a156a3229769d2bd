#include <zstd.h>

#include "policies/inspect/decode.h"
#include "policies/inspect/decode_parts.h"

/* RFC 8878 3.1.1: a frame with content; no skippable one. */
static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};

static int step(ZSTD_DCtx *zstd, ZSTD_inBuffer *in, struct buf *out,
		struct err *err)
{
	uint8_t *to;
	size_t room = decode_room(out, &to, err);
	ZSTD_outBuffer made = {.size = room};
	size_t rc;

	if (room == 0)
		return -1;
	made.dst = to;
	rc = ZSTD_decompressStream(zstd, &made, in);
	if (!ZSTD_isError(rc))
		buf_commit(out, made.pos);
	/* Not over, and it was not room that it lacked. */
	if (ZSTD_isError(rc) || (rc > 0 && made.pos < made.size))
		return err_set(err, ERR_INVALID,
			       "decode body: damaged or unfinished");
	return rc > 0;
}

int decode_zstd(struct bytes in, struct buf *out, struct err *err)
{
	ZSTD_inBuffer input = {.src = in.data, .size = in.len};
	ZSTD_DCtx *zstd;
	int rc = 1;

	if (!bytes_starts_with(in, bytes_from(magic, sizeof(magic))))
		return err_set(err, ERR_INVALID,
			       "decode body: it does not start as zstd");
	zstd = ZSTD_createDCtx();
	if (!zstd ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax,
						DECODE_ZSTD_WINDOW_BITS))) {
		(void)ZSTD_freeDCtx(zstd);
		return err_set(err, ERR_LIBRARY, "decode body: start zstd");
	}
	while (rc > 0)
		rc = step(zstd, &input, out, err);
	(void)ZSTD_freeDCtx(zstd);
	if (rc == 0 && input.pos < input.size)
		return err_set(err, ERR_INVALID,
			       "decode body: bytes after the end");
	return rc;
}
