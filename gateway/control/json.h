/*
 * Values of ours as jansson's. NULL when memory is out, or when text is no
 * UTF-8; json_pack() and its kin then fail as a whole.
 */
#ifndef GATEWAY_CONTROL_JSON_H
#define GATEWAY_CONTROL_JSON_H

#include <jansson.h>

#include "common/bytes.h"

json_t *json_text(struct bytes text);
/* The list of what stands between single blanks. */
json_t *json_words(struct bytes text);
/* RFC 3339; null for 0. */
json_t *json_time(uint64_t wall_ms);
/* Base64 (RFC 4648 section 4, padded). */
json_t *json_base64(struct bytes data);

#endif
