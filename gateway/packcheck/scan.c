#include "gateway/packcheck/scan.h"

#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>

#define HEAD_LEN    12
#define OID_LEN	    20
#define ROOM_BYTES  (64 * 1024)
#define OBJECTS_ONE 1024 /* entries are remembered in steps */
#define SIZE_BITS   63
#define VARINT_BITS 7

enum kind {
	KIND_COMMIT = 1,
	KIND_TREE,
	KIND_BLOB,
	KIND_TAG,
	KIND_BY_PLACE = 6, /* a delta; its base is so many bytes before */
	KIND_BY_ID	   /* a delta; its base's id stands here */
};

enum state {
	AT_HEAD,
	AT_ENTRY, /* kind and size */
	AT_PLACE,
	AT_ID,
	AT_BODY,
	AT_TRAILER,
	AT_END
};

struct entry {
	uint64_t offset;
	uint64_t depth;
};

struct pack_scan {
	enum state state;
	uint64_t objects_max, left;
	uint64_t fed; /* bytes of the pack that were taken */
	uint8_t head[HEAD_LEN];
	size_t got; /* of a part with a fixed length */

	/* the entry */
	uint64_t start;
	unsigned kind, shift;
	uint64_t size;	 /* of what its body inflates to */
	uint64_t number; /* a varint that is being read */
	bool has_digit;
	uint64_t depth;
	uint64_t inflated;    /* of the body */
	unsigned delta_sizes; /* of a delta's body: 0 to 2 were read */

	struct entry *entries;
	size_t count, room;
	uint64_t total; /* bytes of the objects */
	z_stream zlib;
	uint8_t out[ROOM_BYTES];
};

struct pack_scan *pack_scan_new(uint64_t objects_max)
{
	struct pack_scan *scan = calloc(1, sizeof(*scan));

	if (scan && inflateInit(&scan->zlib) == Z_OK) {
		scan->objects_max = objects_max;
		return scan;
	}
	free(scan);
	return NULL;
}

void pack_scan_free(struct pack_scan *scan)
{
	if (!scan)
		return;
	(void)inflateEnd(&scan->zlib);
	free(scan->entries);
	free(scan);
}

bool pack_scan_is_whole(const struct pack_scan *scan)
{
	return scan->state == AT_END;
}

uint64_t pack_scan_inflated(const struct pack_scan *scan)
{
	return scan->total;
}

static int broken(struct err *err, const char *what)
{
	return err_set(err, ERR_INVALID, "read the pack: %s", what);
}

static int too_large(struct err *err, const char *what)
{
	return err_set(err, ERR_TOO_LARGE, "read the pack: %s", what);
}

/* ---- what an object holds ---- */

static int count_bytes(struct pack_scan *scan, uint64_t bytes, struct err *err)
{
	if (bytes > SCAN_OBJECT_MAX)
		return too_large(err, "an object has more than 256 MiB");
	scan->total += bytes;
	if (scan->total > SCAN_INFLATED_FREE &&
	    scan->total / SCAN_RATIO_MAX > scan->fed)
		return too_large(err, "its objects hold more than 200 times "
				      "its bytes");
	return 0;
}

/* ---- entries ---- */

static int remember(struct pack_scan *scan)
{
	if (scan->count == scan->room) {
		size_t room = scan->room ? scan->room * 2 : OBJECTS_ONE;
		struct entry *entries =
			realloc(scan->entries, room * sizeof(*entries));

		if (!entries)
			return -1;
		scan->entries = entries;
		scan->room = room;
	}
	scan->entries[scan->count++] = (struct entry){scan->start, scan->depth};
	return 0;
}

