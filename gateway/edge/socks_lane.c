/*
 * The SOCKS lane: a proxy client's first byte, and the way from there to the
 * first bytes inside, where it joins the way of CONNECT.
 */
#include <arpa/inet.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/edge/conn.h"
#include "gateway/edge/opening.h"
#include "gateway/session/session.h"

/* NEXT: HTTP; OTHER: SOCKS. */
static enum step step_first(struct conn *conn, enum lane_event event)
{
	struct bytes input = buf_view(io_in(conn->client));

	if (input.len == 0)
		return event == EV_EOF ? STEP_END : STEP_STAY;
	return socks_begins(input) ? STEP_OTHER : STEP_NEXT;
}

/* What was wanted is not given; answer says so. NEXT is the lane's DENY:
 * linger, so that the answer arrives. */
static enum step refuse(struct conn *conn, struct bytes answer)
{
	if (conn_record_target(conn) < 0)
		log_debug("socks: a refusal could not be recorded");
	if (answer.len && io_write(conn->client, answer) < 0)
		return STEP_END;
	return STEP_DENY;
}

static void deny_target(struct conn *conn, enum constraint constraint,
			const char *reason)
{
	conn->errand->target_verdict = (struct verdict){
		.kind = VERDICT_DENY,
		.constraint = constraint,
		.rule = bytes_str("gateway"),
		.reason = bytes_str(reason),
	};
}

/* ---- who ---- */

/* As with Proxy-Authorization: the lease is the password, or the user's name
 * when that is empty; one that is given must be right, and a client outside
 * must give one. */
static bool is_lease_right(const struct conn *conn, const struct socks *socks)
{
	const struct edge *edge = conn->edge;
	const struct session *session = session_find(
		&edge->keeper->sessions, bytes_str(edge->session_id));

	return session &&
	       session_lease_is(session, socks->password.len ? socks->password
							     : socks->user);
}

static enum step take_password(struct conn *conn)
{
	bool is_right = is_lease_right(conn, &conn->opening->socks);
	uint8_t answer[2];

	socks_answer_password(is_right, answer);
	if (is_right)
		return io_write(conn->client,
				bytes_from(answer, sizeof(answer))) < 0
			       ? STEP_END
			       : STEP_STAY;
	deny_target(conn, CONSTRAINT_lease_invalid,
		    constraint_text(CONSTRAINT_lease_invalid));
	return refuse(conn, bytes_from(answer, sizeof(answer)));
}

/* ---- where to ---- */

/* An address of this session's names is the name (names.h). */
static void name_address(struct conn *conn)
{
	struct target *target = &conn->errand->target;
	struct sockaddr_storage storage = {0};
	void *any = &storage;
	struct sockaddr_in *ipv4 = any;
	struct sockaddr_in6 *ipv6 = any;
	struct bytes name;

	if (target->kind == HOST_IPV4) {
		ipv4->sin_family = AF_INET;
		(void)inet_pton(AF_INET, target->host, &ipv4->sin_addr);
	} else {
		ipv6->sin6_family = AF_INET6;
		(void)inet_pton(AF_INET6, target->host, &ipv6->sin6_addr);
	}
	name = names_behind(conn->edge->names, any,
			    io_loop_now_ms(conn->edge->keeper->loop));
	if (name.len == 0)
		return;
	memcpy(target->host, name.data, name.len);
	target->host[name.len] = '\0';
	target->kind = HOST_NAME;
}

static bool is_denied(struct conn *conn)
{
	enum constraint over = edge_over(conn->edge);

	conn->errand->target_verdict =
		target_check(conn->law->policy, &conn->errand->target);
	if (over != CONSTRAINT_none)
		deny_target(conn, over, constraint_text(over));
	/* Whoever must be asked first is asked as with CONNECT. */
	return conn->errand->target_verdict.kind == VERDICT_DENY;
}

static enum step answer(struct conn *conn, enum socks_code code)
{
	uint8_t out[SOCKS_ANSWER_BYTES];

