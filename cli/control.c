#include "cli/control.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/session/dirs.h"

#define TRY_MS	   5
#define PATH_BYTES 256

bool control_wait(struct control_patience *patience, const char *lock,
		  struct err *err)
{
	const struct timespec pause = {.tv_nsec = TRY_MS * 1000000L};
	uint64_t now_ms = clock_monotonic_ms();
	bool holds;

	if (err->code != ERR_CLOSED)
		return false;
	if (patience->begin_ms == 0)
		*patience = (struct control_patience){now_ms, now_ms};
	holds = session_is_held(lock);
	if (holds)
		patience->held_ms = now_ms;
	if (now_ms - patience->begin_ms < CONTROL_START_MAX_MS &&
	    now_ms - patience->held_ms < CONTROL_BEGIN_MS) {
		(void)nanosleep(&pause, NULL);
		return true;
	}
	if (holds)
		(void)err_prefix(err,
				 "one starts or stops, and did not listen "
				 "within %d s",
				 CONTROL_START_MAX_MS / 1000);
	return false;
}

int control_open(struct client *client, struct err *err)
{
	char run[PATH_MAX - NAME_MAX], lock[PATH_MAX] = "";
	struct control_patience patience = {0};

	if (session_run_dir(run, sizeof(run)) == 0)
		(void)snprintf(lock, sizeof(lock), "%s/lock", run);
	while (client_open(client, err) < 0) {
		if (session_just_taken())
			patience.held_ms = clock_monotonic_ms();
		if (!control_wait(&patience, lock, err))
			return -1;
	}
	return 0;
}

int control_once(const struct client_request *request, struct reply *reply,
		 struct err *err)
{
	struct client client;

	*reply = (struct reply){0};
	return control_open(&client, err) < 0
		       ? -1
		       : client_end(&client, request, reply, err);
}

static int check_session(struct client *client, const char *id, struct err *err)
{
	char path[PATH_BYTES];
	const struct client_request request = {.method = "GET", .path = path};
	auto_type(reply_release) struct reply reply = {0};

	(void)snprintf(path, sizeof(path), "/v1/sessions/%s", id);
	if (client_call(client, &request, &reply, err) < 0)
		return -1;
	return reply_check(&reply, err);
}

int control_follow(struct client *client, const char *session, const char *path,
		   client_line_fn *fn, void *owner, struct err *err)
{
	if (session && check_session(client, session, err) < 0)
		return -1;
	return client_follow(client, path, fn, owner, err);
}
