#include "sandbox-host/flow/messages_egress.h"

static const struct wire_field egress_change_fields[] = {
	WIRE_TEXT(struct egress_change, expected, EGRESS_HASH_MAX),
};
const struct wire_schema egress_change_schema = WIRE_SCHEMA(
	"egress-change", struct egress_change, egress_change_fields);

static const struct wire_field egress_value_fields[] = {
	WIRE_TEXT(struct egress_value, name, EGRESS_NAME_MAX),
	WIRE_BYTES(struct egress_value, value, EGRESS_VALUE_MAX),
};
const struct wire_schema egress_value_schema =
	WIRE_SCHEMA("egress-value", struct egress_value, egress_value_fields);

static const struct wire_field egress_answer_fields[] = {
	WIRE_U16(struct egress_answer, status),
	WIRE_TEXT(struct egress_answer, hash, EGRESS_HASH_MAX),
	WIRE_BYTES(struct egress_answer, detail, EGRESS_DETAIL_MAX),
};
const struct wire_schema egress_answer_schema = WIRE_SCHEMA(
	"egress-answer", struct egress_answer, egress_answer_fields);
