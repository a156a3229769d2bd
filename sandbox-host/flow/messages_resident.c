#include "sandbox-host/flow/messages_resident.h"

static const struct wire_field resident_wish_fields[] = {
	WIRE_ENUM(struct resident_wish, kind, RESIDENT_KIND_MAX),
	WIRE_BOOL(struct resident_wish, is_default),
};
const struct wire_schema resident_wish_schema = WIRE_SCHEMA(
	"resident-wish", struct resident_wish, resident_wish_fields);

static const struct wire_field resident_ref_fields[] = {
	WIRE_ENUM(struct resident_ref, kind, RESIDENT_KIND_MAX),
	WIRE_BYTES(struct resident_ref, id, RESIDENT_ID_MAX),
};
const struct wire_schema resident_ref_schema =
	WIRE_SCHEMA("resident-ref", struct resident_ref, resident_ref_fields);

static const struct wire_field resident_list_fields[] = {
	WIRE_LIST(struct resident_list, residents, RESIDENT_LIST_MAX,
		  &resident_ref_schema),
};
const struct wire_schema resident_list_schema = WIRE_SCHEMA(
	"resident-list", struct resident_list, resident_list_fields);

static const struct wire_field resident_state_fields[] = {
	WIRE_BOOL(struct resident_state, is_running),
	WIRE_U64(struct resident_state, written),
};
const struct wire_schema resident_state_schema = WIRE_SCHEMA(
	"resident-state", struct resident_state, resident_state_fields);

static const struct wire_field resident_signal_fields[] = {
	WIRE_ENUM(struct resident_signal, kind, RESIDENT_KIND_MAX),
	WIRE_BYTES(struct resident_signal, id, RESIDENT_ID_MAX),
	WIRE_U8(struct resident_signal, number),
};
const struct wire_schema resident_signal_schema = WIRE_SCHEMA(
	"resident-signal", struct resident_signal, resident_signal_fields);

static const struct wire_field resident_take_fields[] = {
	WIRE_ENUM(struct resident_take, kind, RESIDENT_KIND_MAX),
	WIRE_BYTES(struct resident_take, id, RESIDENT_ID_MAX),
	WIRE_U64(struct resident_take, since),
	WIRE_BOOL(struct resident_take, takes_over),
};
const struct wire_schema resident_take_schema = WIRE_SCHEMA(
	"resident-take", struct resident_take, resident_take_fields);

static const struct wire_field resident_taken_fields[] = {
	WIRE_BOOL(struct resident_taken, is_running),
	WIRE_BOOL(struct resident_taken, is_pipe),
	WIRE_U64(struct resident_taken, start),
};
const struct wire_schema resident_taken_schema = WIRE_SCHEMA(
	"resident-taken", struct resident_taken, resident_taken_fields);

static const struct wire_field resident_start_fields[] = {
	WIRE_BOOL(struct resident_start, is_pipe),
};
const struct wire_schema resident_start_schema = WIRE_SCHEMA(
	"resident-start", struct resident_start, resident_start_fields);

static const struct wire_field resident_size_fields[] = {
	WIRE_U16(struct resident_size, rows),
	WIRE_U16(struct resident_size, columns),
};
const struct wire_schema resident_size_schema = WIRE_SCHEMA(
	"resident-size", struct resident_size, resident_size_fields);

static const struct wire_field resident_input_fields[] = {
	WIRE_BYTES(struct resident_input, bytes, RESIDENT_PIECE_MAX),
};
const struct wire_schema resident_input_schema = WIRE_SCHEMA(
	"resident-input", struct resident_input, resident_input_fields);

static const struct wire_field resident_heard_fields[] = {
	WIRE_BOOL(struct resident_heard, is_taken),
};
const struct wire_schema resident_heard_schema = WIRE_SCHEMA(
	"resident-heard", struct resident_heard, resident_heard_fields);

static const struct wire_field resident_output_fields[] = {
	WIRE_ENUM(struct resident_output, stream, 3),
	WIRE_BYTES(struct resident_output, bytes, RESIDENT_PIECE_MAX),
};
const struct wire_schema resident_output_schema = WIRE_SCHEMA(
	"resident-output", struct resident_output, resident_output_fields);

static const struct wire_field resident_ended_fields[] = {
	WIRE_BOOL(struct resident_ended, has_exit_code),
	WIRE_U32(struct resident_ended, exit_code),
};
const struct wire_schema resident_ended_schema = WIRE_SCHEMA(
	"resident-ended", struct resident_ended, resident_ended_fields);

static const struct wire_field resident_lost_fields[] = {
	WIRE_BOOL(struct resident_lost, is_taken_over),
};
const struct wire_schema resident_lost_schema = WIRE_SCHEMA(
	"resident-lost", struct resident_lost, resident_lost_fields);
