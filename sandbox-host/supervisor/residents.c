#include "sandbox-host/supervisor/residents.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/digest.h"
#include "sandbox-host/supervisor/channel.h"
#include "sandbox-host/supervisor/pace.h"
#include "sandbox-host/supervisor/resident.h"

#define LOOKERS_MAX 64 /* at once */
#define PERMIT_RATE 200
#define SWEEP_MS    5000

struct residents {
	struct resident *all; /* the oldest first */
	struct looker *lookers;
	size_t looker_count;
	struct io_timer *sweep;
};

static const struct {
	const char *prefix, *name;
	size_t max;
} kinds[RESIDENT_KIND_MAX] = {
	[RESIDENT_TERMINAL] = {"pty-", "terminal", RESIDENT_TERMINALS_MAX},
	[RESIDENT_CONTEXT] = {"py-", "context", RESIDENT_CONTEXTS_MAX},
};

/* ---- those that are there ---- */

void residents_remove(struct resident *resident)
{
	assert(!resident->holder);
	DL_DELETE(resident->residents->all, resident);
	resident_free(resident);
}

/* Its holder hears of it, who may get what waits for it no more. */
static void lose(struct resident *resident, bool is_taken_over)
{
	const struct resident_lost lost = {is_taken_over};
	struct looker *holder = resident->holder;
	struct err err;

	if (!holder)
		return;
	if (holder->starting.rpc)
		rpc_refuse(holder->starting, HOST_REFUSED_STATE,
			   "it was deleted");
	else
		(void)rpc_tell(holder->rpc, MSG_RESIDENT_LOST,
			       &resident_lost_schema, &lost, -1, &err);
	holder->starting = (struct rpc_ticket){0};
	holder->held = NULL;
	resident->holder = NULL;
}

static void drop(struct resident *resident)
{
	lose(resident, false);
	residents_remove(resident);
}

/* A context whose process nobody waited for is none. */
static bool is_stale(const struct resident *resident, uint64_t now)
{
	bool is_none = resident->kind == RESIDENT_CONTEXT &&
		       resident->phase == PHASE_NONE;
	uint64_t max = is_none ? SWEEP_MS : RESIDENT_IDLE_MS;

	return !resident->holder && resident->used_ms + max <= now;
}

static void on_sweep(void *owner)
{
	struct residents *residents = owner;
	uint64_t now = clock_monotonic_ms();
	struct resident *resident, *next;

	DL_FOREACH_SAFE(residents->all, resident, next)
	if (is_stale(resident, now))
		residents_remove(resident);
	if (residents->all)
		io_timer_set(residents->sweep, SWEEP_MS);
}

static struct residents *residents_of(struct supervisor *supervisor,
				      struct err *err)
{
	struct residents *residents = supervisor->residents;

	if (residents)
		return residents;
	if (pace_open(supervisor, err) < 0)
		return NULL;
	residents = calloc(1, sizeof(*residents));
	if (residents)
		residents->sweep =
			io_timer_new(supervisor->loop, on_sweep, residents);
	if (residents && residents->sweep) {
		supervisor->residents = residents;
		return residents;
	}
	free(residents);
	(void)err_set(err, ERR_TOO_LARGE, "no memory");
	return NULL;
}

static struct resident *find(const struct residents *residents, uint8_t kind,
			     struct bytes id)
{
	struct resident *resident;

	DL_FOREACH(residents->all, resident)
	if (resident->kind == kind && bytes_is(id, resident->id))
		return resident;
	return NULL;
}

/* NULL: the ticket was answered. */
static struct resident *find_asked(const struct looker *looker, uint8_t kind,
				   struct bytes id, struct rpc_ticket ticket)
{
	struct resident *resident =
		find(looker->supervisor->residents, kind, id);

	if (!resident)
		rpc_refuse(ticket, HOST_REFUSED_MISSING, "there is no such %s",
			   kinds[kind].name);
	return resident;
}

