/*
 * The lease: the session's scoped credential (interface.md 6). Random,
 * shaped like a GitHub token, so that tools which check the shape accept
 * it; only its SHA-256 is kept.
 */
#ifndef GATEWAY_SESSION_LEASE_H
#define GATEWAY_SESSION_LEASE_H

/* "ghp_", 30 random base62 characters, 6 of base62 CRC-32 (GitHub's format
 * of 2021), and NUL. */
#define LEASE_SIZE 41

void lease_new(char out[LEASE_SIZE]);

#endif
