/* What a sandbox was at some time, kept: POST /sandboxes/{id}/snapshots and
 * /snapshots. The daemon knows no filters: all of them are looked through. */
#include "common/cleanup.h"
#include "sandbox-host/api/areas.h"
#include "sandbox-host/api/lifecycle.h"
#include "sandbox-host/api/shown.h"
#include "sandbox-host/flow/messages_store.h"

#define BODY_SMALL (64 * 1024)
#define STATES_MAX 8

static json_t *shown_snapshot(const struct host_snapshot *snapshot)
{
	json_t *status = json_pack(
		"{s:s}", "state",
		snapshot_state_name((enum snapshot_state)snapshot->state));
	json_t *shown;

	if (status && snapshot->message.len)
		(void)json_object_set_new(status, "message",
					  shown_text(snapshot->message));
	shown = json_pack("{s:o, s:o, s:o, s:o, s:I}", "id",
			  shown_text(snapshot->id), "sandboxId",
			  shown_text(snapshot->sandbox), "status", status,
			  "createdAt", shown_time(snapshot->created_ms),
			  "sizeBytes", (json_int_t)snapshot->bytes);
	if (shown && snapshot->name.len)
		(void)json_object_set_new(shown, "name",
					  shown_text(snapshot->name));
	return shown;
}

/* ---- a new one ---- */

static void on_begun(struct exchange *exchange, const void *message, int *fd)
{
	const struct host_snapshot *snapshot = message;
	const char *location =
		arena_format(exchange->arena, "/v1/snapshots/%.*s",
			     BYTES_ARGS(snapshot->id));

	(void)fd;
	if (location)
		exchange_add_field(exchange, "Location", bytes_str(location));
	exchange_reply_json(exchange, 202, shown_snapshot(snapshot));
}

/* The name that is wanted, in the arena; empty: none. False: answered. */
static bool read_name(struct exchange *exchange, struct bytes *name)
{
	json_t *root, *value;
	bool is_fine;

	*name = bytes_from(NULL, 0);
	if (exchange->body.len == 0)
		return true;
	root = exchange_json(exchange);
	if (!root)
		return false;
	value = json_object_get(root, "name");
	is_fine = json_is_object(root) &&
		  (!value || json_is_null(value) || json_is_string(value)) &&
		  json_string_length(value) <= REQUEST_NAME_MAX;
	if (is_fine)
		*name = arena_copy(exchange->arena,
				   bytes_from(json_string_value(value),
					      json_string_length(value)));
	json_decref(root);
	is_fine = is_fine && wire_is_text(*name);
	if (!is_fine)
		exchange_fail(exchange, 422, "INVALID_BODY",
			      "name must be a text of at most %d bytes",
			      REQUEST_NAME_MAX);
	return is_fine;
}

static const char missing[] = "SNAPSHOT_NOT_FOUND";

/* what: "SANDBOX_NOT_FOUND". */
static bool read_id(struct exchange *exchange, const char *what)
{
	struct bytes id = exchange->pieces[0];

	if (id.len <= HOST_ID_MAX && wire_is_printable(id))
		return true;
	exchange_fail(exchange, 404, what, "there is none of this id");
	return false;
}

static void create(struct exchange *exchange)
{
	struct host_snapshot_request wanted = {.id = exchange->pieces[0]};
	const struct exchange_question question = {
		.type = MSG_HOST_SNAPSHOT,
		.schema = &host_snapshot_request_schema,
		.message = &wanted,
		.fd = -1,
		.reply_schema = &host_snapshot_schema,
	};

	if (read_id(exchange, "SANDBOX_NOT_FOUND") &&
	    read_name(exchange, &wanted.name))
		exchange_ask(exchange, &question, on_begun);
}

/* ---- one ---- */

static void on_refused(struct exchange *exchange,
		       const struct rpc_outcome *outcome)
{
	const struct rpc_refusal *refusal = outcome->refusal;

	if (refusal && refusal->code == HOST_REFUSED_MISSING)
		exchange_fail(exchange, 404, missing, "%.*s",
			      BYTES_ARGS(refusal->detail));
	else
		exchange_fail_outcome(exchange, outcome);
}

static void ask_one(struct exchange *exchange,
		    const struct exchange_question *question,
		    exchange_answer_fn *on_answer)
{
	exchange->on_refused = on_refused;
	if (read_id(exchange, missing))
		exchange_ask(exchange, question, on_answer);
}

