/*
 * The spellings of one secret, and whether one stands at a place of a text
 * (untrusted). See reflect.h.
 */
#ifndef GATEWAY_COURIER_REFLECT_MATCHES_H
#define GATEWAY_COURIER_REFLECT_MATCHES_H

#include <stdbool.h>

#include "common/bytes.h"

enum reflect_form {
	REFLECT_PLAIN,
	REFLECT_BASE64, /* where a group of three bytes begins with it */
	REFLECT_BASE64_SECOND,
	REFLECT_BASE64_THIRD,
	REFLECT_HEX,
	REFLECT_FORM_MAX
};

/* Escapes that are read as what they stand for. */
enum reflect_escapes { /* bits */
		       REFLECT_PERCENT = 1,
		       REFLECT_JSON = 2,
		       REFLECT_ESCAPES = 3
};

struct reflect_needle {
	struct bytes secret;
	enum reflect_form form;
	unsigned escapes;
};

/* Characters that the secret alone decides. */
size_t reflect_form_len(const struct reflect_needle *needle);
/* Both ways to write character i; they may be the same. */
void reflect_form_char(const struct reflect_needle *needle, size_t i,
		       uint8_t out[2]);

/* RFC 9112 7.1: the line end after a chunk's data and the next one's size. */
#define REFLECT_BORDER_MAX 24
/* How long such a border at text[at] is; 0: none is there, or not all of it
 * yet (*is_open). */
size_t reflect_border(struct bytes text, size_t at, bool *is_open);
/* One character at text[at], which is there: *c, and how long it stands
 * there; 0: an escape that is not complete yet. */
size_t reflect_character(struct bytes text, size_t at, unsigned escapes,
			 uint8_t *c);

struct reflect_place {
	size_t end;   /* after the last character that was equal */
	size_t stop;  /* where it is another, or the text ended */
	size_t chars; /* of the form, that were equal */
	bool is_open; /* the text ended before the form did */
};

/* Compare text from `at` on with the form from its character `chars` on. */
struct reflect_place reflect_compare(const struct reflect_needle *needle,
				     struct bytes text, size_t at,
				     size_t chars);
/* As many characters of the text as the form still has from `chars` on,
 * whatever they are. */
struct reflect_place reflect_cover(const struct reflect_needle *needle,
				   struct bytes text, size_t at, size_t chars);
/* Overwrite all from `from` to end but the borders of chunks and line
 * ends. */
void reflect_mask(uint8_t *data, size_t from, size_t end);

#endif
