#include "common/cleanup.h"
#include "policies/reader.h"

#define HINT_WORD_MAX 32

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

/* Levenshtein's distance, without case; both at most HINT_WORD_MAX long. */
static size_t distance(struct bytes a, struct bytes b)
{
	size_t row[HINT_WORD_MAX + 1];

	for (size_t j = 0; j <= b.len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			size_t above = row[j];
			bool same =
				lower(a.data[i - 1]) == lower(b.data[j - 1]);

			row[j] = min3(above + 1, row[j - 1] + 1,
				      diagonal + !same);
			diagonal = above;
		}
	}
	return row[b.len];
}

const char *reader_hint(struct reader *reader, struct bytes word,
			const char *const *names, size_t count)
{
	const char *best = NULL;
	size_t best_distance = word.len / 3 + 1;
	const char *hint;

	if (word.len == 0 || word.len > HINT_WORD_MAX)
		return "";
	for (size_t i = 0; i < count; i++) {
		struct bytes name = bytes_str(names[i]);
		size_t away;

		if (name.len > HINT_WORD_MAX)
			continue;
		away = distance(word, name);
		if (away < word.len && away <= best_distance &&
		    (!best || away < best_distance)) {
			best = names[i];
			best_distance = away;
		}
	}
	if (!best)
		return "";
	hint = arena_format(reader->arena, "; did you mean \"%s\"?", best);
	return hint ? hint : "";
}

const char *reader_words(struct reader *reader, const char *const *names,
			 size_t count)
{
	const char *list = count ? names[0] : "";

	for (size_t i = 1; list && i < count; i++)
		list = arena_format(reader->arena, "%s%s%s", list,
				    i + 1 == count ? " or " : ", ", names[i]);
	return list ? list : "";
}
