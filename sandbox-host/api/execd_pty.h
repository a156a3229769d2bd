/*
 * /pty: a terminal in a sandbox over a WebSocket. The shell is started by the
 * first client, and goes on without one; what it wrote last is kept, so that
 * the next client sees it.
 *
 *	execd_pty.c	 -> those that are there; the shell; what it wrote
 *	execd_pty_view.c -> the client of one, and its frames
 */
#ifndef SANDBOX_HOST_API_EXECD_PTY_H
#define SANDBOX_HOST_API_EXECD_PTY_H

#include "gateway/websocket/frames.h"
#include "sandbox-host/api/execd.h"

#define PTYS_MAX	 128 /* of all sandboxes */
#define PTYS_SANDBOX_MAX 16
#define PTY_REPLAY_MAX	 (256 * 1024)
#define PTY_IDLE_MS	 (30ull * 60 * 1000) /* without a client */
#define PTY_MESSAGE_MAX	 (64 * 1024)	     /* of a client */
#define PTY_FRAME_MAX	 (32 * 1024)	     /* bytes of output in one */
#define PTY_PING_MS	 30000
#define PTY_SILENT_PINGS 3 /* then the client is given up */
#define PTY_ROWS	 24
#define PTY_COLUMNS	 80

enum pty_byte { PTY_STDIN, PTY_STDOUT, PTY_STDERR, PTY_REPLAY };

/* Close codes beside those of RFC 6455. */
#define PTY_CLOSE_TAKEN_OVER 4001

struct view;

struct pty {
	struct execd *execd;
	char id[COMMAND_ID_MAX + 1];
	char sandbox[HOST_ID_MAX + 1];
	char *cwd, *command;	  /* NULL: the workspace, bash */
	struct exec_client *exec; /* NULL: it does not run */
	bool is_pipe;		  /* no terminal */
	int exit_code;
	struct buf replay;
	uint64_t replay_start;
	struct view *view; /* NULL: nobody looks */
	uint64_t used_ms;  /* monotonic */
	struct pty *next, *prev;
};

/* ---- execd_pty.c ---- */

/* Start its shell on a channel (taken); view waits for it. 0, or -1. */
int pty_start(struct pty *pty, int channel, struct err *err);
/* End what runs. */
void pty_stop(struct pty *pty);
/* Tell the view (or nobody) what the shell wrote. */
void pty_pump(struct pty *pty);

/* ---- execd_pty_view.c ---- */

void view_begin(struct exchange *exchange, struct pty *pty);
/* The shell runs, or does not. */
void view_started(struct view *view);
void view_refused(struct view *view, const struct exec_client *client);
/* Its shell runs: another may take its place. */
bool view_is_open(const struct view *view);
bool view_is_full(const struct view *view);
void view_output(struct view *view, enum pty_byte kind, struct bytes bytes);
/* There is room for input again. */
void view_drained(struct view *view);
/* It has ended. */
void view_ended(struct view *view, int exit_code);
/* Close it for a reason of ours. */
void view_close(struct view *view, uint16_t code, const char *reason);

#endif
