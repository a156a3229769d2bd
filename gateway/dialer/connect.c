#include "gateway/dialer/connect.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"

struct attempt {
	int fd; /* -1: over, or not begun */
	struct io_watch *watch;
	struct connecting *connecting;
};

struct connecting {
	struct io_loop *loop;
	struct io_timer *timer;
	struct attempt *made; /* told of at the end of the turn */
	bool is_cancelled;    /* freed then */
	connect_fn *fn;
	void *owner;
	uint64_t deadline_ms;
	union address addresses[CONNECT_ADDRESSES_MAX];
	struct attempt attempts[CONNECT_ADDRESSES_MAX];
	size_t count;
	size_t begun;  /* attempts[0..begun) */
	size_t failed; /* of them */
	size_t last;   /* that failed */
	int error;
};

static void attempt_end(struct attempt *attempt)
{
	if (attempt->watch)
		io_watch_free(attempt->watch);
	attempt->watch = NULL;
	if (attempt->fd >= 0)
		(void)close(take_fd(&attempt->fd));
}

void connect_cancel(struct connecting *connecting)
{
	for (size_t i = 0; i < connecting->count; i++)
		attempt_end(&connecting->attempts[i]);
	io_timer_free(connecting->timer);
	connecting->timer = NULL;
	if (connecting->made)
		connecting->is_cancelled = true;
	else
		free(connecting);
}

static void finish(struct connecting *connecting, int fd, size_t index)
{
	union address address = connecting->addresses[index];
	struct connected connected = {
		.fd = fd,
		.address = &address,
		.is_late = fd < 0 && connecting->failed < connecting->begun,
		.error = connecting->error,
	};
	connect_fn *fn = connecting->fn;
	void *owner = connecting->owner;

	connect_cancel(connecting);
	fn(&connected, owner);
	if (connected.fd >= 0)
		(void)close(connected.fd);
}

static void fail(struct connecting *connecting, struct attempt *attempt,
		 int error)
{
	attempt_end(attempt);
	connecting->failed++;
	connecting->last = (size_t)(attempt - connecting->attempts);
	connecting->error = error;
}

static void go_on(struct connecting *connecting);

static void on_ready(int fd, bool readable, bool writable, void *owner)
{
	struct attempt *attempt = owner;
	struct connecting *connecting = attempt->connecting;
	int error = 0;
	socklen_t len = sizeof(error);

	(void)readable;
	(void)writable;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error == EINPROGRESS || connecting->made)
		return;
	if (error == 0) {
		finish(connecting, take_fd(&attempt->fd),
		       (size_t)(attempt - connecting->attempts));
		return;
	}
	fail(connecting, attempt, error);
	go_on(connecting);
}

static void on_made(void *owner)
{
	struct connecting *connecting = owner;
	struct attempt *attempt = connecting->made;

	connecting->made = NULL;
	if (connecting->is_cancelled)
		free(connecting);
	else
		finish(connecting, take_fd(&attempt->fd),
		       (size_t)(attempt - connecting->attempts));
}

static int open_socket(const union address *address)
{
	int on = 1;
	auto_fd int fd = socket(address->any.sa_family,
				SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
		return -1;
	if (connect(fd, &address->any, address_len(address)) < 0 &&
	    errno != EINPROGRESS)
		return -1;
	return take_fd(&fd);
}

/* Asked again, connect(2) says how far it is: a neighbour has answered by
 * now, and nobody need wait for it. 0: the connection is made; else errno. */
static int how_far(int fd, const union address *address)
{
	if (connect(fd, &address->any, address_len(address)) == 0 ||
	    errno == EISCONN)
		return 0;
	return errno;
}

/* At the end of the turn: nobody is called inside his own call. */
static bool tell_soon(struct connecting *connecting, struct attempt *attempt)
{
	if (io_loop_defer(connecting->loop, on_made, connecting) < 0)
		return false;
	connecting->made = attempt;
	return true;
}

/* Begin the next attempt; false when it failed at once. */
static bool begin_next(struct connecting *connecting)
{
	size_t index = connecting->begun++;
	struct attempt *attempt = &connecting->attempts[index];
	int error;

	attempt->fd = open_socket(&connecting->addresses[index]);
	if (attempt->fd < 0) {
		fail(connecting, attempt, errno);
		return false;
	}
	error = how_far(attempt->fd, &connecting->addresses[index]);
	if (error == 0 && tell_soon(connecting, attempt))
		return true;
	if (error && error != EALREADY && error != EINPROGRESS) {
		fail(connecting, attempt, error);
		return false;
	}
	attempt->watch =
		io_watch_new(connecting->loop, attempt->fd, on_ready, attempt);
	if (!attempt->watch) {
		fail(connecting, attempt, ENOMEM);
		return false;
	}
	io_watch_set(attempt->watch, false, true);
	return true;
}

static unsigned wait_ms(const struct connecting *connecting)
{
	uint64_t now = io_loop_now_ms(connecting->loop);
	uint64_t left = connecting->deadline_ms > now
				? connecting->deadline_ms - now
				: 1;

	if (connecting->failed == connecting->count)
		return 1;
	if (connecting->begun < connecting->count && left > CONNECT_STAGGER_MS)
		left = CONNECT_STAGGER_MS;
	return (unsigned)left;
}

/* Begin attempts until one is under way; when all have failed the timer
 * tells of it, so that nobody is called inside his own call. */
static void go_on(struct connecting *connecting)
{
	while (connecting->begun < connecting->count && !begin_next(connecting))
		;
	if (!connecting->made)
		io_timer_set(connecting->timer, wait_ms(connecting));
}

static void on_timer(void *owner)
{
	struct connecting *connecting = owner;

	if (connecting->made)
		return;
	if (connecting->failed == connecting->count) {
		finish(connecting, -1, connecting->last);
		return;
	}
	if (io_loop_now_ms(connecting->loop) >= connecting->deadline_ms) {
		finish(connecting, -1, connecting->begun - 1);
		return;
	}
	go_on(connecting);
}

struct connecting *connect_begin(struct io_loop *loop,
				 const union address *addresses, size_t count,
				 connect_fn *fn, void *owner)
{
	struct connecting *connecting = calloc(1, sizeof(*connecting));

	assert(count > 0 && count <= CONNECT_ADDRESSES_MAX);
	if (!connecting)
		return NULL;
	*connecting = (struct connecting){
		.loop = loop,
		.timer = io_timer_new(loop, on_timer, connecting),
		.fn = fn,
		.owner = owner,
		.deadline_ms = io_loop_now_ms(loop) + CONNECT_TOTAL_MS,
		.count = count,
	};
	if (!connecting->timer) {
		free(connecting);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		connecting->addresses[i] = addresses[i];
		connecting->attempts[i] =
			(struct attempt){.fd = -1, .connecting = connecting};
	}
	go_on(connecting);
	return connecting;
}
