#include <stdlib.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "sandbox-host/api/execd_code.h"

#define WHAT_TO_INSTALL                                                        \
	"there is no Python with IPython in this sandbox: its root needs "     \
	"python3-ipython (or python3-ipykernel)"

enum cell_state {
	CELL_TAKING,
	CELL_STARTING, /* a process that is new */
	CELL_SYNCING,  /* one that may still say what others wanted */
	CELL_RUNNING,
	CELL_DONE
};

/* One request; of the exchange, freed in its on_end. */
struct cell {
	struct exchange *exchange;
	struct guest *guest;
	enum cell_state state;
	struct bytes code; /* .data NULL: the context itself is wanted */
	struct sse sse;
	struct buf lines;
	bool has_asked;
	char token[27]; /* that the context says again when it is ours */
	struct io_timer *patience;
};

/* ---- the end ---- */

/* Whatever answers the last of it returns false: the cell must not be touched
 * afterwards, since the next request may have come by then. */

/* Why it gets no (further) answer. */
static bool fail(struct cell *cell, unsigned status, const char *why)
{
	if (cell->sse.exchange)
		sse_error(&cell->sse, "KernelError", "-1", bytes_str(why));
	else
		exchange_fail(cell->exchange, status,
			      status == 501 ? "NOT_SUPPORTED" : "RUNTIME_ERROR",
			      "%s", why);
	return false;
}

/* What runs in it is interrupted, as nobody holds it; a context that nobody
 * got is none. */
static void on_end(struct exchange *exchange)
{
	struct cell *cell = exchange->task;

	if (cell->guest && cell->state == CELL_STARTING)
		guest_drop(cell->guest);
	else if (cell->guest && cell->state == CELL_DONE)
		guest_leave(cell->guest);
	guest_free(cell->guest);
	sse_release(&cell->sse);
	buf_release(&cell->lines);
	if (cell->patience)
		io_timer_free(cell->patience);
	free(cell);
}

/* ---- what is said to it ---- */

/* A line; takes request. */
static bool give(struct cell *cell, json_t *request)
{
	auto_free char *line =
		request ? json_dumps(request, JSON_COMPACT) : NULL;

	json_decref(request);
	if (line && guest_write(cell->guest, bytes_str(line)) == 0 &&
	    guest_write(cell->guest, bytes_str("\n")) == 0)
		return true;
	return fail(cell, 500, "the cell could not be given");
}

static bool start_cell(struct cell *cell)
{
	cell->state = CELL_RUNNING;
	return give(cell,
		    json_pack("{s:s%}", "code", (const char *)cell->code.data,
			      cell->code.len)) &&
	       sse_begin(&cell->sse, cell->exchange, guest_id(cell->guest)) ==
		       0;
}

static void on_patience(void *owner)
{
	(void)fail(owner, 409, "this context runs something already");
}

/* A holder before may have left in the middle of what it said. */
static bool sync_with(struct cell *cell)
{
	cell->state = CELL_SYNCING;
	random_id(cell->token);
	io_timer_set(cell->patience, CELL_SYNC_MS);
	return give(cell, json_pack("{s:s}", "sync", cell->token));
}

/* ---- what it says ---- */

static const char *text_of(const json_t *event, const char *name)
{
	const char *text = json_string_value(json_object_get(event, name));

	return text ? text : "";
}

static bool on_ready(struct cell *cell)
{
	if (cell->code.data)
		return start_cell(cell);
	cell->state = CELL_DONE;
	exchange_reply_json(cell->exchange, 200,
			    context_json(bytes_str(guest_id(cell->guest))));
	return false;
}

