#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/utf8.h"
#include "sandbox-host/api/files.h"

#define UNKNOWN	   "\xef\xbf\xbd" /* U+FFFD */
#define DIGITS_MAX 3

json_t *files_text_json(struct bytes text)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, text.len * strlen(UNKNOWN) + 1);
	while (text.len > 0) {
		size_t valid = utf8_valid_len(text);
		size_t bad = valid < text.len;

		if (buf_add(&out, bytes_slice(text, 0, valid)) < 0 ||
		    (bad && buf_add_str(&out, UNKNOWN) < 0))
			return NULL;
		text = bytes_slice(text, valid + bad, text.len);
	}
	return json_stringn(buf_len(&out) ? (const char *)buf_view(&out).data
					  : "",
			    buf_len(&out));
}

/* 0755 as 755. */
static json_int_t digits_of(uint32_t mode)
{
	json_int_t value = 0, place = 1;

	for (; mode > 0; mode /= 8, place *= 10)
		value += (json_int_t)(mode % 8) * place;
	return value;
}

static json_t *time_json(uint64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE];

	clock_format(wall_ms, text);
	return json_string(text);
}

json_t *files_info_json(struct bytes path, const struct file_entry *entry)
{
	static const char *const types[FILE_TYPE_MAX] = {
		[FILE_REGULAR] = "file",
		[FILE_DIRECTORY] = "directory",
		[FILE_SYMLINK] = "symlink",
		[FILE_OTHER] = "other",
	};

	return json_pack("{s:o, s:s, s:I, s:I, s:o, s:o, s:o, s:o}", "path",
			 files_text_json(path), "type", types[entry->type],
			 "size", (json_int_t)entry->size, "mode",
			 digits_of(entry->mode), "owner",
			 files_text_json(entry->owner), "group",
			 files_text_json(entry->group), "created_at",
			 time_json(entry->created_ms), "modified_at",
			 time_json(entry->modified_ms));
}

/* 755 as 0755; no more bits than those. */
static int mode_parse(json_int_t digits, uint32_t *mode)
{
	uint32_t value = 0, place = 1;

	for (int i = 0; i < DIGITS_MAX; i++, digits /= 10, place *= 8) {
		if (digits < 0 || digits % 10 > 7)
			return -1;
		value += (uint32_t)(digits % 10) * place;
	}
	*mode = value;
	return digits == 0 ? 0 : -1;
}

static int name_parse(const json_t *value, struct bytes *name)
{
	if (!value || json_is_null(value))
		return 0;
	*name = bytes_from(json_string_value(value), json_string_length(value));
	return json_is_string(value) && name->len <= FILE_OWNER_MAX &&
			       wire_is_printable(*name)
		       ? 0
		       : -1;
}

/* No mode, and 0, which Go's clients send for it: as it is. */
int files_access_parse(const json_t *value, struct file_access *access)
{
	const json_t *mode = json_object_get(value, "mode");
	json_int_t digits = json_integer_value(mode);

	if (!json_is_object(value) ||
	    name_parse(json_object_get(value, "owner"), &access->owner) < 0 ||
	    name_parse(json_object_get(value, "group"), &access->group) < 0)
		return -1;
	if (!mode || json_is_null(mode))
		return 0;
	if (!json_is_integer(mode) || mode_parse(digits, &access->mode) < 0)
		return -1;
	access->has_mode = digits != 0;
	return 0;
}
