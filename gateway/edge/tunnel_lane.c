/*
 * The tunnel lane: bytes as they are, for targets that the policy allows
 * without looking inside. The first bytes were looked at and decided on;
 * they go first.
 */
#include "common/cleanup.h"
#include "gateway/edge/approval.h"
#include "gateway/edge/opening.h"
#include "gateway/upstream/dial.h"

static const struct io_limits limits = {
	.in_max = CONN_IN_MAX,
	.out_high = CONN_OUT_HIGH,
	.out_max = CONN_OUT_MAX,
};

bool tunnel_is_web_port(uint16_t port)
{
	static const uint16_t ports[] = {80, 443, 8080, 8443};

	for (size_t i = 0; i < ARRAY_SIZE(ports); i++)
		if (ports[i] == port)
			return true;
	return false;
}

bool tunnel_may_wait(const struct conn *conn)
{
	const struct target_facts facts = {
		.host = bytes_str(conn->opening->wanted.host),
		.port = conn->opening->wanted.port,
	};
	struct verdict verdict;

	if (tunnel_is_web_port(facts.port))
		return false;
	verdict = decide_target(conn->law->policy, &facts, NULL);
	return verdict.kind == VERDICT_ALLOW && !verdict.inspect;
}

bool tunnel_hides_name(const struct conn *conn)
{
	const struct hello *hello = &conn->opening->hello;

	return hello->kind == HELLO_TLS && hello->has_ech &&
	       !decide_is_tunnel(conn->law->policy, conn_host(conn));
}

static void on_peer(struct io *io, enum io_event event, void *owner)
{
	struct conn *conn = owner;

	(void)io;
	/* The connection closes its peer first: after that nothing here is
	 * its own. */
	if (event == IO_RELEASED || conn->is_closed)
		return;
	if (event == IO_DATA)
		lane_deliver(conn, EV_PEER_DATA);
	else if (event == IO_EOF)
		lane_deliver(conn, EV_PEER_EOF);
	else if (event == IO_DRAINED)
		lane_deliver(conn, EV_PEER_DRAINED);
	else
		conn_close(conn);
}

static void on_dialed(struct dial_outcome *outcome, void *owner)
{
	struct conn *conn = owner;

	conn->dial = NULL;
	if (outcome->fd < 0) {
		conn_refuse(conn, outcome->constraint, "%.*s",
			    BYTES_ARGS(outcome->detail));
	} else {
		conn->peer =
			io_new(conn->edge->keeper->loop, take_fd(&outcome->fd),
			       &limits, on_peer, conn);
		if (!conn->peer)
			conn_refuse(conn, CONSTRAINT_internal, "memory is out");
	}
	lane_deliver(conn, EV_ANSWER);
}

/* A tunnel counts as a request. */
static int start_dial(struct conn *conn)
{
	struct err err;

	if (rate_begin(conn, 0) < 0)
		return -1;
	conn->dial = dial_start(conn->edge->keeper, &conn->errand->target,
				on_dialed, conn, &err);
	if (conn->dial)
		return 0;
	conn_refuse(conn, CONSTRAINT_internal, "%s", err.text);
	return -1;
}

/* NEXT: connected; OTHER: not, and a TLS client can be told why. */
static enum step step_dial(struct conn *conn, enum lane_event event)
{
	if (event == EV_ENTER) {
		/* The target's decision is what its end belongs to. */
		conn->on_record = RECORD_IS_OPEN;
		conn->verdict = conn->errand->target_verdict;
		if (start_dial(conn) == 0)
			return STEP_STAY;
	}
	if (conn->peer) {
		io_read_start(conn->peer);
		return STEP_NEXT;
	}
	if (conn->opening->hello.kind != HELLO_TLS)
		return STEP_END;
	conn->errand->target_verdict = (struct verdict){
		.kind = VERDICT_DENY,
		.constraint = conn->refusal.constraint,
		.rule = conn->errand->target_verdict.rule,
		.inspect = true,
	};
	return STEP_OTHER;
}

/* Move all of from's bytes; stop reading there while to is full. */
static int move(struct io *from, struct io *to, uint64_t *count)
{
	struct buf *in = io_in(from);

	if (buf_len(in) > 0) {
		if (io_write(to, buf_view(in)) < 0)
			return -1;
		*count += buf_len(in);
		buf_clear(in);
	}
	if (io_is_full(to))
		io_read_stop(from);
	return 0;
}

/* A client that spoke late is looked at as one that speaks first: TLS must
 * name the host that was decided on (B1), and HTTP is not for tunnels. What
 * looks like HTTP is none when the server spoke first (SMTP's EHLO).
 * 1: it may pass; 0: not known yet; -1: it may not. */
