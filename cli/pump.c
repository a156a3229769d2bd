#include "cli/pump.h"

#include <errno.h>
#include <unistd.h>

static bool has_bytes(const struct pump *pump)
{
	return pump->start < pump->end;
}

void pump_poll(const struct pump *pump, struct pollfd fds[2])
{
	bool full = has_bytes(pump);

	fds[0] =
		(struct pollfd){.fd = full ? -1 : pump->from, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = full ? pump->to : -1, .events = POLLOUT};
}

static void close_one(int *fd, bool owned)
{
	if (*fd >= 0 && owned)
		(void)close(*fd);
	*fd = -1;
}

static void close_both(struct pump *pump)
{
	close_one(&pump->from, pump->owns_from);
	close_one(&pump->to, pump->owns_to);
	pump->start = pump->end;
}

static void fill(struct pump *pump)
{
	ssize_t len = read(pump->from, pump->bytes, sizeof(pump->bytes));

	if (len > 0) {
		pump->start = 0;
		pump->end = (size_t)len;
	} else if (len == 0 || (errno != EINTR && errno != EAGAIN)) {
		close_both(pump);
	}
}

static void drain(struct pump *pump)
{
	ssize_t len = write(pump->to, pump->bytes + pump->start,
			    pump->end - pump->start);

	if (len > 0)
		pump->start += (size_t)len;
	else if (errno != EINTR && errno != EAGAIN)
		close_both(pump);
}

void pump_serve(struct pump *pump, const struct pollfd fds[2])
{
	if (fds[0].revents && pump->from >= 0)
		fill(pump);
	else if (fds[1].revents && pump->to >= 0)
		drain(pump);
}

void pump_finish(struct pump *pump)
{
	struct pollfd fds[2];

	while (pump->from >= 0) {
		pump_poll(pump, fds);
		if (poll(fds, 2, has_bytes(pump) ? -1 : 0) <= 0)
			break;
		pump_serve(pump, fds);
	}
	close_both(pump);
}
