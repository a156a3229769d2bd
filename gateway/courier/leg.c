#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/courier/attach.h"
#include "gateway/courier/body.h"
#include "gateway/courier/certificate.h"
#include "gateway/courier/courier.h"
#include "gateway/courier/h2.h"
#include "gateway/courier/pass.h"
#include "gateway/flow/share.h"
#include "gateway/tls/verify.h"

#define LEG_REFUSE_LINGER_MS 2000

static const struct io_limits edge_limits = {
	.in_max = LEG_HEAD_MAX + 16,
	.out_high = 256 * 1024,
	.out_max = 4 * 1024 * 1024,
};
static const struct io_limits upstream_limits = {
	.in_max = 128 * 1024,
	.out_high = 256 * 1024,
	.out_max = 16 * 1024 * 1024,
};

/* ---- the end ---- */

static void leg_free(struct leg *leg)
{
	DL_DELETE(leg->courier->legs, leg);
	leg->courier->leg_count--;
	reflect_release(&leg->reflect);
	io_timer_free(leg->quiet);
	body_release(leg);
	h2_free(leg->h2);
	arena_release(&leg->arena);
	free(leg);
}

void leg_released(struct leg *leg)
{
	unsigned ios = 1 + (leg->edge != NULL) + (leg->h2 && leg->h2->io);

	leg->released++;
	if (leg->released == ios)
		leg_free(leg);
}

static struct bytes session_key(const struct leg *leg,
				char key[TLS_CLIENT_KEY_MAX])
{
	int len = snprintf(key, TLS_CLIENT_KEY_MAX, "%s|%s:%u", leg->session,
			   leg->target.host, leg->target.port);

	return bytes_from(key, (size_t)len);
}

/* Was it verified by the roots that hold? */
static bool is_trusted(const struct leg *leg)
{
	return io_tls_is_of(leg->upstream, leg->courier->tls.ctx);
}

static void keep_tls_session(struct leg *leg)
{
	struct courier *courier = leg->courier;
	char key[TLS_CLIENT_KEY_MAX];

	if (io_error(leg->upstream)->code == ERR_NONE && !leg->is_certificate &&
	    is_trusted(leg))
		tls_client_keep(&courier->tls, session_key(leg, key),
				io_tls_session(leg->upstream),
				io_loop_now_ms(courier->keeper->loop));
}

void leg_close(struct leg *leg)
{
	if (leg->state == LEG_CLOSED)
		return;
	if (leg->state == LEG_CONNECTING)
		rpc_refuse(leg->ticket, CONSTRAINT_upstream_closed,
			   "the connection to %s was closed", leg->target.host);
	else
		keep_tls_session(leg);
	leg->state = LEG_CLOSED;
	if (leg->opening)
		opening_cancel(leg->opening);
	if (leg->grant)
		grant_cancel(leg->grant);
	h2_close(leg);
	io_close(leg->upstream);
	if (leg->edge)
		io_close_flushed(leg->edge, LEG_REFUSE_LINGER_MS);
}

void leg_refuse(struct leg *leg, enum constraint constraint, const char *format,
		...)
{
	char text[256];
	struct leg_refused full = {.constraint = (uint16_t)constraint};
	auto_type(buf_release) struct buf frame;
	va_list args;
	struct err err;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	full.detail = bytes_str(text);
	log_info("session %s: refused at %s: %s", leg->session,
		 leg->target.host, text);
	buf_init(&frame, LEG_FRAME_MAX + 16);
	if (leg_add_message(&frame, LEG_REFUSED, &leg_refused_schema, &full,
			    &err) == 0)
		(void)io_write(leg->edge, buf_view(&frame));
	leg_close(leg);
}

void legs_close(struct courier *courier, const char *session)
{
	struct leg *leg, *next;

	DL_FOREACH_SAFE(courier->legs, leg, next)
	if (!strcmp(leg->session, session))
		leg_close(leg);
}

