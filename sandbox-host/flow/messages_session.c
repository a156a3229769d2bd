#include "sandbox-host/flow/messages_session.h"

static const struct wire_field session_wish_fields[] = {
	WIRE_BYTES(struct session_wish, cwd, REQUEST_PATH_MAX),
};
const struct wire_schema session_wish_schema =
	WIRE_SCHEMA("session-wish", struct session_wish, session_wish_fields);

static const struct wire_field session_ref_fields[] = {
	WIRE_BYTES(struct session_ref, id, SESSION_ID_MAX),
};
const struct wire_schema session_ref_schema =
	WIRE_SCHEMA("session-ref", struct session_ref, session_ref_fields);

static const struct wire_field session_taken_fields[] = {
	WIRE_BYTES(struct session_taken, cwd, REQUEST_PATH_MAX),
	WIRE_U64(struct session_taken, ran_ms),
};
const struct wire_schema session_taken_schema = WIRE_SCHEMA(
	"session-taken", struct session_taken, session_taken_fields);
