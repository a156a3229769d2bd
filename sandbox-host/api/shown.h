/*
 * A sandbox as the API shows it. NULL when memory is out.
 */
#ifndef SANDBOX_HOST_API_SHOWN_H
#define SANDBOX_HOST_API_SHOWN_H

#include <jansson.h>

#include "sandbox-host/flow/messages_host.h"

/* What is not UTF-8 becomes U+FFFD. */
json_t *shown_text(struct bytes text);
/* RFC 3339; null for 0. */
json_t *shown_time(uint64_t wall_ms);
/* With what it was made from, or without, as the answer to its creation has
 * it. */
json_t *shown_sandbox(const struct host_sandbox *sandbox, bool has_image);

#endif