static const struct entry *entry_at(const struct pack_scan *scan,
				    uint64_t offset)
{
	size_t low = 0, high = scan->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (scan->entries[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == scan->count || scan->entries[low].offset != offset)
		return NULL;
	return &scan->entries[low];
}

static void next_entry(struct pack_scan *scan)
{
	scan->state = scan->left > 0 ? AT_ENTRY : AT_TRAILER;
	scan->start = scan->fed;
	scan->shift = 0;
	scan->got = 0;
}

static int take_head(struct pack_scan *scan, uint8_t byte, struct err *err)
{
	const uint8_t *head = scan->head;

	scan->head[scan->got++] = byte;
	if (scan->got < HEAD_LEN)
		return 0;
	if (memcmp(head, "PACK\0\0\0", 7) != 0 ||
	    (head[7] != 2 && head[7] != 3))
		return broken(err, "it does not begin as one");
	for (size_t i = 8; i < HEAD_LEN; i++)
		scan->left = scan->left << 8 | head[i];
	if (scan->left > scan->objects_max)
		return too_large(err, "too many objects");
	next_entry(scan);
	return 0;
}

static int begin_body(struct pack_scan *scan, struct err *err)
{
	if (scan->depth > SCAN_DEPTH_MAX)
		return too_large(err, "a chain of more than 4095 deltas");
	if (remember(scan) < 0)
		return too_large(err, "no memory for its entries");
	if (inflateReset(&scan->zlib) != Z_OK)
		return broken(err, "zlib fails");
	scan->state = AT_BODY;
	scan->inflated = 0;
	scan->delta_sizes = 0;
	scan->number = 0;
	scan->shift = 0;
	return 0;
}

static int size_is_read(struct pack_scan *scan, struct err *err)
{
	scan->number = 0;
	scan->has_digit = false;
	scan->got = 0;
	scan->depth = 0;
	switch (scan->kind) {
	case KIND_COMMIT:
	case KIND_TREE:
	case KIND_BLOB:
	case KIND_TAG:
		if (count_bytes(scan, scan->size, err) < 0)
			return -1;
		return begin_body(scan, err);
	case KIND_BY_PLACE:
		scan->state = AT_PLACE;
		return 0;
	case KIND_BY_ID:
		scan->state = AT_ID;
		return 0;
	default:
		return broken(err, "an object of no known type");
	}
}

static int take_entry(struct pack_scan *scan, uint8_t byte, struct err *err)
{
	if (scan->shift == 0) {
		scan->left--;
		scan->kind = byte >> 4 & 7;
		scan->size = byte & 15;
		scan->shift = 4;
	} else {
		if (scan->shift + VARINT_BITS > SIZE_BITS)
			return broken(err, "an object's size is no number");
		scan->size |= (uint64_t)(byte & 0x7f) << scan->shift;
		scan->shift += VARINT_BITS;
	}
	return byte & 0x80 ? 0 : size_is_read(scan, err);
}

static int take_place(struct pack_scan *scan, uint8_t byte, struct err *err)
{
	const struct entry *base;

	if (scan->number > UINT64_MAX >> (VARINT_BITS + 1))
		return broken(err, "a delta's base is no number");
	if (scan->has_digit)
		scan->number++;
	scan->has_digit = true;
	scan->number = scan->number << VARINT_BITS | (byte & 0x7f);
	if (byte & 0x80)
		return 0;
	base = scan->number <= scan->start
		       ? entry_at(scan, scan->start - scan->number)
		       : NULL;
	if (!base || scan->number == 0)
		return broken(err, "a delta's base is no object before it");
	scan->depth = base->depth + 1;
	return begin_body(scan, err);
}

static int take_id(struct pack_scan *scan, struct err *err)
{
	if (++scan->got < OID_LEN)
		return 0;
	scan->depth = 1;
	return begin_body(scan, err);
}

/* ---- bodies ---- */

/* A delta begins with the sizes of its base and of what it makes. */
static int take_delta(struct pack_scan *scan, struct bytes out, struct err *err)
{
	for (size_t i = 0; i < out.len && scan->delta_sizes < 2; i++) {
		if (scan->shift + VARINT_BITS > SIZE_BITS)
			return broken(err, "a delta's size is no number");
		scan->number |= (uint64_t)(out.data[i] & 0x7f) << scan->shift;
		scan->shift += VARINT_BITS;
		if (out.data[i] & 0x80)
			continue;
		if (count_bytes(scan, scan->number, err) < 0)
			return -1;
		/* What the base holds is counted with the base. */
		if (scan->delta_sizes++ == 0)
			scan->total -= scan->number;
		scan->number = 0;
		scan->shift = 0;
	}
	return 0;
}

static int take_out(struct pack_scan *scan, struct bytes out, struct err *err)
{
	scan->inflated += out.len;
	if (scan->inflated > scan->size)
		return broken(err, "an object holds more than it says");
	if (scan->kind == KIND_BY_PLACE || scan->kind == KIND_BY_ID)
		return take_delta(scan, out, err);
	return 0;
}

static int end_body(struct pack_scan *scan, struct err *err)
{
	bool is_delta = scan->kind == KIND_BY_PLACE || scan->kind == KIND_BY_ID;

	if (scan->inflated != scan->size || (is_delta && scan->delta_sizes < 2))
		return broken(err, "an object holds less than it says");
	return 0;
}

/* Inflate some of bytes; *used of them are done with. */
static int take_body(struct pack_scan *scan, struct bytes bytes, size_t *used,
		     struct err *err)
{
	z_stream *zlib = &scan->zlib;
	int status;

	zlib->next_in = bytes.data;
	zlib->avail_in = (uInt)bytes.len;
	do {
		zlib->next_out = scan->out;
		zlib->avail_out = sizeof(scan->out);
		status = inflate(zlib, Z_NO_FLUSH);
		if (status != Z_OK && status != Z_STREAM_END &&
		    status != Z_BUF_ERROR)
			return broken(err, "an object is no zlib stream");
		if (take_out(scan,
			     bytes_from(scan->out,
					sizeof(scan->out) - zlib->avail_out),
			     err) < 0)
			return -1;
	} while (status == Z_OK && (zlib->avail_in || !zlib->avail_out));
	*used = bytes.len - zlib->avail_in;
	scan->fed += *used;
	if (status != Z_STREAM_END)
		return 0;
	if (end_body(scan, err) < 0)
		return -1;
	next_entry(scan);
	return 0;
}

/* ---- all ---- */

static int take_byte(struct pack_scan *scan, uint8_t byte, struct err *err)
{
	scan->fed++;
	switch (scan->state) {
	case AT_HEAD:
		return take_head(scan, byte, err);
	case AT_ENTRY:
		return take_entry(scan, byte, err);
	case AT_PLACE:
		return take_place(scan, byte, err);
	case AT_ID:
		return take_id(scan, err);
	case AT_TRAILER:
		if (++scan->got == OID_LEN)
			scan->state = AT_END;
		return 0;
	case AT_BODY:
	case AT_END:
		break;
	}
	return broken(err, "bytes after its end");
}

int pack_scan_feed(struct pack_scan *scan, struct bytes bytes, struct err *err)
{
	while (bytes.len > 0) {
		struct bytes piece = bytes_slice(bytes, 0, ROOM_BYTES);
		size_t used = 1;

		if (scan->state == AT_BODY) {
			if (take_body(scan, piece, &used, err) < 0)
				return -1;
		} else if (take_byte(scan, bytes.data[0], err) < 0) {
			return -1;
		}
		bytes = bytes_slice(bytes, used, bytes.len);
	}
	return 0;
}
