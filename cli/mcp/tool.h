/*
 * The tools of sallyport-mcp (MCP 2025-06-18, "Tools"): what a client is
 * told of each, and how its call becomes a run of the sallyport command.
 */
#ifndef CLI_MCP_TOOL_H
#define CLI_MCP_TOOL_H

#include <limits.h>

#include "cli/mcp/param.h"
#include "cli/mcp/server.h"
#include "common/arena.h"

#define TOOL_TIMEOUT_MS	   120000
#define TOOL_ASKED_MS	   (11 * 60 * 1000) /* of a command: a person is asked */
#define TOOL_COMMAND_MAX   65536
#define TOOL_PATH_MAX	   4096
#define TOOL_CONTENT_MAX   (1024 * 1024)
#define TOOL_VARIABLES_MAX 64
#define TOOL_COMMAND_S	   120 /* unless it is said otherwise */
#define TOOL_COMMAND_S_MAX 3600
#define TOOL_ARENA_MAX	   (4 * 1024 * 1024)

enum tool_output {
	TOOL_JSON,    /* it writes a JSON object */
	TOOL_TEXT,    /* it writes text */
	TOOL_COMMAND, /* of a command: both outputs and its exit code */
	TOOL_FILE     /* what it left in call->file */
};

/* One call of a tool. */
struct call {
	struct server *server;
	const struct tool *tool;
	json_t *id;	   /* of the request */
	json_t *arguments; /* checked; may be NULL */
	json_t *params;	   /* owns them */
	struct arena arena;
	struct job_line line;
	char file[PATH_MAX]; /* on its way; empty: there is none */
	struct job *job;
	struct call *next, *prev;
};

struct tool {
	const char *name, *title, *description;
	bool is_read_only, is_destructive;
	bool runs_on; /* to its end, also when nobody waits for it */
	enum tool_output output;
	const struct param *params;
	/* Fill call->line. 0, or -1. */
	int (*plan)(struct call *call, struct err *err);
	/* After a run that succeeded; value: what it wrote (TOOL_JSON), to be
	 * changed in place. NULL: nothing more to do. */
	void (*done)(struct call *call, json_t *value);
};

extern const struct tool tools[];
extern const size_t tool_count;

/* ---- for the plans (call.c) ---- */

/* Add words. 0, or -1. */
int call_add(struct call *call, const char *const *words, size_t count,
	     struct err *err);
#define CALL_ADD(call, err, ...)                                               \
	call_add((call), (const char *const[]){__VA_ARGS__},                   \
		 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),  \
		 (err))
/* An argument; NULL: it was not given. */
const char *call_text(const struct call *call, const char *name);
/* The same for a number. */
int64_t call_number(const struct call *call, const char *name,
		    int64_t otherwise);
/* -e NAME=VALUE for each of `env`. 0, or -1. */
int call_add_env(struct call *call, struct err *err);
/* The sandbox that is meant: `sandbox`, one of ours; without it the only
 * one. NULL. */
const char *call_sandbox(const struct call *call, struct err *err);
/* Make a new file on its way, with this in it. 0, or -1. */
int call_new_file(struct call *call, const char *content, size_t len,
		  struct err *err);

/* Begin to run what was planned; on_end of job.h. 0, or -1. */
int call_run(struct call *call, job_fn *on_end, struct err *err);
/* The result of a tools/call: content, structuredContent, isError. New, or
 * NULL. */
json_t *call_result(struct call *call, const struct job_end *end);
json_t *call_failure(const char *text);

#endif
