#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/dense.h"
#include "common/io_backend.h"

#define SIGNAL_HANDLERS_MAX 16

struct io_signal {
	struct event event;
	struct io_loop *loop;
	io_timer_fn *fn;
	void *owner;
};

struct io_backend {
	struct event_base *base;
	struct event wake;   /* ends a wait */
	uint64_t wake_at_ms; /* when it is due at the latest; 0: it is off */
	struct io_signal signals[SIGNAL_HANDLERS_MAX];
	size_t signal_count;
};

struct io_poll {
	struct event readable;
	struct event *writable; /* NULL: was never waited for */
	io_poll_fn *fn;
	void *owner;
};

static struct dense poll_places = {.size = sizeof(struct io_poll)};

/* What libevent keeps for a descriptor's number, as long as it runs. */
#define ENTRY_SIZE 16
static struct dense entries = {.size = ENTRY_SIZE};

static void backend_on_wake(int fd, short what, void *owner)
{
	struct io_backend *backend = owner;

	(void)fd;
	(void)what;
	backend->wake_at_ms = 0;
}

static void *entry_new(size_t size)
{
	return size <= ENTRY_SIZE ? dense_take(&entries, size) : malloc(size);
}

static void *entry_resize(void *old, size_t size)
{
	void *entry;

	if (!dense_has(&entries, old))
		return realloc(old, size);
	entry = malloc(size);
	if (!entry)
		return NULL;
	memcpy(entry, old, size < ENTRY_SIZE ? size : ENTRY_SIZE);
	dense_give(&entries, old);
	return entry;
}

static void entry_free(void *entry)
{
	dense_give(&entries, entry);
}

/* No change list: it tells epoll only before the next wait, and by then a
 * descriptor that was handed to another process is closed here, yet still
 * registered, for ever. io.c saves the calls itself. */
static struct event_base *backend_base(void)
{
	struct event_config *config;
	struct event_base *base = NULL;

	event_set_mem_functions(entry_new, entry_resize, entry_free);
	config = event_config_new();
	if (config && event_config_set_flag(
			      config, EVENT_BASE_FLAG_NOLOCK |
					      EVENT_BASE_FLAG_IGNORE_ENV) == 0)
		base = event_base_new_with_config(config);
	if (config)
		event_config_free(config);
	return base;
}

struct io_backend *io_backend_new(struct err *err)
{
	struct io_backend *backend = calloc(1, sizeof(*backend));
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	if (backend)
		backend->base = backend_base();
	if (!backend || !backend->base) {
		err_set(err, ERR_LIBRARY, "make an event base");
		free(backend);
		return NULL;
	}
	(void)sigaction(SIGPIPE, &ignore, NULL);
	(void)event_assign(&backend->wake, backend->base, -1, 0,
			   backend_on_wake, backend);
	return backend;
}

void io_backend_free(struct io_backend *backend)
{
	(void)event_del(&backend->wake);
	for (size_t i = 0; i < backend->signal_count; i++)
		(void)event_del(&backend->signals[i].event);
	event_base_free(backend->base);
	free(backend);
}

/* Deadlines move to later all the time: a wake that comes too early costs a
 * turn now and then, setting it again would cost each turn. */
static int backend_set_wake(struct io_backend *backend, int wait_ms)
{
	struct timeval wait = {.tv_sec = wait_ms / 1000,
			       .tv_usec = wait_ms % 1000 * 1000L};
	uint64_t at;

	if (wait_ms == 0)
		return 0;
	if (wait_ms < 0) {
		backend->wake_at_ms = 0;
		return event_del(&backend->wake);
	}
	at = clock_monotonic_ms() + (unsigned)wait_ms;
	if (backend->wake_at_ms && backend->wake_at_ms <= at)
		return 0;
	backend->wake_at_ms = at;
	return event_add(&backend->wake, &wait);
}

