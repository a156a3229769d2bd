#include "sandbox-host/supervisor/background.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "sandbox-host/commands/kept.h"
#include "sandbox-host/supervisor/channel.h"
#include "sandbox-host/supervisor/pace.h"

#define CHANNELS_MAX 64 /* at once */
#define PERMIT_RATE  200
#define BLOCK_BYTES  16384

struct channel {
	struct supervisor *supervisor;
	struct rpc *rpc;
	struct channel *next, *prev;
};

struct background {
	struct kept_list list;
	struct channel *channels;
	size_t channel_count;
};

/* What belongs to one while it runs. */
struct runner {
	struct supervisor *supervisor;
	struct kept *kept;
	struct exec *exec;
	int output; /* the pipe's read end; -1 */
	struct io_watch *watch;
	struct pace_turn turn;
};

static struct background *background_of(struct supervisor *supervisor,
					struct err *err)
{
	if (pace_open(supervisor, err) < 0)
		return NULL;
	if (!supervisor->background)
		supervisor->background =
			calloc(1, sizeof(*supervisor->background));
	if (!supervisor->background)
		(void)err_set(err, ERR_TOO_LARGE, "no memory");
	return supervisor->background;
}

/* ---- what it writes ---- */

static void close_output(struct runner *runner)
{
	io_watch_free(runner->watch);
	runner->watch = NULL;
	pace_forget(runner->supervisor, &runner->turn);
	if (runner->output >= 0)
		(void)close(runner->output);
	runner->output = -1;
}

/* At most max bytes. So many; 0 at the end; -1 and errno. */
static ssize_t read_some(struct runner *runner, size_t max)
{
	uint8_t block[BLOCK_BYTES];
	ssize_t len = read(runner->output, block,
			   max < sizeof(block) ? max : sizeof(block));

	if (len > 0)
		kept_write(runner->kept, bytes_from(block, (size_t)len));
	return len;
}

static void on_output(int fd, bool readable, bool writable, void *owner)
{
	struct runner *runner = owner;
	ssize_t len;

	(void)fd;
	(void)readable;
	(void)writable;
	if (!pace_has_room(runner->supervisor, &runner->turn)) {
		io_watch_set(runner->watch, false, false);
		return;
	}
	len = read_some(runner, BLOCK_BYTES);
	if (len > 0)
		pace_count(runner->supervisor, (size_t)len);
	if (len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR))
		close_output(runner);
}

static void go_on(void *owner)
{
	struct runner *runner = owner;

	io_watch_set(runner->watch, true, false);
	on_output(runner->output, true, false, runner);
}

/* What is in the pipe now: those whom it left behind may write for ever. */
static void read_last(struct runner *runner)
{
	int left = 0;

	if (runner->output < 0 || ioctl(runner->output, FIONREAD, &left) < 0)
		return;
	while (left > 0) {
		ssize_t len = read_some(runner, (size_t)left);

		if (len <= 0)
			return;
		left -= (int)len;
	}
}

int background_pipe(struct runner *runner, int stdio[3], struct err *err)
{
	auto_fd int theirs = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_system(err, "make a pipe");
	runner->output = ends[0];
	theirs = ends[1];
	for (int i = 1; i < 3; i++) {
		if (stdio[i] < 0)
			stdio[i] = fcntl(theirs, F_DUPFD_CLOEXEC, 0);
		if (stdio[i] < 0)
			return err_system(err, "copy the output's pipe");
	}
	if (fcntl(runner->output, F_SETFL, O_NONBLOCK) < 0)
		return err_system(err, "prepare a pipe");
	runner->watch = io_watch_new(runner->supervisor->loop, runner->output,
				     on_output, runner);
	if (!runner->watch)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	io_watch_set(runner->watch, true, false);
	return 0;
}

/* ---- begin and end ---- */

struct runner *background_begin(struct supervisor *supervisor,
				struct exec *exec, struct bytes text,
				struct err *err)
{
	struct background *background = background_of(supervisor, err);
	struct runner *runner = background ? calloc(1, sizeof(*runner)) : NULL;

	if (!runner) {
		(void)err_set(err, ERR_TOO_LARGE, "no memory");
		return NULL;
	}
	*runner = (struct runner){
		.supervisor = supervisor,
		.kept = kept_add(&background->list, text, err),
		.exec = exec,
		.output = -1,
		.turn = {.go_on = go_on, .owner = runner},
	};
	if (!runner->kept) {
		free(runner);
		return NULL;
	}
	runner->kept->runner = runner;
	return runner;
}

