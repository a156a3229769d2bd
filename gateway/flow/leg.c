#include "gateway/flow/leg.h"

#include "common/cleanup.h"
#include "common/digest.h"
#include "gateway/flow/message.h"
#include "gateway/flow/push.h"

#define LEG_HEADER 4

static const struct wire_field field_fields[] = {
	WIRE_BYTES(struct leg_field, name, HEAD_LINE_MAX),
	WIRE_BYTES(struct leg_field, value, HEAD_LINE_MAX),
};
static const struct wire_schema field_schema =
	WIRE_SCHEMA("leg-field", struct leg_field, field_fields);

static const struct wire_field swap_fields[] = {
	WIRE_ENUM(struct leg_swap, place, LEG_PLACE_MAX),
	WIRE_ENUM(struct leg_swap, escape, LEG_ESCAPE_MAX),
	WIRE_U16(struct leg_swap, field),
	WIRE_U64(struct leg_swap, at),
};
static const struct wire_schema swap_schema =
	WIRE_SCHEMA("leg-swap", struct leg_swap, swap_fields);

static const struct wire_field request_fields[] = {
	WIRE_TEXT(struct leg_request, request_id, 32),
	WIRE_TEXT(struct leg_request, rule, 256),
	WIRE_TEXT(struct leg_request, method, 32),
	WIRE_TEXT(struct leg_request, path, HEAD_LINE_MAX),
	WIRE_LIST(struct leg_request, fields, HEAD_FIELDS_MAX, &field_schema),
	WIRE_BOOL(struct leg_request, has_body),
	WIRE_BOOL(struct leg_request, has_length),
	WIRE_U64(struct leg_request, body_len),
	WIRE_LIST(struct leg_request, swaps, LEG_SWAPS_MAX, &swap_schema),
	WIRE_BYTES(struct leg_request, body_sha256, DIGEST_LEN),
};
const struct wire_schema leg_request_schema =
	WIRE_SCHEMA("leg-request", struct leg_request, request_fields);

static const struct wire_field upgrade_fields[] = {
	WIRE_TEXT(struct leg_upgrade, request_id, 32),
	WIRE_TEXT(struct leg_upgrade, rule, 256),
	WIRE_TEXT(struct leg_upgrade, path, HEAD_LINE_MAX),
	WIRE_LIST(struct leg_upgrade, fields, HEAD_FIELDS_MAX, &field_schema),
	WIRE_TEXT(struct leg_upgrade, key, 24),
	WIRE_TEXT(struct leg_upgrade, protocols, HEAD_LINE_MAX),
};
const struct wire_schema leg_upgrade_schema =
	WIRE_SCHEMA("leg-upgrade", struct leg_upgrade, upgrade_fields);

static const struct wire_field update_fields[] = {
	WIRE_TEXT(struct leg_update, old_oid, PUSH_OID_HEX_MAX),
	WIRE_TEXT(struct leg_update, new_oid, PUSH_OID_HEX_MAX),
	WIRE_TEXT(struct leg_update, ref, 255),
	WIRE_ENUM(struct leg_update, verb, PUSH_VERB_MAX),
};
static const struct wire_schema update_schema =
	WIRE_SCHEMA("leg-update", struct leg_update, update_fields);

static const struct wire_field push_fields[] = {
	WIRE_TEXT(struct leg_push, request_id, 32),
	WIRE_TEXT(struct leg_push, rule, 256),
	WIRE_TEXT(struct leg_push, repo_path, 2048),
	WIRE_TEXT(struct leg_push, url_path, 2048),
	WIRE_LIST(struct leg_push, updates, PUSH_UPDATES_MAX, &update_schema),
	WIRE_LIST(struct leg_push, shallow, PUSH_UPDATES_MAX, &field_schema),
	WIRE_LIST(struct leg_push, options, PUSH_OPTIONS_MAX, &field_schema),
	WIRE_ENUM(struct leg_push, report, 3),
	WIRE_BOOL(struct leg_push, has_side_band),
	WIRE_BOOL(struct leg_push, is_atomic),
	WIRE_BOOL(struct leg_push, is_quiet),
	WIRE_BOOL(struct leg_push, has_pack),
	WIRE_U8(struct leg_push, oid_hex_len),
};
const struct wire_schema leg_push_schema =
	WIRE_SCHEMA("leg-push", struct leg_push, push_fields);

static const struct wire_field refused_fields[] = {
	WIRE_U16(struct leg_refused, constraint),
	WIRE_TEXT(struct leg_refused, detail, 512),
};
const struct wire_schema leg_refused_schema =
	WIRE_SCHEMA("leg-refused", struct leg_refused, refused_fields);

static size_t payload_max(enum leg_kind kind)
{
	return kind == LEG_PUSH || kind == LEG_REQUEST || kind == LEG_UPGRADE
		       ? LEG_HEAD_MAX
		       : LEG_FRAME_MAX;
}

int leg_add_frame(struct buf *out, enum leg_kind kind, struct bytes payload)
{
	uint8_t header[LEG_HEADER] = {
		(uint8_t)kind,
		(uint8_t)payload.len,
		(uint8_t)(payload.len >> 8),
		(uint8_t)(payload.len >> 16),
	};

	if (payload.len > payload_max(kind) ||
	    payload.len + LEG_HEADER > buf_room(out))
		return -1;
	if (buf_add(out, bytes_from(header, sizeof(header))) < 0)
		return -1;
	return buf_add(out, payload);
}

int leg_add_message(struct buf *out, enum leg_kind kind,
		    const struct wire_schema *schema, const void *msg,
		    struct err *err)
{
	auto_type(buf_release) struct buf body;

	buf_init(&body, payload_max(kind));
	if (wire_encode(schema, msg, &body, err) < 0)
		return -1;
	if (leg_add_frame(out, kind, buf_view(&body)) < 0)
		return err_set(err, ERR_TOO_LARGE, "send %s: the leg is full",
			       schema->name);
	return 0;
}

int leg_next(struct bytes input, enum leg_kind *kind, struct bytes *payload,
	     size_t *used)
{
	size_t len;

	if (input.len < LEG_HEADER)
		return 0;
	if (input.data[0] == 0 || input.data[0] >= LEG_KIND_MAX)
		return -1;
	*kind = (enum leg_kind)input.data[0];
	len = (size_t)input.data[1] | (size_t)input.data[2] << 8 |
	      (size_t)input.data[3] << 16;
	if (len > payload_max(*kind))
		return -1;
	if (input.len < LEG_HEADER + len)
		return 0;
	*payload = bytes_slice(input, LEG_HEADER, LEG_HEADER + len);
	*used = LEG_HEADER + len;
	return 1;
}
