#include "gateway/flow/record.h"

#include <assert.h>

static const struct wire_field record_fields[] = {
	WIRE_U64(struct record, time_ms),
	WIRE_ENUM(struct record, kind, RECORD_KIND_MAX),
	WIRE_BOOL(struct record, allowed),
	WIRE_U16(struct record, constraint),
	WIRE_TEXT(struct record, session, 32),
	WIRE_TEXT(struct record, request_id, 32),
	WIRE_TEXT(struct record, rule, 256),
	WIRE_TEXT(struct record, host, 256),
	WIRE_U16(struct record, port),
	WIRE_TEXT(struct record, method, 32),
	WIRE_TEXT(struct record, path, 2048),
	WIRE_U16(struct record, status),
	WIRE_U64(struct record, bytes_up),
	WIRE_U64(struct record, bytes_down),
	WIRE_TEXT(struct record, credential, 128),
	WIRE_TEXT(struct record, detail, 1024),
	WIRE_TEXT(struct record, old_oid, 64),
	WIRE_TEXT(struct record, new_oid, 64),
	WIRE_TEXT(struct record, approval, 32),
	WIRE_U64(struct record, count),
	WIRE_U64(struct record, first_ms),
};
const struct wire_schema record_schema =
	WIRE_SCHEMA("record", struct record, record_fields);

const size_t record_texts[RECORD_TEXTS] = {
	offsetof(struct record, session),
	offsetof(struct record, request_id),
	offsetof(struct record, rule),
	offsetof(struct record, host),
	offsetof(struct record, method),
	offsetof(struct record, path),
	offsetof(struct record, credential),
	offsetof(struct record, detail),
	offsetof(struct record, old_oid),
	offsetof(struct record, new_oid),
	offsetof(struct record, approval),
};

static const char *const kind_names[] = {
#define X(kind, name) name,
	RECORD_KINDS(X)
#undef X
};

const char *record_kind_name(enum record_kind kind)
{
	assert(kind < RECORD_KIND_MAX);
	return kind_names[kind];
}

enum record_kind record_kind_from_name(struct bytes name)
{
	enum record_kind kind = 0;

	while (kind < RECORD_KIND_MAX && !bytes_is(name, kind_names[kind]))
		kind++;
	return kind;
}
