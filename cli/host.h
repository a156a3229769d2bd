/*
 * Requests to sallyport-host over host.sock, one at a time.
 */
#ifndef CLI_HOST_H
#define CLI_HOST_H

#include <jansson.h>

#include "common/io.h"
#include "sandbox-host/flow/messages.h"

#define HOST_TIMEOUT_MS 90000
/* Of what may take long: as long as the daemon works on it. */
#define HOST_LONG_MS (24u * 3600 * 1000)

struct host {
	struct io_loop *loop;
	struct rpc *rpc; /* NULL: it hung up */
};

/* What is asked. take is given the answer (message: of the reply's schema;
 * *fd: to take); NULL: nobody wants it. */
struct host_call {
	uint16_t type;
	const struct wire_schema *schema;
	const void *message;
	int fd; /* stays the caller's; -1 */
	const struct wire_schema *reply;
	void (*take)(const void *message, int *fd, void *owner);
	void *owner;
	/* What may take long, for people: they are told now and then that it
	 * is waited for, up to HOST_LONG_MS. NULL: timeout_ms. */
	const char *waits_for;
	unsigned timeout_ms; /* 0: HOST_TIMEOUT_MS */
};

/* Connect: $SALLYPORT_HOST, or the first host.sock that is for us, of the
 * gateway's run directory or this user's own; to one that is just starting once
 * it listens (cli/control.h). 0, or -1. host stays where it is. */
int host_open(struct host *host, struct err *err);
void host_close(struct host *host);
/* Ask, and wait. EXIT_OK, or the exit code of a refusal, which was told. */
int host_ask(struct host *host, const struct host_call *call);
/* The same on any channel of this loop. */
int host_ask_on(struct host *host, struct rpc *rpc,
		const struct host_call *call);
/* Ask for what only a sandbox that runs can do: whoever is refused since id
 * rests is told the command that lets it go on, too. */
int host_ask_running(struct host *host, const struct host_call *call,
		     struct bytes id);
/* Tell what went wrong, if it did. EXIT_OK, or the exit code for it. */
int host_outcome_code(const struct rpc_outcome *outcome);
/* Open, ask, close. */
int host_once(const struct host_call *call);

/* A sandbox as JSON, its times in RFC 3339. New, or NULL. */
json_t *host_sandbox_json(const struct host_sandbox *sandbox);
/* Bytes that somebody inside chose, as a JSON string: '?' for each that is no
 * UTF-8. New, or NULL. */
json_t *host_text_json(struct bytes text);

#endif
