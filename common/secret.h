/*
 * A real credential or key in memory. Only vault, courier, minter and (for
 * a moment, on the way in) control and the CLI hold one. Its pages are
 * locked where the limit allows, left out of core dumps, zeroed on release,
 * and there is no function that prints it.
 */
#ifndef COMMON_SECRET_H
#define COMMON_SECRET_H

#include "common/bytes.h"
#include "common/err.h"

#define SECRET_LEN_MAX (64 * 1024)

struct secret {
	uint8_t *data;
	size_t len;
	size_t size; /* mapped bytes */
};

/* An empty secret. */
void secret_init(struct secret *secret);
/* Copy bytes in; the source is the caller's to wipe. 0, or -1. */
int secret_set(struct secret *secret, struct bytes bytes, struct err *err);
/* len random bytes from the kernel. 0, or -1. */
int secret_random(struct secret *secret, size_t len, struct err *err);
/* Read fd to its end, at most max bytes, one trailing LF stripped. 0/-1. */
int secret_read_fd(struct secret *secret, int fd, size_t max, struct err *err);
/* Zero and unmap. */
void secret_release(struct secret *secret);
static inline struct bytes secret_view(const struct secret *secret)
{
	return bytes_from(secret->data, secret->len);
}
/* Zero memory so that the compiler keeps it. */
void secret_wipe(void *data, size_t len);
/* Make this process undumpable and its core size 0 (security D11). */
void secret_protect_process(void);

#endif
