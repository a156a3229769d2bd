#include "sandbox-host/api/lifecycle.h"

#include "sandbox-host/api/areas.h"
#include "sandbox-host/api/description.h"
#include "sandbox-host/api/shown.h"

#define BODY_CREATE (2 * 1024 * 1024)
#define BODY_SMALL  (64 * 1024)

static void show_health(struct exchange *exchange)
{
	exchange_reply_json(exchange, 200,
			    json_pack("{s:s}", "status", "healthy"));
}

/* ---- one sandbox ---- */

void lifecycle_ask(struct exchange *exchange, uint16_t type,
		   exchange_answer_fn *on_answer)
{
	const struct host_ref ref = {.id = exchange->pieces[0]};
	const struct exchange_question question = {
		.type = type,
		.schema = &host_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &host_sandbox_schema,
	};

	if (ref.id.len > HOST_ID_MAX || !wire_is_printable(ref.id)) {
		exchange_fail(exchange, 404, "SANDBOX_NOT_FOUND",
			      "there is no such sandbox");
		return;
	}
	exchange_ask(exchange, &question, on_answer);
}

void lifecycle_ask_show(struct exchange *exchange,
			exchange_answer_fn *on_answer)
{
	lifecycle_ask(exchange, MSG_HOST_SHOW, on_answer);
}

static void on_shown(struct exchange *exchange, const void *message, int *fd)
{
	(void)fd;
	exchange_reply_json(exchange, 200, shown_sandbox(message, true));
}

static void show(struct exchange *exchange)
{
	lifecycle_ask_show(exchange, on_shown);
}

static void on_killed(struct exchange *exchange, const void *message, int *fd)
{
	(void)message;
	(void)fd;
	exchange_reply_empty(exchange, 204);
}

static void kill_it(struct exchange *exchange)
{
	lifecycle_ask(exchange, MSG_HOST_KILL, on_killed);
}

static void on_accepted(struct exchange *exchange, const void *message, int *fd)
{
	(void)message;
	(void)fd;
	exchange_reply_empty(exchange, 202);
}

static void pause_it(struct exchange *exchange)
{
	lifecycle_ask(exchange, MSG_HOST_PAUSE, on_accepted);
}

static void resume(struct exchange *exchange)
{
	lifecycle_ask(exchange, MSG_HOST_RESUME, on_accepted);
}

/* What is served here, in full. */
static void show_description(struct exchange *exchange)
{
	exchange_reply_bytes(exchange, 200, "application/json",
			     bytes_from(api_description, api_description_len));
}

/* As OpenSandbox says it wherever it runs without Kubernetes. */
static void refuse_pools(struct exchange *exchange)
{
	exchange_fail(exchange, 501, "NOT_SUPPORTED",
		      "pools are the operator's (host.yaml, `pool`): one is "
		      "used wherever it fits");
}

const struct route lifecycle_routes[] = {
	{"GET", "/health", ROUTE_OPEN, 0, ROUTE_WHOLE, show_health},
	{"GET", "/openapi.json", ROUTE_KEY, 0, ROUTE_WHOLE, show_description},
	{"POST", "/sandboxes", ROUTE_KEY, BODY_CREATE, ROUTE_WHOLE,
	 lifecycle_create},
	{"GET", "/sandboxes", ROUTE_KEY, 0, ROUTE_WHOLE, lifecycle_list},
	{"GET", "/sandboxes/{}", ROUTE_KEY, 0, ROUTE_WHOLE, show},
	{"DELETE", "/sandboxes/{}", ROUTE_KEY, BODY_SMALL, ROUTE_WHOLE,
	 kill_it},
	{"PATCH", "/sandboxes/{}/metadata", ROUTE_KEY, BODY_SMALL, ROUTE_WHOLE,
	 lifecycle_patch},
	{"POST", "/sandboxes/{}/pause", ROUTE_KEY, BODY_SMALL, ROUTE_WHOLE,
	 pause_it},
	{"POST", "/sandboxes/{}/resume", ROUTE_KEY, BODY_SMALL, ROUTE_WHOLE,
	 resume},
	{"POST", "/sandboxes/{}/renew-expiration", ROUTE_KEY, BODY_SMALL,
	 ROUTE_WHOLE, lifecycle_renew},
	{"GET", "/sandboxes/{}/endpoints/{}", ROUTE_KEY, 0, ROUTE_WHOLE,
	 lifecycle_endpoint},
	{"GET", "/sandboxes/{}/diagnostics/logs", ROUTE_KEY, 0, ROUTE_WHOLE,
	 lifecycle_logs},
	{"GET", "/sandboxes/{}/diagnostics/events", ROUTE_KEY, 0, ROUTE_WHOLE,
	 lifecycle_events},
	{"*", "/pools", ROUTE_KEY, BODY_SMALL, ROUTE_WHOLE, refuse_pools},
	{"*", "/pools/{}", ROUTE_KEY, BODY_SMALL, ROUTE_WHOLE, refuse_pools},
	{"POST", "/metrics/events", ROUTE_KEY, BODY_SMALL, ROUTE_WHOLE,
	 lifecycle_metrics},
	{0},
};
