/*
 * Questions to the ledger.
 */
#ifndef GATEWAY_CONTROL_LEDGER_QUERY_H
#define GATEWAY_CONTROL_LEDGER_QUERY_H

#include "gateway/control/ask.h"

#define LEDGER_ROWS_MAX 64 /* of one answer */

/* query stays the caller's until it is asked. */
static inline struct question
ledger_question(const struct msg_ledger_query *query)
{
	return (struct question){
		.role = ROLE_LEDGER,
		.type = MSG_LEDGER_QUERY,
		.schema = &msg_ledger_query_schema,
		.message = query,
		.fd = -1,
		.reply_schema = &msg_ledger_rows_schema,
	};
}

#endif
