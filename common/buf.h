/*
 * A growable byte queue with a bound: bytes are appended at the end and
 * consumed from the front. Owned by whoever declared it; views taken from
 * it are valid until the next call that is not const.
 *
 * It never grows past its bound: an append that would says so (-1) and
 * changes nothing. Memory that is out is treated the same.
 */
#ifndef COMMON_BUF_H
#define COMMON_BUF_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/bytes.h"

struct buf {
	uint8_t *data; /* the allocation */
	size_t start;  /* first byte that was not consumed */
	size_t end;    /* one past the last byte */
	size_t size;   /* of the allocation */
	size_t max;    /* bound on the bytes held */
};

/* An empty buffer that may hold max bytes; allocates nothing yet. */
void buf_init(struct buf *buf, size_t max);
/* Free the memory; the buffer is then as after buf_init. */
void buf_release(struct buf *buf);
/* Forget the bytes, keep the memory. */
void buf_clear(struct buf *buf);

static inline size_t buf_len(const struct buf *buf)
{
	return buf->end - buf->start;
}

static inline struct bytes buf_view(const struct buf *buf)
{
	return bytes_from(buf->data ? buf->data + buf->start : NULL,
			  buf->end - buf->start);
}

/* How many bytes may still be appended. */
static inline size_t buf_room(const struct buf *buf)
{
	return buf->max - buf_len(buf);
}

/* buf_reserve() where memory must be moved or got first. */
uint8_t *buf_make_room(struct buf *buf, size_t want);

/* Make room for want more bytes and return where they go; NULL when the
 * bound or memory forbids. What was written is added by buf_commit(). */
static inline uint8_t *buf_reserve(struct buf *buf, size_t want)
{
	if (want <= buf->size - buf->end && want <= buf_room(buf))
		return buf->data + buf->end;
	return buf_make_room(buf, want);
}

/* Add the first len bytes that were written to what buf_reserve gave. */
static inline void buf_commit(struct buf *buf, size_t len)
{
	assert(len <= buf->size - buf->end && len <= buf_room(buf));
	buf->end += len;
}

/* Append; 0, or -1 when the bound or memory forbids. */
static inline int buf_add(struct buf *buf, struct bytes bytes)
{
	uint8_t *to;

	if (bytes.len == 0)
		return 0;
	if (bytes.len > buf_room(buf))
		return -1;
	to = buf_reserve(buf, bytes.len);
	if (!to)
		return -1;
	memcpy(to, bytes.data, bytes.len);
	buf_commit(buf, bytes.len);
	return 0;
}

static inline int buf_add_str(struct buf *buf, const char *text)
{
	return buf_add(buf, bytes_str(text));
}

static inline int buf_add_byte(struct buf *buf, uint8_t byte)
{
	return buf_add(buf, bytes_from(&byte, 1));
}

/* Forget what was appended after the first len bytes (at most buf_len). */
static inline void buf_truncate(struct buf *buf, size_t len)
{
	assert(len <= buf_len(buf));
	buf->end = buf->start + len;
}

int buf_add_format(struct buf *buf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Drop len bytes (at most buf_len) from the front. */
void buf_consume(struct buf *buf, size_t len);

/* The bytes as a terminated string, valid until the next change; NULL when
 * memory is out. The terminator is not counted. */
const char *buf_str(struct buf *buf);

#endif
