#include "gateway/edge/own_ask.h"

static int failed(struct conn *conn, const struct own_ask *ask)
{
	if (upstream_was_stale(conn->up) && ask->may_repeat(conn))
		return conn_get_upstream(conn, conn->verdict.credential);
	conn_refuse_upstream(conn);
	return -1;
}

enum step own_ask_step(struct conn *conn, enum lane_event event,
		       const struct own_ask *ask)
{
	int result = 0;

	switch ((unsigned)event) {
	case EV_ENTER:
		result = ask->begin(conn);
		break;
	case EV_UP_READY:
		result = ask->send(conn);
		break;
	case EV_UP_HEAD:
		result = ask->head(conn);
		break;
	case EV_UP_BODY:
		result = ask->body(conn);
		break;
	case EV_UP_END:
		return ask->end(conn);
	case EV_UP_FAILED:
		result = failed(conn, ask);
		break;
	default:
		break;
	}
	return result < 0 ? STEP_DENY : STEP_STAY;
}
