/*
 * A person is asked about a command that `commands` leaves to one: by control
 * of the gateway, where the session's other approvals are too. A process of
 * its own asks, which has nothing of ours but a queue, and asks again until
 * there is an answer: so nothing that serves the sandbox ever waits for the
 * gateway. The time of the policy's `hold` is ours.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/utf8.h"
#include "sandbox-host/session/client.h"
#include "sandbox-host/supervisor/ask.h"

#define PATH_BYTES    160
#define SHOWN_BYTES   300 /* of a command, or of why it is asked about */
#define WHY_BYTES     128 /* of what the gateway said, terminated */
#define CONNECT_MS    1000
#define FIRST_MS      60000 /* for the proposal to be there */
#define PAUSE_MS      100   /* until it is asked again; then twice as long */
#define PAUSE_MAX_MS  1000
#define STATUS_FAILED 400 /* this will not change */
#define STATUS_LATER  429 /* this may */

static_assert(PROPOSAL_ID_MAX <= EXEC_ASKED_ID_MAX, "it is told whole");

enum {
	STATE_FAILED = PROPOSAL_STATE_MAX,
	STATE_LATER /* not yet: it is asked again */
};

/* What goes through the queue: one packet each. */
struct word {
	uint8_t state; /* enum proposal_state, or one of the next */
	char id[PROPOSAL_ID_MAX + 1];
	char text[WHY_BYTES]; /* of a failure */
};

struct ask {
	struct supervisor *supervisor;
	struct ask_question question;
	char id[PROPOSAL_ID_MAX + 1]; /* "": not known yet */
	char why[WHY_BYTES];	      /* not yet */
	pid_t pid;
	int queue;
	struct io_watch *watch;
	struct io_timer *timer;
	const struct ask_hooks *hooks;
	void *owner;
};

/* ---- the process that asks ---- */

static void read_reply(const struct reply *reply, struct word *word)
{
	const char *detail = json_text(reply->json, "detail");

	if (reply->status < STATUS_FAILED)
		word->state = (uint8_t)proposal_state_from_name(
			bytes_str(json_text(reply->json, "state")));
	else if (reply->status < 500 && reply->status != STATUS_LATER)
		word->state = STATE_FAILED;
	(void)snprintf(word->text, sizeof(word->text), "%.*s", WHY_BYTES - 1,
		       detail);
	(void)snprintf(word->id, sizeof(word->id), "%s",
		       json_text(reply->json, "id"));
}

static void ask_once(const struct client_request *request, int queue,
		     struct word *word)
{
	auto_type(reply_release) struct reply reply = {0};
	struct client client;
	struct err err;

	*word = (struct word){.state = STATE_LATER};
	if (client_open_within(&client, CONNECT_MS, &err) == 0) {
		client.until = queue;
		if (client_call(&client, request, &reply, &err) == 0)
			read_reply(&reply, word);
		client_close(&client);
	}
	if (reply.status == 0)
		(void)snprintf(word->text, sizeof(word->text), "%.*s",
			       WHY_BYTES - 1, err.text);
}

/* A pending proposal is told once, what ends it ends us. */
_Noreturn static void ask_until_told(int queue,
				     const struct client_request *request)
{
	struct pollfd fd = {.fd = queue, .events = POLLIN};
	char known[PROPOSAL_ID_MAX + 1] = "";
	int pause_ms = PAUSE_MS;
	struct word word;

	do {
		pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2
						       : PAUSE_MAX_MS;
		ask_once(request, queue, &word);
		if ((word.state != PROPOSAL_PENDING ||
		     strcmp(word.id, known) != 0) &&
		    send(queue, &word, sizeof(word), MSG_NOSIGNAL) < 0)
			_exit(1);
		if (word.state == PROPOSAL_PENDING)
			memcpy(known, word.id, sizeof(known));
		else if (word.state != STATE_LATER)
			_exit(0);
		/* What comes on the queue is its end. */
	} while (poll(&fd, 1, pause_ms) == 0);
	_exit(0);
}

_Noreturn static void become_asker(const struct ask *ask, int queue,
				   pid_t parent)
{
	const struct ask_question *question = &ask->question;
	json_t *root = json_pack("{s:s, s:s}", "command", question->command,
				 "rule", question->rule);
	const char *body = root ? json_dumps(root, JSON_COMPACT) : NULL;
	char path[PATH_BYTES];
	const struct client_request request = {
		.method = "POST",
		.path = path,
		.type = "application/json",
		.body = bytes_str(body),
	};

	(void)snprintf(path, sizeof(path), "/v1/sessions/%s/commands",
		       json_text(ask->supervisor->session.json, "id"));
	if (!body || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
	    getppid() != parent || dup2(queue, STDERR_FILENO + 1) < 0 ||
	    close_range(STDERR_FILENO + 2, ~0u, 0) < 0)
		_exit(1);
	ask_until_told(STDERR_FILENO + 1, &request);
}

/* ---- ours ---- */

