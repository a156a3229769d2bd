/*
 * Base64 (RFC 4648 section 4), with padding.
 */
#ifndef COMMON_BASE64_H
#define COMMON_BASE64_H

#include "common/bytes.h"

/* Characters for len bytes, without NUL. */
#define BASE64_LEN(len) (((len) + 2) / 3 * 4)

/* Encode into out, which has BASE64_LEN(bytes.len) + 1: terminated. */
void base64_encode(struct bytes bytes, char *out);

/* Decode text (untrusted) into out, which has size bytes. The length; -1
 * when it is not the one encoding of some bytes, or they do not fit. */
ptrdiff_t base64_decode(struct bytes text, uint8_t *out, size_t size);

#endif
