/*
 * What an agent inside a sandbox answers: any bytes, as each kind of message
 * that it may send. What passes the checks must be safe to be shown, and to
 * be made below a directory. The first byte chooses.
 */
#include <assert.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "sandbox-host/flow/messages_files.h"

#define ARENA_MAX (1 << 24)
#define ROOM	  (1ull << 53) /* numbers that JSON's readers can hold */

/* Go down by name; never back, never from the root. */
static void check_path(struct bytes path)
{
	struct bytes name;
	bool has_more = true;

	assert(path.len > 0 && path.len <= REQUEST_PATH_MAX);
	assert(path.data[0] != '/' && path.data[path.len - 1] != '/');
	assert(!memchr(path.data, 0, path.len));
	while (has_more) {
		has_more = bytes_split(&path, '/', &name);
		assert(name.len > 0);
		assert(!bytes_is(name, ".") && !bytes_is(name, ".."));
	}
}

static void check_entry(const struct file_entry *entry)
{
	assert(entry->type < FILE_TYPE_MAX && entry->mode < 010000);
	assert(entry->size < ROOM && entry->modified_ms < ROOM);
	assert(wire_is_text(entry->owner) && wire_is_text(entry->group));
	assert((entry->type == FILE_SYMLINK) == (entry->target.len > 0));
}

static void check_page(const struct file_page *page,
		       const struct file_walk *walk)
{
	assert(page->entries_count <= FILE_PAGE_MAX);
	for (size_t i = 0; i < page->entries_count; i++) {
		const struct file_entry *entry = &page->entries[i];

		check_path(entry->path);
		check_entry(entry);
		assert(!walk->is_for_files || entry->type == FILE_REGULAR);
		if (walk->depth == 1)
			assert(bytes_find(entry->path, '/', 0) < 0);
	}
}

static void fuzz_page(struct bytes bytes, struct arena *arena, uint8_t chosen)
{
	const struct file_walk walk = {.depth = chosen & 1,
				       .is_for_files = chosen & 2};
	struct file_page page;

	if (wire_decode(&file_page_schema, bytes, arena, &page, NULL) == 0 &&
	    !file_page_check(&page, &walk))
		check_page(&page, &walk);
}

static void fuzz_entry(struct bytes bytes, struct arena *arena)
{
	struct file_entry entry;

	if (wire_decode(&file_entry_schema, bytes, arena, &entry, NULL) == 0 &&
	    !file_entry_check(&entry))
		check_entry(&entry);
}

static void fuzz_piece(struct bytes bytes, struct arena *arena)
{
	const struct file_span span = {.len = 16};
	struct file_piece piece;

	if (wire_decode(&file_piece_schema, bytes, arena, &piece, NULL) == 0 &&
	    !file_piece_check(&piece, &span))
		assert(piece.bytes.len <= span.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_type(arena_release) struct arena arena = {0};
	struct bytes bytes = bytes_from(data, size);

	if (size == 0)
		return 0;
	arena_init(&arena, ARENA_MAX);
	bytes = bytes_slice(bytes, 1, size);
	if (data[0] & 4)
		fuzz_entry(bytes, &arena);
	else if (data[0] & 8)
		fuzz_piece(bytes, &arena);
	else
		fuzz_page(bytes, &arena, data[0]);
	return 0;
}
