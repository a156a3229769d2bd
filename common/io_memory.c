#include <stdlib.h>

#include "common/io_core.h"
#include "common/secret.h"

/*
 * An idle io holds no buffer memory, and a busy one does not call malloc:
 * blocks of IO_CHUNK go round between the ios of a loop. A few bytes that
 * stay behind are moved to memory of their own size, so that ten thousand
 * half-sent heads do not hold ten thousand blocks.
 */

static void block_give(struct io_loop *loop, uint8_t *block, size_t size)
{
	if (block && loop->is_wiping)
		secret_wipe(block, size);
	if (block && size == IO_CHUNK && loop->spare_count < IO_SPARE_MAX) {
		loop->spare[loop->spare_count++] = block;
		return;
	}
	free(block);
	if (size >= IO_CHUNK)
		io_rest_soon(loop);
}

void io_loop_wipe(struct io_loop *loop)
{
	loop->is_wiping = true;
}

static uint8_t *block_take(struct io_loop *loop)
{
	if (loop->spare_count > 0)
		return loop->spare[--loop->spare_count];
	return malloc(IO_CHUNK);
}

void io_buf_settle(struct io_loop *loop, struct buf *buf)
{
	size_t len = buf_len(buf);
	struct buf small;

	if (!buf->data)
		return;
	if (len == 0) {
		block_give(loop, buf->data, buf->size);
		buf_init(buf, buf->max);
		return;
	}
	if (buf->size < IO_CHUNK || len > buf->size / 4)
		return;
	buf_init(&small, buf->max);
	if (buf_add(&small, buf_view(buf)) < 0)
		return;
	block_give(loop, buf->data, buf->size);
	*buf = small;
}

void io_buf_warm(struct io_loop *loop, struct buf *buf, size_t want)
{
	size_t len = buf_len(buf);
	uint8_t *block;

	if (buf->size >= len + want || len + want > IO_CHUNK)
		return;
	block = block_take(loop);
	if (!block)
		return;
	if (len > 0)
		memcpy(block, buf->data + buf->start, len);
	block_give(loop, buf->data, buf->size);
	buf->data = block;
	buf->size = IO_CHUNK;
	buf->start = 0;
	buf->end = len;
}

/* Beyond a block: realloc() would leave a copy behind that nobody wipes. */
static void grow_wiped(struct io_loop *loop, struct buf *buf, size_t want)
{
	size_t len = buf_len(buf);
	struct buf larger;

	if (!buf->data || buf->size >= len + want)
		return;
	buf_init(&larger, buf->max);
	if (!buf_reserve(&larger, len + want))
		return;
	(void)buf_add(&larger, buf_view(buf));
	block_give(loop, buf->data, buf->size);
	*buf = larger;
}

uint8_t *io_buf_space(struct io_loop *loop, struct buf *buf, size_t *size)
{
	size_t room = buf_room(buf);
	size_t len = buf_len(buf);
	size_t want = room < IO_CHUNK ? room : IO_CHUNK;

	/* Fill a block before asking for more than one. */
	if (len <= IO_CHUNK / 2 && want > IO_CHUNK - len)
		want = IO_CHUNK - len;
	*size = want;
	io_buf_warm(loop, buf, want);
	if (loop->is_wiping)
		grow_wiped(loop, buf, want);
	return buf_reserve(buf, want);
}
