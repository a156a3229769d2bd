/*
 * sallyport-control: what people and the CLI ask of the gateway. HTTP over
 * control.sock, and channels of rpc over attach.sock, each with the
 * credentials of the process behind it. It knows no secret and decides
 * little: it checks who asks, reads what they sent, asks the process that
 * keeps the thing, and answers later.
 *
 *	conn     -> a request: head, body, route, answer
 *	ask      -> questions to other processes, within their rates
 *	route    -> which handler, and who may
 *	sessions, create, records, audit, verify, events, secrets, status,
 *	            approvals
 *	attach   -> listeners for sessions, and the end of those sessions
 */
#ifndef GATEWAY_CONTROL_CONTROL_H
#define GATEWAY_CONTROL_CONTROL_H

#include "gateway/control/who.h"
#include "gateway/keeper/keeper.h"
#include "gateway/server/http_server.h"

#define CONTROL_CONNS_MAX	  64
#define CONTROL_CONNS_OF_USER_MAX 16 /* of one who is no admin */
/* Channels to attach.sock beyond the sessions that there may be. */
#define CONTROL_ATTACHED_SPARE 16

#define CONTROL_LATER_MS 20

struct attached;
struct attach;

/* Questions of one type to one process. */
struct control_rate {
	uint64_t level; /* of a bucket, in thousandths of a question */
	uint64_t at_ms;
	unsigned open; /* without an answer yet */
};

struct control {
	struct keeper *keeper;
	struct who_rules rules;
	char run[108]; /* where control.sock is */
	struct http_server server;
	struct io_listener *channels;
	struct attached *attached;
	size_t attached_count;
	struct attach *late; /* those that wait for room, the oldest first */
	size_t late_count;
	struct io_timer *later; /* what could not be asked yet */
	struct control_rate rates[MSG_TYPE_MAX];
	/* The minter's certificate, once it was asked for. */
	struct arena ca_arena;
	struct msg_ca ca;
	/* The ledger's new rows: see events.h. */
	bool is_following;
	bool is_follow_asked;
	uint64_t heard; /* sequence of the last row we were told of */
};

#endif
