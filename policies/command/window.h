/*
 * `commands.actions: 200/1h`: at most so many within any such period, not
 * within each hour of the clock. No clock of its own.
 */
#ifndef POLICIES_COMMAND_WINDOW_H
#define POLICIES_COMMAND_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "policies/policy_commands.h"

struct action_window {
	uint64_t *times; /* of the last ones, a ring */
	size_t max;	 /* 0: no limit */
	size_t count, next;
	uint64_t period_ms;
};

/* For the policy's limit; allocates 8 bytes an action. 0, or -1: no memory. */
int action_window_open(struct action_window *window,
		       const struct policy_commands *commands);
void action_window_close(struct action_window *window);

/* One more at now_ms (monotonic)? 0: it is counted. Else nothing is, and in
 * so many milliseconds there is room again. */
uint64_t action_window_take(struct action_window *window, uint64_t now_ms);

#endif
