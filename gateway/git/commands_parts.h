/*
 * Parts that reading and writing a command list share. For the commands*.c
 * files of this folder only.
 */
#ifndef GATEWAY_GIT_COMMANDS_PARTS_H
#define GATEWAY_GIT_COMMANDS_PARTS_H

#include <stddef.h>

#include "common/arena.h"
#include "gateway/flow/push.h"

/* Read the capabilities of a first command (untrusted; one space before
 * them or none) into push. Every one must be known. NULL, or a static text
 * that says what is wrong. */
const char *commands_capabilities(struct bytes text, size_t oid_hex_len,
				  struct arena *arena, struct push *push);

/* Is a ref named twice? True also when memory is out. */
bool commands_has_doubles(const struct push_update *updates, size_t count);

#endif
