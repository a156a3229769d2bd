/*
 * What the gateway denies this session, among the sandbox's events: read
 * from control by a process of its own, which has nothing of ours but a
 * queue. When control is away it tries again, and goes on where it stood.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "sandbox-host/outside.h"
#include "sandbox-host/session/client.h"
#include "sandbox-host/session/denials.h"
#include "sandbox-host/session/reap.h"
#include "sandbox-host/supervisor/parts.h"

#define PATH_BYTES     160
#define CONNECT_MS     1000
#define RETRY_MS       100
#define RETRY_MAX_MS   5000
#define REAP_MS	       1000
#define EVENTS_AT_ONCE 32

/* What goes through the queue: one packet each. */
struct denial {
	uint32_t constraint;
	char rule[HOST_REASON_MAX + 1];
	char text[HOST_EVENT_MAX + 1];
};

/* ---- the process that reads ---- */

struct reader_of {
	int queue;
	const char *session;
	const struct policy_strings *quiet;
	struct told told;
	json_int_t sequence; /* of the last row */
};

static bool on_line(struct bytes line, void *owner)
{
	struct reader_of *reader = owner;
	struct denial denial = {0};
	json_t *row = json_loadb((const char *)line.data, line.len, 0, NULL);
	const char *name = json_text(row, "constraint");
	bool is_kept = true;

	if (row)
		reader->sequence =
			json_integer_value(json_object_get(row, "sequence"));
	if (row && !denials_are_known(reader->quiet, row) &&
	    denials_tell(&reader->told, row, denial.text,
			 sizeof(denial.text))) {
		denial.constraint = constraint_from_name(bytes_str(name));
		(void)snprintf(denial.rule, sizeof(denial.rule), "%s",
			       json_text(row, "rule"));
		is_kept = send(reader->queue, &denial, sizeof(denial),
			       MSG_NOSIGNAL) >= 0;
	}
	json_decref(row);
	return is_kept;
}

/* Until there is news on the queue (it was closed), or so long. */
static bool is_over(int queue, int ms)
{
	struct pollfd fd = {.fd = queue, .events = POLLIN};

	return poll(&fd, 1, ms) != 0;
}

_Noreturn static void read_all(struct reader_of *reader)
{
	char path[PATH_BYTES];
	int pause_ms = RETRY_MS;

	do {
		struct client client;
		json_int_t before = reader->sequence;
		struct err err;

		(void)snprintf(path, sizeof(path),
			       "/v1/"
			       "events?session=%s&denied=1&after="
			       "%" JSON_INTEGER_FORMAT,
			       reader->session, before);
		if (client_open_within(&client, CONNECT_MS, &err) == 0) {
			client.until = reader->queue;
			(void)client_follow(&client, path, on_line, reader,
					    &err);
			client_close(&client);
		}
		pause_ms = reader->sequence != before ? RETRY_MS : pause_ms * 2;
		if (pause_ms > RETRY_MAX_MS)
			pause_ms = RETRY_MAX_MS;
	} while (!is_over(reader->queue, pause_ms));
	_exit(0);
}

static void become_reader(struct supervisor *supervisor, int queue,
			  pid_t parent)
{
	struct reader_of reader = {
		.queue = STDERR_FILENO + 1,
		.session = json_text(supervisor->session.json, "id"),
		.quiet = &supervisor->policy->quiet,
	};

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    getppid() != parent || dup2(queue, STDERR_FILENO + 1) < 0 ||
	    close_range(STDERR_FILENO + 2, ~0u, 0) < 0)
		_exit(1);
	read_all(&reader);
}

/* ---- ours ---- */

static void on_denial(int fd, bool readable, bool writable, void *owner)
{
	struct supervisor *supervisor = owner;
	struct denial denial;

	(void)readable;
	(void)writable;
	for (int i = 0; i < EVENTS_AT_ONCE; i++) {
		ssize_t len = recv(fd, &denial, sizeof(denial), MSG_DONTWAIT);

		if (len == 0) {
			network_end(supervisor);
			return;
		}
		if (len != sizeof(denial) ||
		    denial.constraint >= CONSTRAINT_MAX)
			return;
		denial.rule[sizeof(denial.rule) - 1] = '\0';
		denial.text[sizeof(denial.text) - 1] = '\0';
		events_add_denial(
			supervisor,
			constraint_name((enum constraint)denial.constraint),
			denial.rule, denial.text);
	}
}

int network_begin(struct supervisor *supervisor, bool is_confined,
		  struct err *err)
{
	pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_system(err, "network events: make a queue");
	supervisor->reader = fork();
	if (supervisor->reader == 0) {
		/* It opens no file. */
		if (!is_confined && outside_confine(NULL, 0, err) < 0)
			_exit(1);
		become_reader(supervisor, ends[1], parent);
	}
	(void)close(ends[1]);
	if (supervisor->reader < 0) {
		(void)close(ends[0]);
		supervisor->reader = 0;
		return err_system(err, "network events: fork");
	}
	supervisor->denials = ends[0];
	supervisor->denials_watch =
		io_watch_new(supervisor->loop, ends[0], on_denial, supervisor);
	if (!supervisor->denials_watch)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	io_watch_set(supervisor->denials_watch, true, false);
	return 0;
}

void network_end(struct supervisor *supervisor)
{
	if (supervisor->denials_watch)
		io_watch_free(supervisor->denials_watch);
	supervisor->denials_watch = NULL;
	if (supervisor->reader > 0) {
		(void)close(supervisor->denials);
		reap_within(supervisor->reader, REAP_MS);
	}
	supervisor->reader = 0;
}
