#include "sandbox-host/session/recorder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/session/client.h"
#include "sandbox-host/session/reap.h"

#define EVENT_TEXT_MAX 2048
#define RULE_BYTES     32
#define PATH_BYTES     160

/* What goes through the queue: one packet each. */
struct queued {
	uint32_t constraint;
	char rule[RULE_BYTES];
	char text[EVENT_TEXT_MAX]; /* not terminated */
};

char *recorder_body(enum constraint constraint, const char *rule,
		    const char *text)
{
	const char *name = constraint == CONSTRAINT_none
				   ? ""
				   : constraint_name(constraint);
	json_t *body = json_pack("{s:s, s:s, s:s}", "detail", text,
				 "constraint", name, "rule", rule);
	char *ascii = body ? NULL : strdup(text);
	char *out;

	for (char *at = ascii; at && *at; at++)
		if ((uint8_t)*at > 0x7e)
			*at = '?';
	if (ascii)
		body = json_pack("{s:s, s:s, s:s}", "detail", ascii,
				 "constraint", name, "rule", rule);
	out = body ? json_dumps(body, JSON_COMPACT) : NULL;
	json_decref(body);
	free(ascii);
	return out;
}

/* ---- the poster's process ---- */

static int post(struct client *client, const char *path,
		const struct queued *queued, const char *text)
{
	auto_free char *body = recorder_body(
		(enum constraint)queued->constraint, queued->rule, text);
	const struct client_request request = {
		.method = "POST",
		.path = path,
		.type = "application/json",
		.body = bytes_str(body),
	};
	auto_type(reply_release) struct reply reply = {0};
	struct err err;

	if (!body || (client->fd < 0 && client_open(client, &err) < 0))
		return -1;
	return client_call(client, &request, &reply, &err);
}

/* Until the queue is closed, or the gateway is gone. */
_Noreturn static void post_all(int queue, const char *session)
{
	struct client client = {.fd = -1};
	struct queued queued;
	char text[EVENT_TEXT_MAX + 1];
	char path[PATH_BYTES];
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/v1/sessions/%s/records", session);
	while ((len = recv(queue, &queued, sizeof(queued), 0)) > 0) {
		size_t used = (size_t)len - offsetof(struct queued, text);

		memcpy(text, queued.text, used);
		text[used] = '\0';
		if (post(&client, path, &queued, text) < 0)
			break;
	}
	_exit(0);
}

/* Only the queue: nothing of the sandbox's may be held open by us. */
static void become_poster(int queue, const char *session, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    getppid() != parent || dup2(queue, STDERR_FILENO + 1) < 0 ||
	    close_range(STDERR_FILENO + 2, ~0u, 0) < 0)
		_exit(1);
	post_all(STDERR_FILENO + 1, session);
}

/* ---- the supervisor's side ---- */

static int start_poster(struct recorder *recorder)
{
	pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	recorder->poster = fork();
	if (recorder->poster == 0)
		become_poster(ends[1], recorder->session, parent);
	(void)close(ends[1]);
	if (recorder->poster > 0) {
		recorder->queue = ends[0];
		return 0;
	}
	(void)close(ends[0]);
	recorder->poster = 0;
	return -1;
}

static bool put(struct recorder *recorder, const struct sandbox_event *event)
{
	struct queued queued = {.constraint = event->constraint};
	size_t len = strnlen(event->text, sizeof(queued.text));

	(void)snprintf(queued.rule, sizeof(queued.rule), "%s", event->rule);
	memcpy(queued.text, event->text, len);
	return send(recorder->queue, &queued,
		    offsetof(struct queued, text) + len,
		    MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

static void put_dropped(struct recorder *recorder)
{
	char text[64];
	const struct sandbox_event event = {CONSTRAINT_none, text, "", false};

	if (!recorder->dropped)
		return;
	(void)snprintf(text, sizeof(text), "%u more events were not recorded",
		       recorder->dropped);
	if (put(recorder, &event))
		recorder->dropped = 0;
}

void recorder_open(struct recorder *recorder, const char *session)
{
	*recorder = (struct recorder){.session = session, .queue = -1};
}

void recorder_on_event(void *owner, const struct sandbox_event *event)
{
	sandbox_event_print(NULL, event);
	recorder_put(owner, event);
}

void recorder_put(struct recorder *recorder, const struct sandbox_event *event)
{
	if (recorder->queue < 0 && !recorder->failed)
		recorder->failed = start_poster(recorder) < 0;
	if (recorder->queue < 0)
		return;
	put_dropped(recorder);
	if (!put(recorder, event))
		recorder->dropped++;
}

void recorder_close(struct recorder *recorder)
{
	if (recorder->queue < 0)
		return;
	put_dropped(recorder);
	(void)close(recorder->queue);
	recorder->queue = -1;
	reap_within(recorder->poster, RECORDER_LAST_MS);
	recorder->poster = 0;
}
