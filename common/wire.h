/*
 * How plain data travels between our processes: a message is a C struct of
 * scalars, byte views and lists, and a schema (a table of its fields) that
 * one codec reads and writes. No process has a codec of its own.
 *
 * Encoding, all integers little-endian: scalars in their width (bool is one
 * byte, 0 or 1); bytes and strings as u32 length and the bytes; a list as
 * u32 count and its elements one after the other. Fields stand in the order
 * of the table, nothing between them and nothing after the last.
 *
 * Every peer is untrusted here: lengths are computed by the receiver from
 * what really arrived, every field has a bound, and a message that has one
 * byte too many or too few is refused whole.
 *
 *	struct msg_mint { struct bytes name; uint8_t purpose; };
 *	static const struct wire_field mint_fields[] = {
 *		WIRE_TEXT(struct msg_mint, name, 253),
 *		WIRE_ENUM(struct msg_mint, purpose, MINT_PURPOSE_MAX),
 *	};
 *	const struct wire_schema msg_mint_schema =
 *		WIRE_SCHEMA("mint", struct msg_mint, mint_fields);
 */
#ifndef COMMON_WIRE_H
#define COMMON_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/buf.h"
#include "common/bytes.h"
#include "common/err.h"

/* One message on a SOCK_SEQPACKET channel, header included. */
#define WIRE_MESSAGE_MAX (64 * 1024)
/* Lists within lists go no deeper. */
#define WIRE_DEPTH_MAX 4

enum wire_kind {
	WIRE_KIND_U8,	   /* uint8_t, value < bound when bound > 0 */
	WIRE_KIND_U16,	   /* uint16_t */
	WIRE_KIND_U32,	   /* uint32_t, value < bound when bound > 0 */
	WIRE_KIND_U64,	   /* uint64_t */
	WIRE_KIND_BOOL,	   /* bool */
	WIRE_KIND_BYTES,   /* struct bytes, any content, len <= bound */
	WIRE_KIND_TEXT,	   /* struct bytes, wire_is_text(), len <= bound */
	WIRE_KIND_LIST,	   /* T *items and size_t count, count <= bound */
	WIRE_KIND_ENCODED, /* a list's items, encoded before; only sent */
	WIRE_KIND_MAX
};

struct wire_schema;

struct wire_field {
	const char *name;
	enum wire_kind kind;
	size_t offset;	     /* of the field in its struct */
	size_t count_offset; /* lists: of the size_t count */
	size_t bound;
	const struct wire_schema *element; /* lists: of one item */
};

struct wire_schema {
	const char *name;
	size_t size; /* sizeof the struct */
	const struct wire_field *fields;
	size_t field_count;
};

#define WIRE_FIELD(type, field, kind_, bound_)                                 \
	{.name = #field,                                                       \
	 .kind = kind_,                                                        \
	 .offset = offsetof(type, field),                                      \
	 .bound = (bound_)}
#define WIRE_U8(type, field)   WIRE_FIELD(type, field, WIRE_KIND_U8, 0)
#define WIRE_U16(type, field)  WIRE_FIELD(type, field, WIRE_KIND_U16, 0)
#define WIRE_U32(type, field)  WIRE_FIELD(type, field, WIRE_KIND_U32, 0)
#define WIRE_U64(type, field)  WIRE_FIELD(type, field, WIRE_KIND_U64, 0)
#define WIRE_BOOL(type, field) WIRE_FIELD(type, field, WIRE_KIND_BOOL, 0)
/* A uint8_t that holds a value of an enum below max. */
#define WIRE_ENUM(type, field, max) WIRE_FIELD(type, field, WIRE_KIND_U8, max)
#define WIRE_BYTES(type, field, max)                                           \
	WIRE_FIELD(type, field, WIRE_KIND_BYTES, max)
#define WIRE_TEXT(type, field, max) WIRE_FIELD(type, field, WIRE_KIND_TEXT, max)
/* A list: type has T *field and size_t field##_count. */
#define WIRE_LIST(type, field, max, schema)                                    \
	{.name = #field,                                                       \
	 .kind = WIRE_KIND_LIST,                                               \
	 .offset = offsetof(type, field),                                      \
	 .count_offset = offsetof(type, field##_count),                        \
	 .bound = (max),                                                       \
	 .element = (schema)}
/* A list for whose items struct bytes field holds the encoding, one after
 * the other; the receiver's schema has a WIRE_LIST. */
#define WIRE_ENCODED(type, field, max)                                         \
	{.name = #field,                                                       \
	 .kind = WIRE_KIND_ENCODED,                                            \
	 .offset = offsetof(type, field),                                      \
	 .count_offset = offsetof(type, field##_count),                        \
	 .bound = (max)}
#define WIRE_SCHEMA(name_, type, table)                                        \
	{.name = (name_),                                                      \
	 .size = sizeof(type),                                                 \
	 .fields = (table),                                                    \
	 .field_count = sizeof(table) / sizeof((table)[0])}

/* A schema without fields, for messages that say all by their type. */
struct wire_empty {
	uint8_t unused;
};
extern const struct wire_schema wire_empty_schema;

/* Is it UTF-8 (RFC 3629) without control characters (C0, DEL, C1) but HTAB
 * and LF? What a TEXT field may hold. */
bool wire_is_text(struct bytes view);
/* Is every byte of it within 0x20..0x7e? */
bool wire_is_printable(struct bytes view);

/* Append the encoding of msg to out. A value that breaks its own bound is a
 * failure too; out is then as it was. 0, or -1 with *err naming schema and
 * field. */
int wire_encode(const struct wire_schema *schema, const void *msg,
		struct buf *out, struct err *err);
/* The same, but a TEXT is cut to its bound, and each byte of it that is not
 * within 0x20..0x7e becomes '?'. */
int wire_encode_fit(const struct wire_schema *schema, const void *msg,
		    struct buf *out, struct err *err);

/* Decode bytes (untrusted), all of them, into msg[schema->size]. Views
 * borrow from bytes; list items are allocated in arena. 0, or -1 with *err
 * ERR_INVALID or ERR_TOO_LARGE naming schema and field; msg is undefined. */
int wire_decode(const struct wire_schema *schema, struct bytes bytes,
		struct arena *arena, void *msg, struct err *err);

/* ---- sealed memory, for what is larger than a message ---- */

#define WIRE_MEMFD_MAX (16 * 1024 * 1024)

/* A read-only, sealed memfd that holds bytes; -1 on failure. */
int wire_memfd_seal(const char *name, struct bytes bytes, struct err *err);
/* Map what fd (untrusted, stays the caller's) holds, at most max bytes. It
 * must be sealed against writing and shrinking, so that it cannot change
 * under us. 0, or -1. Undo with wire_memfd_unmap(). */
int wire_memfd_map(int fd, size_t max, struct bytes *view, struct err *err);
void wire_memfd_unmap(struct bytes view);

#endif
