/*
 * The framers: for each credential of a session, and each host that it goes
 * to, one process at most, as long as there is a leg that needs it. So what one
 * upstream makes of its framer reaches nothing of another's.
 */
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/courier/h2.h"

struct starting; /* the warden is asked */

struct framer {
	struct courier *courier;
	char session[SESSION_ID_MAX + 1];
	char binding[BINDING_NAME_MAX + 1];
	struct target target;
	struct starting *starting;
	struct rpc *rpc; /* NULL: it does not run */
	size_t legs;
	struct framer *next, *prev;
};

struct starting {
	struct framer *framer; /* NULL: nobody waits any more */
};

static bool is_for(const struct framer *framer, const struct leg *leg)
{
	return !strcmp(framer->session, leg->session) &&
	       !strcmp(framer->binding, leg->binding) &&
	       !strcmp(framer->target.host, leg->target.host) &&
	       framer->target.port == leg->target.port;
}

static struct framer *framer_of(const struct leg *leg)
{
	struct framer *framer;

	DL_FOREACH(leg->courier->framers, framer)
	if (is_for(framer, leg))
		return framer;
	return NULL;
}

static struct framer *framer_new(const struct leg *leg)
{
	struct framer *framer = calloc(1, sizeof(*framer));

	if (!framer)
		return NULL;
	framer->courier = leg->courier;
	memcpy(framer->session, leg->session, sizeof(framer->session));
	memcpy(framer->binding, leg->binding, sizeof(framer->binding));
	framer->target = leg->target;
	DL_APPEND(leg->courier->framers, framer);
	return framer;
}

static void framer_free(struct framer *framer)
{
	DL_DELETE(framer->courier->framers, framer);
	if (framer->starting)
		framer->starting->framer = NULL;
	if (framer->rpc)
		rpc_close(framer->rpc);
	free(framer);
}

/* With its last leg the framer is freed. */
static void close_all(struct framer *framer)
{
	struct leg *leg, *next;

	DL_FOREACH_SAFE(framer->courier->legs, leg, next)
	if (leg->framer == framer)
		leg_close(leg);
}

static void fail_all(struct framer *framer, const char *why)
{
	struct leg *leg, *next;

	DL_FOREACH_SAFE(framer->courier->legs, leg, next)
	if (leg->framer == framer)
		leg_fail_opening(leg, CONSTRAINT_limit_connections, why);
}

static void on_gone(struct rpc *rpc, const char *why, void *owner)
{
	struct framer *framer = owner;

	(void)rpc;
	log_warn("session %s: a framer is gone: %s", framer->session, why);
	framer->rpc = NULL;
	close_all(framer);
}

static void stand_all(struct framer *framer)
{
	struct leg *leg, *next;

	DL_FOREACH_SAFE(framer->courier->legs, leg, next)
	if (leg->framer == framer)
		h2_stand(leg, framer->rpc);
}

static void on_started(struct rpc_outcome *outcome, void *owner)
{
	auto_free struct starting *starting = owner;
	struct framer *framer = starting->framer;
	struct rpc_config config = {.owner = framer, .on_closed = on_gone};
	struct err err;

	if (!framer)
		return;
	framer->starting = NULL;
	if (outcome->err || outcome->fd < 0) {
		fail_all(framer, outcome->err ? outcome->err->text
					      : "no framer was started");
		return;
	}
	framer->rpc = rpc_new(framer->courier->keeper->loop,
			      take_fd(&outcome->fd), &config, &err);
	if (framer->rpc)
		stand_all(framer);
	else
		fail_all(framer, err.text);
}

static int start(struct framer *framer, struct err *err)
{
	auto_free struct starting *starting = calloc(1, sizeof(*starting));
	const struct msg_session_ref message = {
		.id = bytes_str(framer->session),
	};
	const struct rpc_call call = {
		.type = MSG_FRAMER_START,
		.schema = &msg_session_ref_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = FRAMER_START_MS,
		.on_outcome = on_started,
		.owner = starting,
	};

	if (!starting)
		return err_set(err, ERR_SYSTEM, "start a framer");
	if (rpc_ask(framer->courier->keeper->warden, &call, NULL, err) < 0)
		return -1;
	starting->framer = framer;
	framer->starting = take_ptr(&starting);
	return 0;
}

int framers_join(struct leg *leg, struct err *err)
{
	struct framer *framer = framer_of(leg);

	if (!framer) {
		framer = framer_new(leg);
		if (!framer)
			return err_set(err, ERR_SYSTEM, "start a framer");
		if (start(framer, err) < 0) {
			framer_free(framer);
			return -1;
		}
	}
	leg->framer = framer;
	framer->legs++;
	if (framer->rpc)
		h2_stand(leg, framer->rpc);
	return 0;
}

void framers_leave(struct leg *leg)
{
	struct framer *framer = leg->framer;

	if (!framer)
		return;
	leg->framer = NULL;
	if (--framer->legs == 0)
		framer_free(framer);
}
