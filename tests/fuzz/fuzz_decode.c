/*
 * Content codings: what comes out is within its bounds, and what is not
 * coded comes out as it went in.
 */
#include <assert.h>

#include "policies/inspect/decode.h"
#include "policies/inspect/inspection.h"

#define OUT_MAX (256 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const codings[] = {
		"gzip", "deflate",  "br",	  "zstd",
		"",	"br, gzip", "gzip, zstd", "deflate, br",
	};
	struct decoded out;
	struct bytes body;
	struct err err = {0};
	const char *coding;

	if (len == 0)
		return 0;
	coding = codings[data[0] % (sizeof(codings) / sizeof(codings[0]))];
	body = bytes_from(data + 1, len - 1);
	if (decode_content(bytes_str(coding), body, OUT_MAX, &out, &err) == 0) {
		assert(out.content.len <= OUT_MAX);
		assert(out.content.len <= DECODE_SMALL_MAX ||
		       out.content.len / INSPECT_RATIO_MAX <= body.len);
		if (!*coding)
			assert(bytes_equal(out.content, body));
	} else {
		assert(err.code != ERR_NONE);
	}
	decoded_release(&out);
	return 0;
}
