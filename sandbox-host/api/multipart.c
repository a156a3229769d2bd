#include "sandbox-host/api/multipart.h"

#include "policies/inspect/media.h"

#define BOUNDARY_MAX (sizeof(((struct multipart *)0)->delimiter) - 4)

static enum multipart_event invalid(struct multipart *parts, const char *reason)
{
	parts->reason = reason;
	return MULTIPART_INVALID;
}

int multipart_open(struct multipart *parts, struct bytes content_type)
{
	struct media media;
	const struct bytes *boundary = NULL;

	*parts = (struct multipart){0};
	if (media_parse(content_type, &media) == 0 &&
	    bytes_is_nocase(media.value, "multipart/form-data"))
		boundary = media_param(&media, "boundary");
	if (!boundary || boundary->len == 0 || boundary->len > BOUNDARY_MAX) {
		parts->reason = "the body must be multipart/form-data with a "
				"boundary";
		return -1;
	}
	memcpy(parts->delimiter, "\r\n--", 4);
	memcpy(parts->delimiter + 4, boundary->data, boundary->len);
	parts->delimiter_len = 4 + boundary->len;
	return 0;
}

bool multipart_is_over(const struct multipart *parts)
{
	return parts->state == MULTIPART_AT_END;
}

static struct bytes delimiter(const struct multipart *parts)
{
	return bytes_from(parts->delimiter, parts->delimiter_len);
}

static void consume(struct bytes *input, size_t len)
{
	*input = bytes_slice(*input, len, input->len);
}

/* ---- a part's headers ---- */

/* `name="x"` or `name=x` among the parameters. Clients differ in how they
 * quote a filename, which is of no interest. */
static bool find_name(struct bytes value, struct bytes *name)
{
	struct bytes piece;

	if (!bytes_split(&value, ';', &piece) ||
	    !bytes_is_nocase(bytes_trim(piece), "form-data"))
		return false;
	value = bytes_trim(value);
	if (!bytes_is_nocase(bytes_slice(value, 0, 5), "name="))
		return false;
	value = bytes_slice(value, 5, value.len);
	if (value.len > 0 && value.data[0] == '"') {
		consume(&value, 1);
		return bytes_split(&value, '"', name);
	}
	(void)bytes_split(&value, ';', name);
	*name = bytes_trim(*name);
	return name->len > 0;
}

static bool read_head(struct bytes head, struct bytes *name)
{
	bool has_name = false;

	while (head.len > 0) {
		ptrdiff_t end = bytes_find_bytes(head, bytes_str("\r\n"), 0);
		struct bytes line =
			bytes_slice(head, 0, end < 0 ? head.len : (size_t)end);
		struct bytes label;

		consume(&head, end < 0 ? head.len : (size_t)end + 2);
		if (!bytes_split(&line, ':', &label) || label.len == 0)
			return false;
		if (!bytes_is_nocase(label, "content-disposition"))
			continue;
		if (has_name || !find_name(line, name))
			return false;
		has_name = true;
	}
	return has_name;
}

static enum multipart_event take_head(struct multipart *parts,
				      struct bytes *input, struct bytes *name)
{
	ptrdiff_t end =
		bytes_find_bytes(bytes_slice(*input, 0, MULTIPART_HEAD_MAX + 4),
				 bytes_str("\r\n\r\n"), 0);

	if (end < 0)
		return input->len < MULTIPART_HEAD_MAX + 4
			       ? MULTIPART_MORE
			       : invalid(parts,
					 "a part's headers are too large");
	if (!read_head(bytes_slice(*input, 0, (size_t)end), name))
		return invalid(parts, "a part has no sound headers");
	consume(input, (size_t)end + 4);
	parts->state = MULTIPART_IN_DATA;
	return MULTIPART_BEGIN;
}

/* ---- between parts ---- */

static enum multipart_event take_first(struct multipart *parts,
				       struct bytes *input)
{
	struct bytes line =
		bytes_slice(delimiter(parts), 2, parts->delimiter_len);

	if (!bytes_equal(bytes_slice(*input, 0, line.len),
			 bytes_slice(line, 0, input->len)))
		return invalid(parts,
			       "the body does not start with its boundary");
	if (input->len < line.len)
		return MULTIPART_MORE;
	consume(input, line.len);
	parts->state = MULTIPART_AT_LINE;
	return MULTIPART_DATA;
}

static enum multipart_event take_line(struct multipart *parts,
				      struct bytes *input)
{
	if (input->len < 2)
		return MULTIPART_MORE;
	if (!memcmp(input->data, "--", 2)) {
		consume(input, input->len);
		parts->state = MULTIPART_AT_END;
		return MULTIPART_OVER;
	}
	if (memcmp(input->data, "\r\n", 2) != 0)
		return invalid(parts, "a boundary is not alone on its line");
	consume(input, 2);
	parts->state = MULTIPART_IN_HEAD;
	return MULTIPART_DATA;
}

static enum multipart_event take_data(struct multipart *parts,
				      struct bytes *input, struct bytes *data)
{
	ptrdiff_t at = bytes_find_bytes(*input, delimiter(parts), 0);
	size_t len = (size_t)at;

	if (at == 0) {
		consume(input, parts->delimiter_len);
		parts->state = MULTIPART_AT_LINE;
		return MULTIPART_END;
	}
	/* The beginning of a delimiter may stand at the end. */
	if (at < 0)
		len = input->len < parts->delimiter_len
			      ? 0
			      : input->len - parts->delimiter_len + 1;
	if (len == 0)
		return MULTIPART_MORE;
	*data = bytes_slice(*input, 0, len);
	consume(input, len);
	return MULTIPART_DATA;
}

enum multipart_event multipart_next(struct multipart *parts,
				    struct bytes *input, struct bytes *data)
{
	enum multipart_event event = MULTIPART_DATA;

	*data = bytes_from(NULL, 0);
	/* Lines between parts are nobody's data. */
	while (event == MULTIPART_DATA && data->len == 0)
		switch (parts->state) {
		case MULTIPART_AT_FIRST:
			event = take_first(parts, input);
			break;
		case MULTIPART_AT_LINE:
			event = take_line(parts, input);
			break;
		case MULTIPART_IN_HEAD:
			event = take_head(parts, input, data);
			break;
		case MULTIPART_IN_DATA:
			event = take_data(parts, input, data);
			break;
		case MULTIPART_AT_END:
			consume(input, input->len);
			event = MULTIPART_MORE;
		}
	return event;
}
