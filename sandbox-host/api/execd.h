/*
 * OpenSandbox's execd calls that run things, for every sandbox from one place
 * outside: what runs is a command of the sandbox's supervisor
 * (commands/exec_client.h), under all that holds a command there.
 *
 *	execd.c	 -> what is kept between requests; ping; metrics
 *	sse	 -> events of something that runs, to its client
 *	run	 -> a command whose output is such a stream
 *	background -> one that its sandbox keeps
 *	command	 -> /command
 *	session	 -> a bash that keeps its state; shell: /session
 *	resident -> programs that their sandbox keeps; guest: who holds one
 *	pty	 -> /pty: a terminal over a WebSocket
 *	code	 -> /code: Python that keeps its variables
 *	isolated -> /v1/isolated: sandboxes beside one, in its workspace
 *
 * A foreground command dies with its client. What runs in the background,
 * terminals, contexts and what a session keeps are the sandbox's; everything
 * else dies with this process, as its channels do.
 */
#ifndef SANDBOX_HOST_API_EXECD_H
#define SANDBOX_HOST_API_EXECD_H

#include "sandbox-host/api/areas.h"
#include "sandbox-host/api/exchange.h"
#include "sandbox-host/commands/exec_client.h"
#include "sandbox-host/commands/lines.h"
#include "sandbox-host/commands/table.h"

#define EXECD_BODY_MAX	  (1024 * 1024)
#define EXECD_PING_MS	  3000
#define EXECD_SWEEP_MS	  5000
#define EXECD_TIMEOUT_MAX (31536000ull * 1000) /* ms: a year */

struct isolated;

/* What is kept between requests; it ends with the process. */
struct execd {
	struct api *api;
	struct table *commands;
	struct isolated *isolated;
	uint32_t isolated_seen, isolated_total; /* while they are loaded */
	uint64_t reach_changes; /* of what sandboxes may reach, ever */
	struct io_timer *sweep;
};

/* Of this process. NULL: no memory. */
struct execd *execd_open(struct api *api);

/* ---- bodies ---- */

/* A text of an object, copied into the arena; stays as it is where there is
 * none and it is not required. False: it is none, and the request is
 * answered with 400. */
bool execd_text(struct exchange *exchange, const json_t *body, const char *name,
		bool is_required, struct bytes *text);
/* Likewise: a whole number from 0 to max. */
bool execd_number(struct exchange *exchange, const json_t *body,
		  const char *name, uint64_t max, uint64_t *number);
bool execd_flag(struct exchange *exchange, const json_t *body, const char *name,
		bool *flag);
/* Likewise: uid, and gid with it. */
bool execd_user(struct exchange *exchange, const json_t *body,
		struct user_wish *user);
/* Likewise: {"NAME": "value"} as an exec_request has it. */
bool execd_env(struct exchange *exchange, const json_t *body, const char *name,
	       struct exec_request *request);
/* An absolute directory. */
bool execd_cwd(struct exchange *exchange, const json_t *body,
	       struct bytes *cwd);
/* The body as an object; *body stays NULL where there is no body and none is
 * required. False: answered. */
bool execd_body(struct exchange *exchange, bool is_required, json_t **body);
/* argv and judged: bash -c text. False: no memory, and it is answered. */
bool execd_shell(struct exchange *exchange, struct bytes text,
		 struct exec_request *request);

/* 404: there is no such thing, or none any more. */
void execd_fail_missing(struct exchange *exchange, const char *what);
/* The usual answer to why a command does not run. */
void execd_fail(struct exchange *exchange, const struct exec_client *client);
/* To why it could not even be asked for: 400, 429 or 500. */
void execd_fail_err(struct exchange *exchange, const struct err *err);

/* ---- execd_sse.c ---- */

/* The stream of one answer. */
struct sse {
	struct exchange *exchange; /* NULL: it has not begun, or is over */
	struct io_timer *ping;
	struct buf out;
	uint64_t started_ms;
};

/* The head alone. 0, or -1: the client is gone. */
int sse_open(struct sse *sse, struct exchange *exchange);
/* The head, the event `init`, and pings from now on. 0, or -1: the client is
 * gone. */
int sse_begin(struct sse *sse, struct exchange *exchange, const char *id);
/* An event with a text (UTF-8): "stdout", "stderr". */
void sse_text(struct sse *sse, const char *type, struct bytes text);
/* Any other event (taken), without its time. */
void sse_event(struct sse *sse, json_t *event);
/* Every line that is whole, and with has_ended the rest; stops when the
 * client does not read. True: nothing is left of it. */
bool sse_lines(struct sse *sse, const char *type, struct buf *from,
	       bool has_ended);
/* The last event of each stream: one of these two. traceback may be empty. */
void sse_complete(struct sse *sse);
void sse_error(struct sse *sse, const char *name, const char *value,
	       struct bytes traceback);
/* In on_end, or when it never began. */
void sse_release(struct sse *sse);

/* ---- execd_run.c ---- */

/* What becomes a command. Everything lives in the exchange's arena. */
struct run_spec {
	struct bytes text; /* to show */
	struct exec_request request;
	enum exec_input input;
	/* Of EXEC_REPORT: what came over descriptor 0, to be consumed. */
	void (*on_report)(struct buf *report, void *owner);
	/* It has ended, or never ran, or its client is gone: once. */
	void (*on_over)(void *owner);
	void *owner;
};

/* Run it, and answer with its stream. */
void run_begin(struct exchange *exchange, const struct run_spec *spec);

/* How it is told: "-1" after a signal, else the exit code. */
int run_exit_code(const struct exec_end *end);

/* ---- execd_background.c ---- */

/* Begin spec's text and request (in the exchange's arena), and answer with a
 * stream that says which it is. */
void background_run(struct exchange *exchange, const struct run_spec *spec);
/* Answer with what is known of one (id: untrusted), with what it wrote, or
 * once it was told to end. */
void background_status(struct exchange *exchange, struct bytes id);
void background_logs(struct exchange *exchange, struct bytes id);
void background_stop(struct exchange *exchange, struct bytes id);

/* ---- execd_command.c ---- */

/* A command, to be shown. */
struct command_shown {
	struct bytes id;
	const char *text;
	bool is_running;
	int exit_code; /* as it is told */
	uint64_t started_ms, finished_ms;
	const char *reason;
};
void command_reply(struct exchange *exchange,
		   const struct command_shown *shown);

/* ---- the areas (their routes: areas.h) ---- */

/* End those that nobody used for long; now is monotonic. */
void isolated_sweep(struct execd *execd, uint64_t now_ms);

#endif