/* Has it a request that is not answered? */
static bool is_busy(const struct leg *leg)
{
	return leg->state >= LEG_GRANTING && leg->state <= LEG_RAW;
}

void legs_review(struct courier *courier, const char *session)
{
	struct leg *leg, *next;
	struct err err;

	DL_FOREACH_SAFE(courier->legs, leg, next)
	if (!strcmp(leg->session, session) &&
	    (!leg_scope(leg) || (is_busy(leg) && grant_check(leg, &err) < 0)))
		leg_close(leg);
}

void legs_distrust(struct courier *courier)
{
	struct leg *leg, *next;

	DL_FOREACH_SAFE(courier->legs, leg, next)
	if (leg->state == LEG_IDLE && !is_trusted(leg))
		leg_close(leg);
}

void legs_close_of(struct courier *courier, const struct keeper_peer *peer)
{
	struct leg *leg, *next;

	DL_FOREACH_SAFE(courier->legs, leg, next)
	if (leg->peer == peer)
		leg_close(leg);
}

/* ---- from the edge ---- */

static int decode_head(struct leg *leg, struct bytes copy, struct err *err)
{
	if (leg->kind == LEG_PUSH)
		return wire_decode(&leg_push_schema, copy, &leg->arena,
				   &leg->push, err);
	if (leg->kind == LEG_REQUEST)
		return wire_decode(&leg_request_schema, copy, &leg->arena,
				   &leg->request, err);
	if (wire_decode(&leg_upgrade_schema, copy, &leg->arena, &leg->upgrade,
			err) < 0)
		return -1;
	return upgrade_take(leg, err);
}

static int take_head(struct leg *leg, enum leg_kind kind, struct bytes payload,
		     struct err *err)
{
	struct bytes copy;

	if (leg->h2 && kind != LEG_REQUEST)
		return err_set(err, ERR_INVALID,
			       "HTTP/2 is for requests alone");
	arena_reset(&leg->arena);
	copy = arena_copy(&leg->arena, payload);
	if (copy.len != payload.len)
		return err_set(err, ERR_TOO_LARGE, "take request: too large");
	leg->kind = kind;
	if (decode_head(leg, copy, err) < 0 || grant_check(leg, err) < 0)
		return -1;
	leg->has_length = kind == LEG_REQUEST && leg->request.has_length;
	leg->body_left = leg->has_length ? leg->request.body_len : UINT64_MAX;
	if (kind == LEG_REQUEST && !leg->request.has_body)
		leg->body_left = 0;
	leg->state = LEG_GRANTING;
	return 0;
}

/* Nothing is outstanding, so nothing can come back: what upstream says before
 * it is asked again is not passed on (on_upstream). */
static int end_response(struct leg *leg, struct err *err)
{
	if (buf_len(leg_said(leg)) > leg->passed)
		return err_set(err, ERR_INVALID, "upstream said more");
	pass_forget(leg);
	leg->state = LEG_IDLE;
	io_deadline(leg->upstream, LEG_IDLE_MS);
	if (!is_trusted(leg))
		leg_close(leg);
	return 0;
}

static int take_frame(struct leg *leg, enum leg_kind kind, struct bytes payload,
		      struct err *err)
{
	(void)err_set(err, ERR_CLOSED, "upstream takes no more");
	if (leg->state == LEG_IDLE &&
	    (kind == LEG_REQUEST || kind == LEG_PUSH || kind == LEG_UPGRADE))
		return take_head(leg, kind, payload, err);
	if (leg->state == LEG_RAW && kind == LEG_BODY)
		return upgrade_send(leg, payload, err);
	if (leg->state == LEG_SENDING && kind == LEG_BODY)
		return body_send(leg, payload, err);
	if (leg->state == LEG_SENDING && kind == LEG_END && payload.len == 0)
		return body_end(leg, err);
	if (leg->state == LEG_RECEIVING && kind == LEG_DONE && payload.len == 0)
		return end_response(leg, err);
	return err_set(err, ERR_INVALID, "frame %d is out of order", (int)kind);
}

