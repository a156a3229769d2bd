#include "tests/replay/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io_fake.h"

#define LEAKS_LOOKED_FOR 5 /* every so many faults */
/* Longer than any deadline (a tunnel's is an hour). */
#define PATIENCE_MS (2 * 3600 * 1000)
#define LOOK_MS	    10000

#define CLIENTS	  (1u << END_CLIENT)
#define UPSTREAMS (1u << END_UPSTREAM | 1u << END_LEG)

static void send_noise(struct end *end)
{
	end_send(end, bytes_str("\r\n\x01noise: 0000\r\n\r\n"));
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

/* What happens to the house, or to each open end of these kinds. */
static const struct fault {
	void (*of_house)(struct play *play);
	unsigned kinds;
	void (*of_end)(struct end *end);
} faults[] = {
	{.of_house = nothing},
	{.kinds = CLIENTS, .of_end = end_reset},
	{.kinds = CLIENTS, .of_end = end_end},
	{.kinds = UPSTREAMS, .of_end = end_reset},
	{.kinds = UPSTREAMS, .of_end = end_end},
	{.kinds = UPSTREAMS, .of_end = send_noise},
	{.kinds = CLIENTS, .of_end = send_noise},
	{.of_house = keepers_leave},
	{.of_house = is_revoked},
};

static bool is_struck(const struct fault *fault, const struct end *end)
{
	return fault->kinds & 1u << end->kind && !end_is_closed(end);
}

/* Without such an end it would be `nothing` once more. */
static bool can_happen(const struct play *play, const struct fault *fault)
{
	for (size_t i = 0; i < play->ends.count; i++)
		if (is_struck(fault, &play->ends.list[i]))
			return true;
	return fault->of_house != NULL;
}

static void happen(struct play *play, const struct fault *fault)
{
	if (fault->of_house)
		fault->of_house(play);
	for (size_t i = 0; i < play->ends.count; i++)
		if (is_struck(fault, &play->ends.list[i]))
			fault->of_end(&play->ends.list[i]);
}

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

static void try_one(struct play *play, const struct fault *fault,
		    const struct cue *step)
{
	static unsigned tried;
	pid_t pid = fork();
	int status = 0;

	tried++;
	if (pid == 0) {
		happen(play, fault);
		settle_soon(play, step);
		/* A sanitizer looks for leaks in exit(): that takes long, so
		 * here and there is enough. */
		if (tried % LEAKS_LOOKED_FOR == 0)
			exit(EXIT_SUCCESS);
		_exit(EXIT_SUCCESS);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		script_fail(step, "fault %zu: status %x",
			    (size_t)(fault - faults), (unsigned)status);
}

void faults_try(struct play *play, const struct cue *step)
{
	if (play->only_looked)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		if (can_happen(play, &faults[i]))
			try_one(play, &faults[i], step);
}
