#include "policies/command/meet.h"

#include <assert.h>

#include "policies/command/shell.h"

static bool is_wild(uint8_t c)
{
	return c == SHELL_STAR || c == SHELL_ONE;
}

/* Is that place of a pattern the first of a component? */
static bool is_start(struct bytes pattern, size_t at)
{
	return at > 0 && pattern.data[at - 1] == '/';
}

/* One row: which suffixes of shape does hide from h on meet? `below` is the
 * same for what follows. */
static void row_of_star(struct bytes shape, const bool *below, bool *row)
{
	for (size_t s = shape.len + 1; s-- > 0;)
		row[s] = below[s] ||
			 (s < shape.len && shape.data[s] != '/' && row[s + 1]);
}

/* "**" and the slash behind it, `below` being behind that slash. */
static void row_of_any(struct bytes shape, const bool *below, bool *row)
{
	for (size_t s = shape.len + 1; s-- > 0;)
		row[s] = (is_start(shape, s) && below[s]) ||
			 (s < shape.len && row[s + 1]);
}

static bool takes(struct bytes hide, size_t h, struct bytes shape, size_t s)
{
	uint8_t c = shape.data[s];

	if (!is_wild(c))
		return c == hide.data[h];
	return hide.data[h] != '/' &&
	       (hide.data[h] != '.' || !is_start(hide, h) ||
		!is_start(shape, s));
}

static void row_of_byte(struct bytes hide, size_t h, struct bytes shape,
			const bool *below, bool *row)
{
	row[shape.len] = false;
	for (size_t s = shape.len; s-- > 0;) {
		bool is_star = shape.data[s] == SHELL_STAR;

		/* A star takes this byte and goes on, or takes none. */
		row[s] = takes(hide, h, shape, s) &&
			 (below[s + 1] || (is_star && below[s]));
		if (is_star)
			row[s] |= row[s + 1];
	}
}

/* Behind the end of hide: what is left of shape may be empty. */
static void row_of_end(struct bytes shape, bool *row)
{
	row[shape.len] = true;
	for (size_t s = shape.len; s-- > 0;)
		row[s] = shape.data[s] == SHELL_STAR && row[s + 1];
}

static bool is_any(struct bytes hide, size_t h)
{
	return is_start(hide, h) && h + 2 < hide.len && hide.data[h] == '*' &&
	       hide.data[h + 1] == '*' && hide.data[h + 2] == '/';
}

/* The start of the element before h. */
static size_t before(struct bytes hide, size_t h)
{
	return h >= 3 && is_any(hide, h - 3) ? h - 3 : h - 1;
}

bool patterns_meet(struct bytes hide, struct bytes shape)
{
	bool rows[2][MEET_MAX + 1];
	bool *below = rows[0];
	bool *row = rows[1];
	size_t h = hide.len;

	assert(hide.len <= MEET_MAX && shape.len <= MEET_MAX);
	row_of_end(shape, below);
	while (h > 0) {
		bool *swap = below;

		h = before(hide, h);
		if (is_any(hide, h))
			row_of_any(shape, below, row);
		else if (hide.data[h] == '*')
			row_of_star(shape, below, row);
		else
			row_of_byte(hide, h, shape, below, row);
		below = row;
		row = swap;
	}
	return below[0];
}
