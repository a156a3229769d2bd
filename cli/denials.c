#include "cli/denials.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/client.h"

#define PATH_MAX_LEN 160

/* What was told last of a connection or a push: the request on it that fails
 * for the same reason says nothing new. */
struct told {
	char host[256];
	char constraint[64];
};

static bool is_told(struct told *told, const json_t *row)
{
	const char *host = json_text(row, "host");
	const char *constraint = json_text(row, "constraint");
	const char *activity = json_text(row, "activity");

	if (strcmp(activity, "connection") != 0 &&
	    strcmp(activity, "push") != 0)
		return !strcmp(told->host, host) &&
		       !strcmp(told->constraint, constraint);
	(void)snprintf(told->host, sizeof(told->host), "%s", host);
	(void)snprintf(told->constraint, sizeof(told->constraint), "%s",
		       constraint);
	return false;
}

static void tell(struct told *told, const json_t *row)
{
	const char *what = json_text(row, "method");
	const char *detail = json_text(row, "detail");

	if (!json_is_false(json_object_get(row, "allowed")) ||
	    !strcmp(json_text(row, "activity"), "sandbox") ||
	    is_told(told, row))
		return;
	(void)fprintf(stderr, "sallyport: denied %s %s%s%s: %s (rule %s)%s%s\n",
		      what[0] ? what : json_text(row, "activity"),
		      json_text(row, "host"),
		      json_text(row, "path")[0] == 'r' ? " " : "",
		      json_text(row, "path"), json_text(row, "constraint"),
		      json_text(row, "rule"), detail[0] ? ": " : "", detail);
}

struct listener {
	FILE *events;
	struct told told;
	json_int_t sequence; /* of the last row that was heard */
};

static bool on_line(struct bytes line, void *owner)
{
	struct listener *listener = owner;
	FILE *events = listener->events;
	json_t *row;

	if (line.len == 0)
		return true;
	if (events) {
		(void)fprintf(events, "%.*s\n", BYTES_ARGS(line));
		(void)fflush(events);
	}
	row = json_loadb((const char *)line.data, line.len, 0, NULL);
	if (row)
		listener->sequence =
			json_integer_value(json_object_get(row, "sequence"));
	tell(&listener->told, row);
	json_decref(row);
	return true;
}

static void listen_to(struct client *client, const char *what,
		      const char *session, struct listener *listener)
{
	char path[PATH_MAX_LEN];
	struct err err;

	(void)snprintf(path, sizeof(path),
		       "/v1/%s?session=%s%s&after=%" JSON_INTEGER_FORMAT, what,
		       session, listener->events ? "" : "&denied=1",
		       listener->sequence);
	(void)client_follow(client, path, on_line, listener, &err);
}

/* Rows as they are stored, until the command has ended and the stream is
 * shut down; then, asked for once, those that were not stored by then. */
static void tell_all(struct client *client, const char *session,
		     const char *events_path)
{
	struct listener listener = {
		.events = events_path ? fopen(events_path, "we") : NULL,
	};
	struct err err;

	(void)signal(SIGINT, SIG_IGN);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	listen_to(client, "events", session, &listener);
	if (client_open(client, &err) == 0)
		listen_to(client, "audit", session, &listener);
	_exit(0);
}

int denials_start(struct denials *denials, const char *session,
		  const char *events_path, struct err *err)
{
	if (client_open(&denials->stream, err) < 0)
		return -1;
	denials->teller = fork();
	if (denials->teller == 0)
		tell_all(&denials->stream, session, events_path);
	return denials->teller < 0 ? err_system(err, "fork") : 0;
}

void denials_stop(struct denials *denials)
{
	if (denials->teller <= 0)
		return;
	(void)shutdown(denials->stream.fd, SHUT_RDWR);
	(void)waitpid(denials->teller, NULL, 0);
	denials->teller = 0;
	client_close(&denials->stream);
}
