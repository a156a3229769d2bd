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
	bool frames; /* of a WebSocket: their borders, too */
};

/* Characters that the secret alone decides. */
size_t reflect_form_len(const struct reflect_needle *needle);
/* Both ways to write character i; they may be the same. */
void reflect_form_char(const struct reflect_needle *needle, size_t i,
		       uint8_t out[2]);

/* RFC 9112 7.1: the line end after a chunk's data and the next one's size. */
#define REFLECT_BORDER_MAX 24
/* RFC 6455 5.2: of a frame that is not masked. */
#define REFLECT_HEADER_MAX 10
/* The first bytes of those that may stand between the frames of a message. */
#define REFLECT_PING 0x89
#define REFLECT_PONG 0x8a
/* How long such a border at text[at] is, or with frames that of a message
 * which goes on in another frame (RFC 6455 5.4); 0: none is there, or not all
 * of it yet (*is_open). */
size_t reflect_border(struct bytes text, size_t at, bool frames, bool *is_open);
/* May a frame begin so that stands behind another of the same message? */
bool reflect_begins_frame(uint8_t first);
/* One character at text[at], which is there: *c, and how long it stands
 * there; 0: an escape that is not complete yet. */
size_t reflect_character(struct bytes text, size_t at, unsigned escapes,
			 bool frames, uint8_t *c);

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
/* Overwrite all from `from` to end but borders and line ends. */
void reflect_mask(uint8_t *data, size_t from, size_t end, bool frames);

#endif