static int hear(struct conn *conn)
{
	struct bytes input = buf_view(io_in(conn->client));
	struct opening *opening = conn->opening;
	struct target target;

	if (!conn->is_unheard)
		return 1;
	if (opening->hello.kind == HELLO_OTHER)
		hello_init(&opening->hello);
	if (hello_look(&opening->hello, input) == HELLO_MORE)
		return conn->is_eof ? 1 : 0;
	conn->is_unheard = false;
	if ((opening->hello.kind != HELLO_HTTP || conn->bytes_down > 0) &&
	    target_from(&opening->wanted, &opening->hello, &target) ==
		    CONSTRAINT_none &&
	    bytes_is(conn_host(conn), target.host) &&
	    !tunnel_hides_name(conn)) {
		conn_forget_opening(conn);
		return 1;
	}
	conn_refuse(conn, CONSTRAINT_protocol_not_allowed,
		    "the client spoke late, and not what was decided on");
	return -1;
}

static int move_up(struct conn *conn)
{
	int heard = hear(conn);

	if (heard <= 0)
		return heard;
	if (rate_up(conn, buf_len(io_in(conn->client))) < 0)
		return -1;
	return move(conn->client, conn->peer, &conn->bytes_up);
}

static int move_down(struct conn *conn)
{
	if (rate_down(conn, buf_len(io_in(conn->peer))) < 0)
		return -1;
	return move(conn->peer, conn->client, &conn->bytes_down);
}

/* NEXT: a side ended, the other may go on. */
static enum step step_relay(struct conn *conn, enum lane_event event)
{
	int result = 0;

	if (event == EV_ENTER) {
		conn_rest(conn);
		if (!conn->is_unheard)
			conn_forget_opening(conn);
	}
	switch ((unsigned)event) {
	case EV_ENTER:
	case EV_DATA:
	case EV_EOF:
		result = move_up(conn);
		if (!conn->is_eof || result < 0)
			break;
		io_end(conn->peer);
		return STEP_NEXT;
	case EV_PEER_DATA:
		result = move_down(conn);
		break;
	case EV_PEER_EOF:
		result = move_down(conn);
		if (result < 0)
			break;
		io_end(conn->client);
		return STEP_NEXT;
	case EV_DRAINED:
		io_read_start(conn->peer);
		break;
	case EV_PEER_DRAINED:
		io_read_start(conn->client);
		break;
	default:
		return STEP_END;
	}
	return result < 0 ? STEP_END : STEP_STAY;
}

/* NEXT: the other side ended as well. */
static enum step step_half(struct conn *conn, enum lane_event event)
{
	switch ((unsigned)event) {
	case EV_ENTER:
		return STEP_STAY;
	case EV_EOF:
		(void)move_up(conn);
		return STEP_NEXT;
	case EV_PEER_EOF:
		(void)move_down(conn);
		return STEP_NEXT;
	default:
		return step_relay(conn, event) == STEP_END ? STEP_END
							   : STEP_STAY;
	}
}

#define ON_RELAY                                                               \
	(EV_BIT(EV_DATA) | EV_BIT(EV_EOF) | EV_BIT(EV_DRAINED) |               \
	 EV_BIT(EV_PEER_DATA) | EV_BIT(EV_PEER_EOF) | EV_BIT(EV_PEER_DRAINED))

const struct lane_state tunnel_states[] = {
	[AT_TUNNEL_APPROVE] = {"tunnel_approve", approval_tunnel_step,
			       EV_BIT(EV_DATA) | EV_BIT(EV_EOF) |
				       EV_BIT(EV_ANSWER) | EV_BIT(EV_WAKE),
			       DEADLINE_APPROVAL_MS, DEADLINE_FIXED,
			       AT_TUNNEL_DIAL, AT_NONE, AT_NONE},
	[AT_TUNNEL_DIAL] = {"tunnel_dial", step_dial, EV_BIT(EV_ANSWER),
			    DEADLINE_ASK_MS, DEADLINE_FIXED, AT_TUNNEL_RELAY,
			    AT_INSPECT, AT_NONE},
	[AT_TUNNEL_RELAY] = {"tunnel_relay", step_relay, ON_RELAY,
			     TUNNEL_IDLE_MS, DEADLINE_PROGRESS, AT_TUNNEL_HALF,
			     AT_NONE, AT_NONE},
	[AT_TUNNEL_HALF] = {"tunnel_half", step_half, ON_RELAY, TUNNEL_HALF_MS,
			    DEADLINE_PROGRESS, AT_END, AT_NONE, AT_NONE},
};
