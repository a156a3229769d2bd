#include "cli/control.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/session/dirs.h"

#define TRY_MS 5

/* Does a gateway hold the run directory? It does from before it listens until
 * it has stopped. One of another user can not be seen. */
static bool is_held(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char run[PATH_MAX - sizeof("/lock")], path[PATH_MAX];
	auto_fd int fd = -1;

	if (session_run_dir(run, sizeof(run)) < 0)
		return false;
	(void)snprintf(path, sizeof(path), "%s/lock", run);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 &&
	       lock.l_type != F_UNLCK;
}

int control_open(struct client *client, struct err *err)
{
	const struct timespec pause = {.tv_nsec = TRY_MS * 1000000L};
	uint64_t begin_ms = clock_monotonic_ms(), waited_ms = 0;
	bool holds = false;

	while (client_open(client, err) < 0) {
		if (err->code != ERR_CLOSED)
			return -1;
		holds = is_held();
		waited_ms = clock_monotonic_ms() - begin_ms;
		if (waited_ms >=
		    (holds ? CONTROL_START_MAX_MS : CONTROL_BEGIN_MS))
			break;
		(void)nanosleep(&pause, NULL);
	}
	if (client->fd >= 0)
		return 0;
	if (holds)
		(void)err_prefix(err,
				 "a gateway starts or stops, and did not "
				 "listen within %d s",
				 CONTROL_START_MAX_MS / 1000);
	return -1;
}

int control_once(const struct client_request *request, struct reply *reply,
		 struct err *err)
{
	struct client client;
	int result;

	*reply = (struct reply){0};
	if (control_open(&client, err) < 0)
		return -1;
	result = client_call(&client, request, reply, err);
	client_close(&client);
	return result < 0 ? -1 : reply_check(reply, err);
}
