/*
 * /v1/isolated: sessions that work in a sandbox's workspace without writing
 * it. Nothing can be mounted in a sandbox that runs, so each is another one,
 * made by the daemon of the same policy, image and bounds.
 */
#include "sandbox-host/api/execd_isolated.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/api/api.h"
#include "sandbox-host/api/files.h"
#include "sandbox-host/api/lifecycle.h"
#include "sandbox-host/api/shown.h"

/* ---- those that are there ---- */

void isolated_free(struct isolated *isolated)
{
	DL_DELETE(isolated->execd->isolated, isolated);
	json_decref(isolated->made_with);
	free(isolated);
}

static struct isolated *find(struct exchange *exchange)
{
	struct isolated *isolated;

	DL_FOREACH(exchange->api->execd->isolated, isolated)
	if (bytes_is(exchange->sandbox, isolated->of) &&
	    bytes_is(exchange->pieces[0], isolated->id))
		return isolated;
	execd_fail_missing(exchange, "isolated session");
	return NULL;
}

struct isolated *isolated_enter(struct exchange *exchange)
{
	struct isolated *isolated = find(exchange);
	const char *id =
		isolated ? arena_str(exchange->arena, bytes_str(isolated->id))
			 : NULL;

	if (!isolated)
		return NULL;
	if (!id) {
		exchange_fail_memory(exchange);
		return NULL;
	}
	isolated_use(isolated);
	exchange->sandbox = bytes_str(id);
	return isolated;
}

/* ---- POST session ---- */

bool isolated_refuse(struct exchange *exchange, const char *what)
{
	exchange_fail(exchange, 400, "INVALID_REQUEST_BODY", "%s", what);
	return false;
}

/* Those that are over count, until their client or the sweep drops them: so
 * many are known here. Of those that live the daemon knows best. */
static bool has_room(struct exchange *exchange)
{
	const struct isolated *isolated;
	size_t count = 0;

	DL_FOREACH(exchange->api->execd->isolated, isolated)
	count += bytes_is(exchange->sandbox, isolated->of);
	if (count < ISOLATED_SANDBOX_MAX)
		return true;
	exchange_fail(exchange, 429, "RUNTIME_ERROR",
		      "a sandbox may have %d isolated sessions",
		      ISOLATED_SANDBOX_MAX);
	return false;
}

struct isolated *isolated_add(struct execd *execd, struct bytes id,
			      struct bytes of, json_t *made_with)
{
	struct isolated *isolated = calloc(1, sizeof(*isolated));
	json_int_t idle_s = json_integer_value(
		json_object_get(made_with, "idle_timeout_seconds"));

	if (!isolated) {
		json_decref(made_with);
		return NULL;
	}
	isolated->execd = execd;
	isolated->made_with = made_with;
	isolated->has_network =
		!json_is_false(json_object_get(made_with, "share_net"));
	isolated->used_ms = clock_monotonic_ms();
	isolated->idle_ms = (uint64_t)idle_s * 1000;
	(void)snprintf(isolated->id, sizeof(isolated->id), "%.*s",
		       BYTES_ARGS(id));
	(void)snprintf(isolated->of, sizeof(isolated->of), "%.*s",
		       BYTES_ARGS(of));
	DL_APPEND(execd->isolated, isolated);
	return isolated;
}

static void on_made(struct exchange *exchange, const void *message, int *fd)
{
	const struct host_sandbox *sandbox = message;
	const struct isolated_wish *wish = exchange->task;
	struct isolated *isolated;
	json_t *all;

	(void)fd;
	exchange->task = NULL;
	/* It may have been made of the policy before. */
	if (!wish->asked.is_offline &&
	    wish->reach_changes != exchange->api->execd->reach_changes) {
		lifecycle_drop(exchange->api, sandbox->id);
		exchange_fail(exchange, 409, "INVALID_STATE",
			      "what the sandbox may reach changed meanwhile");
		return;
	}
	isolated = isolated_add(exchange->api->execd, sandbox->id,
				exchange->sandbox,
				json_loadb((const char *)wish->echo.data,
					   wish->echo.len, 0, NULL));
	if (!isolated) {
		lifecycle_drop(exchange->api, sandbox->id);
		exchange_fail_memory(exchange);
		return;
	}
	isolated->created_ms = sandbox->created_ms;
	all = json_pack("{s:s, s:o}", "session_id", isolated->id, "created_at",
			shown_time(isolated->created_ms));
	if (all)
		(void)json_object_update(all, isolated->made_with);
	exchange_reply_json(exchange, 201, all);
}

