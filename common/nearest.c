#include "common/nearest.h"

#include <getopt.h>
#include <stdio.h>

#include "common/cleanup.h"

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

/* Levenshtein's distance, without case; both at most NEAREST_WORD_MAX long. */
static size_t distance(struct bytes a, struct bytes b)
{
	size_t row[NEAREST_WORD_MAX + 1];

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

/* Is name nearer to word than *best, which it becomes then? */
static bool is_nearer(struct bytes word, struct bytes name, size_t *best)
{
	size_t away;

	if (word.len > NEAREST_WORD_MAX || name.len > NEAREST_WORD_MAX)
		return false;
	away = distance(word, name);
	if (away >= word.len || away >= *best)
		return false;
	*best = away;
	return true;
}

/* From so many changes on it is another word. */
static size_t too_far(struct bytes word)
{
	return word.len / 3 + 2;
}

const char *nearest(struct bytes word, const char *const *names, size_t count)
{
	size_t best = too_far(word);
	const char *found = NULL;

	for (size_t i = 0; i < count; i++)
		if (is_nearer(word, bytes_str(names[i]), &best))
			found = names[i];
	return found;
}

/* The next long option of text, without its dashes. False: there is none. */
static bool next_option(const char **text, struct bytes *name)
{
	const char *at = strstr(*text, "--");

	if (!at)
		return false;
	at += 2;
	*name = bytes_from(at, strspn(at, "abcdefghijklmnopqrstuvwxyz-"));
	*text = at + name->len;
	return true;
}

struct bytes nearest_option(struct bytes word, const char *help)
{
	struct bytes name, found = {NULL, 0};
	ssize_t end;
	size_t best;

	if (!bytes_starts_with(word, bytes_str("--")))
		return found;
	word = bytes_slice(word, 2, word.len);
	end = bytes_find(word, '=', 0);
	if (end >= 0)
		word = bytes_slice(word, 0, (size_t)end);
	best = too_far(word);
	while (next_option(&help, &name))
		if (name.len > 0 && is_nearer(word, name, &best))
			found = bytes_from(name.data - 2, name.len + 2);
	return found;
}

void nearest_tell_option(char *const *argv, const char *help)
{
	struct bytes word, found = {NULL, 0};

	/* What getopt_long() leaves in optopt when it knows no such long
	 * option. */
	if (optopt == 0 && optind > 1) {
		word = bytes_str(argv[optind - 1]);
		found = nearest_option(word, help);
		/* It is that one: its value was wrong. */
		if (found.len && bytes_starts_with(word, found) &&
		    (word.len == found.len || word.data[found.len] == '='))
			return;
	}
	if (found.len)
		(void)fprintf(stderr, "%s: did you mean '%.*s'?\n", argv[0],
			      BYTES_ARGS(found));
}