/* When upstream is what failed, its last words come before its IO_FAILED
 * does, later in this turn. */
static void frames_failed(struct leg *leg, const char *why, enum err_code code)
{
	if (io_error(leg->upstream)->code != ERR_NONE) {
		io_read_stop(leg->edge);
		return;
	}
	leg_refuse(leg,
		   code == ERR_DENIED ? CONSTRAINT_credential_unavailable
				      : CONSTRAINT_internal,
		   "%s", why);
}

static bool is_full(const struct leg *leg)
{
	return io_is_full(leg->upstream) || (leg->h2 && h2_is_full(leg));
}

/* Frames wait in io_in() while a grant is asked for and while upstream takes
 * no more. */
static void take_frames(struct leg *leg)
{
	struct buf *in = io_in(leg->edge);
	enum leg_kind kind;
	struct bytes payload;
	size_t used;
	struct err err = {0};
	int got;

	while (leg->state != LEG_GRANTING && leg->state != LEG_CLOSED &&
	       !is_full(leg)) {
		got = leg_next(buf_view(in), &kind, &payload, &used);
		if (got == 0)
			break;
		if (got < 0 || take_frame(leg, kind, payload, &err) < 0) {
			frames_failed(leg, got < 0 ? "not a frame" : err.text,
				      err.code);
			return;
		}
		buf_consume(in, used);
		if (leg->state == LEG_GRANTING)
			grant_start(leg);
	}
	if (leg->state == LEG_CLOSED)
		return;
	if (leg->state == LEG_GRANTING || is_full(leg))
		io_read_stop(leg->edge);
	else
		io_read_start(leg->edge);
}

void leg_pump(struct leg *leg)
{
	if (leg->edge)
		take_frames(leg);
}

static void on_edge(struct io *io, enum io_event event, void *owner)
{
	struct leg *leg = owner;

	(void)io;
	if (event == IO_RELEASED) {
		leg_released(leg);
		return;
	}
	if (leg->state == LEG_CLOSED)
		return;
	if (event == IO_DATA)
		take_frames(leg);
	else if (event != IO_DRAINED)
		leg_close(leg);
	else {
		if (leg->h2)
			h2_resume(leg);
		else
			io_read_start(leg->upstream);
		pass_wait(leg);
	}
}

static int ask(struct leg *leg, struct bytes head, struct err *err)
{
	if (leg->h2)
		return h2_ask(leg, head, err);
	return io_write(leg->upstream, head) < 0
		       ? err_set(err, ERR_CLOSED, "upstream takes no more")
		       : 0;
}

void leg_granted(struct leg *leg, const struct msg_token *token)
{
	auto_type(buf_release) struct buf out;
	struct err err;
	int result;

	leg->grant = NULL;
	buf_init(&out, 2 * LEG_HEAD_MAX);
	result = body_begin(leg, token, &err);
	if (result == 0)
		result = request_write(leg, token, &out, &err);
	if (result == 0)
		result = request_watch(leg, token, &err);
	if (result == 0)
		result = ask(leg, buf_view(&out), &err);
	if (out.data)
		secret_wipe(out.data, out.size);
	if (result < 0) {
		frames_failed(leg, err.text, err.code);
		return;
	}
	leg->state = leg->kind == LEG_UPGRADE ? LEG_UPGRADING : LEG_SENDING;
	(void)leg_wait(leg);
	take_frames(leg);
}

/* ---- from upstream ---- */

static void upstream_ended(struct leg *leg)
{
	static const uint8_t frame[] = {LEG_EOF, 0, 0, 0};

	pass_back(leg);
	if (leg->state == LEG_CLOSED)
		return;
	pass_rest(leg);
	if (leg->state == LEG_CLOSED)
		return;
	(void)io_write(leg->edge, bytes_from(frame, sizeof(frame)));
	leg_close(leg);
}

