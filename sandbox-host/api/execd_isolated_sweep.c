/* Isolated sessions that nobody will ask for again: idle ones, and those of a
 * sandbox that is over, whose token opens nothing any more. */
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/clock.h"
#include "common/log.h"
#include "sandbox-host/api/api.h"
#include "sandbox-host/api/execd_isolated.h"
#include "sandbox-host/api/lifecycle.h"

/* Its end is put off once in that time, which is less than the grace: each time
 * is an event of its sandbox, and a file of the daemon's. */
#define TELL_MS 5000

/* Is that sandbox over? */
struct look {
	struct execd *execd;
	char of[HOST_ID_MAX + 1];
};

static bool is_over(const struct rpc_outcome *outcome)
{
	const struct host_sandbox *sandbox = outcome->message;

	if (outcome->refusal)
		return outcome->refusal->code == HOST_REFUSED_MISSING;
	return !outcome->err && (sandbox->state == HOST_TERMINATED ||
				 sandbox->state == HOST_FAILED);
}

static void on_shown(struct rpc_outcome *outcome, void *owner)
{
	struct look *look = owner;
	struct isolated *isolated, *next;

	if (is_over(outcome))
		DL_FOREACH_SAFE(look->execd->isolated, isolated, next)
	if (!strcmp(isolated->of, look->of))
		isolated_free(isolated);
	free(look);
}

static void look_at(struct execd *execd, const char *of)
{
	const struct host_ref ref = {.id = bytes_str(of)};
	struct look *look = calloc(1, sizeof(*look));
	const struct rpc_call call = {
		.type = MSG_HOST_SHOW,
		.schema = &host_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &host_sandbox_schema,
		.timeout_ms = EXCHANGE_ASK_MS,
		.on_outcome = on_shown,
		.owner = look,
	};
	struct err err;

	/* The next sweep does it. */
	if (!look)
		return;
	look->execd = execd;
	(void)snprintf(look->of, sizeof(look->of), "%s", of);
	if (rpc_ask(execd->api->daemon, &call, NULL, &err) == 0)
		return;
	log_warn("%s", err.text);
	free(look);
}

/* Once for each sandbox. */
static bool is_first_of(const struct execd *execd,
			const struct isolated *isolated)
{
	const struct isolated *other;

	DL_FOREACH(execd->isolated, other)
	if (!strcmp(other->of, isolated->of))
		return other == isolated;
	return true;
}

static void end(struct isolated *isolated)
{
	lifecycle_drop(isolated->execd->api, bytes_str(isolated->id));
	isolated_free(isolated);
}

/* ---- use ---- */

static void on_put_off(struct rpc_outcome *outcome, void *owner)
{
	(void)outcome;
	(void)owner;
}

void isolated_use(struct isolated *isolated)
{
	const struct host_renew renew = {
		.id = bytes_str(isolated->id),
		.expires_ms =
			clock_wall_ms() + isolated->idle_ms + ISOLATED_GRACE_MS,
	};
	const struct rpc_call call = {
		.type = MSG_HOST_RENEW,
		.schema = &host_renew_schema,
		.message = &renew,
		.fd = -1,
		.reply_schema = &host_sandbox_schema,
		.timeout_ms = EXCHANGE_ASK_MS,
		.on_outcome = on_put_off,
	};
	uint64_t now = clock_monotonic_ms();
	struct err err;

	isolated->used_ms = now;
	if (isolated->idle_ms == 0 || now < isolated->told_ms + TELL_MS)
		return;
	isolated->told_ms = now;
	if (rpc_ask(isolated->execd->api->daemon, &call, NULL, &err) < 0)
		log_warn("%s", err.text);
}

static struct isolated *find(struct api *api, const char *id)
{
	struct isolated *isolated;

	DL_FOREACH(api->execd->isolated, isolated)
	if (!strcmp(isolated->id, id))
		return isolated;
	return NULL;
}

void isolated_work(struct api *api, const char *id)
{
	struct isolated *isolated = find(api, id);

	if (isolated)
		isolated->runs++;
}

void isolated_ran(struct api *api, const char *id, uint64_t ran_ms)
{
	struct isolated *isolated = find(api, id);

	if (isolated)
		isolated->last_run_ms = ran_ms;
}

/* It may be gone, and another run's. */
void isolated_rest(struct api *api, const char *id)
{
	struct isolated *isolated = find(api, id);

	if (!isolated)
		return;
	isolated->runs--;
	isolated_use(isolated);
}

/* ---- the sweep ---- */

static void look_after(struct isolated *isolated, uint64_t now_ms)
{
	if (isolated->runs > 0)
		isolated_use(isolated);
	else if (isolated->idle_ms != 0 &&
		 isolated->used_ms + isolated->idle_ms <= now_ms)
		end(isolated);
}

void isolated_sweep(struct execd *execd, uint64_t now_ms)
{
	struct isolated *isolated, *next;

	DL_FOREACH_SAFE(execd->isolated, isolated, next)
	look_after(isolated, now_ms);
	DL_FOREACH(execd->isolated, isolated)
	if (is_first_of(execd, isolated))
		look_at(execd, isolated->of);
}

void isolated_end_networked(struct api *api, struct bytes sandbox)
{
	struct isolated *isolated, *next;

	api->execd->reach_changes++;
	DL_FOREACH_SAFE(api->execd->isolated, isolated, next)
	if (isolated->has_network && bytes_is(sandbox, isolated->of))
		end(isolated);
}
