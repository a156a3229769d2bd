#include "sandbox-host/supervisor/pace.h"

#include "sandbox-host/supervisor/background.h"
#include "sandbox-host/supervisor/output.h"
#include "sandbox-host/supervisor/residents.h"

/* A slice is over: who was held up goes on. */
static void on_slice(void *owner)
{
	struct supervisor *supervisor = owner;

	supervisor->pace_bytes = 0;
	background_go_on(supervisor);
	residents_go_on(supervisor);
	output_go_on(supervisor);
}

int pace_open(struct supervisor *supervisor, struct err *err)
{
	if (!supervisor->pace)
		supervisor->pace =
			io_timer_new(supervisor->loop, on_slice, supervisor);
	return supervisor->pace ? 0 : err_set(err, ERR_TOO_LARGE, "no memory");
}

void pace_close(struct supervisor *supervisor)
{
	if (supervisor->pace)
		io_timer_free(supervisor->pace);
	supervisor->pace = NULL;
}

bool pace_has_room(const struct supervisor *supervisor)
{
	return supervisor->pace_bytes < PACE_BYTES_MAX;
}

void pace_count(struct supervisor *supervisor, size_t len)
{
	if (len > 0 && supervisor->pace_bytes == 0)
		io_timer_set(supervisor->pace, PACE_SLICE_MS);
	supervisor->pace_bytes += len;
}
