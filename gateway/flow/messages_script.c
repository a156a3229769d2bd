#include "gateway/flow/message.h"
#include "gateway/flow/messages.h"
#include "policies/host.h"

static const struct wire_field msg_script_load_fields[] = {
	WIRE_TEXT(struct msg_script_load, text, SCRIPT_TEXT_MAX),
};
const struct wire_schema msg_script_load_schema = WIRE_SCHEMA(
	"script-load", struct msg_script_load, msg_script_load_fields);

static const struct wire_field msg_script_field_fields[] = {
	WIRE_BYTES(struct msg_script_field, name, HEAD_LINE_MAX),
	WIRE_BYTES(struct msg_script_field, value, HEAD_LINE_MAX),
};
static const struct wire_schema msg_script_field_schema = WIRE_SCHEMA(
	"script-field", struct msg_script_field, msg_script_field_fields);

static const struct wire_field msg_script_request_fields[] = {
	WIRE_TEXT(struct msg_script_request, method, 32),
	WIRE_BOOL(struct msg_script_request, is_tls),
	WIRE_TEXT(struct msg_script_request, host, HOST_NAME_MAX_LEN),
	WIRE_U16(struct msg_script_request, port),
	WIRE_BYTES(struct msg_script_request, path, HEAD_BYTES_MAX),
	WIRE_BYTES(struct msg_script_request, query, HEAD_BYTES_MAX),
	WIRE_LIST(struct msg_script_request, fields, HEAD_FIELDS_MAX,
		  &msg_script_field_schema),
};
const struct wire_schema msg_script_request_schema = WIRE_SCHEMA(
	"script-request", struct msg_script_request, msg_script_request_fields);

static const struct wire_field msg_script_verdict_fields[] = {
	WIRE_ENUM(struct msg_script_verdict, kind, SCRIPT_KIND_MAX),
	WIRE_BYTES(struct msg_script_verdict, reason, 512),
};
const struct wire_schema msg_script_verdict_schema = WIRE_SCHEMA(
	"script-verdict", struct msg_script_verdict, msg_script_verdict_fields);
