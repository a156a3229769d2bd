/* Who holds a program that stays: a request, on a channel to its supervisor
 * (execd_resident.h). */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/api/execd_resident.h"
#include "sandbox-host/api/gone.h"

#define SIGNAL_MS 10000

/* Of the exchange, and of the calls that its channel may still end. */
struct guest {
	struct exchange *exchange;
	struct io_loop *loop;
	struct rpc *rpc; /* NULL: there is none yet, or it was closed */
	guest_fn *fn;
	void *owner;
	struct resident_take take;
	char id[RESIDENT_ID_MAX + 1];
	bool is_default;
	int request; /* what is to be made, sealed; -1 */
	bool runs;   /* the request was not answered by us */
	bool is_over;
	struct guest_view view;
	struct buf input; /* that was not written yet */
	bool waits;	  /* for the last one to be heard */
	bool is_deaf;
	int exit_code;
	bool is_taken_over;
};

/* ---- life ---- */

static void free_guest(void *owner)
{
	struct guest *guest = owner;

	if (guest->request >= 0)
		(void)close(guest->request);
	if (guest->view.replay.len > 0)
		wire_memfd_unmap(guest->view.replay);
	buf_release(&guest->input);
	free(guest);
}

void guest_free(struct guest *guest)
{
	if (!guest)
		return;
	guest->is_over = true;
	if (guest->rpc)
		rpc_close(guest->rpc);
	guest->rpc = NULL;
	(void)io_loop_defer(guest->loop, free_guest, guest);
}

static void say(struct guest *guest, enum guest_event event)
{
	if (!guest->is_over)
		guest->fn(guest, event, guest->owner);
}

/* The sandbox is gone, or its supervisor. */
static void on_gone(struct rpc *rpc, const char *why, void *owner)
{
	struct guest *guest = owner;

	(void)rpc;
	(void)why;
	guest->rpc = NULL;
	guest->exit_code = -1;
	if (guest->runs)
		say(guest, GUEST_ENDED);
}

static void ask(struct guest *guest, const struct rpc_call *call)
{
	struct rpc_call asked = *call;
	struct err err;

	asked.owner = guest;
	if (!guest->rpc)
		(void)err_set(&err, ERR_CLOSED, "the sandbox is gone");
	if (!guest->rpc || rpc_ask(guest->rpc, &asked, NULL, &err) < 0)
		gone_fail_unsent(guest->exchange, &err);
}

/* A channel that is full of what nobody reads ends. */
static void tell(struct guest *guest, uint16_t type,
		 const struct wire_schema *schema, const void *message)
{
	struct err err;

	if (guest->rpc)
		(void)rpc_tell(guest->rpc, type, schema, message, -1, &err);
}

static void tell_empty(struct guest *guest, uint16_t type)
{
	static const struct wire_empty empty = {0};

	tell(guest, type, &wire_empty_schema, &empty);
}

/* ---- begin ---- */

static void on_taken(struct rpc_outcome *outcome, void *owner)
{
	struct guest *guest = owner;
	struct exchange *exchange = guest->exchange;
	const struct rpc_refusal *refusal = outcome->refusal;
	struct guest_view *view = &guest->view;
	struct err err;

	if (guest->is_over)
		return;
	if (refusal && refusal->code == HOST_REFUSED_STATE) {
		exchange_fail(exchange, 409,
			      guest->take.kind == RESIDENT_TERMINAL
				      ? "ALREADY_CONNECTED"
				      : "RUNTIME_ERROR",
			      "%s",
			      guest->take.kind == RESIDENT_TERMINAL
				      ? "another client is connected: "
					"takeover=1 takes its place"
				      : "this context runs something already");
		return;
	}
	if (!resident_is_answer(exchange, guest->take.kind, outcome))
		return;
	view->taken = *(const struct resident_taken *)outcome->message;
	if (outcome->fd >= 0 && wire_memfd_map(outcome->fd, RESIDENT_REPLAY_MAX,
					       &view->replay, &err) < 0) {
		exchange_fail(exchange, 502, "RUNTIME_ERROR", "%s", err.text);
		return;
	}
	say(guest, GUEST_TAKEN);
	if (guest->is_over || !view->taken.is_running)
		return;
	guest->runs = true;
	say(guest, GUEST_RUNS);
}

