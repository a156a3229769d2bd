#include "gateway/edge/errand.h"

#include <stdlib.h>
#include <string.h>

#include "common/dense.h"
#include "common/io_rest.h"
#include "gateway/edge/conn.h"

#define REST_ROOM 64 /* with most names */

static struct dense rests = {.size = REST_ROOM};

void conn_rest(struct conn *conn)
{
	const struct target *target = &conn->errand->target;
	size_t size = strlen(target->host) + 1;
	struct rest *rest = dense_take(&rests, sizeof(*rest) + size);

	if (!rest)
		return;
	rest->kind = target->kind;
	rest->scheme = target->scheme;
	rest->port = target->port;
	rest->was_asked = conn->errand->request.method.len > 0;
	memcpy(rest->host, target->host, size);
	conn->rest = rest;
	free(conn->errand);
	conn->errand = NULL;
	arena_release(&conn->arena);
	io_rest_soon(conn->edge->keeper->loop);
}

void rest_free(struct rest *rest)
{
	dense_give(&rests, rest);
}

struct target conn_target(const struct conn *conn)
{
	const struct rest *rest = conn->rest;
	struct target target;

	if (!rest)
		return conn->errand->target;
	target = (struct target){
		.kind = rest->kind, .port = rest->port, .scheme = rest->scheme};
	memcpy(target.host, rest->host, strlen(rest->host) + 1);
	return target;
}

struct bytes conn_host(const struct conn *conn)
{
	return bytes_str(conn->rest ? conn->rest->host
				    : conn->errand->target.host);
}

uint16_t conn_port(const struct conn *conn)
{
	return conn->rest ? conn->rest->port : conn->errand->target.port;
}

struct bytes conn_method(const struct conn *conn)
{
	if (conn->rest)
		return bytes_str(conn->rest->was_asked ? "CONNECT" : NULL);
	return conn->errand->request.method;
}

struct bytes conn_path(const struct conn *conn)
{
	return conn->rest ? bytes_from(NULL, 0) : conn->errand->request.path;
}
