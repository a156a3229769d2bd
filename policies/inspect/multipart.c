#include "policies/inspect/multipart.h"

#include "common/utf8.h"
#include "policies/inspect/inspection.h"

/* "--" and the boundary. */
struct delimiter {
	uint8_t text[2 + MULTIPART_BOUNDARY_MAX];
	size_t len;
};

struct part {
	struct bytes head;
	struct bytes content;
	struct bytes name;
	bool is_file;
};

bool multipart_is(const struct media *media)
{
	return bytes_is_nocase(media->value, "multipart/form-data");
}

/* RFC 2046 5.1.1 bchars, less the space. */
static bool is_boundary(struct bytes text)
{
	if (text.len == 0 || text.len > MULTIPART_BOUNDARY_MAX)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
		      (c >= 'a' && c <= 'z') ||
		      (c != '\0' && strchr("'()+_,-./:=?", c))))
			return false;
	}
	return true;
}

static int delimiter_make(const struct media *media, struct delimiter *out)
{
	const struct bytes *boundary = media_param(media, "boundary");

	if (!boundary || !is_boundary(*boundary))
		return -1;
	memcpy(out->text, "--", 2);
	memcpy(out->text + 2, boundary->data, boundary->len);
	out->len = 2 + boundary->len;
	return 0;
}

/* RFC 2047: some servers (Tomcat) decode what looks like one, and read
 * another name then. */
static bool is_encoded_word(struct bytes text)
{
	return bytes_find_bytes(text, bytes_str("=?"), 0) >= 0;
}

/* RFC 7578 4.2; nothing but name and filename. */
static bool read_disposition(struct bytes value, struct part *part)
{
	struct media media;
	const struct bytes *name;
	const struct bytes *file;

	if (media_parse(value, &media) < 0 ||
	    !bytes_is_nocase(media.value, "form-data"))
		return false;
	name = media_param(&media, "name");
	file = media_param(&media, "filename");
	if (!name || media.count != 1u + (file != NULL))
		return false;
	part->name = *name;
	part->is_file |= file != NULL;
	return !is_encoded_word(*name) && utf8_valid_len(*name) == name->len &&
	       (!file || utf8_valid_len(*file) == file->len);
}

static bool read_type(struct bytes value, struct part *part)
{
	struct media media;

	if (media_parse(value, &media) < 0)
		return false;
	part->is_file |=
		bytes_is_nocase(media.value, "application/octet-stream");
	return media_is_type(&media) && media_is_utf8(&media) &&
	       !bytes_is_nocase(bytes_slice(media.value, 0, 10), "multipart/");
}

static bool check_length(struct bytes value, const struct part *part)
{
	uint64_t len;

	return bytes_to_u64(value, 10, &len) == 0 && len == part->content.len;
}

/* Which header it was in *seen, each at most once. */
static bool read_header(struct bytes line, struct part *part, unsigned *seen)
{
	struct bytes value = line;
	struct bytes name;
	unsigned bit;
	bool is_good;

	if (!bytes_split(&value, ':', &name))
		return false;
	value = bytes_trim(value);
	if (bytes_is_nocase(name, "content-disposition")) {
		is_good = read_disposition(value, part);
		bit = 1;
	} else if (bytes_is_nocase(name, "content-type")) {
		is_good = read_type(value, part);
		bit = 2;
	} else {
		is_good = bytes_is_nocase(name, "content-length") &&
			  check_length(value, part);
		bit = 4;
	}
	is_good = is_good && !(*seen & bit);
	*seen |= bit;
	return is_good;
}

static const char *read_head(struct part *part)
{
	struct bytes rest = part->head;
	unsigned seen = 0;

	while (rest.len > 0) {
		ptrdiff_t end = bytes_find_bytes(rest, bytes_str("\r\n"), 0);
		struct bytes line = bytes_slice(rest, 0, (size_t)end);

		for (size_t i = 0; i < line.len; i++)
			if (line.data[i] < ' ' || line.data[i] == 0x7f)
				return "a part's headers hold a control";
		if (!read_header(line, part, &seen))
			return "a part's headers are not what they must be";
		rest = bytes_slice(rest, (size_t)end + 2, rest.len);
	}
	if (!(seen & 1))
		return "a part has no Content-Disposition";
	return NULL;
}

