#include "common/digest.h"

#include <assert.h>
#include <stdlib.h>

/* The oldest functions of libcrypto do without its providers: no file is
 * opened, nothing is fetched, and an archive gives them without the rest. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

_Static_assert(DIGEST_LEN == SHA256_DIGEST_LENGTH, "SHA-256 has its length");

static void begin(SHA256_CTX *context)
{
	int ok = SHA256_Init(context);

	assert(ok);
}

static void feed(SHA256_CTX *context, struct bytes bytes)
{
	int ok = SHA256_Update(context, bytes.data, bytes.len);

	assert(ok);
}

static void end(SHA256_CTX *context, uint8_t out[DIGEST_LEN])
{
	int ok = SHA256_Final(out, context);

	assert(ok);
}

void digest_sha256(struct bytes a, struct bytes b, uint8_t out[DIGEST_LEN])
{
	SHA256_CTX context;

	begin(&context);
	feed(&context, a);
	feed(&context, b);
	end(&context, out);
}

/* ---- in pieces ---- */

struct digest_stream {
	SHA256_CTX context;
};

struct digest_stream *digest_open(void)
{
	struct digest_stream *stream = calloc(1, sizeof(*stream));

	if (stream)
		begin(&stream->context);
	return stream;
}

void digest_feed(struct digest_stream *stream, struct bytes bytes)
{
	feed(&stream->context, bytes);
}

void digest_close(struct digest_stream *stream, uint8_t out[DIGEST_LEN])
{
	if (stream && out)
		end(&stream->context, out);
	free(stream);
}

void digest_sha1(struct bytes bytes, uint8_t out[DIGEST_SHA1_LEN])
{
	SHA_CTX context;
	int ok = SHA1_Init(&context) &&
		 SHA1_Update(&context, bytes.data, bytes.len) &&
		 SHA1_Final(out, &context);

	assert(ok);
}

void digest_sha512(struct bytes bytes, uint8_t out[DIGEST_SHA512_LEN])
{
	SHA512_CTX context;
	int ok = SHA512_Init(&context) &&
		 SHA512_Update(&context, bytes.data, bytes.len) &&
		 SHA512_Final(out, &context);

	assert(ok);
}
