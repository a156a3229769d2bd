#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/io_core.h"
#include "common/io_fake_core.h"

#define FAKE_CLOCK_START_MS 1000000
#define FAKE_TURNS_MAX	    100000 /* a scenario that goes on is a bug */

struct io_poll {
	TAILQ_ENTRY(io_poll) link;
	struct io_backend *backend;
	io_poll_fn *fn;
	void *owner;
	int fd;
	unsigned wanted;
	uint64_t born; /* in which round */
};

struct io_backend {
	TAILQ_HEAD(, io_poll) polls;
	struct io_poll *next; /* of the round that runs */
	uint64_t round;
};

/* The clock is one for all loops, as the kernel's is. */
static uint64_t clock_ms = FAKE_CLOCK_START_MS;

static struct {
	struct fake_file *of_fd[FAKE_FD_COUNT_MAX];
	size_t fd_count;
	struct fake_file *files[FAKE_FD_COUNT_MAX];
	size_t file_count;
} table;

/* ---- descriptors ---- */

bool fake_is_fake(int fd)
{
	return fd >= FAKE_FD_FIRST;
}

struct fake_file *fake_file(int fd)
{
	size_t at = (size_t)(fd - FAKE_FD_FIRST);

	if (!fake_is_fake(fd) || at >= table.fd_count)
		return NULL;
	return table.of_fd[at];
}

static int fd_new(struct fake_file *file)
{
	assert(table.fd_count < FAKE_FD_COUNT_MAX);
	file->refs++;
	table.of_fd[table.fd_count] = file;
	return FAKE_FD_FIRST + (int)table.fd_count++;
}

int fake_file_new(enum fake_kind kind)
{
	struct fake_file *file = calloc(1, sizeof(*file));

	assert(file && table.file_count < FAKE_FD_COUNT_MAX);
	table.files[table.file_count++] = file;
	file->kind = kind;
	file->window = FAKE_QUEUE_MAX;
	buf_init(&file->in, FAKE_QUEUE_MAX);
	TAILQ_INIT(&file->messages);
	TAILQ_INIT(&file->callers);
	return fd_new(file);
}

void fake_join(int a, int b)
{
	struct fake_file *first = fake_file(a);
	struct fake_file *second = fake_file(b);

	assert(first && second);
	first->peer = second;
	second->peer = first;
}

static int fake_close(int fd)
{
	struct fake_file *file = fake_file(fd);

	if (!file) {
		errno = EBADF;
		return -1;
	}
	table.of_fd[fd - FAKE_FD_FIRST] = NULL;
	if (--file->refs == 0 && file->peer)
		file->peer->is_ended = true;
	return 0;
}

/* Code closes and duplicates descriptors that it holds outside an io with
 * the system's own names; in a program with the fake these are they. */
int close(int fd)
{
	if (fake_is_fake(fd))
		return fake_close(fd);
	return (int)syscall(SYS_close, fd);
}

int dup(int fd)
{
	struct fake_file *file = fake_file(fd);

	if (file)
		return fd_new(file);
	return (int)syscall(SYS_dup, fd);
}

int fcntl(int fd, int command, ...)
{
	struct fake_file *file = fake_file(fd);
	va_list args;
	long value;

	va_start(args, command);
	value = va_arg(args, long);
	va_end(args);
	if (!file)
		return (int)syscall(SYS_fcntl, fd, command, value);
	return command == F_DUPFD_CLOEXEC ? fd_new(file) : 0;
}

void io_sys_close(int fd)
{
	(void)close(fd);
}

int io_sys_prepare(int fd)
{
	if (fake_file(fd))
		return 0;
	errno = EBADF;
	return -1;
}

static void file_free(struct fake_file *file)
{
	struct fake_message *message;
	struct fake_caller *caller;

	while ((message = TAILQ_FIRST(&file->messages)) != NULL) {
		TAILQ_REMOVE(&file->messages, message, link);
		if (message->fd >= 0)
			(void)close(message->fd);
		free(message);
	}
	while ((caller = TAILQ_FIRST(&file->callers)) != NULL) {
		TAILQ_REMOVE(&file->callers, caller, link);
		(void)close(caller->accepted.fd);
		free(caller);
	}
	buf_release(&file->in);
}

