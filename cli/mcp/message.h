/*
 * One message of the Model Context Protocol: JSON-RPC 2.0 without batches
 * (modelcontextprotocol.io, revision 2025-06-18, "Base Protocol").
 */
#ifndef CLI_MCP_MESSAGE_H
#define CLI_MCP_MESSAGE_H

#include <jansson.h>

#include "common/bytes.h"

/* Codes of JSON-RPC 2.0, section 5.1. */
#define MESSAGE_PARSE_ERROR	 (-32700)
#define MESSAGE_INVALID_REQUEST	 (-32600)
#define MESSAGE_METHOD_NOT_FOUND (-32601)
#define MESSAGE_INVALID_PARAMS	 (-32602)
#define MESSAGE_INTERNAL_ERROR	 (-32603)

#define MESSAGE_TEXT_MAX 512 /* of an error */

enum message_kind {
	MESSAGE_REQUEST,
	MESSAGE_NOTIFICATION,
	MESSAGE_RESPONSE, /* to a request of ours; we send none */
	MESSAGE_BROKEN
};

struct message {
	enum message_kind kind;
	json_t *root;	    /* owns the others */
	json_t *id;	    /* a string or an integer; NULL: there is none */
	const char *method; /* NULL but for requests and notifications */
	json_t *params;	    /* an object, or NULL */
	int error;	    /* of a broken one */
};

/* Read one message, which the caller releases. Broken: duplicate keys, an
 * unknown shape, nested deeper than jansson allows (2048). */
void message_read(struct message *message, struct bytes text);
void message_release(struct message *message);

/* Answers. result is taken; NULL when memory is out. */
json_t *message_result(json_t *id, json_t *result);
/* id: NULL when it is not known. */
json_t *message_error(json_t *id, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
