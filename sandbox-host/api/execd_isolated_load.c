/* Isolated sessions that there are already when we begin: a process before us
 * made them. The daemon lists their sandboxes, whose notes say what they were
 * made with. */
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "sandbox-host/api/api.h"
#include "sandbox-host/api/execd_isolated.h"

static int ask(struct api *api, uint32_t skip, struct err *err);

static struct bytes of(const struct host_sandbox *sandbox)
{
	for (size_t i = 0; i < sandbox->metadata_count; i++)
		if (bytes_is(sandbox->metadata[i].name, ISOLATED_OF_KEY))
			return sandbox->metadata[i].value;
	return (struct bytes){0};
}

/* Until when nobody may have used it says when somebody did. */
static uint64_t used_ms(const struct host_sandbox *sandbox, uint64_t idle_ms)
{
	uint64_t now = clock_wall_ms();
	uint64_t end = sandbox->expires_ms - ISOLATED_GRACE_MS;
	uint64_t left = end > now ? end - now : 0;

	return clock_monotonic_ms() - (idle_ms > left ? idle_ms - left : 0);
}

static void add(struct api *api, const struct host_sandbox *sandbox)
{
	json_t *made_with = json_loadb((const char *)sandbox->note.data,
				       sandbox->note.len, 0, NULL);
	struct isolated *isolated =
		isolated_add(api->execd, sandbox->id, of(sandbox), made_with);

	if (!isolated)
		return;
	isolated->created_ms = sandbox->created_ms;
	isolated->last_run_ms = sandbox->ran_ms;
	if (isolated->idle_ms != 0)
		isolated->used_ms = used_ms(sandbox, isolated->idle_ms);
}

static _Noreturn void give_up(const char *why)
{
	log_error("the isolated sessions are not known: %s", why);
	exit(1);
}

static void on_list(struct rpc_outcome *outcome, void *owner)
{
	const struct host_list *list = outcome->message;
	struct api *api = owner;
	uint32_t *seen = &api->execd->isolated_seen;
	uint32_t before = api->execd->isolated_total;
	struct err err;

	/* Who is started in our place asks again. */
	if (outcome->err)
		give_up(outcome->err->text);
	api->execd->isolated_total = list->total;
	/* Then others have moved from one answer to the other. */
	if (*seen > 0 && list->total != before)
		give_up("one began or ended meanwhile");
	for (size_t i = 0; i < list->sandboxes_count; i++)
		add(api, &list->sandboxes[i]);
	*seen += (uint32_t)list->sandboxes_count;
	if (list->sandboxes_count > 0 && *seen < list->total
		    ? ask(api, *seen, &err) < 0
		    : api_serve(api, &err) < 0)
		give_up(err.text);
}

static int ask(struct api *api, uint32_t skip, struct err *err)
{
	const struct text_pair any = {.name = bytes_str(ISOLATED_OF_KEY)};
	const struct host_query query = {
		.states = 1u << HOST_PENDING | 1u << HOST_RUNNING |
			  1u << HOST_PAUSING | 1u << HOST_PAUSED |
			  1u << HOST_RESUMING,
		.metadata = &any,
		.metadata_count = 1,
		.skip = skip,
		.limit = HOST_LIST_MAX,
	};
	const struct rpc_call call = {
		.type = MSG_HOST_LIST,
		.schema = &host_query_schema,
		.message = &query,
		.fd = -1,
		.reply_schema = &host_list_schema,
		.timeout_ms = EXCHANGE_ASK_MS,
		.on_outcome = on_list,
		.owner = api,
	};

	return rpc_ask(api->daemon, &call, NULL, err);
}

int isolated_load(struct api *api, struct err *err)
{
	api->is_loading = true;
	api->execd = execd_open(api);
	if (!api->execd)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	return ask(api, 0, err);
}
