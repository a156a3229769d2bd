#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "sandbox-host/supervisor/parts.h"

#define BACKLOG	      64
#define RELAY_IN      (64 * 1024)
#define RELAY_HIGH    (48 * 1024)
#define RELAY_OUT     (256 * 1024)
#define RELAY_IDLE_MS (3600 * 1000)

struct port {
	struct supervisor *supervisor;
	uint16_t inside, outside;
	struct io_listener *listener;
	struct port *next, *prev;
};

/* A connection from outside, and the one inside that it is joined to. */
struct relay {
	struct supervisor *supervisor;
	int outside; /* until the other is there; -1 */
	struct waiting *waiting;
	struct io *ends[2];
	bool ended[2]; /* it will send no more */
	unsigned left; /* ios that are not released yet */
	bool is_closing;
	struct relay *next, *prev;
};

/* ---- two connections ---- */

static void free_relay(struct relay *relay)
{
	struct supervisor *supervisor = relay->supervisor;

	DL_DELETE(supervisor->relays, relay);
	supervisor->relay_count--;
	inside_forget(supervisor, relay->waiting);
	if (relay->outside >= 0)
		(void)close(relay->outside);
	free(relay);
}

static void close_relay(struct relay *relay)
{
	if (relay->is_closing)
		return;
	relay->is_closing = true;
	for (int i = 0; i < 2; i++)
		if (relay->ends[i])
			io_close(relay->ends[i]);
	if (relay->left == 0)
		free_relay(relay);
}

static void move_bytes(struct relay *relay, int from)
{
	struct io *source = relay->ends[from];
	struct io *target = relay->ends[!from];
	struct buf *in = io_in(source);
	struct bytes view = buf_view(in);

	if (view.len > 0 && io_write(target, view) < 0) {
		close_relay(relay);
		return;
	}
	buf_consume(in, view.len);
	if (io_is_full(target))
		io_read_stop(source);
	io_deadline(source, RELAY_IDLE_MS);
}

static void end_side(struct relay *relay, int from)
{
	move_bytes(relay, from);
	if (relay->is_closing)
		return;
	relay->ended[from] = true;
	io_end(relay->ends[!from]);
	if (!relay->ended[!from])
		return;
	relay->is_closing = true;
	for (int i = 0; i < 2; i++)
		io_close_flushed(relay->ends[i], 1000);
}

static void on_relay(struct io *io, enum io_event event, void *owner)
{
	struct relay *relay = owner;
	int from = relay->ends[1] == io;

	if (event == IO_RELEASED) {
		relay->ends[from] = NULL;
		if (--relay->left == 0)
			free_relay(relay);
	} else if (event == IO_DATA) {
		move_bytes(relay, from);
	} else if (event == IO_EOF) {
		end_side(relay, from);
	} else if (event == IO_DRAINED) {
		if (relay->ends[!from] && !relay->ended[!from])
			io_read_start(relay->ends[!from]);
	} else if (event == IO_FAILED || event == IO_TIMEOUT) {
		close_relay(relay);
	}
}

static struct io *new_end(struct relay *relay, int fd)
{
	static const struct io_limits limits = {RELAY_IN, RELAY_HIGH,
						RELAY_OUT};
	struct io *io =
		io_new(relay->supervisor->loop, fd, &limits, on_relay, relay);

	relay->left += io != NULL;
	return io;
}

static void on_connected(struct service_word *word, void *owner)
{
	struct relay *relay = owner;

	inside_forget(relay->supervisor, relay->waiting);
	relay->waiting = NULL;
	if (word->kind != SERVICE_CONNECTED) {
		free_relay(relay);
		return;
	}
	relay->ends[0] = new_end(relay, take_fd(&relay->outside));
	relay->ends[1] = new_end(relay, take_fd(&word->fd));
	if (!relay->ends[0] || !relay->ends[1]) {
		close_relay(relay);
		return;
	}
	for (int i = 0; i < 2; i++) {
		io_read_start(relay->ends[i]);
		io_deadline(relay->ends[i], RELAY_IDLE_MS);
	}
}

/* ---- listeners ---- */

static void on_accept(int fd, const struct sockaddr_storage *peer,
		      const struct sockaddr_storage *original,
		      bool was_redirected, void *owner)
{
	struct port *port = owner;
	struct supervisor *supervisor = port->supervisor;
	struct relay *relay = NULL;

	(void)peer;
	(void)original;
	(void)was_redirected;
	if (supervisor->relay_count < PORT_CONNECTIONS_MAX &&
	    supervisor->state == HOST_RUNNING)
		relay = calloc(1, sizeof(*relay));
	if (!relay) {
		(void)close(fd);
		return;
	}
	relay->supervisor = supervisor;
	relay->outside = fd;
	DL_APPEND(supervisor->relays, relay);
	supervisor->relay_count++;
	relay->waiting = inside_wait(supervisor, on_connected, relay);
	if (!relay->waiting ||
	    service_connect(supervisor->sandbox, relay->waiting->serial,
			    port->inside, NULL) < 0)
		free_relay(relay);
}

static int listen_on_loopback(uint16_t *number, struct err *err)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);
	auto_fd int fd =
		socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return err_system(err, "listen on the host's loopback");
	*number = ntohs(address.sin_port);
	return take_fd(&fd);
}

static struct port *find(struct supervisor *supervisor, uint16_t inside)
{
	struct port *port;

	DL_FOREACH(supervisor->ports, port)
	if (port->inside == inside)
		return port;
	return NULL;
}

static struct port *new_port(struct supervisor *supervisor, uint16_t inside,
			     struct err *err)
{
	struct port *port = supervisor->port_count < PORTS_MAX
				    ? calloc(1, sizeof(*port))
				    : NULL;
	int fd;

	if (!port) {
		err_set(err, ERR_TOO_LARGE, "%d ports are open already",
			PORTS_MAX);
		return NULL;
	}
	*port = (struct port){.supervisor = supervisor, .inside = inside};
	fd = listen_on_loopback(&port->outside, err);
	port->listener =
		fd < 0 ? NULL
		       : io_listen(supervisor->loop, fd, on_accept, port, err);
	if (!port->listener) {
		free(port);
		return NULL;
	}
	DL_APPEND(supervisor->ports, port);
	supervisor->port_count++;
	return port;
}

int ports_open(struct supervisor *supervisor, uint16_t number, char out[64],
	       struct err *err)
{
	struct port *port;

	if (number == 0)
		return err_set(err, ERR_INVALID, "0 is no port");
	port = find(supervisor, number);
	if (!port)
		port = new_port(supervisor, number, err);
	if (!port)
		return -1;
	(void)snprintf(out, 64, "127.0.0.1:%u", port->outside);
	return 0;
}

void ports_close(struct supervisor *supervisor)
{
	struct port *port, *next;
	struct relay *relay, *following;

	DL_FOREACH_SAFE(supervisor->ports, port, next)
	{
		DL_DELETE(supervisor->ports, port);
		io_listener_free(port->listener);
		free(port);
	}
	supervisor->port_count = 0;
	DL_FOREACH_SAFE(supervisor->relays, relay, following)
	close_relay(relay);
}
