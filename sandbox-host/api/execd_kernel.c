#include <signal.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/api/api.h"
#include "sandbox-host/api/execd_code.h"

#define WHAT_TO_INSTALL                                                        \
	"there is no Python with IPython in this sandbox: its root needs "     \
	"python3-ipython (or python3-ipykernel)"

/* One request; of the exchange, freed in its on_end. */
struct cell {
	struct exchange *exchange;
	struct kernel *kernel; /* NULL: it is gone */
	struct bytes code;     /* .data NULL: the context itself is wanted */
	struct sse sse;
};

json_t *kernel_json(const struct kernel *kernel)
{
	return json_pack("{s:s,s:s}", "id", kernel->id, "language", "python");
}

/* ---- the end ---- */

/* Why its cell gets no (further) answer. */
static void fail_cell(struct cell *cell, unsigned status, const char *why)
{
	cell->kernel = NULL;
	if (cell->sse.exchange)
		sse_error(&cell->sse, "KernelError", "-1", bytes_str(why));
	else
		exchange_fail(cell->exchange, status,
			      status == 501 ? "NOT_SUPPORTED" : "RUNTIME_ERROR",
			      "%s", why);
}

static void end_kernel(struct kernel *kernel, unsigned status, const char *why)
{
	struct cell *cell = kernel->cell;

	DL_DELETE(kernel->execd->kernels, kernel);
	kernel->execd->kernel_count--;
	exec_client_free(kernel->exec);
	buf_release(&kernel->lines);
	free(kernel);
	if (cell)
		fail_cell(cell, status, why);
}

void kernel_free(struct kernel *kernel)
{
	end_kernel(kernel, 409, "the context was deleted");
}

void kernel_interrupt(struct kernel *kernel)
{
	if (kernel->exec && kernel->is_busy)
		exec_client_signal(kernel->exec, SIGINT);
}

/* A cell whose client is gone is interrupted; a context that nobody got is
 * none. */
static void on_end(struct exchange *exchange)
{
	struct cell *cell = exchange->task;
	struct kernel *kernel = cell->kernel;

	if (kernel) {
		kernel->cell = NULL;
		if (!kernel->is_ready)
			kernel_free(kernel);
		else
			kernel_interrupt(kernel);
	}
	sse_release(&cell->sse);
	free(cell);
}

/* ---- what it says ---- */

static void start_cell(struct kernel *kernel)
{
	struct cell *cell = kernel->cell;
	json_t *request =
		json_pack("{s:s%}", "code", (const char *)cell->code.data,
			  cell->code.len);
	auto_free char *line =
		request ? json_dumps(request, JSON_COMPACT) : NULL;

	json_decref(request);
	if (!line || exec_client_write(kernel->exec, bytes_str(line)) < 0 ||
	    exec_client_write(kernel->exec, bytes_str("\n")) < 0) {
		end_kernel(kernel, 500, "the cell could not be given");
		return;
	}
	kernel->is_busy = true;
	(void)sse_begin(&cell->sse, cell->exchange, kernel->id);
}

static void on_ready(struct kernel *kernel)
{
	struct cell *cell = kernel->cell;

	kernel->is_ready = true;
	if (cell->code.data) {
		start_cell(kernel);
		return;
	}
	kernel->cell = NULL;
	cell->kernel = NULL;
	exchange_reply_json(cell->exchange, 200, kernel_json(kernel));
}

static const char *text_of(const json_t *event, const char *name)
{
	const char *text = json_string_value(json_object_get(event, name));

	return text ? text : "";
}

static void on_done(struct kernel *kernel, const json_t *event)
{
	struct cell *cell = kernel->cell;
	const json_t *error = json_object_get(event, "error");
	const json_t *trace = json_object_get(error, "traceback");
	json_int_t count =
		json_integer_value(json_object_get(event, "execution_count"));
	const char *first = json_string_value(json_array_get(trace, 0));

	kernel->is_busy = false;
	kernel->used_ms = clock_monotonic_ms();
	kernel->cell = NULL;
	if (!cell)
		return;
	cell->kernel = NULL;
	sse_event(&cell->sse, json_pack("{s:s,s:I}", "type", "execution_count",
					"execution_count", count));
	if (json_is_object(error))
		sse_error(&cell->sse, text_of(error, "ename"),
			  text_of(error, "evalue"), bytes_str(first));
	else
		sse_complete(&cell->sse);
}

/* Texts by kind, and nothing else. */
static json_t *results_of(const json_t *event)
{
	json_t *from = json_object_get(event, "results");
	json_t *results = json_object();
	const char *kind;
	json_t *value;

	json_object_foreach(from, kind, value)
	{
		if (json_is_string(value))
			(void)json_object_set(results, kind, value);
	}
	return json_pack("{s:s,s:o}", "type", "result", "results", results);
}

/* False: it was the last one for now, and the kernel must not be touched: an
 * answer that is complete may bring the next request, whatever that does. */
