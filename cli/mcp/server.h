/*
 * sallyport-mcp: tools for an agent, over the Model Context Protocol.
 *
 *	stdio   -> lines from and to the client
 *	server  -> what it asks: begin, list the tools, call one
 *	tools   -> the table; each plans a run of the sallyport command
 *	job     -> that run
 *
 * The agent may have been talked into anything: what its sandboxes may do,
 * and which directory they work on, is said by who starts this program,
 * never by an argument of a tool; it reaches the sandboxes that it made and no
 * others; nothing here approves what a person must.
 */
#ifndef CLI_MCP_SERVER_H
#define CLI_MCP_SERVER_H

#include "cli/mcp/job.h"
#include "cli/mcp/message.h"
#include "sandbox-host/flow/messages.h"

#define SERVER_CALLS_MAX      16 /* that run at one time */
#define SERVER_SANDBOXES_MAX  16 /* that are alive at one time */
#define SERVER_LIFE_DEFAULT_S 3600

struct server_config {
	const char *program; /* sallyport itself */
	const char *policy, *workspace, *repo, *branch, *image; /* or NULL */
	unsigned life_s; /* of a sandbox, at most */
	bool keeps;	 /* its sandboxes, at the end */
};

struct call;
/* message is taken. */
typedef void server_send_fn(json_t *message, void *owner);

struct server {
	const struct server_config *config;
	struct io_loop *loop;
	char directory[64]; /* of files on their way */
	char sandboxes[SERVER_SANDBOXES_MAX][HOST_ID_MAX + 1];
	size_t sandbox_count;
	struct call *calls;
	size_t call_count;
	unsigned last_file;
	server_send_fn *send;
	void *owner;
};

/* Begin. 0, or -1. */
int server_open(struct server *server, const struct server_config *config,
		struct io_loop *loop, struct err *err);
/* One message of the client; answers come through server->send, now or
 * later. */
void server_read(struct server *server, struct bytes text);
/* Is it a revision of the protocol that is spoken here? */
bool server_knows_revision(struct bytes revision);
/* End all calls, and its sandboxes unless they are to be kept. */
void server_close(struct server *server);

#endif
