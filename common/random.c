/* Apart from digest.c, so that a program that hashes nothing loads no
 * OpenSSL: linking that costs `sallyport run` 2 ms. */
#include <assert.h>
#include <errno.h>
#include <sys/random.h>

#include "common/digest.h"

void random_bytes(void *out, size_t len)
{
	uint8_t *at = out;

	while (len > 0) {
		ssize_t n = getrandom(at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		assert(n > 0);
		at += n;
		len -= (size_t)n;
	}
}

void random_id(char out[27])
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint8_t bits[16];
	unsigned held = 0, count = 0;
	char *to = out;

	random_bytes(bits, sizeof(bits));
	for (size_t i = 0; i < sizeof(bits); i++) {
		held = held << 8 | bits[i];
		count += 8;
		for (; count >= 5; count -= 5)
			*to++ = digits[held >> (count - 5) & 31];
	}
	*to++ = digits[held << (5 - count) & 31];
	*to = '\0';
}
