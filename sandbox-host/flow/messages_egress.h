/*
 * Between the API and a supervisor, on a HOST_CHANNEL_EGRESS: the policy of
 * the sandbox's session, and values that are lent to it.
 */
#ifndef SANDBOX_HOST_FLOW_MESSAGES_EGRESS_H
#define SANDBOX_HOST_FLOW_MESSAGES_EGRESS_H

#include "common/wire.h"

#define EGRESS_HASH_MAX	  96
#define EGRESS_DETAIL_MAX 4096
#define EGRESS_NAME_MAX	  64
#define EGRESS_VALUE_MAX  (16 * 1024)

struct egress_change {
	struct bytes expected; /* hash of the policy that is replaced */
};
extern const struct wire_schema egress_change_schema;

struct egress_value {
	struct bytes name;
	struct bytes value; /* empty: it is taken back */
};
extern const struct wire_schema egress_value_schema;

/* What the gateway's control said. */
struct egress_answer {
	uint16_t status;
	struct bytes hash;
	struct bytes detail;
};
extern const struct wire_schema egress_answer_schema;

#endif