static void ask_take(struct guest *guest)
{
	const struct rpc_call call = {
		.type = MSG_RESIDENT_TAKE,
		.schema = &resident_take_schema,
		.message = &guest->take,
		.fd = -1,
		.reply_schema = &resident_taken_schema,
		.timeout_ms = EXCHANGE_ASK_MS,
		.on_outcome = on_taken,
	};

	ask(guest, &call);
}

static void set_id(struct guest *guest, struct bytes id)
{
	(void)snprintf(guest->id, sizeof(guest->id), "%.*s", BYTES_ARGS(id));
	guest->take.id = bytes_str(guest->id);
}

static void on_made(struct rpc_outcome *outcome, void *owner)
{
	struct guest *guest = owner;
	const struct resident_ref *ref = outcome->message;

	if (guest->is_over ||
	    !resident_is_answer(guest->exchange, guest->take.kind, outcome))
		return;
	set_id(guest, ref->id);
	ask_take(guest);
}

static void ask_make(struct guest *guest)
{
	const struct resident_wish wish = {guest->take.kind, guest->is_default};
	const struct rpc_call call = {
		.type = MSG_RESIDENT_MAKE,
		.schema = &resident_wish_schema,
		.message = &wish,
		.fd = guest->request,
		.reply_schema = &resident_ref_schema,
		.timeout_ms = EXCHANGE_ASK_MS,
		.on_outcome = on_made,
	};

	ask(guest, &call);
}

/* ---- what it says ---- */

static void answer_output(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	struct guest *guest = owner;

	(void)ticket;
	(void)fd;
	guest->view.piece = *(const struct resident_output *)message;
	say(guest, GUEST_OUTPUT);
}

static void answer_ended(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct resident_ended *ended = message;
	struct guest *guest = owner;

	(void)ticket;
	(void)fd;
	guest->exit_code =
		ended->has_exit_code ? (int)(ended->exit_code & 0xff) : -1;
	guest->runs = false;
	say(guest, GUEST_ENDED);
}

static void answer_lost(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct resident_lost *lost = message;
	struct guest *guest = owner;

	(void)ticket;
	(void)fd;
	guest->is_taken_over = lost->is_taken_over;
	guest->runs = false;
	say(guest, GUEST_LOST);
}

static void write_next(struct guest *guest)
{
	const struct resident_input input = {
		bytes_slice(buf_view(&guest->input), 0, RESIDENT_PIECE_MAX)};

	if (guest->waits || input.bytes.len == 0)
		return;
	guest->waits = true;
	tell(guest, MSG_RESIDENT_WRITE, &resident_input_schema, &input);
	buf_consume(&guest->input, input.bytes.len);
}

static void answer_heard(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct resident_heard *heard = message;
	struct guest *guest = owner;

	(void)ticket;
	(void)fd;
	guest->waits = false;
	guest->is_deaf = !heard->is_taken;
	if (guest->is_deaf)
		buf_clear(&guest->input);
	write_next(guest);
	if (!guest->waits)
		say(guest, GUEST_HEARD);
}

static const struct rpc_permit permits[] = {
	{MSG_RESIDENT_HEARD, &resident_heard_schema, answer_heard, false, 0},
	{MSG_RESIDENT_OUTPUT, &resident_output_schema, answer_output, false, 0},
	{MSG_RESIDENT_ENDED, &resident_ended_schema, answer_ended, false, 0},
	{MSG_RESIDENT_LOST, &resident_lost_schema, answer_lost, false, 0},
};

void guest_channel(struct guest *guest, int *fd)
{
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = guest,
		.on_closed = on_gone,
	};
	struct err err;

	guest->rpc = rpc_new(guest->loop, take_fd(fd), &config, &err);
	if (!guest->rpc)
		exchange_fail(guest->exchange, 500, "INTERNAL", "%s", err.text);
	else if (guest->request >= 0)
		ask_make(guest);
	else
		ask_take(guest);
}

