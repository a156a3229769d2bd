#include "common/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BUF_SIZE_MIN 256

void buf_init(struct buf *buf, size_t max)
{
	*buf = (struct buf){.max = max};
}

void buf_release(struct buf *buf)
{
	free(buf->data);
	buf_init(buf, buf->max);
}

void buf_clear(struct buf *buf)
{
	buf->start = buf->end = 0;
}

static int buf_grow(struct buf *buf, size_t need)
{
	size_t size = buf->size ? buf->size : BUF_SIZE_MIN;
	uint8_t *data;

	if (need > SIZE_MAX / 2)
		return -1;
	while (size < need)
		size *= 2;
	data = realloc(buf->data, size);
	if (!data)
		return -1;
	buf->data = data;
	buf->size = size;
	return 0;
}

uint8_t *buf_make_room(struct buf *buf, size_t want)
{
	size_t len = buf_len(buf);

	/* One byte more than the bound may be allocated, for buf_str. */
	if (want > 0 && want - 1 > buf->max - len)
		return NULL;
	if (buf->end + want > buf->size && buf->start > 0) {
		memmove(buf->data, buf->data + buf->start, len);
		buf->start = 0;
		buf->end = len;
	}
	if (buf->end + want > buf->size && buf_grow(buf, buf->end + want) < 0)
		return NULL;
	return buf->data + buf->end;
}

int buf_add_format(struct buf *buf, const char *format, ...)
{
	va_list args;
	uint8_t *to;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0 || (size_t)len > buf_room(buf))
		return -1;
	to = buf_reserve(buf, (size_t)len + 1);
	if (!to)
		return -1;
	va_start(args, format);
	(void)vsnprintf((char *)to, (size_t)len + 1, format, args);
	va_end(args);
	buf_commit(buf, (size_t)len);
	return 0;
}

void buf_consume(struct buf *buf, size_t len)
{
	assert(len <= buf_len(buf));
	buf->start += len;
	if (buf->start == buf->end)
		buf_clear(buf);
}

const char *buf_str(struct buf *buf)
{
	uint8_t *to = buf_reserve(buf, 1);

	if (!to)
		return NULL;
	*to = '\0';
	return (const char *)(buf->data + buf->start);
}
