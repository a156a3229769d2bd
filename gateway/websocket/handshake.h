/*
 * The opening handshake of a WebSocket (RFC 6455 section 4), on both sides:
 * what a client asks for is checked and asked for again in our own words,
 * with a key of our own; what upstream answers is checked against that key,
 * and answered to the client with its own. No extension is ever agreed on.
 *
 *	websocket_offer(&handshake, arena, &request, &fault)
 *	... decided, allowed ...
 *	websocket_ask(&handshake, &request)	-> sent upstream
 *	websocket_agree(&handshake, &response, &fault)	-> sent to the client
 */
#ifndef GATEWAY_WEBSOCKET_HANDSHAKE_H
#define GATEWAY_WEBSOCKET_HANDSHAKE_H

#include "common/arena.h"
#include "common/base64.h"
#include "common/digest.h"
#include "gateway/http/guard.h"

#define WEBSOCKET_KEY_BYTES	16
#define WEBSOCKET_KEY_SIZE	(BASE64_LEN(WEBSOCKET_KEY_BYTES) + 1)
#define WEBSOCKET_ACCEPT_SIZE	(BASE64_LEN(DIGEST_SHA1_LEN) + 1)
#define WEBSOCKET_PROTOCOLS_MAX 32

struct websocket_handshake {
	char client_accept[WEBSOCKET_ACCEPT_SIZE]; /* what the client waits
						      for */
	char key[WEBSOCKET_KEY_SIZE];		   /* ours, towards upstream */
	struct bytes protocols; /* "a, b", offered; borrows from the arena */
};

/* Check a request that is_websocket (head.h): GET, HTTP/1.1, no body, one
 * Sec-WebSocket-Key of 16 bytes, Sec-WebSocket-Version 13, subprotocols that
 * are tokens. Its Sec-WebSocket-* fields are taken out of request->fields;
 * the subprotocols go back as one list. 0, or -1 with *fault. */
int websocket_offer(struct websocket_handshake *handshake, struct arena *arena,
		    struct request *request, struct http_fault *fault);

/* Add to the fields what asks upstream for a WebSocket, with a fresh key.
 * They borrow from handshake. 0, or -1 when there is no room. */
int websocket_ask(struct websocket_handshake *handshake,
		  struct request *request);

/* Check a response that is_websocket, and make it the client's: one right
 * Sec-WebSocket-Accept, no extension, a subprotocol only if it was offered.
 * 0, or -1 with *fault (response_malformed). */
int websocket_agree(const struct websocket_handshake *handshake,
		    struct response *response, struct http_fault *fault);

#endif