/* Split a part at its empty line; head keeps the CRLF of its last line. */
static const char *split_part(struct bytes text, struct part *part)
{
	ptrdiff_t end = bytes_find_bytes(text, bytes_str("\r\n\r\n"), 0);

	if (end < 0)
		return "a part does not end its headers";
	if (end > MULTIPART_HEAD_MAX)
		return "a part's headers are too large";
	part->head = bytes_slice(text, 0, (size_t)end + 2);
	part->content = bytes_slice(text, (size_t)end + 4, text.len);
	return read_head(part);
}

/* RFC 7578 4.6: it says in which charset the others are. */
static bool is_other_charset(const struct part *part)
{
	return bytes_is_nocase(part->name, "_charset_") &&
	       !bytes_is_nocase(part->content, "utf-8");
}

/* The part at the front of *body, which starts after a boundary's line; then
 * *body starts after the next boundary. */
static const char *take_part(struct bytes boundary, struct bytes *body,
			     struct part *part)
{
	ptrdiff_t at = bytes_find_bytes(*body, boundary, 0);
	struct bytes text;

	if (at < 2 || memcmp(body->data + at - 2, "\r\n", 2) != 0)
		return "a boundary is missing or not on a line of its own";
	text = bytes_slice(*body, 0, (size_t)at - 2);
	*body = bytes_slice(*body, (size_t)at + boundary.len, body->len);
	return split_part(text, part);
}

/* After a boundary: another part (true), or the end in *is_over. */
static bool take_line(struct bytes *body, bool *is_over)
{
	if (bytes_starts_with(*body, bytes_str("\r\n"))) {
		*body = bytes_slice(*body, 2, body->len);
		return true;
	}
	*is_over = bytes_is(*body, "--") || bytes_is(*body, "--\r\n");
	return false;
}

static const char *read_parts(struct bytes boundary, struct bytes body,
			      struct fields *fields, struct fields *files)
{
	bool is_over = false;

	if (!bytes_starts_with(body, boundary))
		return "a multipart body does not start with its boundary";
	body = bytes_slice(body, boundary.len, body.len);
	while (take_line(&body, &is_over)) {
		struct part part = {0};
		const char *fault = take_part(boundary, &body, &part);

		if (fault)
			return fault;
		if (is_other_charset(&part))
			return "a multipart body is not UTF-8";
		if (fields_add(fields, part.name, part.content) < 0)
			return "a multipart body has too many parts";
		if (part.is_file)
			(void)fields_add(files, part.name, part.content);
	}
	return is_over ? NULL : "a multipart body does not end as it must";
}

static size_t count_parts(struct bytes boundary, struct bytes body)
{
	size_t count = 0;
	ptrdiff_t at = -1;

	do {
		at = bytes_find_bytes(body, boundary, (size_t)(at + 1));
		count++;
	} while (at >= 0 && count < INSPECT_FIELDS_MAX);
	return count;
}

const char *multipart_read(const struct media *media, struct bytes body,
			   struct arena *arena, struct fields *fields,
			   struct fields *files)
{
	struct delimiter delimiter;
	struct bytes boundary;

	*fields = *files = (struct fields){0};
	if (delimiter_make(media, &delimiter) < 0)
		return "a multipart body has no sound boundary";
	if (!media_is_utf8(media))
		return "a multipart body is not UTF-8";
	boundary = bytes_from(delimiter.text, delimiter.len);
	fields->room = files->room = count_parts(boundary, body);
	fields->items = arena_array(arena, fields->room, sizeof(struct field));
	files->items = arena_array(arena, files->room, sizeof(struct field));
	if (!fields->items || !files->items)
		return "memory is out";
	return read_parts(boundary, body, fields, files);
}
