/*
 * Requests to control over its Unix socket, one at a time, blocking. The
 * answers pass the same guard as everybody's.
 */
#ifndef SANDBOX_HOST_SESSION_CLIENT_H
#define SANDBOX_HOST_SESSION_CLIENT_H

#include <jansson.h>

#include "common/buf.h"
#include "common/err.h"

#define CLIENT_BODY_MAX	 (64 * 1024 * 1024)
#define CLIENT_TIMEOUT_S 60

struct client {
	int fd;
	struct buf in;
	/* -1, or a descriptor that ends every wait for an answer as soon as
	 * it has something to read or was hung up. */
	int until;
};

struct reply {
	unsigned status;
	struct buf body;
	json_t *json; /* NULL when the body is none */
};

/* Connect to the gateway's control socket. -1 with ERR_CLOSED: nobody is
 * there. */
int client_open(struct client *client, struct err *err);
/* The same, waiting only so long for a gateway that accepts nobody. */
int client_open_within(struct client *client, unsigned ms, struct err *err);
void client_close(struct client *client);

/* Send a request and read the whole answer. body may be empty; type is its
 * Content-Type. 0, or -1 with *err. Release with reply_release(). */
struct client_request {
	const char *method;
	const char *path;
	const char *type;
	struct bytes body;
};
int client_call(struct client *client, const struct client_request *request,
		struct reply *reply, struct err *err);
/* The two halves of it, for what can be done meanwhile. */
int client_send(struct client *client, const struct client_request *request,
		struct err *err);
int client_receive(struct client *client, const char *method,
		   struct reply *reply, struct err *err);
void reply_release(struct reply *reply);
/* 0 when the status is 2xx; else *err says what control said. */
int reply_check(const struct reply *reply, struct err *err);

/* A string of an object, "" when absent. */
const char *json_text(const json_t *object, const char *key);

/* Call, check, close. 0, or -1. */
int client_end(struct client *client, const struct client_request *request,
	       struct reply *reply, struct err *err);
/* The same, of one that is opened for it. */
int client_once(const struct client_request *request, struct reply *reply,
		struct err *err);

/* Read an endless answer line by line until it ends or fn says false. */
typedef bool client_line_fn(struct bytes line, void *owner);
int client_follow(struct client *client, const char *path, client_line_fn *fn,
		  void *owner, struct err *err);

#endif
