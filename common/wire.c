#include "common/wire.h"

#include <assert.h>
#include <endian.h>
#include <stdbool.h>

#include "common/words.h"

const struct wire_schema wire_empty_schema = {
	.name = "empty",
	.size = sizeof(struct wire_empty),
};

/* ---- text ---- */

bool wire_is_printable(struct bytes view)
{
	size_t at = words_printable(view);
	uint64_t word;

	if (view.len - at >= WORD_LEN)
		return false;
	/* The last eight, of which some were looked at. */
	if (view.len >= WORD_LEN) {
		memcpy(&word, view.data + view.len - WORD_LEN, WORD_LEN);
		return word_is_printable(word);
	}
	for (; at < view.len; at++)
		if (view.data[at] < 0x20 || view.data[at] > 0x7e)
			return false;
	return true;
}

/* The length of the sequence that stands at the front, 0 when it is not
 * well-formed UTF-8 (RFC 3629, section 4) or a control character. */
static size_t text_sequence(const uint8_t *at, size_t len)
{
	uint8_t low = 0x80, high = 0xbf;
	size_t need;

	if (at[0] < 0x80) {
		bool is_plain = at[0] >= 0x20 && at[0] != 0x7f;

		return is_plain || at[0] == '\t' || at[0] == '\n';
	}
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	need = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	if (len < need)
		return 0;
	switch (at[0]) {
	case 0xc2: /* U+0080..U+009F are the C1 controls */
	case 0xe0: /* overlong below */
		low = 0xa0;
		break;
	case 0xed: /* surrogates above */
		high = 0x9f;
		break;
	case 0xf0: /* overlong below */
		low = 0x90;
		break;
	case 0xf4: /* past U+10FFFF above */
		high = 0x8f;
		break;
	default:
		break;
	}
	if (at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return need;
}

bool wire_is_text(struct bytes view)
{
	if (wire_is_printable(view))
		return true;
	for (size_t at = 0; at < view.len;) {
		size_t step = text_sequence(view.data + at, view.len - at);

		if (step == 0)
			return false;
		at += step;
	}
	return true;
}

/* ---- what both directions share ---- */

static inline size_t scalar_width(enum wire_kind kind)
{
	switch (kind) {
	case WIRE_KIND_U8:
	case WIRE_KIND_BOOL:
		return 1;
	case WIRE_KIND_U16:
		return 2;
	case WIRE_KIND_U32:
		return 4;
	case WIRE_KIND_U64:
		return 8;
	case WIRE_KIND_BYTES:
	case WIRE_KIND_TEXT:
	case WIRE_KIND_LIST:
	case WIRE_KIND_ENCODED:
	case WIRE_KIND_MAX:
		break;
	}
	return 0;
}

static int refuse(struct err *err, enum err_code code,
		  const struct wire_schema *schema,
		  const struct wire_field *field, const char *why)
{
	return err_set(err, code, "message %s: %s: %s", schema->name,
		       field ? field->name : "end", why);
}

/* The rules that a value has to keep on either side. */
static inline int check_scalar(const struct wire_schema *schema,
			       const struct wire_field *field, uint64_t value,
			       struct err *err)
{
	if (field->kind == WIRE_KIND_BOOL && value > 1)
		return refuse(err, ERR_INVALID, schema, field,
			      "neither 0 nor 1");
	if (field->bound > 0 && value >= field->bound)
		return refuse(err, ERR_INVALID, schema, field, "out of range");
	return 0;
}

static inline int check_view(const struct wire_schema *schema,
			     const struct wire_field *field, struct bytes view,
			     struct err *err)
{
	if (view.len == 0)
		return 0;
	if (view.len > field->bound)
		return refuse(err, ERR_TOO_LARGE, schema, field, "too long");
	if (field->kind == WIRE_KIND_TEXT && !wire_is_text(view))
		return refuse(err, ERR_INVALID, schema, field, "not text");
	return 0;
}

static int check_count(const struct wire_schema *schema,
		       const struct wire_field *field, size_t count,
		       struct err *err)
{
	if (count > field->bound)
		return refuse(err, ERR_TOO_LARGE, schema, field,
			      "too many items");
	return 0;
}

/* ---- encode ---- */

struct encoder {
	struct buf *out;
	uint8_t *at, *end; /* where bytes go, and how far; in out's memory */
	struct err *err;
	unsigned depth;
	bool is_fitting; /* texts are made to keep their rules */
};

static int encode_struct(struct encoder *to, const struct wire_schema *schema,
			 const uint8_t *msg);

static inline uint64_t load_scalar(size_t width, const uint8_t *from)
{
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	switch (width) {
	case 2:
		memcpy(&two, from, sizeof(two));
		return two;
	case 4:
		memcpy(&four, from, sizeof(four));
		return four;
	case 8:
		memcpy(&eight, from, sizeof(eight));
		return eight;
	default:
		return *from;
	}
}

static void store_scalar(size_t width, uint64_t value, uint8_t *to)
{
	uint16_t two = (uint16_t)value;
	uint32_t four = (uint32_t)value;

	switch (width) {
	case 2:
		memcpy(to, &two, sizeof(two));
		break;
	case 4:
		memcpy(to, &four, sizeof(four));
		break;
	case 8:
		memcpy(to, &value, sizeof(value));
		break;
	default:
		*to = (uint8_t)value;
		break;
	}
}

/* memcpy(), which is a call where the width is not known. */
static inline void copy_width(void *to, const void *from, size_t width)
{
	switch (width) {
	case 2:
		memcpy(to, from, 2);
		break;
	case 4:
		memcpy(to, from, 4);
		break;
	case 8:
		memcpy(to, from, 8);
		break;
	default:
		memcpy(to, from, 1);
		break;
	}
}

/* Tell out what was written to it. */
static void settle(struct encoder *to)
{
	struct buf *out = to->out;

	if (to->at)
		buf_commit(out, (size_t)(to->at - (out->data + out->end)));
}

/* Have room for size bytes and what else there is; -1 when they do not fit. */
static int make_room(struct encoder *to, size_t size)
{
	struct buf *out = to->out;
	size_t room;

	settle(to);
	if (buf_room(out) < size)
		return -1;
	to->at = buf_reserve(out, size);
	if (!to->at)
		return -1;
	room = out->size - out->end;
	to->end = to->at + (room < buf_room(out) ? room : buf_room(out));
	return 0;
}

/* Where size bytes of the encoding go; NULL when they do not fit. */
static inline uint8_t *put(struct encoder *to, size_t size)
{
	uint8_t *at;

	if ((size_t)(to->end - to->at) < size && make_room(to, size) < 0)
		return NULL;
	at = to->at;
	to->at += size;
	return at;
}

static inline int put_integer(struct encoder *to, uint64_t value, size_t width)
{
	uint64_t sent = htole64(value);
	uint8_t *at = put(to, width);

	if (!at)
		return -1;
	copy_width(at, &sent, width);
	return 0;
}

/* view is not empty. */
static inline int put_view(struct encoder *to, struct bytes view)
{
	uint32_t len = htole32((uint32_t)view.len);
	uint8_t *at = put(to, sizeof(len) + view.len);

	if (!at)
		return -1;
	memcpy(at, &len, sizeof(len));
	memcpy(at + sizeof(len), view.data, view.len);
	return 0;
}

/* What may not stand in a text, or may be shown as something else, becomes
 * '?'. */
static void make_printable(uint8_t *text, size_t len)
{
	if (wire_is_printable(bytes_from(text, len)))
		return;
	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			text[i] = '?';
}

static inline int encode_view(struct encoder *to,
			      const struct wire_schema *schema,
			      const struct wire_field *field, struct bytes view)
{
	bool is_fitted = to->is_fitting && field->kind == WIRE_KIND_TEXT;

	if (view.len == 0)
		return put_integer(to, 0, 4) == 0
			       ? 0
			       : refuse(to->err, ERR_TOO_LARGE, schema, field,
					"no room");
	if (is_fitted)
		view = bytes_slice(view, 0, field->bound);
	else if (check_view(schema, field, view, to->err) < 0)
		return -1;
	if (put_view(to, view) < 0)
		return refuse(to->err, ERR_TOO_LARGE, schema, field, "no room");
	if (is_fitted)
		make_printable(to->at - view.len, view.len);
	return 0;
}

/* The items are what wire_encode_fit() or wire_encode() made of them. */
static int encode_encoded(struct encoder *to, const struct wire_schema *schema,
			  const struct wire_field *field, const uint8_t *msg)
{
	struct bytes items;
	size_t count;
	uint8_t *at;

	memcpy(&items, msg + field->offset, sizeof(items));
	memcpy(&count, msg + field->count_offset, sizeof(count));
	if (check_count(schema, field, count, to->err) < 0)
		return -1;
	if (put_integer(to, count, 4) < 0 || !(at = put(to, items.len)))
		return refuse(to->err, ERR_TOO_LARGE, schema, field, "no room");
	if (items.len)
		memcpy(at, items.data, items.len);
	return 0;
}

static int encode_list(struct encoder *to, const struct wire_schema *schema,
		       const struct wire_field *field, const uint8_t *msg)
{
	const uint8_t *items;
	size_t count;

	assert(to->depth < WIRE_DEPTH_MAX);
	memcpy(&items, msg + field->offset, sizeof(items));
	memcpy(&count, msg + field->count_offset, sizeof(count));
	if (check_count(schema, field, count, to->err) < 0)
		return -1;
	if (put_integer(to, count, 4) < 0)
		return refuse(to->err, ERR_TOO_LARGE, schema, field, "no room");
	to->depth++;
	for (size_t i = 0; i < count; i++)
		if (encode_struct(to, field->element,
				  items + i * field->element->size) < 0)
			return -1;
	to->depth--;
	return 0;
}

/* Inlined for each width: nearly all fields of most messages are scalars. */
static inline int encode_scalar(struct encoder *to,
				const struct wire_schema *schema,
				const struct wire_field *field,
				const uint8_t *msg, size_t width)
{
	uint64_t value = load_scalar(width, msg + field->offset);

	if (check_scalar(schema, field, value, to->err) < 0)
		return -1;
	if (put_integer(to, value, width) == 0)
		return 0;
	return refuse(to->err, ERR_TOO_LARGE, schema, field, "no room");
}

/* Inlined too: its calls cost as much as what it does. */
static inline __attribute__((always_inline)) int
encode_field(struct encoder *to, const struct wire_schema *schema,
	     const struct wire_field *field, const uint8_t *msg)
{
	struct bytes view;

	switch (field->kind) {
	case WIRE_KIND_U8:
	case WIRE_KIND_BOOL:
		return encode_scalar(to, schema, field, msg, 1);
	case WIRE_KIND_U16:
		return encode_scalar(to, schema, field, msg, 2);
	case WIRE_KIND_U32:
		return encode_scalar(to, schema, field, msg, 4);
	case WIRE_KIND_U64:
		return encode_scalar(to, schema, field, msg, 8);
	case WIRE_KIND_LIST:
		return encode_list(to, schema, field, msg);
	case WIRE_KIND_ENCODED:
		return encode_encoded(to, schema, field, msg);
	case WIRE_KIND_BYTES:
	case WIRE_KIND_TEXT:
	case WIRE_KIND_MAX:
		break;
	}
	memcpy(&view, msg + field->offset, sizeof(view));
	return encode_view(to, schema, field, view);
}

static int encode_struct(struct encoder *to, const struct wire_schema *schema,
			 const uint8_t *msg)
{
	for (size_t i = 0; i < schema->field_count; i++)
		if (encode_field(to, schema, &schema->fields[i], msg) < 0)
			return -1;
	return 0;
}

static int encode_all(struct encoder *to, const struct wire_schema *schema,
		      const void *msg)
{
	struct buf *out = to->out;
	size_t before = buf_len(out);

	if (encode_struct(to, schema, msg) == 0) {
		settle(to);
		return 0;
	}
	out->end = out->start + before;
	return -1;
}

int wire_encode(const struct wire_schema *schema, const void *msg,
		struct buf *out, struct err *err)
{
	struct encoder to = {.out = out, .err = err};

	return encode_all(&to, schema, msg);
}

int wire_encode_fit(const struct wire_schema *schema, const void *msg,
		    struct buf *out, struct err *err)
{
	struct encoder to = {.out = out, .err = err, .is_fitting = true};

	return encode_all(&to, schema, msg);
}

/* ---- decode ---- */

struct decoder {
	struct bytes rest; /* untrusted */
	struct arena *arena;
	struct err *err;
	unsigned depth;
};

static int decode_struct(struct decoder *from, const struct wire_schema *schema,
			 uint8_t *msg);

static int take_integer(struct decoder *from, size_t width, uint64_t *value)
{
	uint64_t sent = 0;

	if (from->rest.len < width)
		return -1;
	copy_width(&sent, from->rest.data, width);
	*value = le64toh(sent);
	from->rest.data += width;
	from->rest.len -= width;
	return 0;
}

/* The fewest bytes that one such struct takes. */
static size_t encoded_min(const struct wire_schema *schema)
{
	size_t sum = 0;

	for (size_t i = 0; i < schema->field_count; i++) {
		size_t width = scalar_width(schema->fields[i].kind);

		sum += width ? width : 4;
	}
	return sum;
}

static int decode_list(struct decoder *from, const struct wire_schema *schema,
		       const struct wire_field *field, uint8_t *msg)
{
	const struct wire_schema *element = field->element;
	size_t least = encoded_min(element);
	uint8_t *items = NULL;
	uint64_t count;
	size_t stored;

	assert(least > 0 && from->depth < WIRE_DEPTH_MAX);
	if (take_integer(from, 4, &count) < 0)
		return refuse(from->err, ERR_INVALID, schema, field, "cut off");
	if (check_count(schema, field, count, from->err) < 0)
		return -1;
	/* A count alone must not make us allocate: bytes must back it. */
	if (count > from->rest.len / least)
		return refuse(from->err, ERR_INVALID, schema, field, "cut off");
	if (count > 0)
		items = arena_array(from->arena, count, element->size);
	if (count > 0 && !items)
		return refuse(from->err, ERR_TOO_LARGE, schema, field,
			      "no memory");
	from->depth++;
	for (size_t i = 0; i < count; i++)
		if (decode_struct(from, element, items + i * element->size) < 0)
			return -1;
	from->depth--;
	stored = count;
	memcpy(msg + field->offset, &items, sizeof(items));
	memcpy(msg + field->count_offset, &stored, sizeof(stored));
	return 0;
}

static int decode_view(struct decoder *from, const struct wire_schema *schema,
		       const struct wire_field *field, uint8_t *to)
{
	struct bytes view;
	uint32_t len;

	if (from->rest.len < sizeof(len))
		return refuse(from->err, ERR_INVALID, schema, field, "cut off");
	memcpy(&len, from->rest.data, sizeof(len));
	len = le32toh(len);
	from->rest.data += sizeof(len);
	from->rest.len -= sizeof(len);
	if (len > field->bound)
		return refuse(from->err, ERR_TOO_LARGE, schema, field,
			      "too long");
	if (len > from->rest.len)
		return refuse(from->err, ERR_INVALID, schema, field, "cut off");
	view = bytes_from(from->rest.data, len);
	from->rest.data += len;
	from->rest.len -= len;
	if (check_view(schema, field, view, from->err) < 0)
		return -1;
	memcpy(to, &view, sizeof(view));
	return 0;
}

static int decode_field(struct decoder *from, const struct wire_schema *schema,
			const struct wire_field *field, uint8_t *msg)
{
	size_t width = scalar_width(field->kind);
	uint64_t value;

	assert(field->kind != WIRE_KIND_ENCODED);
	if (field->kind == WIRE_KIND_LIST)
		return decode_list(from, schema, field, msg);
	if (width == 0)
		return decode_view(from, schema, field, msg + field->offset);
	if (take_integer(from, width, &value) < 0)
		return refuse(from->err, ERR_INVALID, schema, field, "cut off");
	if (check_scalar(schema, field, value, from->err) < 0)
		return -1;
	store_scalar(width, value, msg + field->offset);
	return 0;
}

static int decode_struct(struct decoder *from, const struct wire_schema *schema,
			 uint8_t *msg)
{
	for (size_t i = 0; i < schema->field_count; i++)
		if (decode_field(from, schema, &schema->fields[i], msg) < 0)
			return -1;
	return 0;
}

int wire_decode(const struct wire_schema *schema, struct bytes bytes,
		struct arena *arena, void *msg, struct err *err)
{
	struct decoder from = {.rest = bytes, .arena = arena, .err = err};

	memset(msg, 0, schema->size);
	if (decode_struct(&from, schema, msg) < 0)
		return -1;
	if (from.rest.len > 0)
		return refuse(err, ERR_INVALID, schema, NULL,
			      "bytes left over");
	return 0;
}
