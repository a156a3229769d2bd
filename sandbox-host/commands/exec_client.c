#include "sandbox-host/commands/exec_client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/cleanup.h"

#define STREAMS	 3
#define READ_MAX (16 * 1024)
/* A sandbox that is paused sends it when it goes on, and no input may come
 * before it: an interrupt would meet what was said next. */
#define SIGNAL_MS (7u * 24 * 60 * 60 * 1000)
/* More than a pty holds of what was written: 64 KiB, and a line's. */
#define PTY_LAST_MAX (128 * 1024)

/* Our end of a pipe; of a pty, stream 1 is both ways. */
struct stream {
	struct exec_client *client;
	int fd; /* -1: it has ended, or never was */
	struct io_watch *watch;
	struct buf bytes;
	size_t last; /* bytes that may still be the command's, at its end */
};

enum exec_state {
	STATE_NEW,
	STATE_STARTING,
	STATE_RUNNING,
	STATE_LAST_BYTES, /* it has ended; what it wrote is still read */
	STATE_OVER	  /* the last event was delivered */
};

struct exec_client {
	struct io_loop *loop;
	struct rpc *rpc; /* NULL: closed */
	exec_fn *fn;
	void *owner;
	enum exec_state state;
	struct stream streams[STREAMS];
	bool has_terminal;
	enum exec_input input;
	bool ends_input;
	bool was_full;
	unsigned signals;   /* that were not sent inside yet: input waits */
	bool is_last_known; /* of each stream, what was there at the end */
	uint32_t start_id;  /* of the call that waits; 0 */
	uint32_t pid;
	struct io_timer *timer; /* SIGKILL; then the last bytes */
	enum host_refusal refusal;
	struct exec_end end;
	char reason[HOST_MESSAGE_MAX + 1];
};

/* ---- streams ---- */

static void close_stream(struct stream *stream)
{
	io_watch_free(stream->watch);
	stream->watch = NULL;
	if (stream->fd >= 0)
		(void)close(stream->fd);
	stream->fd = -1;
}

static struct stream *input_of(struct exec_client *client)
{
	return &client->streams[client->has_terminal ? 1 : 0];
}

/* Do we read from it? */
static bool is_read(const struct stream *stream)
{
	return stream != &stream->client->streams[0] ||
	       stream->client->input == EXEC_REPORT;
}

static void watch_stream(struct stream *stream)
{
	struct exec_client *client = stream->client;
	bool is_out = is_read(stream);
	bool is_in = stream == input_of(client) && client->input == EXEC_INPUT;

	if (stream->watch)
		io_watch_set(stream->watch,
			     is_out && buf_room(&stream->bytes) > 0,
			     is_in && client->signals == 0 &&
				     buf_len(&client->streams[0].bytes) > 0);
}

/* Read once, at most max (> 0). More than 0: that many bytes; 0: nothing
 * now, or no room; -1: it has ended. */
static int read_stream(struct stream *stream, size_t max)
{
	size_t room = buf_room(&stream->bytes);
	uint8_t *to;
	ssize_t len;

	if (room > max)
		room = max;
	to = room > 0 ? buf_reserve(&stream->bytes, room) : NULL;
	if (!to)
		return 0;
	len = read(stream->fd, to, room);
	if (len > 0)
		buf_commit(&stream->bytes, (size_t)len);
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return len > 0 ? (int)len : -1;
}

/* All that was given was taken, after the signals before it. */
static void close_ended(struct exec_client *client)
{
	if (client->ends_input && client->input == EXEC_INPUT &&
	    !client->has_terminal && client->signals == 0 &&
	    buf_len(&client->streams[0].bytes) == 0)
		close_stream(&client->streams[0]);
}

/* Write what goes. True: EXEC_DRAINED is to be told. */
static bool write_input(struct exec_client *client)
{
	struct buf *bytes = &client->streams[0].bytes;
	struct stream *stream = input_of(client);
	struct bytes view = buf_view(bytes);
	bool was_full = client->was_full;
	ssize_t len;

	if (stream->fd < 0 || view.len == 0 || client->signals > 0)
		return false;
	len = write(stream->fd, view.data, view.len);
	if (len > 0)
		buf_consume(bytes, (size_t)len);
	else if (errno != EAGAIN && errno != EINTR)
		buf_clear(bytes); /* nobody reads it any more */
	if (buf_len(bytes) > 0)
		return false;
	client->was_full = false;
	close_ended(client);
	return was_full;
}

