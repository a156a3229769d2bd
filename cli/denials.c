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
#include "common/cleanup.h"
#include "sandbox-host/sandbox.h"

#define PATH_MAX_LEN 160

#define LINE_BYTES	 1024
#define LINES_REMEMBERED 64

/* What was told: of the last connection or push, since the request on it
 * that fails for the same reason says nothing new; and the last lines, since
 * a program that tries again says nothing new either. */
struct told {
	char host[256];
	char constraint[64];
	uint64_t lines[LINES_REMEMBERED]; /* their digests */
	unsigned next;
};

struct listener {
	FILE *events;
	struct told told;
	json_int_t sequence; /* of the last row that was heard */
};

static bool is_of_told(struct told *told, const json_t *row)
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

static bool was_told(struct told *told, const char *line)
{
	uint64_t digest = 14695981039346656037ull; /* FNV-1a */

	for (const char *at = line; *at; at++)
		digest = (digest ^ (uint8_t)*at) * 1099511628211ull;
	for (size_t i = 0; i < LINES_REMEMBERED; i++)
		if (told->lines[i] == digest)
			return true;
	told->lines[told->next] = digest;
	told->next = (told->next + 1) % LINES_REMEMBERED;
	return false;
}

/* What was wanted, in words. */
static void describe(const json_t *row, char *out, size_t size)
{
	const char *activity = json_text(row, "activity");
	const char *method = json_text(row, "method");
	const char *host = json_text(row, "host");
	const char *path = json_text(row, "path");
	json_int_t port = json_integer_value(json_object_get(row, "port"));
	json_int_t count = json_integer_value(json_object_get(row, "count"));

	if (count > 0)
		(void)snprintf(out, size,
			       "%" JSON_INTEGER_FORMAT " more of kind %s",
			       count, activity);
	else if (!strcmp(activity, "push"))
		(void)snprintf(out, size, "push to %s of %s (%s)", path, host,
			       method);
	else if (!strcmp(activity, "dns"))
		(void)snprintf(out, size, "look-up of %s", host);
	else if (!strcmp(activity, "connection") && port)
		(void)snprintf(out, size,
			       "connection to %s:%" JSON_INTEGER_FORMAT, host,
			       port);
	else
		(void)snprintf(out, size, "%s %s%s",
			       method[0] ? method : activity, host, path);
}

void denials_line(const json_t *row, char *out, size_t size)
{
	char what[LINE_BYTES / 2];
	const char *detail = json_text(row, "detail");

	describe(row, what, sizeof(what));
	(void)snprintf(out, size, "sallyport: denied %s: %s (rule %s)%s%s",
		       what, json_text(row, "constraint"),
		       json_text(row, "rule"), detail[0] ? ": " : "", detail);
	cli_clean(out);
}

void denials_wanted_line(const json_t *row, char *out, size_t size)
{
	const char *id = json_text(row, "approval");

	(void)snprintf(out, size,
		       "sallyport: approval %s wanted for %s: "
		       "sallyport approval approve %s",
		       id, json_text(row, "detail"), id);
	cli_clean(out);
}

static void tell(struct told *told, const json_t *row)
{
	const char *activity = json_text(row, "activity");
	char line[LINE_BYTES];

	if (!json_is_false(json_object_get(row, "allowed")) ||
	    !strcmp(activity, "sandbox"))
		return;
	if (!strcmp(activity, "approval")) {
		/* Who is refused says so itself. */
		if (strcmp(json_text(row, "constraint"), "approval_pending"))
			return;
		denials_wanted_line(row, line, sizeof(line));
	} else {
		if (is_of_told(told, row))
			return;
		denials_line(row, line, sizeof(line));
	}
	if (!was_told(told, line))
		/* A terminal in raw mode wants the carriage return. */
		(void)fprintf(stderr, "%s%s", line,
			      isatty(STDERR_FILENO) ? "\r\n" : "\n");
}

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

static void do_nothing(int number)
{
	(void)number;
}

/* What the sandbox's supervisor has open ends with it alone. */
static void close_others(int one, int other)
{
	unsigned low = (unsigned)(one < other ? one : other);
	unsigned high = (unsigned)(one < other ? other : one);

	if (low > STDERR_FILENO + 1)
		(void)close_range(STDERR_FILENO + 1, low - 1, 0);
	if (high > low + 1)
		(void)close_range(low + 1, high - 1, 0);
	(void)close_range(high + 1, ~0U, 0);
}

/* Rows as they are stored, until the command has ended and the stream is
 * shut down; then, asked for once, those that were not stored by then. If
 * the command's supervisor was killed, its cgroups are ours to remove. */
static void tell_all(struct client *client, const char *session, FILE *events,
		     pid_t parent)
{
	static const int not_for_us[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM};
	/* Not restarted: it ends the wait for rows. */
	const struct sigaction orphaned = {.sa_handler = do_nothing};
	struct listener listener = {.events = events};
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(not_for_us); i++)
		(void)signal(not_for_us[i], SIG_IGN);
	(void)sigaction(SIGUSR1, &orphaned, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGUSR1) < 0 || getppid() != parent)
		_exit(1);
	close_others(client->fd, events ? fileno(events) : client->fd);
	listen_to(client, "events", session, &listener);
	if (getppid() != parent)
		sandbox_sweep(parent);
	else if (client_open(client, &err) == 0)
		listen_to(client, "audit", session, &listener);
	_exit(0);
}

int denials_start(struct denials *denials, const char *session, FILE *events,
		  struct err *err)
{
	pid_t parent = getpid();

	if (client_open(&denials->stream, err) < 0)
		return -1;
	denials->teller = fork();
	if (denials->teller == 0)
		tell_all(&denials->stream, session, events, parent);
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
