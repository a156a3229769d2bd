#include "sandbox-host/supervisor/output.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "sandbox-host/supervisor/pace.h"

#define BLOCK_BYTES 16384
/* Holes are made of whole blocks, not for every line. */
#define HOLE_STEP (64 * 1024)

static void append(struct supervisor *supervisor, const uint8_t *data,
		   size_t len)
{
	uint64_t before = supervisor->log_size;
	ssize_t put = write(supervisor->log, data, len);

	if (put <= 0)
		return;
	supervisor->log_size += (size_t)put;
	if (supervisor->log_size > LOG_KEPT &&
	    before / HOLE_STEP != supervisor->log_size / HOLE_STEP)
		(void)fallocate(supervisor->log,
				FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				(off_t)(supervisor->log_size - LOG_KEPT));
}

/* So many bytes; 0 at the end; -1 and errno. */
static ssize_t read_some(struct supervisor *supervisor)
{
	uint8_t block[BLOCK_BYTES];
	ssize_t len = read(supervisor->output, block, sizeof(block));

	if (len > 0)
		append(supervisor, block, (size_t)len);
	return len;
}

static void close_pipe(struct supervisor *supervisor)
{
	if (supervisor->output_watch)
		io_watch_free(supervisor->output_watch);
	supervisor->output_watch = NULL;
	pace_forget(supervisor, &supervisor->output_turn);
	if (supervisor->output >= 0)
		(void)close(supervisor->output);
	supervisor->output = -1;
}

static void on_output(int fd, bool readable, bool writable, void *owner)
{
	struct supervisor *supervisor = owner;
	ssize_t len;

	(void)fd;
	(void)readable;
	(void)writable;
	if (!pace_has_room(supervisor, &supervisor->output_turn)) {
		io_watch_set(supervisor->output_watch, false, false);
		return;
	}
	len = read_some(supervisor);
	if (len > 0)
		pace_count(supervisor, (size_t)len);
	/* Nobody inside has it any more: it would be readable for ever. */
	if (len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR))
		close_pipe(supervisor);
}

static void go_on(void *owner)
{
	struct supervisor *supervisor = owner;

	io_watch_set(supervisor->output_watch, true, false);
	on_output(supervisor->output, true, false, supervisor);
}

static void open_log(struct supervisor *supervisor)
{
	if (supervisor->log < 0)
		supervisor->log = openat(supervisor->dir, FILE_LOG,
					 O_WRONLY | O_CREAT | O_APPEND |
						 O_CLOEXEC | O_NOFOLLOW,
					 0600);
}

void output_prepare(struct supervisor *supervisor)
{
	if (supervisor->request.entrypoint_count > 0)
		open_log(supervisor);
}

/* The write end, or -1. */
static int open_pipe(struct supervisor *supervisor, struct err *err)
{
	int ends[2];

	if (pace_open(supervisor, err) < 0)
		return -1;
	open_log(supervisor);
	if (supervisor->log < 0)
		return err_system(err, "open the sandbox's log");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_system(err, "make a pipe");
	supervisor->output = ends[0];
	supervisor->output_turn =
		(struct pace_turn){.go_on = go_on, .owner = supervisor};
	supervisor->output_watch =
		io_watch_new(supervisor->loop, ends[0], on_output, supervisor);
	if (!supervisor->output_watch ||
	    fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
		(void)close(ends[1]);
		return err_set(err, ERR_TOO_LARGE, "no memory");
	}
	io_watch_set(supervisor->output_watch, true, false);
	return ends[1];
}

int output_give(struct supervisor *supervisor, int stdio[3], struct err *err)
{
	auto_fd int output = open_pipe(supervisor, err);

	if (output < 0)
		return -1;
	for (int i = 1; i < 3; i++) {
		stdio[i] = fcntl(output, F_DUPFD_CLOEXEC, 0);
		if (stdio[i] < 0)
			return err_system(err, "copy the output's pipe");
	}
	return 0;
}

void output_close(struct supervisor *supervisor)
{
	/* Everybody inside is dead: what is there is all there will be. */
	while (supervisor->output >= 0 && read_some(supervisor) > 0)
		;
	close_pipe(supervisor);
	if (supervisor->log >= 0)
		(void)close(supervisor->log);
	supervisor->log = -1;
}
