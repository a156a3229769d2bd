/*
 * Connections through the operator's upstream proxy. The dialer connects and
 * holds no secret; who speaks to the proxy is here, where secrets are, and
 * where no byte of a sandbox is parsed.
 */
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "gateway/courier/courier.h"
#include "gateway/courier/proxy_talk.h"

#define SECRET_TIMEOUT_MS 5000

static const struct io_limits limits = {
	.in_max = PROXY_ANSWER_MAX,
	.out_high = PROXY_SAY_MAX,
	.out_max = PROXY_SAY_MAX,
};

/* Freed at its io's IO_RELEASED. */
struct tunnel {
	struct courier *courier;
	struct rpc_ticket ticket;
	struct io *io;
	struct proxy_talk talk;
	struct secret secret;
	char host[HOST_NAME_MAX_LEN + 1];
	bool is_asking; /* the vault's answer is still to come */
	bool is_released;
	bool is_over; /* the ticket is answered */
};

/* ---- the end ---- */

static void free_when_done(struct tunnel *tunnel)
{
	if (tunnel->is_asking || !tunnel->is_released)
		return;
	secret_release(&tunnel->secret);
	tunnel->courier->tunnel_count--;
	free(tunnel);
}

static void tunnel_fail(struct tunnel *tunnel, const char *why)
{
	const struct config_proxy *proxy =
		&tunnel->courier->keeper->config.proxy;

	if (tunnel->is_over)
		return;
	tunnel->is_over = true;
	rpc_refuse(tunnel->ticket, CONSTRAINT_proxy_failed,
		   "the proxy %.*s:%u, asked for %s:%u: %s",
		   BYTES_ARGS(proxy->host), proxy->port, tunnel->host,
		   tunnel->talk.port, why);
	io_close(tunnel->io);
}

static void tunnel_done(struct tunnel *tunnel)
{
	const struct wire_empty empty = {0};
	auto_fd int fd = io_detach(tunnel->io);

	tunnel->is_over = true;
	rpc_reply(tunnel->ticket, &wire_empty_schema, &empty, fd);
}

/* ---- the talk ---- */

/* Large enough at once: growing would leave a secret behind. */
static void init_say(struct buf *out)
{
	buf_init(out, PROXY_SAY_MAX);
	(void)buf_reserve(out, PROXY_SAY_MAX / 2);
}

static int say(struct tunnel *tunnel, struct buf *out)
{
	int result = io_write(tunnel->io, buf_view(out));

	if (out->data)
		secret_wipe(out->data, out->size);
	return result;
}

static void take_answer(struct tunnel *tunnel)
{
	auto_type(buf_release) struct buf out;
	struct err err;

	init_say(&out);
	switch (proxy_talk_read(&tunnel->talk, io_in(tunnel->io), &out, &err)) {
	case PROXY_SAY:
		if (say(tunnel, &out) < 0)
			tunnel_fail(tunnel, "it takes nothing");
		break;
	case PROXY_DONE:
		tunnel_done(tunnel);
		break;
	case PROXY_FAILED:
		tunnel_fail(tunnel, err.text);
		break;
	case PROXY_MORE:
	default:
		break;
	}
}

static void on_proxy(struct io *io, enum io_event event, void *owner)
{
	struct tunnel *tunnel = owner;

	(void)io;
	if (event == IO_RELEASED) {
		tunnel->is_released = true;
		free_when_done(tunnel);
		return;
	}
	if (tunnel->is_over)
		return;
	if (event == IO_DATA)
		take_answer(tunnel);
	else if (event == IO_TIMEOUT)
		tunnel_fail(tunnel, "it did not answer in time");
	else if (event == IO_EOF || event == IO_FAILED)
		tunnel_fail(tunnel, "it closed the connection");
}

static void begin(struct tunnel *tunnel)
{
	auto_type(buf_release) struct buf out;
	struct err err;

	init_say(&out);
	tunnel->talk.secret = secret_view(&tunnel->secret);
	if (proxy_talk_begin(&tunnel->talk, &out, &err) < 0)
		tunnel_fail(tunnel, err.text);
	else if (say(tunnel, &out) < 0)
		tunnel_fail(tunnel, "it takes nothing");
	else
		io_read_start(tunnel->io);
}

