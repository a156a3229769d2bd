/*
 * The sandbox's DNS: datagrams and short TCP exchanges in, answers out.
 */
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/edge/edge.h"
#include "gateway/flow/limits.h"

#define DATAGRAMS_PER_TURN 32
#define DATAGRAMS_REST_MS  100

struct edge_dns {
	struct edge *edge;
	int udp;
	struct io_watch *watch;
	struct io_timer *rest;
	size_t tcp_count;
};

static const struct io_limits tcp_limits = {
	.in_max = DNS_QUERY_MAX + 2,
	.out_high = 16 * 1024,
	.out_max = 64 * 1024,
};

static size_t answer(struct edge *edge, struct bytes query,
		     uint8_t out[DNS_ANSWER_MAX])
{
	struct dns_outcome outcome;
	size_t len =
		dns_answer(&edge->dns, query,
			   io_loop_now_ms(edge->keeper->loop), out, &outcome);
	const struct record record = {
		.kind = RECORD_DNS,
		.allowed = outcome.allowed,
		.constraint = (uint16_t)outcome.constraint,
		.rule = outcome.rule,
		.host = bytes_str(outcome.name),
		.detail = outcome.reason,
	};

	/* Answers for allowed names are followed by a connection, which is
	 * recorded; what is told here is what was refused. */
	if (len && !outcome.allowed && edge_record(edge, &record) < 0)
		return 0;
	return len;
}

static void on_rested(void *owner)
{
	struct edge_dns *sockets = owner;

	io_watch_set(sockets->watch, true, false);
}

/* Something was there, and nothing is: it was shut down, by whoever has it as
 * well, and no turn would rest. */
static void rest(struct edge_dns *sockets)
{
	io_watch_set(sockets->watch, false, false);
	io_timer_set(sockets->rest, DATAGRAMS_REST_MS);
}

static void on_datagram(int fd, bool readable, bool writable, void *owner)
{
	struct edge_dns *sockets = owner;
	uint8_t query[DNS_QUERY_MAX];
	uint8_t reply[DNS_ANSWER_MAX];

	(void)writable;
	for (int i = 0; readable && i < DATAGRAMS_PER_TURN; i++) {
		struct sockaddr_storage from;
		socklen_t from_len = sizeof(from);
		ssize_t got = recvfrom(fd, query, sizeof(query), MSG_DONTWAIT,
				       (struct sockaddr *)&from, &from_len);
		size_t len;

		if (got < 0) {
			if (i == 0)
				rest(sockets);
			return;
		}
		len = answer(sockets->edge, bytes_from(query, (size_t)got),
			     reply);
		if (len)
			(void)sendto(fd, reply, len, MSG_DONTWAIT,
				     (struct sockaddr *)&from, from_len);
	}
}

static struct edge_dns *sockets_of(struct edge *edge, struct err *err)
{
	if (!edge->dns_sockets) {
		edge->dns_sockets = calloc(1, sizeof(*edge->dns_sockets));
		if (!edge->dns_sockets) {
			(void)err_system(err, "serve DNS");
			return NULL;
		}
		edge->dns_sockets->edge = edge;
		edge->dns_sockets->udp = -1;
	}
	return edge->dns_sockets;
}

int edge_dns_udp(struct edge *edge, int fd, struct err *err)
{
	auto_fd int udp = fd;
	struct edge_dns *sockets = sockets_of(edge, err);

	if (!sockets)
		return -1;
	if (sockets->watch)
		return err_set(err, ERR_INVALID, "serve DNS: twice");
	if (!sockets->rest)
		sockets->rest =
			io_timer_new(edge->keeper->loop, on_rested, sockets);
	if (sockets->rest)
		sockets->watch = io_watch_new(edge->keeper->loop, udp,
					      on_datagram, sockets);
	if (!sockets->watch)
		return err_set(err, ERR_SYSTEM, "serve DNS");
	sockets->udp = take_fd(&udp);
	io_watch_set(sockets->watch, true, false);
	return 0;
}

/* ---- TCP ---- */

static void take_queries(struct edge_dns *sockets, struct io *io)
{
	struct buf *in = io_in(io);
	uint8_t reply[2 + DNS_ANSWER_MAX];
	struct bytes query;
	size_t used;
	int got;

	while ((got = dns_tcp_next(buf_view(in), &query, &used)) > 0) {
		size_t len = answer(sockets->edge, query, reply + 2);

		buf_consume(in, used);
		dns_tcp_prefix(len, reply);
		if (len == 0 || io_write(io, bytes_from(reply, len + 2)) < 0) {
			io_close(io);
			return;
		}
	}
	if (got < 0)
		io_close(io);
}

static void on_tcp(struct io *io, enum io_event event, void *owner)
{
	struct edge_dns *sockets = owner;

	if (event == IO_RELEASED)
		sockets->tcp_count--;
	else if (event == IO_DATA)
		take_queries(sockets, io);
	else if (event == IO_EOF)
		io_close_flushed(io, DNS_TCP_DEADLINE_MS);
	else if (event != IO_DRAINED)
		io_close(io);
}

static void on_accept(int fd, const struct sockaddr_storage *peer,
		      const struct sockaddr_storage *original,
		      bool was_redirected, void *owner)
{
	struct edge_dns *sockets = owner;
	struct io *io;

	(void)peer;
	(void)original;
	(void)was_redirected;
	if (sockets->tcp_count >= DNS_TCP_MAX) {
		(void)close(fd);
		return;
	}
	io = io_new(sockets->edge->keeper->loop, fd, &tcp_limits, on_tcp,
		    sockets);
	if (!io)
		return;
	sockets->tcp_count++;
	io_deadline(io, DNS_TCP_DEADLINE_MS);
	io_read_start(io);
}

int edge_dns_tcp(struct edge *edge, int fd, struct err *err)
{
	struct edge_dns *sockets = sockets_of(edge, err);

	if (!sockets || edge->listener_count >= EDGE_LISTENERS_MAX) {
		(void)close(fd);
		return sockets ? err_set(err, ERR_TOO_LARGE,
					 "serve DNS: too many listeners")
			       : -1;
	}
	edge->listeners[edge->listener_count] =
		io_listen(edge->keeper->loop, fd, on_accept, sockets, err);
	if (!edge->listeners[edge->listener_count])
		return -1;
	edge->listener_count++;
	return 0;
}