static void on_shown(struct exchange *exchange, const void *message, int *fd)
{
	(void)fd;
	exchange_reply_json(exchange, 200, shown_snapshot(message));
}

static void on_removed(struct exchange *exchange, const void *message, int *fd)
{
	(void)message;
	(void)fd;
	exchange_reply_empty(exchange, 204);
}

static void show(struct exchange *exchange)
{
	const struct host_ref ref = {.id = exchange->pieces[0]};
	const struct exchange_question question = {
		.type = MSG_HOST_SNAPSHOT_SHOW,
		.schema = &host_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &host_snapshot_schema,
	};

	ask_one(exchange, &question, on_shown);
}

static void remove_it(struct exchange *exchange)
{
	const struct host_ref ref = {.id = exchange->pieces[0]};
	const struct exchange_question question = {
		.type = MSG_HOST_SNAPSHOT_REMOVE,
		.schema = &host_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
	};

	ask_one(exchange, &question, on_removed);
}

/* ---- all ---- */

struct looking {
	struct lifecycle_page page;
	struct host_page next;
	struct bytes states[STATES_MAX];
	size_t state_count;
	struct bytes sandbox, name; /* empty: any */
	uint64_t found;
	json_t *items;
};

static void on_end(struct exchange *exchange)
{
	const struct looking *looking = exchange->task;

	json_decref(looking->items);
}

static bool matches(const struct looking *looking,
		    const struct host_snapshot *snapshot)
{
	const char *state =
		snapshot_state_name((enum snapshot_state)snapshot->state);
	bool has_state = looking->state_count == 0;

	for (size_t i = 0; i < looking->state_count; i++)
		has_state |= bytes_is(looking->states[i], state);
	return has_state &&
	       (looking->sandbox.len == 0 ||
		bytes_equal(looking->sandbox, snapshot->sandbox)) &&
	       (looking->name.len == 0 ||
		bytes_equal(looking->name, snapshot->name));
}

static void ask(struct exchange *exchange);

static void on_list(struct exchange *exchange, const void *message, int *fd)
{
	struct looking *looking = exchange->task;
	const struct host_snapshots *list = message;
	uint64_t first = (looking->page.page - 1) * looking->page.size;

	(void)fd;
	for (size_t i = 0; i < list->snapshots_count; i++) {
		if (!matches(looking, &list->snapshots[i]))
			continue;
		if (looking->found >= first &&
		    looking->found < first + looking->page.size)
			(void)json_array_append_new(
				looking->items,
				shown_snapshot(&list->snapshots[i]));
		looking->found++;
	}
	looking->next.skip += (uint32_t)list->snapshots_count;
	if (list->snapshots_count == 0 || looking->next.skip >= list->total)
		lifecycle_reply_page(exchange, &looking->page, looking->items,
				     looking->found);
	else
		ask(exchange);
}

static void ask(struct exchange *exchange)
{
	const struct looking *looking = exchange->task;
	const struct exchange_question question = {
		.type = MSG_HOST_SNAPSHOTS,
		.schema = &host_page_schema,
		.message = &looking->next,
		.fd = -1,
		.reply_schema = &host_snapshots_schema,
	};

	exchange_ask(exchange, &question, on_list);
}

static void list(struct exchange *exchange)
{
	struct looking *looking =
		arena_alloc(exchange->arena, sizeof(*looking));

	if (!looking) {
		exchange_fail_memory(exchange);
		return;
	}
	if (!lifecycle_read_page(exchange, &looking->page))
		return;
	looking->next.limit = HOST_LIST_MAX;
	looking->state_count = exchange_query_all(exchange, "state",
						  looking->states, STATES_MAX);
	(void)exchange_query(exchange, "sandboxId", &looking->sandbox);
	(void)exchange_query(exchange, "name", &looking->name);
	looking->items = json_array();
	exchange->task = looking;
	exchange->on_end = on_end;
	ask(exchange);
}

const struct route snapshot_routes[] = {
	{"POST", "/sandboxes/{}/snapshots", ROUTE_KEY, BODY_SMALL, ROUTE_WHOLE,
	 create},
	{"GET", "/snapshots", ROUTE_KEY, 0, ROUTE_WHOLE, list},
	{"GET", "/snapshots/{}", ROUTE_KEY, 0, ROUTE_WHOLE, show},
	{"DELETE", "/snapshots/{}", ROUTE_KEY, BODY_SMALL, ROUTE_WHOLE,
	 remove_it},
	{0},
};