static void make(struct exchange *exchange, struct isolated_wish *wish)
{
	const struct exchange_question question = {
		.type = MSG_HOST_ISOLATE,
		.schema = &host_isolate_schema,
		.message = &wish->asked,
		.fd = -1,
	};

	wish->reach_changes = exchange->api->execd->reach_changes;
	exchange->task = wish;
	lifecycle_start(exchange, &question, on_made);
}

static void post_session(struct exchange *exchange)
{
	struct isolated_wish *wish;
	json_t *body;

	if (!has_room(exchange) || !execd_body(exchange, true, &body))
		return;
	wish = arena_alloc(exchange->arena, sizeof(*wish));
	if (!wish)
		exchange_fail_memory(exchange);
	else if (isolated_take_wish(exchange, body, wish))
		make(exchange, wish);
	json_decref(body);
}

/* ---- what they are ---- */

/* With the state of its sandbox, where that is known; new, or NULL. */
static json_t *state_of(const struct isolated *isolated, bool is_active)
{
	uint64_t now = clock_monotonic_ms();
	uint64_t end = isolated->used_ms + isolated->idle_ms;
	json_t *idle = json_null();

	if (isolated->idle_ms != 0 && isolated->runs == 0)
		idle = json_integer(
			(json_int_t)(end > now ? (end - now) / 1000 : 0));
	return json_pack(
		"{s:s, s:o, s:o, s:o}", "status", is_active ? "active" : "dead",
		"created_at", shown_time(isolated->created_ms), "last_run_at",
		shown_time(isolated->last_run_ms ? isolated->last_run_ms
						 : isolated->created_ms),
		"idle_remaining_seconds", idle);
}

static void ask_list(struct exchange *exchange, exchange_answer_fn *on_list)
{
	const struct text_pair of = {bytes_str(ISOLATED_OF_KEY),
				     exchange->sandbox};
	const struct host_query query = {
		.states = 1u << HOST_RUNNING | 1u << HOST_PAUSED,
		.metadata = &of,
		.metadata_count = 1,
		.limit = HOST_LIST_MAX,
	};
	const struct exchange_question question = {
		.type = MSG_HOST_LIST,
		.schema = &host_query_schema,
		.message = &query,
		.fd = -1,
		.reply_schema = &host_list_schema,
	};

	exchange_ask(exchange, &question, on_list);
}

static bool is_among(const struct host_list *list,
		     const struct isolated *isolated)
{
	for (size_t i = 0; i < list->sandboxes_count; i++)
		if (bytes_is(list->sandboxes[i].id, isolated->id))
			return true;
	return false;
}

static void on_all(struct exchange *exchange, const void *message, int *fd)
{
	const struct isolated *isolated;
	json_t *all = json_array();

	(void)fd;
	DL_FOREACH(exchange->api->execd->isolated, isolated)
	if (bytes_is(exchange->sandbox, isolated->of)) {
		json_t *one = state_of(isolated, is_among(message, isolated));

		if (one)
			(void)json_object_set_new(one, "session_id",
						  json_string(isolated->id));
		(void)json_array_append_new(all, one);
	}
	exchange_reply_json(exchange, 200, json_pack("{s:o}", "sessions", all));
}

static void get_sessions(struct exchange *exchange)
{
	ask_list(exchange, on_all);
}

static void on_one(struct exchange *exchange, const void *message, int *fd)
{
	const struct isolated *isolated = find(exchange);
	json_t *state;

	(void)fd;
	if (!isolated)
		return;
	state = state_of(isolated, is_among(message, isolated));
	if (state)
		(void)json_object_update(state, isolated->made_with);
	exchange_reply_json(exchange, 200, state);
}

static void get_session(struct exchange *exchange)
{
	if (find(exchange))
		ask_list(exchange, on_one);
}

static void get_capabilities(struct exchange *exchange)
{
	exchange_reply_json(exchange, 200,
			    json_pack("{s:b,s:s,s:s,s:s,s:b,s:b,s:b,s:b}",
				      "available", 1, "isolator", "sallyport",
				      "version", SP_VERSION, "message", "",
				      "setpriv_available", 1,
				      "userns_available", 0, "commit_supported",
				      1, "diff_supported", 1));
}

