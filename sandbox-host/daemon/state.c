#include "sandbox-host/daemon/state.h"

#include <assert.h>

#define TO(state)    (1u << HOST_##state)
#define ASK(request) (1u << STATE_##request)

static const struct {
	unsigned next, accepts; /* bits */
} table[HOST_STATE_MAX] = {
	[HOST_PENDING] = {TO(RUNNING) | TO(STOPPING) | TO(FAILED),
			  ASK(KILL) | ASK(CHANGE)},
	[HOST_RUNNING] = {TO(PAUSING) | TO(STOPPING) | TO(FAILED),
			  ASK(USE) | ASK(LOOK) | ASK(PAUSE) | ASK(RENEW) |
				  ASK(KILL) | ASK(CHANGE)},
	[HOST_PAUSING] = {TO(PAUSED) | TO(RUNNING) | TO(STOPPING) | TO(FAILED),
			  ASK(LOOK) | ASK(RENEW) | ASK(KILL) | ASK(CHANGE)},
	[HOST_PAUSED] = {TO(RESUMING) | TO(STOPPING) | TO(FAILED),
			 ASK(LOOK) | ASK(RESUME) | ASK(RENEW) | ASK(KILL) |
				 ASK(CHANGE)},
	[HOST_RESUMING] = {TO(RUNNING) | TO(STOPPING) | TO(FAILED),
			   ASK(LOOK) | ASK(RENEW) | ASK(KILL) | ASK(CHANGE)},
	[HOST_STOPPING] = {TO(TERMINATED) | TO(FAILED), ASK(KILL)},
	[HOST_TERMINATED] = {0, 0},
	[HOST_FAILED] = {0, 0},
};

bool state_may_become(enum host_state from, enum host_state to)
{
	assert(from < HOST_STATE_MAX && to < HOST_STATE_MAX);
	return (table[from].next & (1u << to)) != 0;
}

bool state_accepts(enum host_state state, enum state_request request)
{
	assert(state < HOST_STATE_MAX && request < STATE_REQUEST_MAX);
	return (table[state].accepts & (1u << request)) != 0;
}

bool state_is_over(enum host_state state)
{
	assert(state < HOST_STATE_MAX);
	return table[state].next == 0;
}

void state_dump(FILE *out)
{
	(void)fputs("digraph sandbox {\n", out);
	for (unsigned from = 0; from < HOST_STATE_MAX; from++) {
		(void)fprintf(out, "\t%s%s;\n",
			      host_state_name((enum host_state)from),
			      table[from].next ? "" : " [shape=doublecircle]");
		for (unsigned to = 0; to < HOST_STATE_MAX; to++)
			if (table[from].next & (1u << to))
				(void)fprintf(
					out, "\t%s -> %s;\n",
					host_state_name((enum host_state)from),
					host_state_name((enum host_state)to));
	}
	(void)fputs("}\n", out);
}
