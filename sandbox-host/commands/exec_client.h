/*
 * One command in a sandbox, as whoever asked for it sees it: the channel to
 * the sandbox's supervisor (HOST_CHANNEL_EXEC), pipes or a pty, its end.
 *
 *	client = exec_client_new(loop, channel, on_event, task, &err);
 *	exec_client_start(client, &request, EXEC_NO_INPUT, &err);
 *	... EXEC_STARTED, EXEC_OUTPUT ..., EXEC_ENDED
 *	exec_client_free(client);	// a command that runs is killed
 *
 * Output waits in exec_client_out() up to EXEC_OUT_MAX bytes; then the
 * command waits. Whoever consumes calls exec_client_go_on() afterwards.
 * EXEC_ENDED comes after all that the command itself wrote, and is not kept
 * off by processes that it left behind: what they write later nobody reads,
 * they get SIGPIPE.
 *
 * exec_client_free() may be called anywhere, also inside on_event; nothing
 * is delivered any more then.
 */
#ifndef SANDBOX_HOST_COMMANDS_EXEC_CLIENT_H
#define SANDBOX_HOST_COMMANDS_EXEC_CLIENT_H

#include "common/io.h"
#include "sandbox-host/flow/messages.h"

#define EXEC_OUT_MAX	(64 * 1024) /* of each stream */
#define EXEC_INPUT_MAX	(1024 * 1024)
#define EXEC_INPUT_HIGH (64 * 1024)
/* A person may be asked first, for as long as the policy says
 * (POLICY_HOLD_MAX_MS). */
#define EXEC_START_MS	   (10 * 60 * 1000 + 30000)
#define EXEC_KILL_AFTER_MS 3000 /* after SIGTERM */
/* Its last bytes are looked for again after so long. */
#define EXEC_LAST_BYTES_MS 1

enum exec_event {
	EXEC_STARTED,
	EXEC_REFUSED, /* it does not run: exec_client_refusal(). The last */
	EXEC_OUTPUT,  /* exec_client_out() has new bytes */
	EXEC_DRAINED, /* all input was taken, after EXEC_INPUT_HIGH or more
			 waited */
	EXEC_ENDED    /* exec_client_end() says how. The last */
};

enum exec_input {
	EXEC_NO_INPUT,
	EXEC_INPUT,
	EXEC_REPORT /* its descriptor 0 is one that it writes to: stream 0 */
};

/* Why it does not run. */
struct exec_refusal {
	enum host_refusal code;
	const char *text; /* lives as long as the client */
};

/* How it ended. */
struct exec_end {
	bool is_lost;  /* the sandbox ended, or its supervisor */
	int exit_code; /* 128+n for a signal */
	int signal;    /* 0: none */
	bool has_timed_out;
	const char *reason; /* "", or why it did not end by itself */
};

struct exec_client;
typedef void exec_fn(struct exec_client *client, enum exec_event event,
		     void *owner);

/* Take channel. NULL: it is closed. */
struct exec_client *exec_client_new(struct io_loop *loop, int channel,
				    exec_fn *fn, void *owner, struct err *err);
/* Run a command; once. A request with a terminal has one stream, 1, and
 * input. 0, or -1. */
int exec_client_start(struct exec_client *client,
		      const struct exec_request *request, enum exec_input input,
		      struct err *err);
void exec_client_free(struct exec_client *client);
/* Whom its events go to from now on. */
void exec_client_set_owner(struct exec_client *client, exec_fn *fn,
			   void *owner);

/* What a stream wrote, to be consumed: 1 or 2; 0 of EXEC_REPORT. */
struct buf *exec_client_out(struct exec_client *client, int stream);
/* There is room again in what exec_client_out() gave. */
void exec_client_go_on(struct exec_client *client);
/* Give it input. 0, or -1: EXEC_INPUT_MAX would be passed, or there is no
 * input (any more). */
int exec_client_write(struct exec_client *client, struct bytes bytes);
/* Must the source of input pause until EXEC_DRAINED? */
bool exec_client_is_full(const struct exec_client *client);
/* The input ends after what was given. */
void exec_client_end_input(struct exec_client *client);

/* A signal for its group; what has not started, or has ended, gets none. It
 * comes before any input, or its end, that is given later. */
void exec_client_signal(struct exec_client *client, int number);
/* SIGTERM for its group, and SIGKILL when that does not end it. */
void exec_client_stop(struct exec_client *client);
/* The window's size, of one with a terminal. */
void exec_client_resize(const struct exec_client *client, uint16_t rows,
			uint16_t columns);

bool exec_client_is_running(const struct exec_client *client);
uint32_t exec_client_pid(const struct exec_client *client);
struct exec_refusal exec_client_refusal(const struct exec_client *client);
struct exec_end exec_client_end(const struct exec_client *client);

#endif
