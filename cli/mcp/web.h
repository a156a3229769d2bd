/*
 * MCP 2025-06-18, "Transports", Streamable HTTP: `sallyport mcp --listen`.
 * One path, /mcp, on a loopback address. Each session is a process of its
 * own, which speaks stdio with us (stdio.h) and ends its sandboxes when we
 * hang up: so what one client does, or a flaw in serving it, is that
 * session's alone.
 *
 *	web_conn    -> one connection: answers, streams of events
 *	web_request -> what a request must be, and what it asks for
 *	web_rules   -> Host, Origin, Accept, the token
 *	web_session -> its process, and who waits for which answer
 *	web_starter -> starts such processes; the others are confined
 *
 * No byte of a request's body is read, and nobody is told what there is,
 * before the token was seen.
 */
#ifndef CLI_MCP_WEB_H
#define CLI_MCP_WEB_H

#include "common/io.h"

#define WEB_IDLE_DEFAULT_S 1800
#define WEB_IDLE_MAX_S	   (7 * 24 * 3600)

struct web_config {
	const char *address;	/* "127.0.0.1:8931", "[::1]:0" */
	const char *token_file; /* NULL: a new token, which is told */
	unsigned idle_s;	/* until a session that nobody uses ends */
	/* What a session runs: a path, and its words. */
	const char *program;
	char *const *words;
};

/* Serve until SIGTERM or SIGINT. Where, and with which token, is told on
 * standard output. 0, or -1: ERR_INVALID when the address is none of
 * loopback, or the token's file is not fit. */
int web_serve(const struct web_config *config, struct io_loop *loop,
	      struct err *err);

#endif
