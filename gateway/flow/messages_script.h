/*
 * Messages between an edge and its session's script: see messages.h.
 */
#ifndef GATEWAY_FLOW_MESSAGES_SCRIPT_H
#define GATEWAY_FLOW_MESSAGES_SCRIPT_H

#include "common/wire.h"

#define SCRIPT_TEXT_MAX (32 * 1024)

struct msg_script_load {
	struct bytes text; /* Lua */
};
extern const struct wire_schema msg_script_load_schema;

struct msg_script_field {
	struct bytes name;
	struct bytes value;
};
struct msg_script_request {
	struct bytes method;
	bool is_tls;
	struct bytes host; /* canonical */
	uint16_t port;
	struct bytes path;  /* normalised */
	struct bytes query; /* as sent */
	const struct msg_script_field *fields;
	size_t fields_count;
};
extern const struct wire_schema msg_script_request_schema;

enum script_kind { SCRIPT_NOTHING, SCRIPT_ALLOW, SCRIPT_DENY, SCRIPT_KIND_MAX };
struct msg_script_verdict {
	uint8_t kind;	     /* enum script_kind */
	struct bytes reason; /* the script's own words */
};
extern const struct wire_schema msg_script_verdict_schema;

#endif
