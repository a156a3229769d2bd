/*
 * The parts of the calls for files and directories (files_*.c): each request
 * gets an agent inside the sandbox of its own (sandbox-host/agent), asks it
 * one thing after the other, and holds each answer against what was asked.
 *
 * A function that returns -1 has answered the request, or its client is
 * gone: the task may not be touched any more.
 */
#ifndef SANDBOX_HOST_API_FILES_H
#define SANDBOX_HOST_API_FILES_H

#include "sandbox-host/api/exchange.h"

#define FILES_AT_ONCE	       32 /* agents in one sandbox; others wait */
#define FILES_IN_FLIGHT	       4  /* pieces that are being written */
#define FILES_ASK_MS	       30000
#define FILES_PATHS_MAX	       1024		 /* in one request */
#define FILES_LISTED_MAX       20000		 /* in one answer */
#define FILES_LISTED_BYTES_MAX (8 * 1024 * 1024) /* of their names */
#define FILES_BODY_MAX	       (4 * 1024 * 1024)
#define FILES_UPLOAD_MAX       (16ull << 30)
#define FILES_METADATA_MAX     (64 * 1024)

struct files_task;
typedef void files_fn(struct files_task *task);
/* An answer, decoded; valid for the call only. */
typedef void files_answer_fn(struct files_task *task, const void *message);

/* Stands first in what a handler keeps of its request. */
struct files_task {
	struct exchange *exchange;
	struct io_loop *loop;
	struct bytes sandbox;
	struct rpc *rpc;   /* NULL: it waits, or the agent is gone */
	files_fn *begin;   /* called once there is an agent */
	files_fn *release; /* free what the handler has; may be NULL */
	files_answer_fn *on_answer;
	unsigned in_flight;
	bool has_place; /* among FILES_AT_ONCE */
	bool has_begun; /* the answer streams */
	bool is_over;	/* the request is */
	/* A refusal that is none: it is taken for an answer (message NULL). */
	bool may_be_missing;
	unsigned invalid_status; /* of what makes no sense; 0: 400 */
	struct files_task *next, *prev;
};

/* ---- files_agent.c ---- */

/* Begin to serve a request with a task of size bytes, zeroed, whose first
 * member is a struct files_task. NULL: answered. */
void *files_task_new(struct exchange *exchange, size_t size, files_fn *begin,
		     files_fn *release);
/* Get it its agent, now or when there is room. */
void files_task_start(struct files_task *task);
struct files_question {
	uint16_t type;
	const struct wire_schema *schema;
	const void *message;
	int fd;				 /* stays the caller's; 0: none */
	const struct wire_schema *reply; /* NULL: empty */
};
/* Ask the agent; all that are asked at one time have the same on_answer. 0,
 * or -1. */
int files_ask(struct files_task *task, const struct files_question *question,
	      files_answer_fn *on_answer);
/* The agent did not answer as it must. */
void files_fail_agent(struct files_task *task, const char *fault);
void files_fail(struct files_task *task, unsigned status, const char *code,
		const char *message);
/* A path that may be sent to an agent? -1: answered. */
int files_check_path(struct exchange *exchange, struct bytes path);
/* All `path` of the query, 1 to FILES_PATHS_MAX, checked, in the request's
 * arena. NULL: answered. */
struct bytes *files_paths(struct exchange *exchange, size_t *count);

/* ---- files_json.c ---- */

/* Bytes that somebody inside chose, as a string. New, or NULL. */
json_t *files_text_json(struct bytes text);
/* What the wire calls FileInfo. New, or NULL. */
json_t *files_info_json(struct bytes path, const struct file_entry *entry);
/* {"owner", "group", "mode"}: decimal digits that are read as octal ones.
 * 0, or -1: it is none. Texts borrow from value. */
int files_access_parse(const json_t *value, struct file_access *access);

/* ---- the handlers ---- */

void files_info(struct exchange *exchange);
void files_search(struct exchange *exchange);
void files_list(struct exchange *exchange);
void files_delete(struct exchange *exchange);
void files_set_permissions(struct exchange *exchange);
void files_move(struct exchange *exchange);
void files_replace(struct exchange *exchange);
void files_make_directories(struct exchange *exchange);
void files_delete_directories(struct exchange *exchange);
void files_download(struct exchange *exchange);
void files_upload(struct exchange *exchange);

#endif
