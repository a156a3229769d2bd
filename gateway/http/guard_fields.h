/*
 * The guard's rules about whole lines: start line, and the fields that
 * delimit a message or route it. Private to gateway/http.
 */
#ifndef GATEWAY_HTTP_GUARD_FIELDS_H
#define GATEWAY_HTTP_GUARD_FIELDS_H

#include "gateway/http/guard.h"

/* Check a start line, without its CRLF, and note its facts. NULL, or why it
 * is refused. */
const char *guard_request_line(struct guard_facts *facts, struct bytes line);
const char *guard_status_line(struct guard_facts *facts, struct bytes line);

/* Check one field of a head; name is a token, value is trimmed. NULL, or
 * why it is refused. */
const char *guard_field(struct guard_facts *facts, enum guard_kind kind,
			struct bytes name, struct bytes value);

/* Check what only the whole head shows. NULL, or why it is refused. */
const char *guard_whole(const struct guard_facts *facts, enum guard_kind kind);

#endif
