#include "sandbox-host/supervisor/pace.h"

#include <utlist.h>

#include "sandbox-host/supervisor/supervisor.h"

/* A slice is over: who was held up goes on, whoever waited longest first. */
static void on_slice(void *owner)
{
	struct supervisor *supervisor = owner;
	struct pace_turn *turn;

	supervisor->pace.bytes = 0;
	while ((turn = supervisor->pace.turns) &&
	       supervisor->pace.bytes < PACE_BYTES_MAX) {
		pace_forget(supervisor, turn);
		turn->go_on(turn->owner);
	}
}

int pace_open(struct supervisor *supervisor, struct err *err)
{
	if (!supervisor->pace.slice)
		supervisor->pace.slice =
			io_timer_new(supervisor->loop, on_slice, supervisor);
	return supervisor->pace.slice
		       ? 0
		       : err_set(err, ERR_TOO_LARGE, "no memory");
}

void pace_close(struct supervisor *supervisor)
{
	if (supervisor->pace.slice)
		io_timer_free(supervisor->pace.slice);
	supervisor->pace.slice = NULL;
}

bool pace_has_room(struct supervisor *supervisor, struct pace_turn *turn)
{
	if (supervisor->pace.bytes < PACE_BYTES_MAX)
		return true;
	if (!turn->waits)
		DL_APPEND(supervisor->pace.turns, turn);
	turn->waits = true;
	return false;
}

void pace_count(struct supervisor *supervisor, size_t len)
{
	if (len > 0 && supervisor->pace.bytes == 0)
		io_timer_set(supervisor->pace.slice, PACE_SLICE_MS);
	supervisor->pace.bytes += len;
}

void pace_forget(struct supervisor *supervisor, struct pace_turn *turn)
{
	if (turn->waits)
		DL_DELETE(supervisor->pace.turns, turn);
	turn->waits = false;
}
