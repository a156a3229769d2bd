#include "cli/denials.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/client.h"

/* After the command: the ledger commits within some ms. */
#define LAST_WORDS_MS 60

/* What was told last of a connection: the request on it that fails for the
 * same reason says nothing new. */
struct told {
	char host[256];
	char constraint[64];
};

static bool is_told(struct told *told, const json_t *row)
{
	const char *host = json_text(row, "host");
	const char *constraint = json_text(row, "constraint");
	bool same = !strcmp(told->host, host) &&
		    !strcmp(told->constraint, constraint);

	if (!strcmp(json_text(row, "activity"), "connection")) {
		(void)snprintf(told->host, sizeof(told->host), "%s", host);
		(void)snprintf(told->constraint, sizeof(told->constraint), "%s",
			       constraint);
	}
	return same;
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
	tell(&listener->told, row);
	json_decref(row);
	return true;
}

static void follow(const char *session, const char *events_path)
{
	char path[128];
	struct client client;
	struct err err;
	struct listener listener = {
		.events = events_path ? fopen(events_path, "we") : NULL,
	};

	(void)signal(SIGINT, SIG_IGN);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	(void)snprintf(path, sizeof(path), "/v1/events?session=%s", session);
	if (client_open(&client, &err) == 0)
		(void)client_follow(&client, path, on_line, &listener, &err);
	_exit(0);
}

pid_t denials_start(const char *session, const char *events_path)
{
	pid_t teller = fork();

	if (teller == 0)
		follow(session, events_path);
	return teller;
}

void denials_stop(pid_t teller)
{
	const struct timespec wait = {.tv_nsec = LAST_WORDS_MS * 1000000};

	if (teller <= 0)
		return;
	(void)nanosleep(&wait, NULL);
	(void)kill(teller, SIGTERM);
	(void)waitpid(teller, NULL, 0);
}
