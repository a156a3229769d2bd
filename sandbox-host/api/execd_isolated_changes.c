/*
 * What an isolated session changed in its overlay, and their way into the
 * workspace. Its supervisor looks and writes; names are what somebody inside
 * chose.
 */
#include <stdlib.h>

#include "common/cleanup.h"
#include "sandbox-host/api/api.h"
#include "sandbox-host/api/execd_isolated.h"
#include "sandbox-host/api/gone.h"
#include "sandbox-host/api/shown.h"

#define COMMIT_MS (10u * 60 * 1000)

/* Of the exchange, and of the calls that its channel may still end. */
struct changes {
	struct exchange *exchange;
	struct rpc *rpc;
	bool is_over;
	char id[HOST_ID_MAX + 1]; /* of the session */
	json_t *body;
	struct text_item *paths;
	struct changes_wish wish;
	bool is_commit;
};

static void free_changes(void *owner)
{
	struct changes *changes = owner;

	json_decref(changes->body);
	free(changes->paths);
	free(changes);
}

static void on_end(struct exchange *exchange)
{
	struct changes *changes = exchange->task;

	changes->is_over = true;
	if (changes->rpc)
		rpc_close(changes->rpc);
	changes->rpc = NULL;
	(void)io_loop_defer(exchange_loop(exchange), free_changes, changes);
}

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct changes *changes = owner;

	(void)rpc;
	(void)why;
	changes->rpc = NULL;
	if (!changes->is_over)
		gone_fail(changes->exchange, "the session hung up");
}

/* ---- the diff ---- */

static json_t *item_json(const struct change_item *item)
{
	static const char *const kinds[CHANGE_KIND_MAX] = {"added", "changed",
							   "deleted"};
	static const char *const types[CHANGE_TYPE_MAX] = {"file", "directory",
							   "symlink", "other"};

	return json_pack("{s:o, s:s, s:s, s:I}", "path", shown_text(item->path),
			 "kind", kinds[item->kind], "type", types[item->type],
			 "size", (json_int_t)item->size);
}

static void reply_diff(struct exchange *exchange, int fd)
{
	struct request_memory memory;
	struct changes_list list;
	json_t *all;
	struct err err;

	if (changes_list_open(fd, &memory, &list, &err) < 0) {
		exchange_fail(exchange, 502, "RUNTIME_ERROR", "%s", err.text);
		return;
	}
	all = json_array();
	for (size_t i = 0; i < list.items_count; i++)
		(void)json_array_append_new(all, item_json(&list.items[i]));
	exchange_reply_json(exchange, 200,
			    json_pack("{s:o, s:I, s:b}", "changes", all,
				      "total", (json_int_t)list.total,
				      "truncated",
				      list.total > list.items_count));
	request_release(&memory);
}

/* ---- the commit ---- */

static json_t *told_json(const struct changes_result *result)
{
	json_t *all = json_array();

	for (size_t i = 0; i < result->told_count; i++)
		(void)json_array_append_new(
			all,
			json_pack("{s:o, s:o}", "path",
				  shown_text(result->told[i].path), "reason",
				  shown_text(result->told[i].reason)));
	return all;
}

static void forget_session(struct api *api, const char *id)
{
	struct isolated *isolated, *next;

	for (isolated = api->execd->isolated; isolated; isolated = next) {
		next = isolated->next;
		if (!strcmp(isolated->id, id))
			isolated_free(isolated);
	}
}

static void reply_commit(const struct changes *changes,
			 const struct changes_result *result)
{
	struct exchange *exchange = changes->exchange;
	struct bytes first =
		result->told_count ? result->told[0].path : (struct bytes){0};

	if (result->conflicts > 0) {
		exchange_fail(exchange, 409, "CONFLICT",
			      "%llu of its changes are to what changed in the "
			      "workspace meanwhile, as %.*s; nothing was "
			      "written",
			      (unsigned long long)result->conflicts,
			      BYTES_ARGS(bytes_slice(first, 0, 200)));
		return;
	}
	forget_session(exchange->api, changes->id);
	exchange_reply_json(exchange, 200,
			    json_pack("{s:I, s:I, s:o}", "applied",
				      (json_int_t)result->applied, "refused",
				      (json_int_t)result->refused, "refusals",
				      told_json(result)));
}