static bool on_event_of(struct kernel *kernel, const json_t *event)
{
	const char *type = text_of(event, "type");
	const char *text = text_of(event, "text");
	struct cell *cell = kernel->cell;

	if (!kernel->is_ready) {
		if (cell && !strcmp(type, "ready"))
			on_ready(kernel);
		else
			end_kernel(kernel, 501, WHAT_TO_INSTALL);
		return false;
	}
	if (!kernel->is_busy)
		return true;
	if (!strcmp(type, "done")) {
		on_done(kernel, event);
		return false;
	}
	if (!cell)
		return true;
	if (!strcmp(type, "stdout") || !strcmp(type, "stderr"))
		sse_text(&cell->sse, type, bytes_str(text));
	else if (!strcmp(type, "result"))
		sse_event(&cell->sse, results_of(event));
	return true;
}

static bool on_line(struct kernel *kernel, struct bytes line)
{
	json_t *event = json_loadb((const char *)line.data, line.len,
				   JSON_REJECT_DUPLICATES, NULL);
	bool is_there = true;

	if (json_is_object(event))
		is_there = on_event_of(kernel, event);
	json_decref(event);
	return is_there;
}

static bool is_held(const struct kernel *kernel)
{
	return kernel->cell && kernel->cell->sse.exchange &&
	       exchange_stream_is_full(kernel->cell->exchange);
}

/* The next line; NULL: it is not whole yet, or no memory. The caller's. */
static char *take_line(struct kernel *kernel)
{
	struct bytes view = buf_view(&kernel->lines);
	ptrdiff_t end = bytes_find(view, '\n', 0);
	char *line = NULL;

	if (end < 0)
		return NULL;
	line = strndup((const char *)view.data, (size_t)end);
	buf_consume(&kernel->lines, (size_t)end + 1);
	return line;
}

/* Every line that is whole, as long as its client reads; else it waits. */
static void pump(struct kernel *kernel)
{
	struct buf *from = exec_client_out(kernel->exec, 1);
	bool is_there = true;

	if (is_held(kernel))
		return;
	buf_clear(exec_client_out(kernel->exec, 2));
	if (buf_add(&kernel->lines, buf_view(from)) < 0) {
		end_kernel(kernel, 500, "an event is larger than it may be");
		return;
	}
	buf_clear(from);
	exec_client_go_on(kernel->exec);
	while (is_there && !is_held(kernel)) {
		auto_free char *line = take_line(kernel);

		if (!line)
			return;
		is_there = on_line(kernel, bytes_str(line));
	}
}

static void on_room(struct exchange *exchange)
{
	const struct cell *cell = exchange->task;

	if (cell->kernel && cell->kernel->exec)
		pump(cell->kernel);
}

static void on_exec(struct exec_client *client, enum exec_event event,
		    void *owner)
{
	struct kernel *kernel = owner;
	struct cell *cell = kernel->cell;

	if (event == EXEC_OUTPUT) {
		pump(kernel);
	} else if (event == EXEC_REFUSED) {
		/* In the words of the refusal: a policy may have them. */
		kernel->exec = NULL;
		kernel->cell = NULL;
		kernel_free(kernel);
		if (cell) {
			cell->kernel = NULL;
			execd_fail(cell->exchange, client);
		}
		exec_client_free(client);
	} else if (event == EXEC_ENDED) {
		end_kernel(kernel, kernel->is_ready ? 500 : 501,
			   kernel->is_ready ? "its process has ended"
					    : WHAT_TO_INSTALL);
	}
}

/* ---- the beginning ---- */

static void on_channel(struct exchange *exchange, const void *message, int *fd)
{
	const struct text_item argv[] = {
		{bytes_str("python3")},
		{bytes_str("-c")},
		{bytes_str(kernel_program)},
	};
	struct cell *cell = exchange->task;
	struct kernel *kernel = cell->kernel;
	/* Of our program a policy need not know: it is a shell of Python. */
	const struct exec_request request = {
		.argv = argv,
		.argv_count = ARRAY_SIZE(argv),
		.judged = argv,
		.judged_count = 1,
	};
	struct err err;

	(void)message;
	kernel->exec = exec_client_new(exchange_loop(exchange), take_fd(fd),
				       on_exec, kernel, &err);
	if (!kernel->exec ||
	    exec_client_start(kernel->exec, &request, EXEC_INPUT, &err) < 0)
		end_kernel(kernel, 500, err.text);
}

void cell_begin(struct exchange *exchange, struct kernel *kernel,
		struct bytes code)
{
	struct cell *cell = calloc(1, sizeof(*cell));

	if (!cell) {
		exchange_fail_memory(exchange);
		if (!kernel->is_ready)
			kernel_free(kernel);
		return;
	}
	*cell = (struct cell){
		.exchange = exchange, .kernel = kernel, .code = code};
	kernel->cell = cell;
	exchange->task = cell;
	exchange->on_end = on_end;
	exchange->on_room = on_room;
	if (kernel->is_ready)
		start_cell(kernel);
	else
		exchange_channel(exchange, HOST_CHANNEL_EXEC, on_channel);
}