void leg_stands(struct leg *leg)
{
	const struct msg_leg_opened message = {
		.tls_version = bytes_str(io_tls_version(leg->upstream)),
		.speaks_h2 = leg->h2 != NULL,
	};
	auto_fd int theirs = -1;
	struct err err;
	int fds[2];

	if (io_stream_pair(fds, &err) < 0) {
		leg_close(leg);
		return;
	}
	theirs = fds[1];
	leg->edge = io_new(leg->courier->keeper->loop, fds[0], &edge_limits,
			   on_edge, leg);
	if (!leg->edge) {
		leg_close(leg);
		return;
	}
	leg->state = LEG_IDLE;
	io_deadline(leg->upstream, LEG_IDLE_MS);
	io_read_start(leg->edge);
	rpc_reply(leg->ticket, &msg_leg_opened_schema, &message, theirs);
}

void leg_fail_opening(struct leg *leg, enum constraint constraint,
		      const char *why)
{
	if (leg->opening)
		opening_cancel(leg->opening);
	rpc_refuse(leg->ticket, (uint16_t)constraint, "%s: %s",
		   leg->target.host, why);
	leg->state = LEG_CLOSED;
	h2_close(leg);
	io_close(leg->upstream);
}

static void tls_stands(struct leg *leg)
{
	struct err err;

	if (!leg->offers_h2 || !bytes_is(io_tls_alpn(leg->upstream), "h2"))
		leg_stands(leg);
	else if (h2_begin(leg, &err) < 0)
		leg_fail_opening(leg, CONSTRAINT_internal, err.text);
}

static void on_upstream(struct io *io, enum io_event event, void *owner)
{
	struct leg *leg = owner;

	if (event == IO_RELEASED) {
		leg_released(leg);
		return;
	}
	if (leg->state == LEG_CLOSED)
		return;
	if (leg->h2) {
		h2_on_upstream(leg, event);
	} else if (leg->state == LEG_CONNECTING && event == IO_TLS_READY) {
		tls_stands(leg);
	} else if (leg->state == LEG_CONNECTING && event == IO_TIMEOUT) {
		leg_fail_opening(leg, CONSTRAINT_connect_timeout,
				 "the handshake took too long");
	} else if (leg->state == LEG_CONNECTING && event == IO_FAILED) {
		leg_fail_opening(leg, tls_client_constraint(io_error(io)),
				 io_error(io)->text);
	} else if (leg->state == LEG_CONNECTING) {
		leg_fail_opening(leg, CONSTRAINT_upstream_closed, "closed");
	} else if (event == IO_DATA &&
		   (leg->state == LEG_IDLE || leg->state == LEG_GRANTING)) {
		/* Nothing is watched for, and nothing was asked. */
		leg_close(leg);
	} else if (event == IO_DATA) {
		if (leg->state == LEG_UPGRADING)
			upgrade_look(leg);
		if (leg->state != LEG_UPGRADING)
			pass_back(leg);
	} else if (event == IO_EOF) {
		upstream_ended(leg);
	} else if (event == IO_DRAINED) {
		take_frames(leg);
	} else {
		leg_close(leg);
	}
}

/* ---- open ---- */

static const uint8_t protocols[] = {2,	 'h', '2', 8,	'h', 't',
				    't', 'p', '/', '1', '.', '1'};

int leg_start_tls(struct leg *leg, const struct certificate *certificate,
		  struct err *err)
{
	struct courier *courier = leg->courier;
	const struct io_loop *loop = courier->keeper->loop;
	char key[TLS_CLIENT_KEY_MAX];
	const struct io_tls_client client = {
		.ctx = tls_client_context(&courier->tls, err),
		.name = leg->target.host,
		.alpn = bytes_from(protocols,
				   leg->offers_h2 ? sizeof(protocols) : 0),
		/* A resumed one would be of whoever showed a certificate. */
		.session = certificate
				   ? NULL
				   : tls_client_session(&courier->tls,
							session_key(leg, key),
							io_loop_now_ms(loop)),
		.check = tls_verify_leaf,
		.chain = certificate ? certificate->chain : NULL,
		.chain_count = certificate ? certificate->count : 0,
		.key = certificate ? certificate->key : NULL,
	};