static void reply_empty(struct rpc_ticket ticket)
{
	const struct wire_empty empty = {0};

	rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

/* ---- MAKE ---- */

static struct resident *find_default(const struct residents *residents,
				     uint8_t kind)
{
	struct resident *resident;

	DL_FOREACH(residents->all, resident)
	if (resident->kind == kind && resident->is_default)
		return resident;
	return NULL;
}

static size_t count_of(const struct residents *residents, uint8_t kind)
{
	const struct resident *resident;
	size_t count = 0;

	DL_FOREACH(residents->all, resident)
	count += resident->kind == kind;
	return count;
}

static struct resident *add(struct supervisor *supervisor,
			    const struct resident_wish *wish, int request)
{
	struct residents *residents = supervisor->residents;
	struct resident *resident = calloc(1, sizeof(*resident));
	char random[27];

	if (!resident)
		return NULL;
	random_id(random);
	resident->supervisor = supervisor;
	resident->residents = residents;
	resident->kind = (enum resident_kind)wish->kind;
	resident->is_default = wish->is_default;
	resident->request = request;
	resident->used_ms = clock_monotonic_ms();
	resident->turn =
		(struct pace_turn){.go_on = resident_go_on, .owner = resident};
	buf_init(&resident->replay, RESIDENT_REPLAY_MAX);
	(void)snprintf(resident->id, sizeof(resident->id), "%s%s",
		       kinds[wish->kind].prefix, random);
	if (!residents->all)
		io_timer_set(residents->sweep, SWEEP_MS);
	DL_APPEND(residents->all, resident);
	return resident;
}

/* Is that something to run? */
static bool is_request(int fd, struct err *err)
{
	struct request_memory memory;
	struct exec_request request;

	if (exec_request_open(fd, &memory, &request, err) < 0)
		return false;
	request_release(&memory);
	return true;
}

static void answer_make(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct resident_wish *wish = message;
	const struct looker *looker = owner;
	struct residents *residents = looker->supervisor->residents;
	struct resident *resident = NULL;
	struct resident_ref ref = {.kind = wish->kind};
	struct err err;

	if (wish->is_default)
		resident = find_default(residents, wish->kind);
	if (!resident && !is_request(*fd, &err)) {
		rpc_refuse(ticket, HOST_REFUSED_INVALID, "%s", err.text);
		return;
	}
	if (!resident &&
	    count_of(residents, wish->kind) >= kinds[wish->kind].max) {
		rpc_refuse(ticket, HOST_REFUSED_FULL,
			   "a sandbox may have %zu %ss", kinds[wish->kind].max,
			   kinds[wish->kind].name);
		return;
	}
	if (!resident)
		resident = add(looker->supervisor, wish, *fd);
	if (!resident) {
		rpc_refuse(ticket, HOST_REFUSED, "no memory");
		return;
	}
	if (resident->request == *fd)
		(void)take_fd(fd);
	ref.id = bytes_str(resident->id);
	rpc_reply(ticket, &resident_ref_schema, &ref, -1);
}

/* ---- what is asked about them ---- */

static void answer_list(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct resident_ref *of = message;
	const struct looker *looker = owner;
	struct resident_ref refs[RESIDENT_LIST_MAX];
	struct resident_list list = {.residents = refs};
	const struct resident *resident;

	(void)fd;
	DL_FOREACH(looker->supervisor->residents->all, resident)
	if (resident->kind == of->kind)
		refs[list.residents_count++] = (struct resident_ref){
			of->kind, bytes_str(resident->id)};
	rpc_reply(ticket, &resident_list_schema, &list, -1);
}

static void answer_show(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct resident_ref *ref = message;
	const struct resident *resident =
		find_asked(owner, ref->kind, ref->id, ticket);
	struct resident_state state;

	(void)fd;
	if (!resident)
		return;
	state = (struct resident_state){
		.is_running = resident->phase != PHASE_NONE,
		.written = resident->written,
	};
	rpc_reply(ticket, &resident_state_schema, &state, -1);
}

static void answer_drop(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct resident_ref *ref = message;
	const struct looker *looker = owner;
	struct resident *resident, *next;

	(void)fd;
	if (ref->id.len > 0) {
		resident = find_asked(looker, ref->kind, ref->id, ticket);
		if (!resident)
			return;
		drop(resident);
	} else {
		DL_FOREACH_SAFE(looker->supervisor->residents->all, resident,
				next)
		if (resident->kind == ref->kind)
			drop(resident);
	}
	reply_empty(ticket);
}

static void answer_signal(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct resident_signal *wanted = message;
	struct resident *resident =
		find_asked(owner, wanted->kind, wanted->id, ticket);

	(void)fd;
	if (!resident)
		return;
	resident_signal(resident, wanted->number);
	reply_empty(ticket);
}

/* ---- TAKE ---- */

/* What is kept from *since on, which becomes where that begins; sealed. -1
 * without *err: nothing. */
static int seal_replay(const struct resident *resident, uint64_t *since,
		       struct err *err)
{
	struct bytes kept = buf_view(&resident->replay);
	uint64_t start = resident->written - kept.len;

	*err = (struct err){0};
	if (*since < start)
		*since = start;
	if (*since >= resident->written) {
		*since = resident->written;
		return -1;
	}
	return wire_memfd_seal(
		"replay", bytes_slice(kept, (size_t)(*since - start), kept.len),
		err);
}

static void hold(struct resident *resident, struct looker *looker)
{
	lose(resident, true);
	resident->holder = looker;
	looker->held = resident;
	looker->wants_piece = looker->waits = false;
}

static void answer_take(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct resident_take *take = message;
	struct looker *looker = owner;
	struct resident *resident =
		find_asked(looker, take->kind, take->id, ticket);
	struct resident_taken taken = {.start = take->since};
	auto_fd int replay = -1;
	struct err err;

	(void)fd;
	if (!resident)
		return;
	/* Who waits for its start is not sent away. */
	if (looker->held ||
	    (resident->holder &&
	     (!take->takes_over || resident->phase == PHASE_STARTING))) {
		rpc_refuse(ticket, HOST_REFUSED_STATE, "it is in use already");
		return;
	}
	replay = seal_replay(resident, &taken.start, &err);
	if (err.code != ERR_NONE) {
		rpc_refuse(ticket, HOST_REFUSED, "%s", err.text);
		return;
	}
	hold(resident, looker);
	taken.is_running = resident->phase != PHASE_NONE;
	taken.is_pipe = resident->is_pipe;
	rpc_reply(ticket, &resident_taken_schema, &taken, replay);
}

static void answer_start(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct resident_start *start = message;
	const struct looker *looker = owner;
	struct err err;

	(void)fd;
	if (!looker->held || looker->held->phase != PHASE_NONE)
		rpc_refuse(ticket, HOST_REFUSED_STATE, "it can not be started");
	else if (resident_start(looker->held, start->is_pipe, ticket, &err) < 0)
		rpc_refuse(ticket, HOST_REFUSED_FULL, "%s", err.text);
}

/* ---- of the one that was taken ---- */

static void answer_leave(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct looker *looker = owner;

	(void)ticket;
	(void)message;
	(void)fd;
	if (!looker->held)
		return;
	looker->held->is_busy = false;
	looker->held->is_had = true;
	resident_leave(looker->held);
}

static void answer_resize(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct resident_size *size = message;
	const struct looker *looker = owner;

	(void)ticket;
	(void)fd;
	if (looker->held && looker->held->exec)
		exec_client_resize(looker->held->exec, size->rows,
				   size->columns);
}

static void answer_write(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct resident_input *input = message;
	const struct looker *looker = owner;

	(void)ticket;
	(void)fd;
	if (looker->held)
		resident_write(looker->held, input->bytes);
}

static void answer_read(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct looker *looker = owner;

	(void)ticket;
	(void)message;
	(void)fd;
	if (looker->held)
		resident_read(looker->held);
}

/* ---- channels ---- */

static void forget(struct looker *looker)
{
	struct residents *residents = looker->supervisor->residents;

	/* A ticket keeps its channel's memory until it is answered. */
	if (looker->starting.rpc)
		rpc_refuse(looker->starting, HOST_REFUSED,
			   "the channel was closed");
	if (looker->held)
		resident_leave(looker->held);
	DL_DELETE(residents->lookers, looker);
	residents->looker_count--;
	free(looker);
}

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	(void)rpc;
	(void)why;
	forget(owner);
}

