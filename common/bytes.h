/*
 * A borrowed view of bytes: a pointer and a length, not terminated, never
 * owned. Valid as long as what it was taken from; each function that
 * returns one says until when. The empty view is {NULL, 0} or any pointer
 * with length 0.
 */
#ifndef COMMON_BYTES_H
#define COMMON_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *data;
	size_t len;
};

/* printf("%.*s", BYTES_ARGS(view)) */
#define BYTES_ARGS(view) (int)(view).len, (const char *)(view).data

/* The view of a string literal, fit for static initialisers. */
#define BYTES_LITERAL(text) {(const uint8_t *)(text), sizeof(text) - 1}

static inline struct bytes bytes_from(const void *data, size_t len)
{
	return (struct bytes){data, len};
}

/* The view of a terminated string, without its terminator; NULL is empty. */
static inline struct bytes bytes_str(const char *text)
{
	return (struct bytes){(const uint8_t *)text, text ? strlen(text) : 0};
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
	return a.len == b.len && (a.len == 0 || !memcmp(a.data, b.data, a.len));
}

static inline bool bytes_is(struct bytes view, const char *text)
{
	return bytes_equal(view, bytes_str(text));
}

/* bytes_equal_nocase() where both have len bytes. */
bool bytes_same_nocase(const uint8_t *a, const uint8_t *b, size_t len);

/* Compare with A-Z and a-z taken as equal; no locale. */
static inline bool bytes_equal_nocase(struct bytes a, struct bytes b)
{
	return a.len == b.len && bytes_same_nocase(a.data, b.data, a.len);
}

static inline bool bytes_is_nocase(struct bytes view, const char *text)
{
	return bytes_equal_nocase(view, bytes_str(text));
}

bool bytes_starts_with(struct bytes view, struct bytes prefix);
bool bytes_ends_with(struct bytes view, struct bytes suffix);

/* Compare in a time that depends on the lengths only. */
bool bytes_equal_constant_time(struct bytes a, struct bytes b);

/* Index of the first c at or after from, or -1. */
ptrdiff_t bytes_find(struct bytes view, uint8_t c, size_t from);
/* Index of the first occurrence of needle at or after from, or -1. */
ptrdiff_t bytes_find_bytes(struct bytes view, struct bytes needle, size_t from);

/* The view [from, to); both are clamped to the length. */
static inline struct bytes bytes_slice(struct bytes view, size_t from,
				       size_t to)
{
	if (to > view.len)
		to = view.len;
	if (from > to)
		from = to;
	return (struct bytes){from ? view.data + from : view.data, to - from};
}

/* Split at the first sep: before it into *head, after it into *view. False,
 * with all of *view in *head, when there is no sep. */
bool bytes_split(struct bytes *view, uint8_t sep, struct bytes *head);

/* Strip SP and HTAB (RFC 9110 5.6.3 OWS) from both ends. */
struct bytes bytes_trim(struct bytes view);

/* Parse 1..digits_max decimal digits and nothing else; -1 otherwise or on
 * overflow of uint64_t. Leading zeros are accepted. */
int bytes_to_u64(struct bytes view, unsigned digits_max, uint64_t *value);

/* Lower-case hex of data into out[2 * len + 1], terminated. */
void bytes_to_hex(struct bytes view, char *out);
/* Hex of either case into out[view.len / 2]; -1 if view is not all hex. */
int bytes_from_hex(struct bytes view, uint8_t *out);

/* A copy as a terminated string on the heap; NULL when memory is out or the
 * view holds a NUL. The caller frees it. */
char *bytes_dup(struct bytes view);

#endif
