/*
 * Where a connection is to go and what it asks there. A tunnel that rests
 * may do so for an hour, and is asked nothing more: of its errand it keeps
 * what the records and another policy want to know.
 */
#ifndef GATEWAY_EDGE_ERRAND_H
#define GATEWAY_EDGE_ERRAND_H

#include "gateway/flow/message.h"
#include "gateway/flow/target.h"
#include "gateway/http/guard.h"
#include "policies/verdict.h"

struct conn;

struct errand {
	struct target target;
	struct verdict target_verdict;
	struct guard guard;
	struct request request;
	struct bytes proxy_authorization;
};

struct rest {
	enum host_kind kind;
	enum target_scheme scheme;
	uint16_t port;
	bool was_asked; /* by CONNECT */
	char host[];	/* canonical, terminated */
};

/* A tunnel rests: errand and arena go. Without memory they stay. */
void conn_rest(struct conn *conn);
void rest_free(struct rest *rest);
/* Of the errand, or of what is left of it. The host is the connection's. */
struct target conn_target(const struct conn *conn);
struct bytes conn_host(const struct conn *conn);
uint16_t conn_port(const struct conn *conn);
struct bytes conn_method(const struct conn *conn);
struct bytes conn_path(const struct conn *conn);

#endif