static bool on_done(struct cell *cell, const json_t *event)
{
	const json_t *error = json_object_get(event, "error");
	const json_t *trace = json_object_get(error, "traceback");
	json_int_t count =
		json_integer_value(json_object_get(event, "execution_count"));
	const char *first = json_string_value(json_array_get(trace, 0));

	cell->state = CELL_DONE;
	sse_event(&cell->sse, json_pack("{s:s,s:I}", "type", "execution_count",
					"execution_count", count));
	if (json_is_object(error))
		sse_error(&cell->sse, text_of(error, "ename"),
			  text_of(error, "evalue"), bytes_str(first));
	else
		sse_complete(&cell->sse);
	return false;
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

static bool on_running(struct cell *cell, const json_t *event)
{
	const char *type = text_of(event, "type");

	if (!strcmp(type, "done"))
		return on_done(cell, event);
	if (!strcmp(type, "stdout") || !strcmp(type, "stderr"))
		sse_text(&cell->sse, type, bytes_str(text_of(event, "text")));
	else if (!strcmp(type, "result"))
		sse_event(&cell->sse, results_of(event));
	return true;
}

static bool on_synced(struct cell *cell, const json_t *event)
{
	if (strcmp(text_of(event, "type"), "synced") != 0 ||
	    strcmp(text_of(event, "sync"), cell->token) != 0)
		return true;
	io_timer_set(cell->patience, 0);
	return on_ready(cell);
}

static bool on_said(struct cell *cell, const json_t *event)
{
	switch (cell->state) {
	case CELL_STARTING:
		return !strcmp(text_of(event, "type"), "ready")
			       ? on_ready(cell)
			       : fail(cell, 501, WHAT_TO_INSTALL);
	case CELL_SYNCING:
		return on_synced(cell, event);
	case CELL_RUNNING:
		return on_running(cell, event);
	case CELL_TAKING:
	case CELL_DONE:
	default:
		return true;
	}
}

static bool on_line(struct cell *cell, struct bytes line)
{
	json_t *event = json_loadb((const char *)line.data, line.len,
				   JSON_REJECT_DUPLICATES, NULL);
	bool is_there = !json_is_object(event) || on_said(cell, event);

	json_decref(event);
	return is_there;
}

static bool is_held(const struct cell *cell)
{
	return cell->sse.exchange && exchange_stream_is_full(cell->exchange);
}

/* The next line; NULL: it is not whole yet, or no memory. The caller's. */
static char *take_line(struct cell *cell)
{
	struct bytes view = buf_view(&cell->lines);
	ptrdiff_t end = bytes_find(view, '\n', 0);
	char *line = NULL;

	if (end < 0)
		return NULL;
	line = strndup((const char *)view.data, (size_t)end);
	buf_consume(&cell->lines, (size_t)end + 1);
	return line;
}

/* Every line that is whole, as long as its client reads; then the next piece,
 * where none is asked for yet. */
static void go_on(struct cell *cell)
{
	while (!is_held(cell)) {
		auto_free char *line = take_line(cell);

		if (!line)
			break;
		if (!on_line(cell, bytes_str(line)))
			return;
	}
	if (cell->has_asked || is_held(cell))
		return;
	cell->has_asked = true;
	guest_read(cell->guest);
}

static void on_room(struct exchange *exchange)
{
	struct cell *cell = exchange->task;

	if (cell->guest && cell->state == CELL_RUNNING)
		go_on(cell);
}

static void on_output(struct cell *cell)
{
	struct resident_output piece = guest_view(cell->guest)->piece;

	cell->has_asked = false;
	if (piece.stream == 1 && buf_add(&cell->lines, piece.bytes) < 0) {
		guest_drop(cell->guest);
		(void)fail(cell, 500, "an event is larger than it may be");
		return;
	}
	go_on(cell);
}

/* ---- the beginning ---- */

static void on_taken(struct cell *cell)
{
	if (guest_view(cell->guest)->taken.is_running)
		return;
	cell->state = CELL_STARTING;
	guest_start(cell->guest, true);
}

static void on_event(struct guest *guest, enum guest_event event, void *owner)
{
	struct cell *cell = owner;

	(void)guest;
	switch (event) {
	case GUEST_TAKEN:
		on_taken(cell);
		break;
	case GUEST_RUNS:
		if (cell->state == CELL_STARTING || sync_with(cell))
			go_on(cell);
		break;
	case GUEST_OUTPUT:
		on_output(cell);
		break;
	case GUEST_ENDED:
		if (cell->state == CELL_STARTING)
			(void)fail(cell, 501, WHAT_TO_INSTALL);
		else
			(void)fail(cell, 500, "its process has ended");
		break;
	case GUEST_LOST:
		(void)fail(cell, 409, "the context was deleted");
		break;
	case GUEST_HEARD:
	default:
		break;
	}
}

static void on_channel(struct exchange *exchange, const void *message, int *fd)
{
	const struct cell *cell = exchange->task;

	(void)message;
	guest_channel(cell->guest, fd);
}

/* Of our program a policy need not know: it is a shell of Python. */
static struct guest *new_guest(struct cell *cell, const struct cell_wish *wish)
{
	const struct text_item argv[] = {
		{bytes_str("python3")},
		{bytes_str("-c")},
		{bytes_str(code_program)},
	};
	const struct exec_request request = {
		.argv = argv,
		.argv_count = ARRAY_SIZE(argv),
		.judged = argv,
		.judged_count = 1,
	};
	const struct guest_wish wanted = {
		.take = {.kind = RESIDENT_CONTEXT, .id = wish->id},
		.request = wish->id.len > 0 ? NULL : &request,
		.is_default = wish->is_default,
	};

	return guest_new(cell->exchange, &wanted, on_event, cell);
}

void cell_begin(struct exchange *exchange, const struct cell_wish *wish)
{
	struct cell *cell = calloc(1, sizeof(*cell));
	struct guest *guest;

	if (cell)
		cell->patience = io_timer_new(exchange_loop(exchange),
					      on_patience, cell);
	if (!cell || !cell->patience) {
		free(cell);
		exchange_fail_memory(exchange);
		return;
	}
	cell->exchange = exchange;
	cell->code = wish->code;
	buf_init(&cell->lines, CELL_EVENT_MAX);
	exchange->task = cell;
	exchange->on_end = on_end;
	exchange->on_room = on_room;
	guest = new_guest(cell, wish);
	if (!guest)
		return;
	cell->guest = guest;
	exchange_channel(exchange, HOST_CHANNEL_RESIDENT, on_channel);
}
