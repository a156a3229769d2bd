/* What is there: GET /files/info, /files/search, /directories/list. */
#include "common/cleanup.h"
#include "sandbox-host/api/files.h"

/* ---- some, by name ---- */

struct info {
	struct files_task task;
	struct bytes *paths;
	size_t count, at;
	json_t *answer;
};

static void info_release(struct files_task *task)
{
	json_decref(((struct info *)task)->answer);
}

static void ask_info(struct files_task *task);

static void on_info(struct files_task *task, const void *message)
{
	struct info *info = (struct info *)task;
	const char *fault = file_entry_check(message);
	struct bytes path = info->paths[info->at++];
	json_t *value, *key;

	if (fault) {
		files_fail_agent(task, fault);
		return;
	}
	value = files_info_json(path, message);
	/* As it is shown in it: a name may be no text. */
	key = json_object_get(value, "path");
	if (!key || json_object_setn_new(info->answer, json_string_value(key),
					 json_string_length(key), value) < 0) {
		exchange_fail_memory(task->exchange);
		return;
	}
	ask_info(task);
}

static void ask_info(struct files_task *task)
{
	struct info *info = (struct info *)task;
	struct file_ref ref;
	const struct files_question question = {
		.type = MSG_FILE_SHOW,
		.schema = &file_ref_schema,
		.message = &ref,
		.reply = &file_entry_schema,
	};
	json_t *answer = info->answer;

	if (info->at < info->count) {
		ref.path = info->paths[info->at];
		(void)files_ask(task, &question, on_info);
		return;
	}
	info->answer = NULL;
	exchange_reply_json(task->exchange, 200, answer);
}

void files_info(struct exchange *exchange)
{
	size_t count;
	struct bytes *paths = files_paths(exchange, &count);
	struct info *info;

	if (!paths)
		return;
	info = files_task_new(exchange, sizeof(*info), ask_info, info_release);
	if (!info)
		return;
	info->paths = paths;
	info->count = count;
	info->answer = json_object();
	files_task_start(&info->task);
}

/* ---- all below a directory ---- */

struct walk {
	struct files_task task;
	struct file_walk walk;
	json_t *answer;
	size_t bytes; /* of the names in it */
};

static void walk_release(struct files_task *task)
{
	json_decref(((struct walk *)task)->answer);
}

/* Its whole name; in the request's arena until the answer is made. */
static json_t *entry_json(struct walk *walk, const struct file_entry *entry)
{
	auto_type(buf_release) struct buf path;

	buf_init(&path, 2 * REQUEST_PATH_MAX + 1);
	if (buf_add(&path, walk->walk.path) < 0 ||
	    (!bytes_is(walk->walk.path, "/") && buf_add_byte(&path, '/') < 0) ||
	    buf_add(&path, entry->path) < 0)
		return NULL;
	return files_info_json(buf_view(&path), entry);
}

/* 0, or -1: answered. */
static int add_page(struct walk *walk, const struct file_page *page)
{
	const char *fault = file_page_check(page, &walk->walk);

	if (fault) {
		files_fail_agent(&walk->task, fault);
		return -1;
	}
	for (size_t i = 0; i < page->entries_count; i++)
		walk->bytes +=
			walk->walk.path.len + 1 + page->entries[i].path.len;
	if (json_array_size(walk->answer) + page->entries_count >
		    FILES_LISTED_MAX ||
	    walk->bytes > FILES_LISTED_BYTES_MAX) {
		files_fail(&walk->task, 413, "RUNTIME_ERROR",
			   "there are too many files for one answer: name a "
			   "directory below");
		return -1;
	}
	for (size_t i = 0; i < page->entries_count; i++)
		if (json_array_append_new(walk->answer,
					  entry_json(walk, &page->entries[i])) <
		    0) {
			exchange_fail_memory(walk->task.exchange);
			return -1;
		}
	return 0;
}

static void on_page(struct files_task *task, const void *message)
{
	struct walk *walk = (struct walk *)task;
	const struct file_page *page = message;
	const struct wire_empty empty = {0};
	const struct files_question question = {
		.type = MSG_FILE_WALK_ON,
		.schema = &wire_empty_schema,
		.message = &empty,
		.reply = &file_page_schema,
	};
	json_t *answer = walk->answer;

	if (add_page(walk, page) < 0)
		return;
	if (page->more) {
		(void)files_ask(task, &question, on_page);
		return;
	}
	walk->answer = NULL;
	exchange_reply_json(task->exchange, 200, answer);
}

static void ask_walk(struct files_task *task)
{
	const struct files_question question = {
		.type = MSG_FILE_WALK,
		.schema = &file_walk_schema,
		.message = &((struct walk *)task)->walk,
		.reply = &file_page_schema,
	};

	(void)files_ask(task, &question, on_page);
}

static void start_walk(struct exchange *exchange, struct file_walk wanted)
{
	struct walk *walk;

	if (!exchange_query(exchange, "path", &wanted.path)) {
		exchange_fail(exchange, 400, "MISSING_QUERY",
			      "a path is wanted");
		return;
	}
	/* As it is shown before each name. */
	while (wanted.path.len > 1 &&
	       wanted.path.data[wanted.path.len - 1] == '/')
		wanted.path.len--;
	if (files_check_path(exchange, wanted.path) < 0)
		return;
	walk = files_task_new(exchange, sizeof(*walk), ask_walk, walk_release);
	if (!walk)
		return;
	walk->walk = wanted;
	walk->answer = json_array();
	files_task_start(&walk->task);
}

void files_list(struct exchange *exchange)
{
	uint64_t depth = 1;

	if (!exchange_query_number(exchange, "depth", UINT32_MAX, &depth))
		return;
	start_walk(exchange, (struct file_walk){
				     .depth = depth > 0 ? (uint32_t)depth : 1});
}

void files_search(struct exchange *exchange)
{
	struct file_walk wanted = {.is_for_files = true};

	(void)exchange_query(exchange, "pattern", &wanted.pattern);
	if (wanted.pattern.len > FILE_PATTERN_MAX) {
		exchange_fail(exchange, 400, "INVALID_REQUEST",
			      "the pattern is longer than %d bytes",
			      FILE_PATTERN_MAX);
		return;
	}
	start_walk(exchange, wanted);
}