struct guest *guest_new(struct exchange *exchange,
			const struct guest_wish *wish, guest_fn *fn,
			void *owner)
{
	struct guest *guest = calloc(1, sizeof(*guest));
	struct err err;

	if (!guest) {
		exchange_fail_memory(exchange);
		return NULL;
	}
	*guest = (struct guest){
		.exchange = exchange,
		.loop = exchange_loop(exchange),
		.fn = fn,
		.owner = owner,
		.take = wish->take,
		.is_default = wish->is_default,
		.request = -1,
		.exit_code = -1,
	};
	buf_init(&guest->input, GUEST_INPUT_MAX);
	set_id(guest, wish->take.id);
	if (wish->request)
		guest->request = exec_request_seal(wish->request, &err);
	if (!wish->request || guest->request >= 0)
		return guest;
	free_guest(guest);
	execd_fail_err(exchange, &err);
	return NULL;
}

/* ---- what is said to it ---- */

static void on_started(struct rpc_outcome *outcome, void *owner)
{
	struct guest *guest = owner;

	if (guest->is_over ||
	    !resident_is_answer(guest->exchange, guest->take.kind, outcome))
		return;
	guest->runs = true;
	say(guest, GUEST_RUNS);
}

void guest_start(struct guest *guest, bool is_pipe)
{
	const struct resident_start start = {is_pipe};
	const struct rpc_call call = {
		.type = MSG_RESIDENT_START,
		.schema = &resident_start_schema,
		.message = &start,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = EXEC_START_MS,
		.on_outcome = on_started,
	};

	guest->view.taken.is_pipe = is_pipe;
	ask(guest, &call);
}

void guest_read(struct guest *guest)
{
	tell_empty(guest, MSG_RESIDENT_READ);
}

int guest_write(struct guest *guest, struct bytes bytes)
{
	if (guest->is_deaf || buf_add(&guest->input, bytes) < 0)
		return -1;
	write_next(guest);
	return 0;
}

bool guest_is_waiting(const struct guest *guest)
{
	return guest->waits;
}

bool guest_is_deaf(const struct guest *guest)
{
	return guest->is_deaf;
}

void guest_resize(struct guest *guest, uint16_t rows, uint16_t columns)
{
	const struct resident_size size = {rows, columns};

	tell(guest, MSG_RESIDENT_RESIZE, &resident_size_schema, &size);
}

/* Nobody waits for what became of it. */
static void on_told(struct rpc_outcome *outcome, void *owner)
{
	(void)outcome;
	(void)owner;
}

static void ask_quietly(struct guest *guest, uint16_t type,
			const struct wire_schema *schema, const void *message)
{
	const struct rpc_call call = {
		.type = type,
		.schema = schema,
		.message = message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = SIGNAL_MS,
		.on_outcome = on_told,
	};

	if (guest->rpc)
		(void)rpc_ask(guest->rpc, &call, NULL, NULL);
}

void guest_signal(struct guest *guest, int number)
{
	const struct resident_signal wanted = {guest->take.kind, guest->take.id,
					       (uint8_t)number};

	ask_quietly(guest, MSG_RESIDENT_SIGNAL, &resident_signal_schema,
		    &wanted);
}

void guest_leave(struct guest *guest)
{
	tell_empty(guest, MSG_RESIDENT_LEAVE);
}

void guest_drop(struct guest *guest)
{
	const struct resident_ref ref = {guest->take.kind, guest->take.id};

	ask_quietly(guest, MSG_RESIDENT_DROP, &resident_ref_schema, &ref);
}

/* ---- what is known ---- */

const char *guest_id(const struct guest *guest)
{
	return guest->id;
}

const struct guest_view *guest_view(const struct guest *guest)
{
	return &guest->view;
}

int guest_exit_code(const struct guest *guest)
{
	return guest->exit_code;
}

bool guest_is_taken_over(const struct guest *guest)
{
	return guest->is_taken_over;
}