void fake_reset_all(void)
{
	for (size_t i = 0; i < table.file_count; i++)
		file_free(table.files[i]);
	for (size_t i = 0; i < table.file_count; i++) {
		/* Else: the code under test did not close it. */
		assert(table.files[i]->refs == 0 || table.files[i]->is_of_test);
		free(table.files[i]);
	}
	table.fd_count = table.file_count = 0;
	clock_ms = FAKE_CLOCK_START_MS;
}

/* ---- readiness ---- */

static bool is_readable(const struct fake_file *file)
{
	return buf_len(&file->in) > 0 || file->is_ended || file->is_reset ||
	       file->message_count > 0 || !TAILQ_EMPTY(&file->callers);
}

static bool is_writable(const struct fake_file *file)
{
	const struct fake_file *peer = file->peer;

	if (!peer || file->is_reset || peer->refs == 0 || peer->is_ended)
		return true;
	return buf_len(&peer->in) < peer->window &&
	       peer->message_count < FAKE_MESSAGES_MAX;
}

static unsigned readiness(int fd)
{
	const struct fake_file *file = fake_file(fd);

	/* Who closes a descriptor that is watched has a bug. */
	assert(file);
	return (is_readable(file) ? IO_READABLE : 0) |
	       (is_writable(file) ? IO_WRITABLE : 0);
}

int io_backend_poll(struct io_backend *backend, int wait_ms, struct err *err)
{
	struct io_poll *poll = TAILQ_FIRST(&backend->polls);

	(void)wait_ms; /* time is the test's */
	(void)err;
	backend->round++;
	for (; poll && poll->born < backend->round; poll = backend->next) {
		unsigned ready = 0;

		backend->next = TAILQ_NEXT(poll, link);
		if (poll->wanted)
			ready = readiness(poll->fd) & poll->wanted;
		if (ready)
			poll->fn(ready, poll->owner);
	}
	backend->next = NULL;
	return 0;
}

struct io_backend *io_backend_new(struct err *err)
{
	struct io_backend *backend = calloc(1, sizeof(*backend));

	if (!backend) {
		err_system(err, "make a fake backend");
		return NULL;
	}
	TAILQ_INIT(&backend->polls);
	return backend;
}

void io_backend_free(struct io_backend *backend)
{
	free(backend);
}

uint64_t io_backend_now_ms(const struct io_backend *backend)
{
	(void)backend;
	return clock_ms;
}

struct io_poll *io_poll_new(struct io_backend *backend, int fd, io_poll_fn *fn,
			    void *owner)
{
	struct io_poll *poll = calloc(1, sizeof(*poll));

	assert(fake_is_fake(fd));
	if (!poll)
		return NULL;
	poll->backend = backend;
	poll->fn = fn;
	poll->owner = owner;
	poll->fd = fd;
	poll->born = backend->round;
	TAILQ_INSERT_TAIL(&backend->polls, poll, link);
	return poll;
}

int io_poll_set(struct io_poll *poll, unsigned wanted)
{
	poll->wanted = wanted;
	return 0;
}

void io_poll_free(struct io_poll *poll)
{
	if (!poll)
		return;
	if (poll->backend->next == poll)
		poll->backend->next = TAILQ_NEXT(poll, link);
	TAILQ_REMOVE(&poll->backend->polls, poll, link);
	free(poll);
}

int io_signal(struct io_loop *loop, int number, io_timer_fn *fn, void *owner)
{
	(void)loop;
	(void)number;
	(void)fn;
	(void)owner;
	return -1;
}

/* ---- turns ---- */

void fake_run(struct io_loop *loop)
{
	unsigned turns = 0;
	uint64_t before;
	bool is_busy;

	do {
		before = loop->activity;
		(void)io_loop_turn(loop, 0, NULL);
		turns++;
		assert(turns < FAKE_TURNS_MAX);
		is_busy = !TAILQ_EMPTY(&loop->owed) || loop->deferred.count > 0;
	} while (loop->activity != before || is_busy);
}

void fake_advance(struct io_loop *loop, uint64_t ms)
{
	uint64_t until = clock_ms + ms;
	uint64_t next;

	fake_run(loop);
	while ((next = io_timers_next(&loop->timers)) <= until) {
		if (next > clock_ms)
			clock_ms = next;
		fake_run(loop);
	}
	clock_ms = until;
	fake_run(loop);
}
