#include "sandbox-host/api/execd_code.h"

#include <signal.h>

json_t *context_json(struct bytes id)
{
	return json_pack("{s:s%,s:s}", "id", (const char *)id.data, id.len,
			 "language", "python");
}

/* An id that can be none is as unknown as any. */
static struct resident_ref ref_of(struct bytes id)
{
	return (struct resident_ref){RESIDENT_CONTEXT,
				     bytes_slice(id, 0, RESIDENT_ID_MAX)};
}

/* A language that there is not has no contexts. */
static bool asks_for_python(struct exchange *exchange)
{
	struct bytes language = {0};

	(void)exchange_query(exchange, "language", &language);
	return language.len == 0 || bytes_is(language, "python");
}

/* False: answered. */
static bool check_language(struct exchange *exchange, struct bytes language)
{
	if (language.len == 0 || bytes_is(language, "python"))
		return true;
	exchange_fail(exchange, 501, "NOT_SUPPORTED",
		      "there is python alone, no %.*s", BYTES_ARGS(language));
	return false;
}

/* ---- requests ---- */

static void post_context(struct exchange *exchange)
{
	static const struct cell_wish wish = {.is_default = false};
	struct bytes language = {0};
	json_t *body;
	bool is_good;

	if (!execd_body(exchange, true, &body))
		return;
	is_good = execd_text(exchange, body, "language", false, &language) &&
		  check_language(exchange, language);
	json_decref(body);
	if (is_good)
		cell_begin(exchange, &wish);
}

static bool take_code(struct exchange *exchange, const json_t *body,
		      struct bytes *code, struct bytes *id)
{
	const json_t *context = json_object_get(body, "context");
	const json_t *text = json_object_get(body, "code");
	struct bytes language = {0};

	if (!json_is_string(text) || json_string_length(text) == 0 ||
	    json_string_length(text) > CODE_MAX ||
	    (context && !json_is_null(context) && !json_is_object(context))) {
		exchange_fail(exchange, 400, "INVALID_REQUEST_BODY",
			      "code must be a string of 1 to %d bytes, "
			      "context an object",
			      CODE_MAX);
		return false;
	}
	if (!execd_text(exchange, context, "id", false, id) ||
	    !execd_text(exchange, context, "language", false, &language) ||
	    !check_language(exchange, language))
		return false;
	*code = arena_copy(
		exchange->arena,
		bytes_from(json_string_value(text), json_string_length(text)));
	if (!code->data)
		exchange_fail_memory(exchange);
	return code->data != NULL;
}

static void post_code(struct exchange *exchange)
{
	struct cell_wish wish = {0};
	json_t *body;
	bool is_good;

	if (!execd_body(exchange, true, &body))
		return;
	is_good = take_code(exchange, body, &wish.code, &wish.id);
	json_decref(body);
	if (!is_good)
		return;
	wish.id = ref_of(wish.id).id;
	wish.is_default = wish.id.len == 0;
	cell_begin(exchange, &wish);
}

static void on_done(struct exchange *exchange, const void *message, int *fd)
{
	(void)message;
	(void)fd;
	exchange_reply_empty(exchange, 200);
}

static void delete_code(struct exchange *exchange)
{
	struct resident_signal wanted = {RESIDENT_CONTEXT, .number = SIGINT};
	const struct exchange_question question = {
		.type = MSG_RESIDENT_SIGNAL,
		.schema = &resident_signal_schema,
		.message = &wanted,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
	};
	struct bytes id;

	if (!exchange_query(exchange, "id", &id) || id.len == 0) {
		exchange_fail(exchange, 400, "MISSING_QUERY",
			      "the query needs id");
		return;
	}
	wanted.id = ref_of(id).id;
	resident_ask(exchange, RESIDENT_CONTEXT, &question, on_done);
}

static void on_list(struct exchange *exchange, const void *message, int *fd)
{
	const struct resident_list *list = message;
	json_t *all = json_array();

	(void)fd;
	for (size_t i = 0; i < list->residents_count; i++)
		(void)json_array_append_new(
			all, context_json(list->residents[i].id));
	exchange_reply_json(exchange, 200, all);
}

static void get_contexts(struct exchange *exchange)
{
	const struct resident_ref all = ref_of((struct bytes){0});
	const struct exchange_question question = {
		.type = MSG_RESIDENT_LIST,
		.schema = &resident_ref_schema,
		.message = &all,
		.fd = -1,
		.reply_schema = &resident_list_schema,
	};

	if (asks_for_python(exchange))
		resident_ask(exchange, RESIDENT_CONTEXT, &question, on_list);
	else
		exchange_reply_json(exchange, 200, json_array());
}

static void drop(struct exchange *exchange, struct bytes id)
{
	const struct resident_ref ref = ref_of(id);
	const struct exchange_question question = {
		.type = MSG_RESIDENT_DROP,
		.schema = &resident_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
	};

	resident_ask(exchange, RESIDENT_CONTEXT, &question, on_done);
}

static void delete_contexts(struct exchange *exchange)
{
	if (asks_for_python(exchange))
		drop(exchange, (struct bytes){0});
	else
		exchange_reply_empty(exchange, 200);
}

static void on_shown(struct exchange *exchange, const void *message, int *fd)
{
	(void)message;
	(void)fd;
	exchange_reply_json(exchange, 200, context_json(exchange->pieces[0]));
}

static void get_context(struct exchange *exchange)
{
	const struct resident_ref ref = ref_of(exchange->pieces[0]);
	const struct exchange_question question = {
		.type = MSG_RESIDENT_SHOW,
		.schema = &resident_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &resident_state_schema,
	};

	resident_ask(exchange, RESIDENT_CONTEXT, &question, on_shown);
}

static void delete_context(struct exchange *exchange)
{
	drop(exchange, exchange->pieces[0]);
}

const struct route execd_code_routes[] = {
	{"POST", "/code", ROUTE_TOKEN, EXECD_BODY_MAX, ROUTE_WHOLE, post_code},
	{"DELETE", "/code", ROUTE_TOKEN, 0, ROUTE_WHOLE, delete_code},
	{"POST", "/code/context", ROUTE_TOKEN, EXECD_BODY_MAX, ROUTE_WHOLE,
	 post_context},
	{"GET", "/code/contexts", ROUTE_TOKEN, 0, ROUTE_WHOLE, get_contexts},
	{"DELETE", "/code/contexts", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 delete_contexts},
	{"GET", "/code/contexts/{}", ROUTE_TOKEN, 0, ROUTE_WHOLE, get_context},
	{"DELETE", "/code/contexts/{}", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 delete_context},
	{0},
};
