/* Calls that change something at each of several paths, one after the other,
 * in the order of the request; the first that fails ends them. */
#include "common/cleanup.h"
#include "sandbox-host/api/files.h"

struct changes;

/* One kind of change. */
struct change {
	/* The body that is wanted. */
	const char *shape;
	/* Is item (of key) what it must be? */
	bool (*check)(struct bytes key, const json_t *item);
	/* Ask for it. */
	void (*ask)(struct changes *changes, struct bytes key,
		    const json_t *item);
	bool may_be_missing;
	unsigned invalid_status; /* 0: 400 */
};

struct changes {
	struct files_task task;
	const struct change *change;
	json_t *request; /* object or array; NULL: paths */
	void *iter;	 /* object's */
	struct bytes *paths;
	size_t count, at;
	json_t *counts; /* replace: by path; NULL: nobody wants them */
};

static struct bytes text_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return bytes_from(json_string_value(value), json_string_length(value));
}

static bool is_path(struct bytes path)
{
	return path.len > 0 && path.len <= REQUEST_PATH_MAX &&
	       !memchr(path.data, 0, path.len);
}

static struct bytes iter_key(void *iter)
{
	return bytes_from(json_object_iter_key(iter),
			  json_object_iter_key_len(iter));
}

/* ---- one after the other ---- */

static void finish(struct changes *changes)
{
	struct exchange *exchange = changes->task.exchange;
	json_t *counts = changes->counts;

	changes->counts = NULL;
	if (counts)
		exchange_reply_json(exchange, 200, counts);
	else
		exchange_reply_empty(exchange, 200);
}

static void ask_next(struct files_task *task)
{
	struct changes *changes = (struct changes *)task;
	size_t at = changes->at;

	if (at == changes->count)
		finish(changes);
	else if (changes->paths)
		changes->change->ask(changes, changes->paths[at], NULL);
	else if (json_is_array(changes->request))
		changes->change->ask(changes, bytes_from(NULL, 0),
				     json_array_get(changes->request, at));
	else
		changes->change->ask(changes, iter_key(changes->iter),
				     json_object_iter_value(changes->iter));
}

static void go_on(struct changes *changes)
{
	if (changes->iter)
		changes->iter =
			json_object_iter_next(changes->request, changes->iter);
	changes->at++;
	ask_next(&changes->task);
}

static void on_done(struct files_task *task, const void *message)
{
	(void)message;
	go_on((struct changes *)task);
}

static void ask_empty(struct changes *changes, uint16_t type,
		      const struct wire_schema *schema, const void *message)
{
	const struct files_question question = {
		.type = type, .schema = schema, .message = message};

	(void)files_ask(&changes->task, &question, on_done);
}

/* ---- begin ---- */

static void changes_release(struct files_task *task)
{
	struct changes *changes = (struct changes *)task;

	json_decref(changes->request);
	json_decref(changes->counts);
}

static struct changes *changes_new(struct exchange *exchange,
				   const struct change *change)
{
	struct changes *changes = files_task_new(exchange, sizeof(*changes),
						 ask_next, changes_release);

	if (!changes)
		return NULL;
	changes->change = change;
	changes->task.may_be_missing = change->may_be_missing;
	changes->task.invalid_status = change->invalid_status;
	return changes;
}

static void start_paths(struct exchange *exchange, const struct change *change)
{
	size_t count;
	struct bytes *paths = files_paths(exchange, &count);
	struct changes *changes;

	if (!paths)
		return;
	changes = changes_new(exchange, change);
	if (!changes)
		return;
	changes->paths = paths;
	changes->count = count;
	files_task_start(&changes->task);
}

static bool check_body(struct changes *changes)
{
	const struct change *change = changes->change;
	void *iter = json_object_iter(changes->request);
	bool is_good = changes->count <= FILES_PATHS_MAX;

	for (size_t i = 0; is_good && i < json_array_size(changes->request);
	     i++)
		is_good = change->check(bytes_from(NULL, 0),
					json_array_get(changes->request, i));
	for (; is_good && iter;
	     iter = json_object_iter_next(changes->request, iter))
		is_good = is_path(iter_key(iter)) &&
			  change->check(iter_key(iter),
					json_object_iter_value(iter));
	return is_good;
}

/* type: of the body. has_counts: what was done is told. */
static void start_body(struct exchange *exchange, const struct change *change,
		       json_type type, bool has_counts)
{
	json_t *request = exchange_json(exchange);
	struct changes *changes =
		request ? changes_new(exchange, change) : NULL;

	if (!changes) {
		json_decref(request);
		return;
	}
	changes->request = request;
	changes->count = type == JSON_ARRAY ? json_array_size(request)
					    : json_object_size(request);
	changes->iter = json_object_iter(request);
	if (json_typeof(request) != type || !check_body(changes)) {
		exchange_fail(exchange, 400, "INVALID_REQUEST_BODY",
			      "the body must be %s, at most %d of them",
			      change->shape, FILES_PATHS_MAX);
		return;
	}
	changes->counts = has_counts ? json_object() : NULL;
	files_task_start(&changes->task);
}