	socks_answer(code, out);
	if (code != SOCKS_SUCCEEDED)
		return refuse(conn, bytes_from(out, sizeof(out)));
	return io_write(conn->client, bytes_from(out, sizeof(out))) < 0
		       ? STEP_END
		       : STEP_NEXT;
}

static enum step take_request(struct conn *conn)
{
	if (target_named(bytes_str(conn->opening->socks.host),
			 conn->opening->socks.port, SCHEME_TCP,
			 &conn->errand->target) < 0) {
		deny_target(conn, CONSTRAINT_request_malformed,
			    "the request names no host that can exist");
		return answer(conn, SOCKS_FAILED);
	}
	if (conn->errand->target.kind != HOST_NAME)
		name_address(conn);
	/* Where HTTP or TLS follows, a refusal is told inside, in full. */
	if (!tunnel_is_web_port(conn->errand->target.port) && is_denied(conn))
		return answer(conn, SOCKS_NOT_ALLOWED);
	/* target is filled in again from what stands in wanted: they share no
	 * memory. */
	memcpy(conn->opening->arrival.host, conn->errand->target.host,
	       sizeof(conn->opening->arrival.host));
	conn->opening->wanted = (struct wanted){
		.host = conn->opening->arrival.host,
		.kind = conn->errand->target.kind,
		.port = conn->errand->target.port,
		.from_connect = true,
	};
	return answer(conn, SOCKS_SUCCEEDED);
}

/* ---- the lane ---- */

static enum step take_methods(struct conn *conn)
{
	uint8_t out[2];

	/* The door has answered: it had to, to be told the lease. */
	if (conn->is_outside)
		return STEP_STAY;
	socks_answer_method(&conn->opening->socks, out);
	return io_write(conn->client, bytes_from(out, sizeof(out))) < 0
		       ? STEP_END
		       : STEP_STAY;
}

static enum step take_invalid(struct conn *conn)
{
	deny_target(conn, CONSTRAINT_request_malformed,
		    conn->opening->socks.reason);
	return refuse(conn, bytes_from(conn->opening->socks.refusal,
				       conn->opening->socks.refusal_len));
}

/* One message. *is_more: there was none. */
static enum step take_message(struct conn *conn, bool *is_more)
{
	struct buf *in = io_in(conn->client);
	struct bytes input = buf_view(in);
	size_t before = input.len;
	enum socks_result result = socks_take(&conn->opening->socks, &input);
	enum step step = STEP_STAY;

	switch (result) {
	case SOCKS_METHODS:
		step = take_methods(conn);
		break;
	case SOCKS_PASSWORD:
		step = take_password(conn);
		break;
	case SOCKS_REQUEST:
		step = take_request(conn);
		break;
	case SOCKS_INVALID:
		step = take_invalid(conn);
		break;
	case SOCKS_MORE:
		break;
	}
	*is_more = result == SOCKS_MORE;
	buf_consume(in, before - input.len);
	return step;
}

/* NEXT: connected, as far as the client knows. */
static enum step step_socks(struct conn *conn, enum lane_event event)
{
	enum step step = STEP_STAY;
	bool is_more = false;

	while (step == STEP_STAY && !is_more)
		step = take_message(conn, &is_more);
	if (step == STEP_STAY && (event == EV_EOF || conn->is_eof))
		return STEP_END;
	return step;
}

#define ON_CLIENT (EV_BIT(EV_DATA) | EV_BIT(EV_EOF))

const struct lane_state socks_states[] = {
	[AT_FIRST] = {"first", step_first, ON_CLIENT, DEADLINE_IDLE_MS,
		      DEADLINE_FIXED, AT_HEAD, AT_SOCKS, AT_NONE},
	[AT_SOCKS] = {"socks", step_socks, ON_CLIENT, DEADLINE_HEAD_MS,
		      DEADLINE_FIXED, AT_PEEK, AT_NONE, AT_LINGER},
};
