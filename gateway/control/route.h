/*
 * What can be asked: method and path to a handler, who may, which
 * parameters, how large a body (gateway/control/openapi.yaml says the same
 * to people).
 */
#ifndef GATEWAY_CONTROL_ROUTE_H
#define GATEWAY_CONTROL_ROUTE_H

#include "common/bytes.h"

#define ROUTE_ALLOW_SIZE 64

struct conn;

enum route_may {
	ROUTE_ANYONE, /* who has an account on this host */
	ROUTE_ADMIN,
	/* Anyone, for a session of theirs: the one that the path or the
	 * parameter `session` names; without one: administrators. */
	ROUTE_OWNER
};

struct route {
	const char *method;
	const char *path; /* one segment may be "{}" */
	enum route_may may;
	unsigned params; /* bits of enum param */
	size_t body_max;
	void (*handle)(struct conn *conn);
};

/* Ends with a NULL method. */
extern const struct route control_routes[];

/* The route, and the segment that stands for "{}" in *name (borrows from
 * path). NULL: the methods that the path has are in allow[], as "GET, PUT";
 * empty when there is no such path. */
const struct route *route_find(const struct route *routes, struct bytes method,
			       struct bytes path, struct bytes *name,
			       char allow[ROUTE_ALLOW_SIZE]);

#endif
