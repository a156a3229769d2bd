#include "policies/command/window.h"

#include <stdlib.h>

int action_window_open(struct action_window *window,
		       const struct policy_commands *commands)
{
	*window = (struct action_window){.max = commands->actions,
					 .period_ms = commands->actions_ms};
	if (window->max > 0)
		window->times = calloc(window->max, sizeof(*window->times));
	return window->max == 0 || window->times ? 0 : -1;
}

void action_window_close(struct action_window *window)
{
	free(window->times);
	*window = (struct action_window){0};
}

uint64_t action_window_take(struct action_window *window, uint64_t now_ms)
{
	uint64_t oldest;

	if (window->max == 0)
		return 0;
	/* `next` is the oldest, once the ring is full. */
	oldest = window->times[window->next];
	if (window->count == window->max) {
		uint64_t age = now_ms > oldest ? now_ms - oldest : 0;

		if (age < window->period_ms)
			return window->period_ms - age;
	} else {
		window->count++;
	}
	window->times[window->next] = now_ms;
	window->next = (window->next + 1) % window->max;
	return 0;
}