const char *background_id(const struct runner *runner)
{
	return runner->kept->id;
}

void background_end(struct runner *runner, int exit_code, int number,
		    const char *reason)
{
	read_last(runner);
	close_output(runner);
	runner->kept->runner = NULL;
	kept_finish(runner->kept, exit_code, number, reason);
	free(runner);
}

void background_drop(struct runner *runner)
{
	close_output(runner);
	kept_drop(runner->kept);
	free(runner);
}

/* ---- who reads it ---- */

/* NULL: the ticket was answered. */
static struct kept *find(const struct channel *channel, struct bytes id,
			 struct rpc_ticket ticket)
{
	struct kept *kept =
		kept_find(&channel->supervisor->background->list, id);

	if (!kept)
		rpc_refuse(ticket, HOST_REFUSED_MISSING,
			   "there is no such command");
	return kept;
}

static void answer_show(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct background_ref *ref = message;
	const struct kept *kept = find(owner, ref->id, ticket);
	struct background_state state;

	(void)fd;
	if (!kept)
		return;
	state = (struct background_state){
		.text = bytes_str(kept->text),
		.is_running = kept->is_running,
		.started_ms = kept->started_ms,
		.finished_ms = kept->finished_ms,
		.exit_code = (uint32_t)kept->exit_code,
		.signal = (uint8_t)kept->signal,
		.reason = bytes_str(kept->reason),
	};
	rpc_reply(ticket, &background_state_schema, &state, -1);
}

static void answer_read(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct background_from *from = message;
	const struct kept *kept = find(owner, from->id, ticket);
	struct background_output output = {.start = from->cursor};
	auto_type(buf_release) struct buf bytes;
	auto_fd int sealed = -1;
	struct err err;

	(void)fd;
	buf_init(&bytes, KEPT_OUTPUT_MAX);
	if (!kept)
		return;
	output.is_running = kept->is_running;
	if (kept_read(kept, &output.start, &bytes) < 0) {
		rpc_refuse(ticket, HOST_REFUSED, "no memory");
		return;
	}
	if (buf_len(&bytes) > 0) {
		sealed = wire_memfd_seal("output", buf_view(&bytes), &err);
		if (sealed < 0) {
			rpc_refuse(ticket, HOST_REFUSED, "%s", err.text);
			return;
		}
	}
	rpc_reply(ticket, &background_output_schema, &output, sealed);
}

/* One that has ended meanwhile is as it was wanted. */
static void answer_stop(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct background_ref *ref = message;
	const struct kept *kept = find(owner, ref->id, ticket);
	const struct wire_empty empty = {0};
	const struct runner *runner = kept ? kept->runner : NULL;

	(void)fd;
	if (!kept)
		return;
	if (runner)
		exec_stop(runner->exec);
	rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

static void forget(struct channel *channel)
{
	struct background *background = channel->supervisor->background;

	DL_DELETE(background->channels, channel);
	background->channel_count--;
	free(channel);
}

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	(void)rpc;
	(void)why;
	forget(owner);
}

int background_open(struct supervisor *supervisor, struct err *err)
{
	static const struct rpc_permit permits[] = {
		{MSG_BACKGROUND_SHOW, &background_ref_schema, answer_show,
		 false, PERMIT_RATE},
		{MSG_BACKGROUND_READ, &background_from_schema, answer_read,
		 false, PERMIT_RATE},
		{MSG_BACKGROUND_STOP, &background_ref_schema, answer_stop,
		 false, PERMIT_RATE},
	};
	struct background *background = background_of(supervisor, err);
	auto_free struct channel *channel = calloc(1, sizeof(*channel));
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = channel,
		.rate_code = HOST_REFUSED_FULL,
		.on_closed = on_closed,
	};
	int theirs;

	if (!background || !channel ||
	    background->channel_count >= CHANNELS_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "too many look at commands in the background");
	channel->supervisor = supervisor;
	theirs = channel_open(supervisor->loop, &config, &channel->rpc, err);
	if (theirs < 0)
		return -1;
	DL_APPEND(background->channels, channel);
	background->channel_count++;
	(void)take_ptr(&channel);
	return theirs;
}

void background_close_all(struct supervisor *supervisor)
{
	struct background *background = supervisor->background;

	if (!background)
		return;
	while (background->channels) {
		rpc_close(background->channels->rpc);
		forget(background->channels);
	}
	kept_drop_all(&background->list);
	free(background);
	supervisor->background = NULL;
}
