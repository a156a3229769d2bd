/*
 * The names whose addresses the operator has set (dns.hosts): answered
 * without DNS, as long as the process lives. Small, since there may be
 * thousands.
 */
#ifndef GATEWAY_DIALER_FIXED_H
#define GATEWAY_DIALER_FIXED_H

#include "common/bytes.h"
#include "common/err.h"
#include "gateway/dialer/resolved.h"
#include "gateway/flow/config.h"

struct fixed_name;

/* Add each of config's names to the table (NULL at first); the names
 * themselves stay config's. 0, or -1 (a name or address is none, or memory is
 * out); what was added is there in any case. */
int fixed_add_all(struct fixed_name **table,
		  const struct gateway_config *config, struct err *err);
/* The addresses of text, in the order they were set. False: it is none of
 * these names. */
bool fixed_find(struct fixed_name *table, struct bytes text,
		struct resolved *resolved);
void fixed_free(struct fixed_name *table);

#endif
