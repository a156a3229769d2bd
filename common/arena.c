#include "common/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/arena_spare.h"
#include "common/watched.h"

#define ARENA_BLOCK_MIN 4096
/* Blocks that wait for the next request, of all arenas of the process: so
 * one at rest holds none, and a busy one does not call malloc. As many as
 * requests that a busy edge has under way. */
#define ARENA_SPARE_MAX (IS_WATCHED ? 0 : 64)

struct arena_block {
	struct arena_block *next;
	size_t size;
	size_t used; /* beyond it all is zero */
	alignas(max_align_t) uint8_t data[];
};

static struct arena_block *spare;
static size_t spare_count;

void arena_init(struct arena *arena, size_t max)
{
	*arena = (struct arena){.max = max};
}

static void block_clear(struct arena_block *block)
{
	memset(block->data, 0, block->used);
	block->used = 0;
}

static void block_give(struct arena_block *block)
{
	if (block->size != ARENA_BLOCK_MIN || spare_count == ARENA_SPARE_MAX) {
		free(block);
		return;
	}
	block_clear(block);
	block->next = spare;
	spare = block;
	spare_count++;
}

void arena_spare_free(void)
{
	while (spare) {
		struct arena_block *next = spare->next;

		free(spare);
		spare = next;
	}
	spare_count = 0;
}

static struct arena_block *block_take(size_t size)
{
	struct arena_block *block = spare;

	if (size == ARENA_BLOCK_MIN && block) {
		spare = block->next;
		spare_count--;
		return block;
	}
	block = calloc(1, sizeof(*block) + size);
	if (block)
		block->size = size;
	return block;
}

static void give_blocks(struct arena_block *block)
{
	while (block) {
		struct arena_block *next = block->next;

		block_give(block);
		block = next;
	}
}

void arena_release(struct arena *arena)
{
	give_blocks(arena->blocks);
	arena_init(arena, arena->max);
}

void arena_reset(struct arena *arena)
{
	struct arena_block *first = arena->blocks;

	arena->used = 0;
	if (!first)
		return;
	/* Keep the oldest block, which has the common size. */
	while (first->next) {
		struct arena_block *next = first->next;

		block_give(first);
		first = next;
	}
	block_clear(first);
	arena->blocks = first;
}

static struct arena_block *arena_block(struct arena *arena, size_t len)
{
	struct arena_block *block = arena->blocks;
	size_t size = len > ARENA_BLOCK_MIN ? len : ARENA_BLOCK_MIN;

	if (block && block->size - block->used >= len)
		return block;
	block = block_take(size);
	if (!block)
		return NULL;
	block->next = arena->blocks;
	arena->blocks = block;
	return block;
}

void *arena_alloc(struct arena *arena, size_t len)
{
	struct arena_block *block;
	void *data;

	if (len > SIZE_MAX / 2)
		return NULL;
	len = (len + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (len == 0)
		len = alignof(max_align_t);
	if (len > arena->max - arena->used)
		return NULL;
	block = arena_block(arena, len);
	if (!block)
		return NULL;
	data = block->data + block->used;
	block->used += len;
	arena->used += len;
	return data;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	size_t len;

	if (__builtin_mul_overflow(count, size, &len))
		return NULL;
	return arena_alloc(arena, len);
}

struct bytes arena_copy(struct arena *arena, struct bytes bytes)
{
	void *copy;

	if (bytes.len == 0)
		return bytes_from(NULL, 0);
	copy = arena_alloc(arena, bytes.len);
	if (!copy)
		return bytes_from(NULL, 0);
	memcpy(copy, bytes.data, bytes.len);
	return bytes_from(copy, bytes.len);
}

char *arena_str(struct arena *arena, struct bytes bytes)
{
	char *copy = arena_alloc(arena, bytes.len + 1);

	if (copy && bytes.len)
		memcpy(copy, bytes.data, bytes.len);
	return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0)
		return NULL;
	text = arena_alloc(arena, (size_t)len + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	(void)vsnprintf(text, (size_t)len + 1, format, args);
	va_end(args);
	return text;
}
