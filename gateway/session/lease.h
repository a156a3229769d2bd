/*
 * The lease: the session's scoped credential (interface.md 6). Random,
 * shaped like a GitHub token, so that tools which check the shape accept
 * it; only its SHA-256 is kept.
 */
#ifndef GATEWAY_SESSION_LEASE_H
#define GATEWAY_SESSION_LEASE_H

#include <stdbool.h>

#include "common/bytes.h"

/* "ghp_", 30 random base62 characters, 6 of base62 CRC-32 (GitHub's format
 * of 2021), and NUL. */
#define LEASE_SIZE 41

void lease_new(char out[LEASE_SIZE]);
/* Is it (untrusted) of that shape, its checksum included? */
bool lease_is_one(struct bytes text);

#define LEASE_FIELD_MAX 512

/* The lease of a Proxy-Authorization field (untrusted): what Bearer brings,
 * or the password of Basic, or its user when the password is empty. In
 * place: the view borrows from room. Empty when there is none. */
struct bytes lease_of_field(struct bytes field, uint8_t room[LEASE_FIELD_MAX]);

#endif
