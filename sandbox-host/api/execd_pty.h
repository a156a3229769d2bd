/*
 * /pty: a terminal in a sandbox over a WebSocket. Its sandbox's supervisor has
 * it, and what it wrote last: the shell is started by the first client, and
 * goes on without one, or without us.
 *
 *	execd_pty.c	 -> requests
 *	execd_pty_view.c -> the client of one, and its frames
 */
#ifndef SANDBOX_HOST_API_EXECD_PTY_H
#define SANDBOX_HOST_API_EXECD_PTY_H

#include "sandbox-host/api/execd_resident.h"

#define PTY_MESSAGE_MAX	 (64 * 1024) /* of a client */
#define PTY_PING_MS	 30000
#define PTY_SILENT_PINGS 3 /* then the client is given up */
#define PTY_ROWS	 24
#define PTY_COLUMNS	 80

enum pty_byte { PTY_STDIN, PTY_STDOUT, PTY_STDERR, PTY_REPLAY };

/* Close codes beside those of RFC 6455. */
#define PTY_CLOSE_TAKEN_OVER 4001

/* GET /pty/{id}/ws */
void view_begin(struct exchange *exchange);

#endif
