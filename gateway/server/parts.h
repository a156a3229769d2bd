/*
 * What the files of this folder share. Private to them.
 */
#ifndef GATEWAY_SERVER_PARTS_H
#define GATEWAY_SERVER_PARTS_H

#include "gateway/server/http_conn.h"

/* ---- http_server.c ---- */

/* It is there; it waits for its next head; it is gone. */
void http_server_add(struct http_server *server, struct http_conn *conn);
void http_server_requeue(struct http_server *server, struct http_conn *conn);
void http_server_remove(struct http_server *server, struct http_conn *conn);

/* ---- http_conn.c ---- */

/* The answer is written: the next request, or the end. */
void http_conn_done(struct http_conn *conn);

/* ---- http_answer.c ---- */

/* Of a stream whose deadline passed: did its client read some of it since?
 * Then it has as long again. */
bool http_conn_is_read(struct http_conn *conn);

#endif