/* ---- remove ---- */

static void ask_remove(struct changes *changes, struct bytes key,
		       const json_t *item)
{
	const struct file_remove wanted = {.path = key};

	(void)item;
	ask_empty(changes, MSG_FILE_REMOVE, &file_remove_schema, &wanted);
}

void files_delete(struct exchange *exchange)
{
	/* OpenSandbox answers so for a directory. */
	static const struct change change = {.ask = ask_remove,
					     .may_be_missing = true,
					     .invalid_status = 500};

	start_paths(exchange, &change);
}

static void ask_remove_tree(struct changes *changes, struct bytes key,
			    const json_t *item)
{
	const struct file_remove wanted = {.path = key, .is_directory = true};

	(void)item;
	ask_empty(changes, MSG_FILE_REMOVE, &file_remove_schema, &wanted);
}

void files_delete_directories(struct exchange *exchange)
{
	static const struct change change = {.ask = ask_remove_tree,
					     .may_be_missing = true};

	start_paths(exchange, &change);
}

/* ---- access ---- */

static bool check_access(struct bytes key, const json_t *item)
{
	struct file_access access = {.path = key};

	return files_access_parse(item, &access) == 0;
}

static void ask_access(struct changes *changes, struct bytes key,
		       const json_t *item)
{
	struct file_access access = {.path = key};

	(void)files_access_parse(item, &access);
	ask_empty(changes, MSG_FILE_SET_ACCESS, &file_access_schema, &access);
}

void files_set_permissions(struct exchange *exchange)
{
	static const struct change change = {
		.shape = "{path: {owner, group, mode}}",
		.check = check_access,
		.ask = ask_access,
	};

	start_body(exchange, &change, JSON_OBJECT, false);
}

static void ask_mkdir(struct changes *changes, struct bytes key,
		      const json_t *item)
{
	struct file_access access = {.path = key};

	(void)files_access_parse(item, &access);
	ask_empty(changes, MSG_FILE_MKDIR, &file_access_schema, &access);
}

void files_make_directories(struct exchange *exchange)
{
	static const struct change change = {
		.shape = "{path: {owner, group, mode}}",
		.check = check_access,
		.ask = ask_mkdir,
	};

	start_body(exchange, &change, JSON_OBJECT, false);
}

/* ---- move ---- */

static bool check_move(struct bytes key, const json_t *item)
{
	(void)key;
	return is_path(text_of(item, "src")) && is_path(text_of(item, "dest"));
}

static void ask_move(struct changes *changes, struct bytes key,
		     const json_t *item)
{
	const struct file_pair pair = {.from = text_of(item, "src"),
				       .to = text_of(item, "dest")};

	(void)key;
	ask_empty(changes, MSG_FILE_MOVE, &file_pair_schema, &pair);
}

void files_move(struct exchange *exchange)
{
	static const struct change change = {
		.shape = "[{src, dest}]",
		.check = check_move,
		.ask = ask_move,
	};

	start_body(exchange, &change, JSON_ARRAY, false);
}

/* ---- replace ---- */

static bool check_replace(struct bytes key, const json_t *item)
{
	struct bytes old = text_of(item, "old");

	(void)key;
	return old.len > 0 && old.len <= FILE_TEXT_MAX &&
	       json_is_string(json_object_get(item, "new")) &&
	       text_of(item, "new").len <= FILE_TEXT_MAX;
}

static void on_replaced(struct files_task *task, const void *message)
{
	struct changes *changes = (struct changes *)task;
	const struct file_count *reply = message;
	struct bytes key = iter_key(changes->iter);

	if (reply->count > FILE_REPLACED_MAX) {
		files_fail_agent(task, "a count that no file has");
		return;
	}
	if (changes->counts &&
	    json_object_setn_new(changes->counts, (const char *)key.data,
				 key.len,
				 json_pack("{s:I}", "replacedCount",
					   (json_int_t)reply->count)) < 0) {
		exchange_fail_memory(task->exchange);
		return;
	}
	go_on(changes);
}

static void ask_replace(struct changes *changes, struct bytes key,
			const json_t *item)
{
	const struct file_replace replace = {.path = key,
					     .old = text_of(item, "old"),
					     .new = text_of(item, "new")};
	const struct wire_empty empty = {0};
	struct err err;
	auto_fd int sealed = file_replace_seal(&replace, &err);
	const struct files_question question = {
		.type = MSG_FILE_REPLACE,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = sealed,
		.reply = &file_count_schema,
	};

	if (sealed < 0)
		exchange_fail_memory(changes->task.exchange);
	else
		(void)files_ask(&changes->task, &question, on_replaced);
}

void files_replace(struct exchange *exchange)
{
	static const struct change change = {
		.shape = "{path: {old, new}}, old not empty",
		.check = check_replace,
		.ask = ask_replace,
	};
	bool is_verbose = false;

	if (exchange_query_flag(exchange, "verbose", &is_verbose))
		start_body(exchange, &change, JSON_OBJECT, is_verbose);
}
