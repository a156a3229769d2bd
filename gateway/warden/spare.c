#include "common/log.h"
#include "gateway/warden/warden.h"

static void on_due(void *owner)
{
	struct warden *warden = owner;
	struct err err;

	if (warden->spare || warden->is_draining)
		return;
	warden->spare = child_add(warden, ROLE_EDGE, NULL, &err);
	if (warden->spare)
		return;
	log_error("no spare edge: %s", err.text);
	io_timer_set(warden->spare_timer, RESTART_DELAY_MAX_MS);
}

int spare_begin(struct warden *warden)
{
	warden->spare_timer = io_timer_new(warden->loop, on_due, warden);
	if (!warden->spare_timer)
		return -1;
	io_timer_set(warden->spare_timer, SPARE_DELAY_MS);
	return 0;
}

struct child *spare_take(struct warden *warden, struct warden_session *session,
			 struct err *err)
{
	struct child *edge = warden->spare;

	io_timer_set(warden->spare_timer, SPARE_DELAY_MS);
	/* One that waits to be restarted is no help. */
	if (!edge || !edge->rpc)
		return child_add(warden, ROLE_EDGE, session, err);
	warden->spare = NULL;
	edge->session = session;
	edge->restarts = 0;
	if (wire_child(edge, err) == 0)
		return edge;
	/* It has just died. */
	log_warn("the spare edge is gone: %s", err->text);
	edge->session = NULL;
	child_end(edge);
	return child_add(warden, ROLE_EDGE, session, err);
}