static void on_ready(int fd, bool readable, bool writable, void *owner)
{
	struct stream *stream = owner;
	struct exec_client *client = stream->client;
	bool is_drained = writable && write_input(client);
	int len = 0;

	(void)fd;
	if (readable && is_read(stream) && stream->fd >= 0)
		len = read_stream(stream, READ_MAX);
	if (len < 0)
		close_stream(stream);
	watch_stream(stream);
	/* Either may free the client: the other one comes at the next turn. */
	if (len > 0)
		client->fn(client, EXEC_OUTPUT, client->owner);
	else if (is_drained)
		client->fn(client, EXEC_DRAINED, client->owner);
}

static int open_stream(struct exec_client *client, int which, int fd,
		       struct err *err)
{
	struct stream *stream = &client->streams[which];

	stream->fd = fd;
	if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return err_system(err, "prepare a command's descriptor");
	stream->watch = io_watch_new(client->loop, fd, on_ready, stream);
	if (!stream->watch)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	watch_stream(stream);
	return 0;
}

/* ---- its end ---- */

static void be_over(struct exec_client *client, enum exec_event event)
{
	client->state = STATE_OVER;
	for (int i = 0; i < STREAMS; i++)
		close_stream(&client->streams[i]);
	if (client->timer)
		io_timer_set(client->timer, 0);
	client->fn(client, event, client->owner);
}

static void be_refused(struct exec_client *client, enum host_refusal code,
		       struct bytes text)
{
	client->refusal = code;
	(void)snprintf(client->reason, sizeof(client->reason), "%.*s",
		       BYTES_ARGS(text));
	be_over(client, EXEC_REFUSED);
}

/* What is in the pipes now: those whom it left behind may write for ever. */
static void measure_last(struct exec_client *client)
{
	client->is_last_known = true;
	for (int i = 0; i < STREAMS; i++) {
		struct stream *stream = &client->streams[i];
		int len = 0;

		if (client->has_terminal)
			stream->last = PTY_LAST_MAX;
		else if (stream->fd >= 0 &&
			 ioctl(stream->fd, FIONREAD, &len) == 0)
			stream->last = (size_t)len;
	}
}

/* As read_stream(); -1 also when nothing of the command's is left. */
static int read_last(struct stream *stream)
{
	int len;

	if (stream->fd < 0 || stream->last == 0)
		return -1;
	len = read_stream(stream,
			  stream->last < READ_MAX ? stream->last : READ_MAX);
	if (len > 0)
		stream->last -= (size_t)len;
	return len;
}

/* Read what is in the pipes: those whom it left behind may hold them open.
 * What is said at most once per turn is enough: the timer comes back. */
static void read_last_bytes(struct exec_client *client)
{
	bool has_more = false;
	bool is_blocked = false;

	if (!client->is_last_known)
		measure_last(client);
	for (int i = 0; i < STREAMS; i++) {
		struct stream *stream = &client->streams[i];
		int len = read_last(stream);

		if (len > 0)
			has_more = true;
		else if (len == 0 && buf_room(&stream->bytes) == 0)
			is_blocked = true;
		else
			close_stream(stream);
	}
	if (!has_more && !is_blocked) {
		be_over(client, EXEC_ENDED);
		return;
	}
	/* One that has no room goes on by exec_client_go_on(). */
	if (!has_more)
		return;
	io_timer_set(client->timer, EXEC_LAST_BYTES_MS);
	client->fn(client, EXEC_OUTPUT, client->owner);
}

static void on_timer(void *owner)
{
	struct exec_client *client = owner;

	if (client->state == STATE_RUNNING)
		exec_client_signal(client, SIGKILL);
	else if (client->state == STATE_LAST_BYTES)
		read_last_bytes(client);
}

static void be_ended(struct exec_client *client)
{
	client->state = STATE_LAST_BYTES;
	for (int i = 0; i < STREAMS; i++) {
		io_watch_free(client->streams[i].watch);
		client->streams[i].watch = NULL;
	}
	if (!is_read(&client->streams[0]))
		close_stream(&client->streams[0]);
	io_timer_set(client->timer, EXEC_LAST_BYTES_MS);
}

