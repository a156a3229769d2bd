/*
 * UTF-8 (RFC 3629): what is well-formed. Overlong forms, surrogates and
 * values above U+10FFFF are not.
 */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include "common/bytes.h"

/* Length 1..4 of the character at the start of text (untrusted); 0 when
 * text is empty or does not start with a well-formed one. */
size_t utf8_len(struct bytes text);

/* Offset of the first byte that is not part of well-formed UTF-8; text.len
 * when all of it is. */
size_t utf8_valid_len(struct bytes text);

#endif