void ask_drop(struct ask *ask)
{
	if (!ask)
		return;
	ask->supervisor->ask_count--;
	io_watch_free(ask->watch);
	io_timer_free(ask->timer);
	if (ask->pid > 0) {
		(void)kill(ask->pid, SIGKILL);
		while (waitpid(ask->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	(void)close(ask->queue);
	free(ask);
}

/* The last of it. why: what is told where it may not run; NULL: it may. */
static void end(struct ask *ask, const char *why)
{
	const struct ask_hooks *hooks = ask->hooks;
	void *owner = ask->owner;

	ask_drop(ask);
	hooks->on_end(why, owner);
}

/* As much as leaves room for what to do. */
static struct bytes shown(const char *text)
{
	struct bytes start = bytes_slice(bytes_str(text), 0, SHOWN_BYTES);

	return bytes_slice(start, 0, utf8_valid_len(start));
}

static void end_unanswered(struct ask *ask)
{
	const struct bytes words = shown(ask->question.words);
	char text[ERR_TEXT_MAX];

	if (ask->id[0])
		(void)snprintf(text, sizeof(text),
			       "%s: %.*s; run it again once it is approved: "
			       "sallyport approval approve %s",
			       constraint_name(CONSTRAINT_approval_pending),
			       BYTES_ARGS(words), ask->id);
	else
		(void)snprintf(text, sizeof(text), "%s: %.*s; %s",
			       constraint_name(CONSTRAINT_approval_pending),
			       BYTES_ARGS(words),
			       ask->why[0] ? ask->why
					   : "the gateway does not answer");
	end(ask, text);
}

/* In the words that the gateway's record has. */
static void tell_asked(const struct ask *ask)
{
	const struct bytes command = shown(ask->question.command);
	char words[sizeof(PROPOSAL_COMMAND) + SHOWN_BYTES + 1];
	struct exec_asked asked = {.id = bytes_str(ask->id)};

	(void)snprintf(words, sizeof(words), "%s %.*s", PROPOSAL_COMMAND,
		       BYTES_ARGS(command));
	asked.words = bytes_str(words);
	ask->hooks->on_asked(&asked, ask->owner);
}

static void on_time_over(void *owner)
{
	end_unanswered(owner);
}

static void take_word(struct ask *ask, struct word *word)
{
	const struct bytes command = shown(ask->question.command);
	char text[ERR_TEXT_MAX];

	word->id[sizeof(word->id) - 1] = '\0';
	word->text[sizeof(word->text) - 1] = '\0';
	if (word->state == PROPOSAL_APPROVED) {
		end(ask, NULL);
	} else if (word->state == PROPOSAL_DENIED) {
		(void)snprintf(text, sizeof(text), "%s: `%.*s`",
			       constraint_name(CONSTRAINT_approval_denied),
			       BYTES_ARGS(command));
		end(ask, text);
	} else if (word->state == PROPOSAL_PENDING) {
		memcpy(ask->id, word->id, sizeof(ask->id));
		io_timer_set(ask->timer,
			     ask->supervisor->policy->commands.hold_ms);
		/* The gateway tells it among the events, and we who waits. */
		tell_asked(ask);
	} else {
		memcpy(ask->why, word->text, sizeof(ask->why));
		if (word->state != STATE_LATER)
			end_unanswered(ask);
	}
}

static void on_queue(int fd, bool readable, bool writable, void *owner)
{
	struct ask *ask = owner;
	struct word word;
	ssize_t len = recv(fd, &word, sizeof(word), MSG_DONTWAIT);

	(void)readable;
	(void)writable;
	if (len == sizeof(word))
		take_word(ask, &word);
	else if (len >= 0 || errno != EAGAIN)
		end_unanswered(ask);
}

static int start_asker(struct ask *ask, struct err *err)
{
	pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_system(err, "ask a person: make a queue");
	ask->queue = ends[0];
	ask->pid = fork();
	if (ask->pid == 0)
		become_asker(ask, ends[1], parent);
	(void)close(ends[1]);
	return ask->pid < 0 ? err_system(err, "ask a person: fork") : 0;
}

struct ask *ask_begin(struct supervisor *supervisor,
		      const struct ask_question *question,
		      const struct ask_hooks *hooks, void *owner,
		      struct err *err)
{
	struct ask *ask = NULL;

	if (supervisor->ask_count < ASKS_MAX)
		ask = calloc(1, sizeof(*ask));
	if (!ask) {
		(void)err_set(err, ERR_TOO_LARGE,
			      "%d commands wait for a person already",
			      ASKS_MAX);
		return NULL;
	}
	*ask = (struct ask){.supervisor = supervisor,
			    .question = *question,
			    .queue = -1,
			    .hooks = hooks,
			    .owner = owner};
	supervisor->ask_count++;
	ask->timer = io_timer_new(supervisor->loop, on_time_over, ask);
	if (start_asker(ask, err) == 0)
		ask->watch = io_watch_new(supervisor->loop, ask->queue,
					  on_queue, ask);
	if (!ask->watch || !ask->timer) {
		if (ask->pid > 0)
			(void)err_set(err, ERR_TOO_LARGE, "no memory");
		ask_drop(ask);
		return NULL;
	}
	io_watch_set(ask->watch, true, false);
	io_timer_set(ask->timer, FIRST_MS);
	return ask;
}