static void answer_ended(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct exec_ended *ended = message;
	struct exec_client *client = owner;

	(void)ticket;
	(void)fd;
	if (client->state != STATE_RUNNING)
		return;
	(void)snprintf(client->reason, sizeof(client->reason), "%.*s",
		       BYTES_ARGS(ended->reason));
	client->end = (struct exec_end){
		.exit_code = (int)(ended->exit_code & 0xff),
		.signal = ended->signal,
		.has_timed_out = bytes_is(ended->reason, "timeout"),
	};
	be_ended(client);
}

/* Over HTTP there is no place for it: whoever decides hears of it among the
 * events. */
static void answer_asked(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	(void)ticket;
	(void)message;
	(void)fd;
	(void)owner;
}

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct exec_client *client = owner;

	(void)rpc;
	client->rpc = NULL;
	if (client->state == STATE_STARTING) {
		be_refused(client, HOST_REFUSED_UNREACHABLE, bytes_str(why));
	} else if (client->state == STATE_RUNNING) {
		(void)snprintf(client->reason, sizeof(client->reason),
			       "the sandbox is gone");
		client->end = (struct exec_end){.is_lost = true};
		be_ended(client);
	}
}

/* ---- start ---- */

struct exec_client *exec_client_new(struct io_loop *loop, int channel,
				    exec_fn *fn, void *owner, struct err *err)
{
	static const struct rpc_permit permits[] = {
		{MSG_EXEC_ASKED, &exec_asked_schema, answer_asked, false, 0},
		{MSG_EXEC_ENDED, &exec_ended_schema, answer_ended, false, 0},
	};
	struct exec_client *client = calloc(1, sizeof(*client));
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = client,
		.on_closed = on_closed,
	};

	if (!client) {
		(void)close(channel);
		(void)err_set(err, ERR_TOO_LARGE, "no memory");
		return NULL;
	}
	*client = (struct exec_client){.loop = loop, .fn = fn, .owner = owner};
	for (int i = 0; i < STREAMS; i++) {
		client->streams[i].client = client;
		client->streams[i].fd = -1;
		buf_init(&client->streams[i].bytes,
			 i == 0 ? EXEC_INPUT_MAX : EXEC_OUT_MAX);
	}
	client->rpc = rpc_new(loop, channel, &config, err);
	client->timer = io_timer_new(loop, on_timer, client);
	if (client->rpc && client->timer)
		return client;
	if (client->rpc)
		(void)err_set(err, ERR_TOO_LARGE, "no memory");
	exec_client_free(client);
	return NULL;
}

void exec_client_set_owner(struct exec_client *client, exec_fn *fn, void *owner)
{
	client->fn = fn;
	client->owner = owner;
}

void exec_client_free(struct exec_client *client)
{
	if (!client)
		return;
	if (client->rpc) {
		if (client->start_id)
			rpc_cancel(client->rpc, client->start_id);
		rpc_close(client->rpc);
	}
	if (client->timer)
		io_timer_free(client->timer);
	for (int i = 0; i < STREAMS; i++) {
		close_stream(&client->streams[i]);
		buf_release(&client->streams[i].bytes);
	}
	free(client);
}

/* Make a pipe and give one end of it. */
static int give(struct exec_client *client, int which, struct err *err)
{
	const struct exec_stdio message = {.which = (uint8_t)which};
	bool is_written = !is_read(&client->streams[which]);
	auto_fd int theirs = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_system(err, "make a pipe");
	theirs = ends[is_written ? 0 : 1];
	if (open_stream(client, which, ends[is_written ? 1 : 0], err) < 0)
		return -1;
	return rpc_tell(client->rpc, MSG_EXEC_STDIO, &exec_stdio_schema,
			&message, theirs, err);
}

static void on_started(struct rpc_outcome *outcome, void *owner)
{
	struct exec_client *client = owner;
	const struct exec_started *started = outcome->message;
	struct err err;

	client->start_id = 0;
	if (client->state != STATE_STARTING)
		return;
	if (outcome->err) {
		be_refused(client,
			   outcome->refusal
				   ? (enum host_refusal)outcome->refusal->code
				   : HOST_REFUSED_UNREACHABLE,
			   outcome->refusal ? outcome->refusal->detail
					    : bytes_str(outcome->err->text));
		return;
	}
	if (client->has_terminal &&
	    (outcome->fd < 0 ||
	     open_stream(client, 1, take_fd(&outcome->fd), &err) < 0)) {
		be_refused(client, HOST_REFUSED,
			   bytes_str("the pty could not be opened"));
		return;
	}
	client->state = STATE_RUNNING;
	client->pid = started->pid;
	client->fn(client, EXEC_STARTED, client->owner);
}

