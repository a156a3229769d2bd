/*
 * MCP 2025-06-18, "Transports", stdio: a message a line.
 */
#ifndef CLI_MCP_STDIO_H
#define CLI_MCP_STDIO_H

#include "cli/mcp/server.h"

#define STDIO_LINE_MAX (4 * 1024 * 1024)
#define STDIO_OUT_MAX  (64 * 1024 * 1024) /* that the client has not read */

/* Serve until the client closes our standard input, or SIGTERM or SIGINT
 * comes; server is closed then, and where it cannot begin. 0, or -1. */
int stdio_serve(struct server *server, struct err *err);

#endif
