#include "sandbox-host/supervisor/resident.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/supervisor/pace.h"
#include "sandbox-host/supervisor/parts.h"

/* ---- what is said to its holder ---- */

/* A channel that can not take it is full of what nobody reads: it ends. */
static void tell(const struct looker *looker, uint16_t type,
		 const struct wire_schema *schema, const void *message)
{
	struct err err;

	(void)rpc_tell(looker->rpc, type, schema, message, -1, &err);
}

static void tell_heard(struct looker *looker, bool is_taken)
{
	const struct resident_heard heard = {is_taken};

	looker->waits = false;
	tell(looker, MSG_RESIDENT_HEARD, &resident_heard_schema, &heard);
}

/* ---- what it writes ---- */

static void keep(struct resident *resident, struct bytes bytes)
{
	struct buf *replay = &resident->replay;
	size_t room = buf_room(replay);

	resident->written += bytes.len;
	if (resident->kind != RESIDENT_TERMINAL)
		return;
	if (bytes.len > room)
		buf_consume(replay, bytes.len - room);
	/* Without memory all of it is lost, and what comes later is kept. */
	if (buf_add(replay, bytes) < 0)
		buf_clear(replay);
}

/* A piece for its holder, who waits for one. False: there is none. */
static bool give(struct resident *resident)
{
	struct looker *holder = resident->holder;

	for (int stream = 1; stream <= 2; stream++) {
		struct buf *from = exec_client_out(resident->exec, stream);
		struct resident_output piece = {
			.stream = (uint8_t)stream,
			.bytes = bytes_slice(buf_view(from), 0,
					     RESIDENT_PIECE_MAX),
		};

		if (piece.bytes.len == 0)
			continue;
		holder->wants_piece = false;
		keep(resident, piece.bytes);
		tell(holder, MSG_RESIDENT_OUTPUT, &resident_output_schema,
		     &piece);
		buf_consume(from, piece.bytes.len);
		return true;
	}
	return false;
}

static void keep_all(struct resident *resident)
{
	for (int stream = 1; stream <= 2; stream++) {
		struct buf *from = exec_client_out(resident->exec, stream);

		keep(resident, buf_view(from));
		pace_count(resident->supervisor, buf_len(from));
		buf_clear(from);
	}
}

static void stop(struct resident *resident)
{
	exec_client_free(resident->exec);
	resident->exec = NULL;
	resident->phase = PHASE_NONE;
	resident->is_busy = false;
}

/* A context is over with its process. */
static void end(struct resident *resident)
{
	const struct exec_end how = exec_client_end(resident->exec);
	const struct resident_ended ended = {
		.has_exit_code = !how.is_lost && how.signal == 0,
		.exit_code = (uint32_t)how.exit_code,
	};
	struct looker *holder = resident->holder;

	stop(resident);
	resident->used_ms = clock_monotonic_ms();
	resident->holder = NULL;
	if (holder) {
		holder->held = NULL;
		tell(holder, MSG_RESIDENT_ENDED, &resident_ended_schema,
		     &ended);
	}
	if (resident->kind == RESIDENT_CONTEXT)
		residents_remove(resident);
}

/* To its holder, as that takes it; to nobody else. The resident may be gone
 * afterwards. */
static void pump(struct resident *resident)
{
	bool has_more = false;

	if (resident->phase == PHASE_NONE)
		return;
	/* What has no room here waits in the pipe, with who writes it. */
	if (!resident->holder && resident->phase != PHASE_ENDED &&
	    !pace_has_room(resident->supervisor, &resident->turn))
		return;
	if (!resident->holder)
		keep_all(resident);
	else
		has_more = !resident->holder->wants_piece || give(resident);
	if (resident->phase != PHASE_ENDED)
		exec_client_go_on(resident->exec);
	else if (!has_more)
		end(resident);
}

/* ---- its process ---- */

static void answer_started(struct resident *resident)
{
	const struct wire_empty empty = {0};
	struct looker *holder = resident->holder;

	resident->phase = PHASE_RUNNING;
	rpc_reply(holder->starting, &wire_empty_schema, &empty, -1);
	holder->starting = (struct rpc_ticket){0};
}