static const struct rpc_permit permits[] = {
	{MSG_RESIDENT_MAKE, &resident_wish_schema, answer_make, true,
	 PERMIT_RATE},
	{MSG_RESIDENT_LIST, &resident_ref_schema, answer_list, false,
	 PERMIT_RATE},
	{MSG_RESIDENT_SHOW, &resident_ref_schema, answer_show, false,
	 PERMIT_RATE},
	{MSG_RESIDENT_DROP, &resident_ref_schema, answer_drop, false,
	 PERMIT_RATE},
	{MSG_RESIDENT_SIGNAL, &resident_signal_schema, answer_signal, false,
	 PERMIT_RATE},
	{MSG_RESIDENT_TAKE, &resident_take_schema, answer_take, false,
	 PERMIT_RATE},
	{MSG_RESIDENT_START, &resident_start_schema, answer_start, false,
	 PERMIT_RATE},
	{MSG_RESIDENT_LEAVE, &wire_empty_schema, answer_leave, false, 0},
	{MSG_RESIDENT_RESIZE, &resident_size_schema, answer_resize, false, 0},
	{MSG_RESIDENT_WRITE, &resident_input_schema, answer_write, false, 0},
	{MSG_RESIDENT_READ, &wire_empty_schema, answer_read, false, 0},
};

int residents_open(struct supervisor *supervisor, struct err *err)
{
	struct residents *residents = residents_of(supervisor, err);
	auto_free struct looker *looker = calloc(1, sizeof(*looker));
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = looker,
		.rate_code = HOST_REFUSED_FULL,
		.on_closed = on_closed,
	};
	int theirs;

	if (!residents || !looker || residents->looker_count >= LOOKERS_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "too many use terminals and contexts at once");
	looker->supervisor = supervisor;
	theirs = channel_open(supervisor->loop, &config, &looker->rpc, err);
	if (theirs < 0)
		return -1;
	DL_APPEND(residents->lookers, looker);
	residents->looker_count++;
	(void)take_ptr(&looker);
	return theirs;
}

void residents_close_all(struct supervisor *supervisor)
{
	struct residents *residents = supervisor->residents;

	if (!residents)
		return;
	while (residents->lookers) {
		rpc_close(residents->lookers->rpc);
		forget(residents->lookers);
	}
	while (residents->all)
		residents_remove(residents->all);
	io_timer_free(residents->sweep);
	free(residents);
	supervisor->residents = NULL;
}