int io_backend_poll(struct io_backend *backend, int wait_ms, struct err *err)
{
	/* Once: without it EVLOOP_NONBLOCK goes on as long as anything is
	 * ready, and a busy socket would stop all timers. */
	int flags = EVLOOP_NO_EXIT_ON_EMPTY | EVLOOP_ONCE |
		    (wait_ms == 0 ? EVLOOP_NONBLOCK : 0);

	if (backend_set_wake(backend, wait_ms) < 0 ||
	    event_base_loop(backend->base, flags) < 0)
		return err_set(err, ERR_LIBRARY, "wait for events");
	return 0;
}

uint64_t io_backend_now_ms(const struct io_backend *backend)
{
	(void)backend;
	return clock_monotonic_ms();
}

/* ---- readiness ---- */

static void poll_on_readable(int fd, short what, void *owner)
{
	struct io_poll *poll = owner;

	(void)fd;
	(void)what;
	poll->fn(IO_READABLE, poll->owner);
}

static void poll_on_writable(int fd, short what, void *owner)
{
	struct io_poll *poll = owner;

	(void)fd;
	(void)what;
	poll->fn(IO_WRITABLE, poll->owner);
}

struct io_poll *io_poll_new(struct io_backend *backend, int fd, io_poll_fn *fn,
			    void *owner)
{
	struct io_poll *poll = dense_take(&poll_places, sizeof(*poll));

	if (!poll)
		return NULL;
	poll->fn = fn;
	poll->owner = owner;
	poll->writable = NULL;
	(void)event_assign(&poll->readable, backend->base, fd,
			   EV_READ | EV_PERSIST, poll_on_readable, poll);
	return poll;
}

static int poll_set_one(struct event *event, bool is_wanted)
{
	if (is_wanted == !!event_pending(event, EV_READ | EV_WRITE, NULL))
		return 0;
	errno = EINVAL;
	return is_wanted ? event_add(event, NULL) : event_del(event);
}

/* Most descriptors never make a writer wait. */
static int poll_make_writable(struct io_poll *poll)
{
	poll->writable = event_new(
		event_get_base(&poll->readable), event_get_fd(&poll->readable),
		EV_WRITE | EV_PERSIST, poll_on_writable, poll);
	errno = ENOMEM;
	return poll->writable ? 0 : -1;
}

int io_poll_set(struct io_poll *poll, unsigned wanted)
{
	if (poll_set_one(&poll->readable, wanted & IO_READABLE) < 0)
		return -1;
	if (!poll->writable) {
		if (!(wanted & IO_WRITABLE))
			return 0;
		if (poll_make_writable(poll) < 0)
			return -1;
	}
	return poll_set_one(poll->writable, wanted & IO_WRITABLE);
}

void io_poll_free(struct io_poll *poll)
{
	if (!poll)
		return;
	(void)io_poll_set(poll, 0);
	if (poll->writable)
		event_free(poll->writable);
	dense_give(&poll_places, poll);
}

/* ---- signals ---- */

static void signal_on_caught(int number, short what, void *owner)
{
	struct io_signal *caught = owner;

	(void)number;
	(void)what;
	io_loop_enter(caught->loop);
	caught->fn(caught->owner);
	io_loop_leave(caught->loop);
}

int io_signal(struct io_loop *loop, int number, io_timer_fn *fn, void *owner)
{
	struct io_backend *backend = io_loop_backend(loop);
	struct io_signal *slot;

	if (backend->signal_count == SIGNAL_HANDLERS_MAX)
		return -1;
	slot = &backend->signals[backend->signal_count];
	slot->loop = loop;
	slot->fn = fn;
	slot->owner = owner;
	if (event_assign(&slot->event, backend->base, number,
			 EV_SIGNAL | EV_PERSIST, signal_on_caught, slot) < 0 ||
	    event_add(&slot->event, NULL) < 0)
		return -1;
	backend->signal_count++;
	return 0;
}
