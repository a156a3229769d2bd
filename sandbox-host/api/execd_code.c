#include "sandbox-host/api/execd_code.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/digest.h"
#include "sandbox-host/api/share.h"

/* ---- contexts ---- */

static bool is_of(const struct kernel *kernel, const struct exchange *exchange)
{
	return bytes_is(exchange->sandbox, kernel->sandbox);
}

/* NULL: answered. */
static struct kernel *find(struct exchange *exchange, struct bytes id)
{
	struct execd *execd = execd_of(exchange);
	struct kernel *kernel;

	if (!execd)
		return NULL;
	DL_FOREACH(execd->kernels, kernel)
	if (is_of(kernel, exchange) && bytes_is(id, kernel->id))
		return kernel;
	execd_fail_missing(exchange, "context");
	return NULL;
}

void kernel_sweep(struct execd *execd, uint64_t now_ms)
{
	struct kernel *kernel, *next;

	DL_FOREACH_SAFE(execd->kernels, kernel, next)
	if (!kernel->cell && !kernel->is_busy &&
	    kernel->used_ms + KERNEL_IDLE_MS <= now_ms)
		kernel_free(kernel);
}

static bool has_room(struct exchange *exchange, const struct execd *execd)
{
	const struct kernel *kernel;
	size_t count = 0;

	DL_FOREACH(execd->kernels, kernel)
	count += is_of(kernel, exchange);
	if (share_allows(count, KERNELS_SANDBOX_MAX, execd->kernel_count,
			 KERNELS_MAX))
		return true;
	exchange_fail(exchange, 429, "RUNTIME_ERROR",
		      "a sandbox may have %d contexts, and no more "
		      "than are left for all others, of %d",
		      KERNELS_SANDBOX_MAX, KERNELS_MAX);
	return false;
}

/* A new one; NULL: answered. */
static struct kernel *add(struct exchange *exchange, bool is_default)
{
	struct execd *execd = execd_of(exchange);
	struct kernel *kernel;
	char random[27];

	if (!execd || !has_room(exchange, execd))
		return NULL;
	kernel = calloc(1, sizeof(*kernel));
	if (!kernel) {
		exchange_fail_memory(exchange);
		return NULL;
	}
	random_id(random);
	kernel->execd = execd;
	kernel->is_default = is_default;
	kernel->used_ms = clock_monotonic_ms();
	buf_init(&kernel->lines, KERNEL_EVENT_MAX);
	(void)snprintf(kernel->id, sizeof(kernel->id), "py-%s", random);
	(void)snprintf(kernel->sandbox, sizeof(kernel->sandbox), "%.*s",
		       BYTES_ARGS(exchange->sandbox));
	DL_APPEND(execd->kernels, kernel);
	execd->kernel_count++;
	return kernel;
}

static struct kernel *default_of(struct exchange *exchange)
{
	struct execd *execd = execd_of(exchange);
	struct kernel *kernel;

	if (!execd)
		return NULL;
	DL_FOREACH(execd->kernels, kernel)
	if (is_of(kernel, exchange) && kernel->is_default)
		return kernel;
	return add(exchange, true);
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
	struct bytes language = {0};
	struct kernel *kernel;
	json_t *body;
	bool is_good;

	if (!execd_body(exchange, true, &body))
		return;
	is_good = execd_text(exchange, body, "language", false, &language) &&
		  check_language(exchange, language);
	json_decref(body);
	kernel = is_good ? add(exchange, false) : NULL;
	if (kernel)
		cell_begin(exchange, kernel, (struct bytes){0});
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
	struct bytes code = {0}, id = {0};
	struct kernel *kernel;
	json_t *body;
	bool is_good;

	if (!execd_body(exchange, true, &body))
		return;
	is_good = take_code(exchange, body, &code, &id);
	json_decref(body);
	if (!is_good)
		return;
	kernel = id.len > 0 ? find(exchange, id) : default_of(exchange);
	if (kernel && (kernel->cell || kernel->is_busy))
		exchange_fail(exchange, 409, "RUNTIME_ERROR",
			      "this context runs something already");
	else if (kernel)
		cell_begin(exchange, kernel, code);
}

static void delete_code(struct exchange *exchange)
{
	struct kernel *kernel;
	struct bytes id;

	if (!exchange_query(exchange, "id", &id) || id.len == 0) {
		exchange_fail(exchange, 400, "MISSING_QUERY",
			      "the query needs id");
		return;
	}
	kernel = find(exchange, id);
	if (!kernel)
		return;
	kernel_interrupt(kernel);
	exchange_reply_empty(exchange, 200);
}

static void get_contexts(struct exchange *exchange)
{
	const struct execd *execd = execd_of(exchange);
	const struct kernel *kernel;
	struct bytes language = {0};
	json_t *list;

	if (!execd)
		return;
	(void)exchange_query(exchange, "language", &language);
	list = json_array();
	DL_FOREACH(execd->kernels, kernel)
	if (is_of(kernel, exchange) &&
	    (language.len == 0 || bytes_is(language, "python")))
		(void)json_array_append_new(list, kernel_json(kernel));
	exchange_reply_json(exchange, 200, list);
}

static struct kernel *first_of(const struct execd *execd,
			       const struct exchange *exchange)
{
	struct kernel *kernel;

	DL_FOREACH(execd->kernels, kernel)
	if (is_of(kernel, exchange))
		return kernel;
	return NULL;
}

static void delete_contexts(struct exchange *exchange)
{
	struct execd *execd = execd_of(exchange);
	struct bytes language = {0};
	struct kernel *kernel;

	if (!execd)
		return;
	(void)exchange_query(exchange, "language", &language);
	/* Who waited for one may ask for something else at once: whatever was
	 * known of the others may not be so any more. */
	while (language.len == 0 || bytes_is(language, "python")) {
		kernel = first_of(execd, exchange);
		if (!kernel)
			break;
		kernel_free(kernel);
	}
	exchange_reply_empty(exchange, 200);
}

static void get_context(struct exchange *exchange)
{
	const struct kernel *kernel = find(exchange, exchange->pieces[0]);

	if (kernel)
		exchange_reply_json(exchange, 200, kernel_json(kernel));
}

static void delete_context(struct exchange *exchange)
{
	struct kernel *kernel = find(exchange, exchange->pieces[0]);

	if (!kernel)
		return;
	kernel_free(kernel);
	exchange_reply_empty(exchange, 200);
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
