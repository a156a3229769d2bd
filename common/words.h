/*
 * Bytes eight at a time, where nearly all of them are ordinary.
 */
#ifndef COMMON_WORDS_H
#define COMMON_WORDS_H

#include "common/bytes.h"

#define WORD_LEN    sizeof(uint64_t)
#define WORD_ONES   0x0101010101010101u
#define WORD_HIGHS  0x8080808080808080u
#define WORD_SPACES 0x2020202020202020u

/* Are these eight bytes all within 0x20..0x7e? May say no wrongly only
 * when one of them is not. */
static inline bool word_is_printable(uint64_t word)
{
	return !((word | (word - 0x20 * WORD_ONES) |
		  ((word ^ 0x7f * WORD_ONES) - WORD_ONES)) &
		 WORD_HIGHS);
}

/* Where the first eight bytes start that are not all within 0x20..0x7e, or
 * the last ones that are fewer; at steps of eight from the beginning. */
static inline size_t words_printable(struct bytes text)
{
	size_t at = 0;

	for (; text.len - at >= WORD_LEN; at += WORD_LEN) {
		uint64_t word;

		memcpy(&word, text.data + at, WORD_LEN);
		if (!word_is_printable(word))
			break;
	}
	return at;
}

#endif
