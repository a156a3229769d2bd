#include "cli/mcp/stdio.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

static const struct io_limits in_limits = {.in_max = STDIO_LINE_MAX};
static const struct io_limits out_limits = {
	.in_max = 1,
	.out_high = STDIO_OUT_MAX / 2,
	.out_max = STDIO_OUT_MAX,
};

struct stdio {
	struct server *server;
	struct io *in, *out;
};

static void stop(void *owner)
{
	io_loop_stop(owner);
}

/* A client that reads none of 64 MiB gets no more: it is gone. */
static void send_line(json_t *message, void *owner)
{
	struct stdio *stdio = owner;
	auto_free char *text = json_dumps(message, JSON_COMPACT);

	json_decref(message);
	if (!text || io_write(stdio->out, bytes_str(text)) < 0 ||
	    io_write(stdio->out, bytes_str("\n")) < 0)
		io_loop_stop(stdio->server->loop);
}

static void on_out(struct io *io, enum io_event event, void *owner)
{
	struct stdio *stdio = owner;

	(void)io;
	if (event == IO_FAILED)
		io_loop_stop(stdio->server->loop);
}

/* False: there is no whole line. */
static bool read_line(struct stdio *stdio)
{
	struct buf *in = io_in(stdio->in);
	struct bytes text = buf_view(in);
	ptrdiff_t end = bytes_find(text, '\n', 0);
	struct bytes line;

	if (end < 0)
		return false;
	line = bytes_slice(text, 0, (size_t)end);
	if (line.len > 0 && line.data[line.len - 1] == '\r')
		line.len--;
	if (line.len > 0)
		server_read(stdio->server, line);
	buf_consume(in, (size_t)end + 1);
	return true;
}

static void on_in(struct io *io, enum io_event event, void *owner)
{
	struct stdio *stdio = owner;

	if (event == IO_RELEASED || event == IO_DRAINED)
		return;
	while (read_line(stdio))
		;
	if (event != IO_DATA ||
	    buf_len(io_in(io)) >= STDIO_LINE_MAX /* of one line */)
		io_loop_stop(stdio->server->loop);
}

/* Of a file, and of /dev/null, no loop can tell when there is more. */
static bool is_waited_for(int fd)
{
	struct stat info;

	return fstat(fd, &info) == 0 &&
	       (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || isatty(fd));
}

static int open_both(struct stdio *stdio, struct err *err)
{
	struct io_loop *loop = stdio->server->loop;

	if (!is_waited_for(STDIN_FILENO))
		return err_set(err, ERR_SYSTEM,
			       "the standard input is a file: a client's pipe "
			       "belongs there");
	stdio->in = io_new(loop, STDIN_FILENO, &in_limits, on_in, stdio);
	stdio->out = io_new(loop, STDOUT_FILENO, &out_limits, on_out, stdio);
	if (!stdio->in || !stdio->out ||
	    io_signal(loop, SIGTERM, stop, loop) < 0 ||
	    io_signal(loop, SIGINT, stop, loop) < 0)
		return err_set(err, ERR_SYSTEM,
			       "standard input and output must be pipes");
	return 0;
}

int stdio_serve(struct server *server, struct err *err)
{
	struct io_loop *loop = server->loop;
	struct stdio stdio = {.server = server};
	int result;

	if (open_both(&stdio, err) < 0) {
		server_close(server);
		return -1;
	}
	server->send = send_line;
	server->owner = &stdio;
	io_read_start(stdio.in);
	result = io_loop_run(loop, err);
	io_close(stdio.in);
	server_close(server);
	io_close_flushed(stdio.out, 1000);
	return result;
}