/* ---- asking ---- */

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct changes *changes = owner;

	if (changes->is_over)
		return;
	if (outcome->err)
		gone_fail_outcome(changes->exchange, outcome);
	else if (changes->is_commit)
		reply_commit(changes, outcome->message);
	else
		reply_diff(changes->exchange, outcome->fd);
}

static void ask(struct changes *changes)
{
	const struct wire_empty empty = {0};
	const struct rpc_call show = {
		.type = MSG_CHANGES_SHOW,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = EXCHANGE_ASK_MS,
		.on_outcome = on_outcome,
		.owner = changes,
	};
	const struct rpc_call commit = {
		.type = MSG_CHANGES_COMMIT,
		.schema = &changes_wish_schema,
		.message = &changes->wish,
		.fd = -1,
		.reply_schema = &changes_result_schema,
		.timeout_ms = COMMIT_MS,
		.on_outcome = on_outcome,
		.owner = changes,
	};
	struct err err;

	if (rpc_ask(changes->rpc, changes->is_commit ? &commit : &show, NULL,
		    &err) < 0)
		gone_fail_unsent(changes->exchange, &err);
}

static void on_channel(struct exchange *exchange, const void *message, int *fd)
{
	struct changes *changes = exchange->task;
	const struct rpc_config config = {.owner = changes,
					  .on_closed = on_closed};
	struct err err;

	(void)message;
	if (*fd < 0) {
		exchange_fail(exchange, 502, "RUNTIME_ERROR",
			      "the session answered without a channel");
		return;
	}
	changes->rpc =
		rpc_new(exchange_loop(exchange), take_fd(fd), &config, &err);
	if (changes->rpc)
		ask(changes);
	else
		exchange_fail_memory(exchange);
}

/* NULL: answered. */
static struct changes *begin(struct exchange *exchange)
{
	const struct isolated *isolated = isolated_enter(exchange);
	struct changes *changes = isolated ? calloc(1, sizeof(*changes)) : NULL;

	if (!changes) {
		if (isolated)
			exchange_fail_memory(exchange);
		return NULL;
	}
	changes->exchange = exchange;
	memcpy(changes->id, isolated->id, sizeof(changes->id));
	exchange->task = changes;
	exchange->on_end = on_end;
	return changes;
}

void isolated_diff(struct exchange *exchange)
{
	if (begin(exchange))
		exchange_channel(exchange, HOST_CHANNEL_CHANGES, on_channel);
}

static bool take_paths(struct changes *changes)
{
	const json_t *list = json_object_get(changes->body, "paths");
	size_t count = json_array_size(list);

	if (!list || json_is_null(list))
		return true;
	if (!json_is_array(list) || count == 0 || count > CHANGES_PATHS_MAX)
		return false;
	changes->paths = calloc(count, sizeof(*changes->paths));
	if (!changes->paths)
		return false;
	for (size_t i = 0; i < count; i++) {
		const json_t *path = json_array_get(list, i);

		changes->paths[i].text = bytes_from(json_string_value(path),
						    json_string_length(path));
		if (!json_is_string(path) ||
		    changes->paths[i].text.len > CHANGES_TOLD_PATH)
			return false;
	}
	changes->wish.paths = changes->paths;
	changes->wish.paths_count = count;
	return true;
}

void isolated_commit(struct exchange *exchange)
{
	struct changes *changes = begin(exchange);

	if (!changes || !execd_body(exchange, false, &changes->body))
		return;
	changes->is_commit = true;
	if (!execd_flag(exchange, changes->body, "force",
			&changes->wish.is_forced))
		return;
	if (take_paths(changes))
		exchange_channel(exchange, HOST_CHANNEL_CHANGES, on_channel);
	else
		exchange_fail(exchange, 400, "INVALID_REQUEST_BODY",
			      "paths must be a list of 1 to %d paths of at "
			      "most %d bytes, below the workspace",
			      CHANGES_PATHS_MAX, CHANGES_TOLD_PATH);
}
