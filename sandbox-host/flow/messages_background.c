#include "sandbox-host/flow/messages_background.h"

static const struct wire_field exec_keep_fields[] = {
	WIRE_BYTES(struct exec_keep, text, BACKGROUND_TEXT_MAX),
};
const struct wire_schema exec_keep_schema =
	WIRE_SCHEMA("exec-keep", struct exec_keep, exec_keep_fields);

static const struct wire_field background_ref_fields[] = {
	WIRE_BYTES(struct background_ref, id, BACKGROUND_ID_MAX),
};
const struct wire_schema background_ref_schema = WIRE_SCHEMA(
	"background-ref", struct background_ref, background_ref_fields);

static const struct wire_field background_state_fields[] = {
	WIRE_BYTES(struct background_state, text, BACKGROUND_TEXT_MAX),
	WIRE_BOOL(struct background_state, is_running),
	WIRE_U64(struct background_state, started_ms),
	WIRE_U64(struct background_state, finished_ms),
	WIRE_U32(struct background_state, exit_code),
	WIRE_U8(struct background_state, signal),
	WIRE_BYTES(struct background_state, reason, HOST_MESSAGE_MAX),
};
const struct wire_schema background_state_schema = WIRE_SCHEMA(
	"background-state", struct background_state, background_state_fields);

static const struct wire_field background_from_fields[] = {
	WIRE_BYTES(struct background_from, id, BACKGROUND_ID_MAX),
	WIRE_U64(struct background_from, cursor),
};
const struct wire_schema background_from_schema = WIRE_SCHEMA(
	"background-from", struct background_from, background_from_fields);

static const struct wire_field background_output_fields[] = {
	WIRE_U64(struct background_output, start),
	WIRE_BOOL(struct background_output, is_running),
};
const struct wire_schema background_output_schema =
	WIRE_SCHEMA("background-output", struct background_output,
		    background_output_fields);