int exec_client_start(struct exec_client *client,
		      const struct exec_request *request, enum exec_input input,
		      struct err *err)
{
	const struct wire_empty empty = {0};
	auto_fd int sealed = exec_request_seal(request, err);
	const struct rpc_call call = {
		.type = MSG_EXEC_START,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = sealed,
		.reply_schema = &exec_started_schema,
		.timeout_ms = EXEC_START_MS,
		.on_outcome = on_started,
		.owner = client,
	};

	assert(client->state == STATE_NEW);
	if (sealed < 0)
		return -1;
	if (!client->rpc)
		return err_set(err, ERR_CLOSED, "the sandbox is gone");
	client->has_terminal = request->has_terminal;
	client->input = client->has_terminal ? EXEC_INPUT : input;
	for (int i = input == EXEC_NO_INPUT ? 1 : 0;
	     i < STREAMS && !client->has_terminal; i++)
		if (give(client, i, err) < 0)
			return -1;
	if (rpc_ask(client->rpc, &call, &client->start_id, err) < 0)
		return -1;
	client->state = STATE_STARTING;
	return 0;
}

/* ---- while it runs ---- */

struct buf *exec_client_out(struct exec_client *client, int stream)
{
	assert(stream >= 0 && stream < STREAMS &&
	       (stream > 0 || client->input == EXEC_REPORT));
	return &client->streams[stream].bytes;
}

void exec_client_go_on(struct exec_client *client)
{
	for (int i = 0; i < STREAMS; i++)
		watch_stream(&client->streams[i]);
	if (client->state == STATE_LAST_BYTES)
		io_timer_set(client->timer, EXEC_LAST_BYTES_MS);
}

int exec_client_write(struct exec_client *client, struct bytes bytes)
{
	struct stream *stream = input_of(client);

	if (stream->fd < 0 || client->input != EXEC_INPUT ||
	    client->ends_input || buf_add(&client->streams[0].bytes, bytes) < 0)
		return -1;
	if (exec_client_is_full(client))
		client->was_full = true;
	watch_stream(stream);
	return 0;
}

bool exec_client_is_full(const struct exec_client *client)
{
	return buf_len(&client->streams[0].bytes) >= EXEC_INPUT_HIGH;
}

void exec_client_end_input(struct exec_client *client)
{
	client->ends_input = true;
	close_ended(client);
}

/* Whatever became of it. */
static void on_signalled(struct rpc_outcome *outcome, void *owner)
{
	struct exec_client *client = owner;

	(void)outcome;
	client->signals--;
	close_ended(client);
	watch_stream(input_of(client));
}

void exec_client_signal(struct exec_client *client, int number)
{
	const struct exec_signal message = {.number = (uint8_t)number,
					    .is_for_group = true};
	const struct rpc_call call = {
		.type = MSG_EXEC_SIGNAL,
		.schema = &exec_signal_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = SIGNAL_MS,
		.on_outcome = on_signalled,
		.owner = client,
	};

	if (!client->rpc || client->state != STATE_RUNNING ||
	    rpc_ask(client->rpc, &call, NULL, NULL) < 0)
		return;
	client->signals++;
	watch_stream(input_of(client));
}

void exec_client_stop(struct exec_client *client)
{
	if (client->state != STATE_RUNNING)
		return;
	exec_client_signal(client, SIGTERM);
	io_timer_set(client->timer, EXEC_KILL_AFTER_MS);
}

void exec_client_resize(const struct exec_client *client, uint16_t rows,
			uint16_t columns)
{
	const struct winsize size = {.ws_row = rows, .ws_col = columns};

	if (client->has_terminal && client->streams[1].fd >= 0)
		(void)ioctl(client->streams[1].fd, TIOCSWINSZ, &size);
}

bool exec_client_is_running(const struct exec_client *client)
{
	return client->state == STATE_RUNNING;
}

uint32_t exec_client_pid(const struct exec_client *client)
{
	return client->pid;
}

struct exec_refusal exec_client_refusal(const struct exec_client *client)
{
	return (struct exec_refusal){.code = client->refusal,
				     .text = client->reason};
}

struct exec_end exec_client_end(const struct exec_client *client)
{
	struct exec_end end = client->end;

	end.reason = client->reason;
	return end;
}
