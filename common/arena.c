#include "common/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ARENA_BLOCK_MIN 4096

struct arena_block {
	struct arena_block *next;
	size_t size;
	size_t used;
	alignas(max_align_t) uint8_t data[];
};

void arena_init(struct arena *arena, size_t max)
{
	*arena = (struct arena){.max = max};
}

static void free_blocks(struct arena_block *block)
{
	while (block) {
		struct arena_block *next = block->next;

		free(block);
		block = next;
	}
}

void arena_release(struct arena *arena)
{
	free_blocks(arena->blocks);
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

		free(first);
		first = next;
	}
	memset(first->data, 0, first->used);
	first->used = 0;
	arena->blocks = first;
}

static struct arena_block *arena_block(struct arena *arena, size_t len)
{
	struct arena_block *block = arena->blocks;
	size_t size = len > ARENA_BLOCK_MIN ? len : ARENA_BLOCK_MIN;

	if (block && block->size - block->used >= len)
		return block;
	block = calloc(1, sizeof(*block) + size);
	if (!block)
		return NULL;
	block->size = size;
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