	if (!client.ctx || io_tls_client(leg->upstream, &client, err) < 0)
		return -1;
	io_read_start(leg->upstream);
	return 0;
}

static void copy_text(char *out, size_t size, struct bytes text)
{
	(void)snprintf(out, size, "%.*s", BYTES_ARGS(text));
}

static struct leg *leg_new(struct courier *courier,
			   const struct keeper_peer *peer,
			   const struct msg_leg_open *message)
{
	struct leg *leg = calloc(1, sizeof(*leg));

	if (!leg)
		return NULL;
	leg->courier = courier;
	leg->peer = peer;
	copy_text(leg->session, sizeof(leg->session), bytes_str(peer->session));
	copy_text(leg->binding, sizeof(leg->binding), message->binding);
	leg->target.kind = host_canonical(message->host, leg->target.host);
	leg->target.port = message->port;
	leg->target.scheme = SCHEME_HTTPS;
	leg->offers_h2 = message->offers_h2;
	/* Of another length it is no binding's. */
	if (message->mark.len == sizeof(leg->mark))
		memcpy(leg->mark, message->mark.data, sizeof(leg->mark));
	arena_init(&leg->arena, LEG_ARENA_MAX);
	return leg;
}

static void take_binding(struct leg *leg)
{
	const struct scope_binding *binding =
		scope_binding_named(leg_scope(leg), bytes_str(leg->binding));

	leg->is_certificate = binding->attach == ATTACH_CERTIFICATE;
	leg->scrub = (enum policy_scrub)binding->scrub;
}

/* One session must not take what all have. */
static bool has_room_for(const struct courier *courier, const char *session)
{
	const struct leg *leg;
	size_t own = 0;

	DL_FOREACH(courier->legs, leg)
	own += !strcmp(leg->session, session);
	return share_has_room(own, LEGS_OF_SESSION_MAX, courier->leg_count,
			      LEGS_MAX);
}

void leg_open(struct courier *courier, const struct keeper_peer *peer,
	      const struct msg_leg_open *message, int fd,
	      struct rpc_ticket ticket)
{
	auto_fd int connection = fd;
	auto_free struct leg *leg = leg_new(courier, peer, message);
	struct err err;

	if (!leg || !has_room_for(courier, peer->session)) {
		rpc_refuse(ticket, CONSTRAINT_limit_connections,
			   "the courier has %zu connections",
			   courier->leg_count);
		return;
	}
	if (leg->target.kind == HOST_INVALID ||
	    !bytes_is(message->host, leg->target.host) || !leg_scope(leg)) {
		rpc_refuse(ticket, CONSTRAINT_credential_unavailable,
			   "the session may not use %s at %s:%u", leg->binding,
			   leg->target.host, leg->target.port);
		return;
	}
	leg->quiet = io_timer_new(courier->keeper->loop, pass_quiet, leg);
	if (leg->quiet)
		leg->upstream =
			io_new(courier->keeper->loop, take_fd(&connection),
			       &upstream_limits, on_upstream, leg);
	if (!leg->upstream) {
		io_timer_free(leg->quiet);
		rpc_refuse(ticket, CONSTRAINT_internal, "memory is out");
		return;
	}
	leg->ticket = ticket;
	rpc_ticket_hold(ticket);
	DL_APPEND(courier->legs, leg);
	courier->leg_count++;
	io_deadline(leg->upstream, LEG_HANDSHAKE_MS);
	take_binding(leg);
	if (leg->is_certificate)
		opening_start(leg);
	else if (leg_start_tls(leg, NULL, &err) < 0)
		leg_fail_opening(leg, tls_client_constraint(&err), err.text);
	(void)take_ptr(&leg);
}