static void answer_refused(struct resident *resident)
{
	const struct exec_refusal why = exec_client_refusal(resident->exec);
	struct looker *holder = resident->holder;

	rpc_refuse(holder->starting, (uint16_t)why.code, "%s", why.text);
	holder->starting = (struct rpc_ticket){0};
	stop(resident);
}

static void on_event(struct exec_client *client, enum exec_event event,
		     void *owner)
{
	struct resident *resident = owner;

	(void)client;
	switch (event) {
	case EXEC_STARTED:
		answer_started(resident);
		break;
	case EXEC_REFUSED:
		answer_refused(resident);
		break;
	case EXEC_DRAINED:
		if (resident->holder && resident->holder->waits)
			tell_heard(resident->holder, true);
		break;
	case EXEC_ENDED:
		resident->phase = PHASE_ENDED;
		pump(resident);
		break;
	case EXEC_OUTPUT:
	default:
		pump(resident);
		break;
	}
}

static int run(struct resident *resident, const struct exec_request *request,
	       struct err *err)
{
	struct supervisor *supervisor = resident->holder->supervisor;
	int channel = exec_open(supervisor, err);

	if (channel < 0)
		return -1;
	resident->exec = exec_client_new(supervisor->loop, channel, on_event,
					 resident, err);
	if (!resident->exec)
		return -1;
	return exec_client_start(resident->exec, request, EXEC_INPUT, err);
}

int resident_start(struct resident *resident, bool is_pipe,
		   struct rpc_ticket ticket, struct err *err)
{
	struct request_memory memory;
	struct exec_request request;
	int result;

	assert(resident->phase == PHASE_NONE && resident->holder);
	if (exec_request_open(resident->request, &memory, &request, err) < 0)
		return -1;
	resident->is_pipe = is_pipe || resident->kind != RESIDENT_TERMINAL;
	request.has_terminal = !resident->is_pipe;
	result = run(resident, &request, err);
	request_release(&memory);
	if (result < 0) {
		stop(resident);
		return -1;
	}
	resident->phase = PHASE_STARTING;
	resident->holder->starting = ticket;
	return 0;
}

/* ---- what its holder says ---- */

void resident_read(struct resident *resident)
{
	resident->holder->wants_piece = true;
	pump(resident);
}

void resident_write(struct resident *resident, struct bytes bytes)
{
	struct looker *holder = resident->holder;

	/* The one before is to be heard first. */
	if (holder->waits || resident->phase != PHASE_RUNNING ||
	    exec_client_write(resident->exec, bytes) < 0) {
		tell_heard(holder, false);
		return;
	}
	resident->is_busy = resident->is_had = true;
	holder->waits = true;
	if (!exec_client_is_full(resident->exec))
		tell_heard(holder, true);
}

void resident_signal(struct resident *resident, int number)
{
	if (resident->phase == PHASE_RUNNING &&
	    (resident->is_busy || resident->kind != RESIDENT_CONTEXT))
		exec_client_signal(resident->exec, number);
}

void resident_go_on(void *owner)
{
	struct resident *resident = owner;

	if (!resident->holder)
		pump(resident);
}

void resident_leave(struct resident *resident)
{
	resident->holder->held = NULL;
	resident->holder = NULL;
	resident->used_ms = clock_monotonic_ms();
	/* Who was to get it is gone, and nobody else knows of it. */
	if (resident->kind == RESIDENT_CONTEXT && !resident->is_had) {
		residents_remove(resident);
		return;
	}
	/* Nobody waits for what was to be started. */
	if (resident->phase == PHASE_STARTING)
		stop(resident);
	if (resident->kind == RESIDENT_CONTEXT)
		resident_signal(resident, SIGINT);
	pump(resident);
}

void resident_free(struct resident *resident)
{
	stop(resident);
	pace_forget(resident->supervisor, &resident->turn);
	(void)close(resident->request);
	buf_release(&resident->replay);
	free(resident);
}