/* ---- DELETE session ---- */

static void on_gone(struct exchange *exchange, const void *message, int *fd)
{
	(void)message;
	(void)fd;
	exchange_reply_empty(exchange, 200);
}

/* It has ended by itself. */
static void on_gone_before(struct exchange *exchange,
			   const struct rpc_outcome *outcome)
{
	if (outcome->refusal &&
	    (outcome->refusal->code == HOST_REFUSED_STATE ||
	     outcome->refusal->code == HOST_REFUSED_MISSING))
		exchange_reply_empty(exchange, 200);
	else
		exchange_fail_outcome(exchange, outcome);
}

static void delete_session(struct exchange *exchange)
{
	struct isolated *isolated = isolated_enter(exchange);
	const struct host_ref ref = {.id = exchange->sandbox};
	const struct exchange_question question = {
		.type = MSG_HOST_KILL,
		.schema = &host_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &host_sandbox_schema,
	};

	if (!isolated)
		return;
	isolated_free(isolated);
	exchange->on_refused = on_gone_before;
	exchange_ask(exchange, &question, on_gone);
}

/* ---- its files ---- */

#define BELOW(name, handle)                                                    \
	static void name(struct exchange *exchange)                            \
	{                                                                      \
		if (isolated_enter(exchange))                                  \
			handle(exchange);                                      \
	}
BELOW(show_files, files_info)
BELOW(search_files, files_search)
BELOW(download_file, files_download)
BELOW(upload_files, files_upload)
BELOW(set_permissions, files_set_permissions)
BELOW(move_files, files_move)
BELOW(replace_in_files, files_replace)
BELOW(delete_files, files_delete)
BELOW(list_directory, files_list)
BELOW(make_directories, files_make_directories)
BELOW(delete_directories, files_delete_directories)

#define ONE "/v1/isolated/session/{}"

const struct route execd_isolated_routes[] = {
	{"GET", "/v1/isolated/capabilities", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 get_capabilities},
	{"GET", "/v1/isolated/sessions", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 get_sessions},
	{"POST", "/v1/isolated/session", ROUTE_TOKEN, EXECD_BODY_MAX,
	 ROUTE_WHOLE, post_session},
	{"GET", ONE, ROUTE_TOKEN, 0, ROUTE_WHOLE, get_session},
	{"DELETE", ONE, ROUTE_TOKEN, 0, ROUTE_WHOLE, delete_session},
	{"POST", ONE "/run", ROUTE_TOKEN, EXECD_BODY_MAX, ROUTE_WHOLE,
	 isolated_run},
	{"GET", ONE "/diff", ROUTE_TOKEN, 0, ROUTE_WHOLE, isolated_diff},
	{"POST", ONE "/commit", ROUTE_TOKEN, EXECD_BODY_MAX, ROUTE_WHOLE,
	 isolated_commit},
	{"GET", ONE "/files/info", ROUTE_TOKEN, 0, ROUTE_WHOLE, show_files},
	{"GET", ONE "/files/search", ROUTE_TOKEN, 0, ROUTE_WHOLE, search_files},
	{"GET", ONE "/files/download", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 download_file},
	{"POST", ONE "/files/upload", ROUTE_TOKEN, FILES_UPLOAD_MAX,
	 ROUTE_STREAM, upload_files},
	{"POST", ONE "/files/permissions", ROUTE_TOKEN, FILES_BODY_MAX,
	 ROUTE_WHOLE, set_permissions},
	{"POST", ONE "/files/mv", ROUTE_TOKEN, FILES_BODY_MAX, ROUTE_WHOLE,
	 move_files},
	{"POST", ONE "/files/replace", ROUTE_TOKEN, FILES_BODY_MAX, ROUTE_WHOLE,
	 replace_in_files},
	{"DELETE", ONE "/files", ROUTE_TOKEN, 0, ROUTE_WHOLE, delete_files},
	{"GET", ONE "/directories/list", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 list_directory},
	{"POST", ONE "/directories", ROUTE_TOKEN, FILES_BODY_MAX, ROUTE_WHOLE,
	 make_directories},
	{"DELETE", ONE "/directories", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 delete_directories},
	{0},
};
