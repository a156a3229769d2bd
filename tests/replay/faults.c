#include "tests/replay/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io_fake.h"

#define LEAKS_LOOKED_FOR 10 /* every so many faults */
/* Longer than any deadline (a tunnel's is an hour). */
#define PATIENCE_MS (2 * 3600 * 1000)
#define LOOK_MS	    10000

static void on_ends(struct play *play, unsigned kinds,
		    void (*what)(struct end *end))
{
	for (size_t i = 0; i < play->ends.count; i++)
		if (kinds & 1u << play->ends.list[i].kind &&
		    !end_is_closed(&play->ends.list[i]))
			what(&play->ends.list[i]);
}

static void clients_reset(struct play *play)
{
	on_ends(play, 1u << END_CLIENT, end_reset);
}

static void clients_end(struct play *play)
{
	on_ends(play, 1u << END_CLIENT, end_end);
}

static void upstreams_reset(struct play *play)
{
	on_ends(play, 1u << END_UPSTREAM | 1u << END_LEG, end_reset);
}

static void upstreams_end(struct play *play)
{
	on_ends(play, 1u << END_UPSTREAM | 1u << END_LEG, end_end);
}

static void send_noise(struct end *end)
{
	end_send(end, bytes_str("\r\n\x01noise: 0000\r\n\r\n"));
}

static void upstreams_babble(struct play *play)
{
	on_ends(play, 1u << END_UPSTREAM | 1u << END_LEG, send_noise);
}

static void clients_babble(struct play *play)
{
	on_ends(play, 1u << END_CLIENT, send_noise);
}

static void keepers_leave(struct play *play)
{
	static const enum role roles[] = {ROLE_MINTER, ROLE_DIALER,
					  ROLE_COURIER, ROLE_LEDGER,
					  ROLE_PACKCHECK};

	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		house_party_leaves(&play->house, roles[i]);
}

static void is_revoked(struct play *play)
{
	static const struct cue step = {.file = "revoke"};

	if (play->house.edge.law)
		house_revoke(&play->house, &step);
}

static void nothing(struct play *play)
{
	(void)play;
}

static void (*const faults[])(struct play *play) = {
	nothing,	 clients_reset, clients_end,
	upstreams_reset, upstreams_end, upstreams_babble,
	clients_babble,	 keepers_leave, is_revoked,
};

static const struct end *open_end(const struct play *play)
{
	for (size_t i = 0; i < play->ends.count; i++)
		if (!end_is_closed(&play->ends.list[i]))
			return &play->ends.list[i];
	return NULL;
}

static bool is_settled(const struct play *play)
{
	const struct edge *edge = &play->house.edge;

	return edge->conn_count == 0 && edge->pool.idle_count == 0 &&
	       !open_end(play);
}

static void check_settled(struct play *play, const struct cue *step)
{
	const struct edge *edge = &play->house.edge;

	/* What a question brought along is the party's until it answers. */
	for (unsigned role = 0; role < ROLE_MAX; role++)
		house_forget_asked(&play->house, (enum role)role);
	if (edge->conn_count > 0)
		script_fail(step, "%zu connections stay, the first in state %d",
			    edge->conn_count, (int)edge->conns->state);
	if (edge->pool.idle_count > 0)
		script_fail(step, "%zu upstreams stay", edge->pool.idle_count);
	if (open_end(play))
		script_fail(step, "%s was not closed", open_end(play)->name);
}

void faults_settle(struct play *play, const struct cue *step)
{
	fake_run(play->house.loop);
	fake_advance(play->house.loop, PATIENCE_MS);
	check_settled(play, step);
}

/* The same, for no longer than it takes: an edge without a connection has
 * nothing to do but to look at its clock every second. */
static void settle_soon(struct play *play, const struct cue *step)
{
	fake_run(play->house.loop);
	for (unsigned waited_ms = 0;
	     waited_ms < PATIENCE_MS && !is_settled(play); waited_ms += LOOK_MS)
		fake_advance(play->house.loop, LOOK_MS);
	check_settled(play, step);
}

void faults_try(struct play *play, const struct cue *step)
{
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		pid_t pid = fork();
		int status = 0;

		if (pid == 0) {
			faults[i](play);
			settle_soon(play, step);
			/* A sanitizer looks for leaks in exit(): that takes
			 * long, so here and there is enough. */
			if ((step->line + i) % LEAKS_LOOKED_FOR == 0)
				exit(EXIT_SUCCESS);
			_exit(EXIT_SUCCESS);
		}
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
			script_fail(step, "fault %zu: status %x", i,
				    (unsigned)status);
	}
}