/* ---- the secret ---- */

static void on_secret(struct rpc_outcome *outcome, void *owner)
{
	const struct msg_proxy_secret *message = outcome->message;
	struct tunnel *tunnel = owner;
	struct err err;

	tunnel->is_asking = false;
	if (tunnel->is_over)
		free_when_done(tunnel);
	else if (outcome->err)
		tunnel_fail(tunnel, outcome->err->text);
	else if (secret_set(&tunnel->secret, message->secret, &err) < 0)
		tunnel_fail(tunnel, err.text);
	else
		begin(tunnel);
}

static int ask_secret(struct tunnel *tunnel)
{
	struct keeper_peer *vault =
		keeper_peer_of(tunnel->courier->keeper, ROLE_VAULT);
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_PROXY_SECRET_GET,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &msg_proxy_secret_schema,
		.timeout_ms = SECRET_TIMEOUT_MS,
		.on_outcome = on_secret,
		.owner = tunnel,
	};
	struct err err;

	if (!vault || rpc_ask(vault->rpc, &call, NULL, &err) < 0)
		return -1;
	tunnel->is_asking = true;
	return 0;
}

/* ---- begin ---- */

/* Of no session: an endpoint that the configuration names. */
static bool is_endpoint(const struct gateway_config *config,
			const struct msg_proxy_connect *wanted)
{
	for (size_t i = 0; i < config->sources_count; i++)
		if (source_is_bought(&config->sources[i]) &&
		    bytes_equal(config->sources[i].host, wanted->host) &&
		    config->sources[i].port == wanted->port)
			return true;
	return false;
}

/* The second decision on a target that the dialer let through. */
static bool may_reach(const struct courier *courier,
		      const struct msg_proxy_connect *wanted)
{
	const struct session *session =
		session_find(&courier->keeper->sessions, wanted->session);

	if (wanted->session.len == 0)
		return is_endpoint(&courier->keeper->config, wanted);
	return session && !session_is_expired(session, clock_wall_ms()) &&
	       scope_allows_target(session_scope(session), wanted->host,
				   wanted->port);
}

static struct tunnel *tunnel_new(struct courier *courier,
				 const struct msg_proxy_connect *wanted, int fd)
{
	struct tunnel *tunnel = calloc(1, sizeof(*tunnel));

	if (!tunnel) {
		(void)close(fd);
		return NULL;
	}
	tunnel->courier = courier;
	secret_init(&tunnel->secret);
	memcpy(tunnel->host, wanted->host.data, wanted->host.len);
	tunnel->talk = (struct proxy_talk){
		.kind = (enum proxy_kind)courier->keeper->config.proxy.kind,
		.host = bytes_str(tunnel->host),
		.port = wanted->port,
	};
	tunnel->io =
		io_new(courier->keeper->loop, fd, &limits, on_proxy, tunnel);
	if (!tunnel->io) {
		free(tunnel);
		return NULL;
	}
	courier->tunnel_count++;
	return tunnel;
}

void proxy_connect(struct courier *courier,
		   const struct msg_proxy_connect *message, int fd,
		   struct rpc_ticket ticket)
{
	const struct config_proxy *proxy = &courier->keeper->config.proxy;
	auto_fd int connection = fd;
	struct tunnel *tunnel;

	rpc_ticket_hold(ticket);
	if (proxy->kind == PROXY_NONE || !may_reach(courier, message)) {
		rpc_refuse(ticket, CONSTRAINT_host_not_allowed,
			   "the session may not reach this by the proxy");
		return;
	}
	if (courier->tunnel_count >= PROXY_TUNNELS_MAX) {
		rpc_refuse(ticket, CONSTRAINT_limit_connections,
			   "too many connections are being made");
		return;
	}
	tunnel = tunnel_new(courier, message, take_fd(&connection));
	if (!tunnel) {
		rpc_refuse(ticket, CONSTRAINT_internal, "memory is out");
		return;
	}
	tunnel->ticket = ticket;
	io_deadline(tunnel->io, PROXY_TALK_MS);
	if (proxy->secret.len == 0)
		begin(tunnel);
	else if (ask_secret(tunnel) < 0)
		tunnel_fail(tunnel, "the vault is being restarted");
}
