#include "sandbox-host/flow/messages_files.h"

#include "common/cleanup.h"

#define NUMBER_MAX  (1ull << 53)
#define SPECIAL_MAX 010000 /* with set-id bits and the sticky one */

static const struct wire_field file_ref_fields[] = {
	WIRE_BYTES(struct file_ref, path, REQUEST_PATH_MAX),
};
const struct wire_schema file_ref_schema =
	WIRE_SCHEMA("file-ref", struct file_ref, file_ref_fields);

static const struct wire_field file_entry_fields[] = {
	WIRE_BYTES(struct file_entry, path, REQUEST_PATH_MAX),
	WIRE_ENUM(struct file_entry, type, FILE_TYPE_MAX),
	WIRE_U64(struct file_entry, size),
	WIRE_U32(struct file_entry, mode),
	WIRE_TEXT(struct file_entry, owner, FILE_OWNER_MAX),
	WIRE_TEXT(struct file_entry, group, FILE_OWNER_MAX),
	WIRE_U64(struct file_entry, modified_ms),
	WIRE_U64(struct file_entry, created_ms),
	WIRE_BYTES(struct file_entry, target, REQUEST_PATH_MAX),
};
const struct wire_schema file_entry_schema =
	WIRE_SCHEMA("file-entry", struct file_entry, file_entry_fields);

static const struct wire_field file_walk_fields[] = {
	WIRE_BYTES(struct file_walk, path, REQUEST_PATH_MAX),
	WIRE_U32(struct file_walk, depth),
	WIRE_BOOL(struct file_walk, is_for_files),
	WIRE_BYTES(struct file_walk, pattern, FILE_PATTERN_MAX),
};
const struct wire_schema file_walk_schema =
	WIRE_SCHEMA("file-walk", struct file_walk, file_walk_fields);

static const struct wire_field file_page_fields[] = {
	WIRE_LIST(struct file_page, entries, FILE_PAGE_MAX, &file_entry_schema),
	WIRE_BOOL(struct file_page, more),
};
const struct wire_schema file_page_schema =
	WIRE_SCHEMA("file-page", struct file_page, file_page_fields);

static const struct wire_field file_span_fields[] = {
	WIRE_U64(struct file_span, offset),
	WIRE_FIELD(struct file_span, len, WIRE_KIND_U32, FILE_PIECE_MAX + 1),
};
const struct wire_schema file_span_schema =
	WIRE_SCHEMA("file-span", struct file_span, file_span_fields);

static const struct wire_field file_piece_fields[] = {
	WIRE_BYTES(struct file_piece, bytes, FILE_PIECE_MAX),
};
const struct wire_schema file_piece_schema =
	WIRE_SCHEMA("file-piece", struct file_piece, file_piece_fields);

static const struct wire_field file_access_fields[] = {
	WIRE_BYTES(struct file_access, path, REQUEST_PATH_MAX),
	WIRE_BOOL(struct file_access, has_mode),
	WIRE_FIELD(struct file_access, mode, WIRE_KIND_U32, FILE_MODE_MAX),
	WIRE_TEXT(struct file_access, owner, FILE_OWNER_MAX),
	WIRE_TEXT(struct file_access, group, FILE_OWNER_MAX),
};
const struct wire_schema file_access_schema =
	WIRE_SCHEMA("file-access", struct file_access, file_access_fields);

static const struct wire_field file_pair_fields[] = {
	WIRE_BYTES(struct file_pair, from, REQUEST_PATH_MAX),
	WIRE_BYTES(struct file_pair, to, REQUEST_PATH_MAX),
};
const struct wire_schema file_pair_schema =
	WIRE_SCHEMA("file-pair", struct file_pair, file_pair_fields);

static const struct wire_field file_remove_fields[] = {
	WIRE_BYTES(struct file_remove, path, REQUEST_PATH_MAX),
	WIRE_BOOL(struct file_remove, is_directory),
};
const struct wire_schema file_remove_schema =
	WIRE_SCHEMA("file-remove", struct file_remove, file_remove_fields);

static const struct wire_field file_replace_fields[] = {
	WIRE_BYTES(struct file_replace, path, REQUEST_PATH_MAX),
	WIRE_BYTES(struct file_replace, old, FILE_TEXT_MAX),
	WIRE_BYTES(struct file_replace, new, FILE_TEXT_MAX),
};
const struct wire_schema file_replace_schema =
	WIRE_SCHEMA("file-replace", struct file_replace, file_replace_fields);

static const struct wire_field file_count_fields[] = {
	WIRE_U64(struct file_count, count),
};
const struct wire_schema file_count_schema =
	WIRE_SCHEMA("file-count", struct file_count, file_count_fields);

/* ---- a replacement, larger than a message ---- */

int file_replace_seal(const struct file_replace *replace, struct err *err)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, REQUEST_BYTES_MAX);
	if (wire_encode(&file_replace_schema, replace, &out, err) < 0)
		return -1;
	return wire_memfd_seal("sallyport-request", buf_view(&out), err);
}

int file_replace_open(int fd, struct request_memory *memory,
		      struct file_replace *replace, struct err *err)
{
	*memory = (struct request_memory){0};
	if (wire_memfd_map(fd, REQUEST_BYTES_MAX, &memory->mapping, err) < 0)
		return -1;
	arena_init(&memory->arena, sizeof(*replace));
	if (wire_decode(&file_replace_schema, memory->mapping, &memory->arena,
			replace, err) == 0) {
		if (replace->old.len > 0)
			return 0;
		(void)err_set(err, ERR_INVALID, "nothing is to be replaced");
	}
	request_release(memory);
	return -1;
}

/* ---- answers ---- */

bool file_path_is_below(struct bytes path)
{
	bool is_good = path.len > 0 && !memchr(path.data, 0, path.len);
	bool has_more = true;

	while (is_good && has_more) {
		struct bytes name;

		has_more = bytes_split(&path, '/', &name);
		is_good = name.len > 0 && !bytes_is(name, ".") &&
			  !bytes_is(name, "..");
	}
	return is_good;
}

const char *file_entry_check(const struct file_entry *entry)
{
	if (entry->size >= NUMBER_MAX || entry->modified_ms >= NUMBER_MAX ||
	    entry->created_ms >= NUMBER_MAX)
		return "a number that no file has";
	if (entry->mode >= SPECIAL_MAX)
		return "permissions that no file has";
	if ((entry->target.len > 0) != (entry->type == FILE_SYMLINK) ||
	    (entry->target.len > 0 &&
	     memchr(entry->target.data, 0, entry->target.len)))
		return "a link that is none";
	return NULL;
}

static unsigned depth_of(struct bytes path)
{
	unsigned depth = 1;

	for (size_t i = 0; i < path.len; i++)
		depth += path.data[i] == '/';
	return depth;
}

const char *file_page_check(const struct file_page *page,
			    const struct file_walk *walk)
{
	for (size_t i = 0; i < page->entries_count; i++) {
		const struct file_entry *entry = &page->entries[i];
		const char *fault = file_entry_check(entry);

		if (fault)
			return fault;
		if (!file_path_is_below(entry->path))
			return "a name that leads elsewhere";
		if (walk->depth > 0 && depth_of(entry->path) > walk->depth)
			return "a name that is deeper than was asked for";
		if (walk->is_for_files && entry->type != FILE_REGULAR)
			return "something else than a file";
	}
	return NULL;
}

const char *file_piece_check(const struct file_piece *piece,
			     const struct file_span *span)
{
	return piece->bytes.len > span->len ? "more bytes than were asked for"
					    : NULL;
}
