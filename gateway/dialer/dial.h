/*
 * A dial: from "this edge wants HOST:PORT" to a connected descriptor or a
 * refusal that says which constraint failed.
 *
 *	session alive -> scope has host and port -> name or literal ->
 *	addresses -> each checked against the scope -> connected
 *
 * With an upstream proxy (and unless no_proxy says otherwise) the connection
 * is made to the proxy, and the courier, which has the proxy's credential,
 * asks it for the target by name: addresses are then the proxy's to choose,
 * and only a literal is checked here.
 *
 * Nothing is believed that the edge decided before. The addresses that are
 * dialled are the very ones that were checked; of an answer with allowed and
 * forbidden addresses only the allowed ones are dialled.
 */
#ifndef GATEWAY_DIALER_DIAL_H
#define GATEWAY_DIALER_DIAL_H

#include "gateway/dialer/connect.h"
#include "gateway/dialer/resolve.h"
#include "gateway/flow/messages.h"
#include "gateway/session/session.h"

#define DIALS_OF_CLIENT_MAX 256
#define DIALS_MAX	    2048
#define DIAL_DETAIL_MAX	    400
#define DIAL_PROXY_MS	    10000 /* the courier, with the proxy */

struct dial;

/* An edge, or the exchange: who dials. Kept by whoever has its channel. */
struct dial_client {
	struct dial *dials;
	size_t count;
};

struct dial_outcome {
	enum constraint constraint;	 /* none: connected */
	const char *detail;		 /* one line: name, address, why */
	int fd;				 /* borrowed for the call */
	char address[ADDRESS_TEXT_SIZE]; /* that was dialled */
};

struct dialer {
	struct io_loop *loop;
	struct resolver *resolver;
	const struct session_table *sessions;
	const struct config_proxy *proxy; /* or NULL */
	/* The channel to the courier, or NULL; asked for each time. */
	struct rpc *(*courier)(void *courier_owner);
	void *courier_owner;
	/* How a dial ended; called once for each, also inside dialer_dial. */
	void (*answer)(struct rpc_ticket ticket,
		       const struct dial_outcome *outcome);
	size_t count;
};

/* Dial for client, of the session of that id. wanted is untrusted. */
void dialer_dial(struct dialer *dialer, struct dial_client *client,
		 struct bytes session, const struct msg_dial *wanted,
		 struct rpc_ticket ticket);
/* Dial the endpoint of a source of the configuration, at whatever address:
 * it is the operator's word. */
void dialer_dial_source(struct dialer *dialer, struct dial_client *client,
			const struct config_source *source,
			struct rpc_ticket ticket);
/* The policy of the client's session is another: end its dials to what may not
 * be reached any more. Addresses are looked at again when they are connected.
 */
void dialer_review(struct dialer *dialer, struct dial_client *client,
		   const struct session *session);
/* End the client's dials, answered with the constraint. */
void dialer_cancel(struct dialer *dialer, struct dial_client *client,
		   enum constraint constraint);

#endif
