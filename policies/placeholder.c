#include "policies/placeholder.h"

#include <assert.h>
#include <string.h>
#include <zlib.h>

#include "common/cleanup.h"

#define TOKEN_LEN   30 /* of GitHub's and npm's, before the checksum */
#define CHECK_LEN   6
#define AWS_ID_LEN  16
#define AWS_KEY_LEN 40
#define JWT_MAC_LEN 43
#define OPAQUE_LEN  32

static const char base62[] =
	"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char base32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* Bytes without an end: SHA-256 of a seed and a count. */
struct stream {
	uint8_t seed[DIGEST_LEN];
	uint8_t block[DIGEST_LEN];
	uint8_t count;
	size_t used;
};

static void stream_init(struct stream *stream, const uint8_t *lease_hash,
			struct bytes credential, enum placeholder_part part)
{
	static const char label[] = "sallyport placeholder";
	uint8_t head[sizeof(label) + 1 + DIGEST_LEN];

	memcpy(head, label, sizeof(label));
	head[sizeof(label)] = (uint8_t)part;
	memcpy(head + sizeof(label) + 1, lease_hash, DIGEST_LEN);
	digest_sha256(bytes_from(head, sizeof(head)), credential, stream->seed);
	stream->count = 0;
	stream->used = DIGEST_LEN;
}

static uint8_t stream_next(struct stream *stream)
{
	if (stream->used == DIGEST_LEN) {
		assert(stream->count < UINT8_MAX);
		digest_sha256(bytes_from(stream->seed, DIGEST_LEN),
			      bytes_from(&stream->count, 1), stream->block);
		stream->count++;
		stream->used = 0;
	}
	return stream->block[stream->used++];
}

/* Each of the letters as likely as another. */
static char letter_of(struct stream *stream, const char *letters, size_t count)
{
	unsigned most = (unsigned)(256 / count * count);
	uint8_t byte;

	do {
		byte = stream_next(stream);
	} while (byte >= most);
	return letters[byte % count];
}

struct word {
	char *out;
	size_t len;
};

static void put(struct word *word, const char *text)
{
	size_t len = strlen(text);

	memcpy(word->out + word->len, text, len);
	word->len += len;
}

static void put_letters(struct word *word, struct stream *stream,
			const char *letters, size_t len)
{
	size_t count = strlen(letters);

	for (size_t i = 0; i < len; i++)
		word->out[word->len++] = letter_of(stream, letters, count);
}

/* GitHub's format of 2021, which npm shares: 30 characters, and their CRC-32
 * as 6. */
static void put_checked(struct word *word, struct stream *stream)
{
	const Bytef *token = (const Bytef *)word->out + word->len;
	char *check;
	uint32_t crc;

	put_letters(word, stream, base62, TOKEN_LEN);
	crc = (uint32_t)crc32(0, token, TOKEN_LEN);
	check = word->out + word->len;
	for (int i = CHECK_LEN - 1; i >= 0; i--) {
		check[i] = base62[crc % 62];
		crc /= 62;
	}
	word->len += CHECK_LEN;
}

/* {"alg":"HS256","typ":"JWT"} . {"sub":"placeholder"} . what would be its
 * signature. */
static void put_jwt(struct word *word, struct stream *stream)
{
	put(word, PLACEHOLDER_JWT_HEAD);
	put_letters(word, stream, base62, JWT_MAC_LEN);
}

unsigned placeholder_parts(enum placeholder_shape shape)
{
	return shape == SHAPE_AWS ? 2 : 1;
}

size_t placeholder_make(const uint8_t lease_hash[DIGEST_LEN],
			struct bytes credential, enum placeholder_shape shape,
			enum placeholder_part part, char out[PLACEHOLDER_SIZE])
{
	struct word word = {out, 0};
	struct stream stream;

	stream_init(&stream, lease_hash, credential, part);
	switch (shape) {
	case SHAPE_GITHUB:
		put(&word, "ghp_");
		put_checked(&word, &stream);
		break;
	case SHAPE_NPM:
		put(&word, "npm_");
		put_checked(&word, &stream);
		break;
	case SHAPE_JWT:
		put_jwt(&word, &stream);
		break;
	case SHAPE_AWS:
		if (part == PLACEHOLDER_VALUE) {
			put(&word, "AKIA");
			put_letters(&word, &stream, base32, AWS_ID_LEN);
		} else {
			put_letters(&word, &stream, base62, AWS_KEY_LEN);
		}
		break;
	case SHAPE_OPAQUE:
	case SHAPE_MAX:
	default:
		put(&word, PLACEHOLDER_OPAQUE_HEAD);
		put_letters(&word, &stream, base62, OPAQUE_LEN);
		break;
	}
	out[word.len] = '\0';
	return word.len;
}
