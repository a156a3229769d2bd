/*
 * The handlers of the lifecycle API that are not in lifecycle.c.
 */
#ifndef SANDBOX_HOST_API_LIFECYCLE_H
#define SANDBOX_HOST_API_LIFECYCLE_H

#include "sandbox-host/api/exchange.h"

#define LIFECYCLE_PORT_EXECD  44772
#define LIFECYCLE_PORT_EGRESS 18080

/* create.c */
void lifecycle_create(struct exchange *exchange);
/* Ask the daemon for a sandbox (answered with it; no other schema or timeout
 * of question's counts). One whose client is gone by then is ended. The
 * exchange's task, of its arena, is there again for on_started. */
void lifecycle_start(struct exchange *exchange,
		     const struct exchange_question *question,
		     exchange_answer_fn *on_started);
/* End one that nobody asked to be told of. */
void lifecycle_drop(struct api *api, struct bytes id);
/* list.c */
void lifecycle_list(struct exchange *exchange);
/* What every list has: ?page=1&pageSize=20. */
struct lifecycle_page {
	uint64_t page, size; /* from 1 */
};
/* False: it made no sense, and is answered. */
bool lifecycle_read_page(struct exchange *exchange,
			 struct lifecycle_page *page);
/* Answer with items (stay the caller's), which are that page of total. */
void lifecycle_reply_page(struct exchange *exchange,
			  const struct lifecycle_page *page, json_t *items,
			  uint64_t total);
/* change.c */
void lifecycle_patch(struct exchange *exchange);
void lifecycle_renew(struct exchange *exchange);
/* endpoints.c */
void lifecycle_endpoint(struct exchange *exchange);
/* diagnostics.c */
void lifecycle_logs(struct exchange *exchange);
void lifecycle_events(struct exchange *exchange);
void lifecycle_metrics(struct exchange *exchange);

/* The sandbox that the path names, asked for as it is; a bad name is
 * answered. */
void lifecycle_ask_show(struct exchange *exchange,
			exchange_answer_fn *on_answer);
/* A question about that sandbox that is answered with it. */
void lifecycle_ask(struct exchange *exchange, uint16_t type,
		   exchange_answer_fn *on_answer);

#endif
