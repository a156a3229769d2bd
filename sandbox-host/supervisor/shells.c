#include "sandbox-host/supervisor/shells.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/digest.h"
#include "sandbox-host/supervisor/channel.h"

#define SHELLS_MAX	32
#define SHELLS_BYTES	(8 * 1024 * 1024) /* of all states */
#define SHELL_IDLE_MS	(30ull * 60 * 1000)
#define CHANNELS_MAX	64 /* at once */
#define PERMIT_RATE	200
#define SHELL_ID_PREFIX "bash-"

struct shell {
	char id[SESSION_ID_MAX + 1];
	char *cwd;		/* of its first run; NULL: the workspace */
	struct bytes state;	/* allocated; empty: it has not run */
	struct channel *holder; /* whose run has it; NULL */
	uint64_t used_ms;	/* monotonic */
	struct shell *next, *prev;
};

struct channel {
	struct supervisor *supervisor;
	struct rpc *rpc;
	struct shell *held; /* NULL: none, or it was dropped */
	struct channel *next, *prev;
};

struct shells {
	struct shell *all;
	struct channel *channels;
	size_t count, channel_count, bytes;
};

static struct shells *shells_of(struct supervisor *supervisor, struct err *err)
{
	if (!supervisor->shells)
		supervisor->shells = calloc(1, sizeof(*supervisor->shells));
	if (!supervisor->shells)
		(void)err_set(err, ERR_TOO_LARGE, "no memory");
	return supervisor->shells;
}

/* ---- those that are there ---- */

static void set_state(struct shells *shells, struct shell *shell,
		      struct bytes state)
{
	shells->bytes -= shell->state.len;
	free((void *)(uintptr_t)shell->state.data);
	shell->state = state;
	shells->bytes += state.len;
}

static void drop(struct shells *shells, struct shell *shell)
{
	if (shell->holder)
		shell->holder->held = NULL;
	set_state(shells, shell, (struct bytes){0});
	DL_DELETE(shells->all, shell);
	shells->count--;
	free(shell->cwd);
	free(shell);
}

/* The sandbox's own has no name, and is there as long as that. */
static bool is_own(const struct shell *shell)
{
	return shell->id[0] == '\0';
}

static void sweep(struct shells *shells)
{
	uint64_t now = clock_monotonic_ms();
	struct shell *shell, *next;

	DL_FOREACH_SAFE(shells->all, shell, next)
	if (!shell->holder && !is_own(shell) &&
	    shell->used_ms + SHELL_IDLE_MS <= now)
		drop(shells, shell);
}

/* NULL: the ticket was answered. */
static struct shell *find(const struct channel *channel, struct bytes id,
			  struct rpc_ticket ticket)
{
	struct shells *shells = channel->supervisor->shells;
	struct shell *shell;

	sweep(shells);
	DL_FOREACH(shells->all, shell)
	if (bytes_is(id, shell->id))
		return shell;
	rpc_refuse(ticket, HOST_REFUSED_MISSING, "there is no such session");
	return NULL;
}

/* ---- what is asked ---- */

/* NULL: there are too many, or no memory. */
static struct shell *add(struct shells *shells, struct bytes cwd)
{
	struct shell *shell =
		shells->count < SHELLS_MAX ? calloc(1, sizeof(*shell)) : NULL;

	if (shell && cwd.len > 0) {
		shell->cwd = bytes_dup(cwd);
		if (!shell->cwd) {
			free(shell);
			return NULL;
		}
	}
	if (!shell)
		return NULL;
	shell->used_ms = clock_monotonic_ms();
	DL_APPEND(shells->all, shell);
	shells->count++;
	return shell;
}

static void refuse_more(struct rpc_ticket ticket)
{
	rpc_refuse(ticket, HOST_REFUSED_FULL, "a sandbox may have %d sessions",
		   SHELLS_MAX);
}

static void answer_make(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct session_wish *wish = message;
	const struct channel *channel = owner;
	struct shells *shells = channel->supervisor->shells;
	struct session_ref ref;
	struct shell *shell;
	char random[27];

	(void)fd;
	sweep(shells);
	shell = add(shells, wish->cwd);
	if (!shell) {
		refuse_more(ticket);
		return;
	}
	random_id(random);
	(void)snprintf(shell->id, sizeof(shell->id), SHELL_ID_PREFIX "%s",
		       random);
	ref.id = bytes_str(shell->id);
	rpc_reply(ticket, &session_ref_schema, &ref, -1);
}

/* NULL: the ticket was answered. */
static struct shell *find_own(const struct channel *channel,
			      struct rpc_ticket ticket)
{
	struct shells *shells = channel->supervisor->shells;
	struct shell *shell;

	DL_FOREACH(shells->all, shell)
	if (is_own(shell))
		return shell;
	shell = add(shells, (struct bytes){0});
	if (!shell)
		refuse_more(ticket);
	return shell;
}

/* Whoever serves the API next is told of it by the daemon. */
static void note_run(struct supervisor *supervisor, uint64_t ran_ms)
{
	supervisor->ran_ms = ran_ms;
	life_tell(supervisor);
}

static void answer_take(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct session_ref *ref = message;
	struct channel *channel = owner;
	struct shell *shell = ref->id.len > 0 ? find(channel, ref->id, ticket)
					      : find_own(channel, ticket);
	struct session_taken taken = {.ran_ms = clock_wall_ms()};
	auto_fd int sealed = -1;
	struct err err;

	(void)fd;
	if (!shell)
		return;
	if (shell->holder || channel->held) {
		rpc_refuse(ticket, HOST_REFUSED_STATE,
			   "a command runs in this session already");
		return;
	}
	if (shell->state.len > 0) {
		sealed = wire_memfd_seal("state", shell->state, &err);
		if (sealed < 0) {
			rpc_refuse(ticket, HOST_REFUSED, "%s", err.text);
			return;
		}
	} else {
		taken.cwd = bytes_str(shell->cwd);
	}
	shell->holder = channel;
	channel->held = shell;
	if (is_own(shell))
		note_run(channel->supervisor, taken.ran_ms);
	rpc_reply(ticket, &session_taken_schema, &taken, sealed);
}

/* What is too much, with those of all others, leaves the one before. */
static void answer_give(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct channel *channel = owner;
	struct shells *shells = channel->supervisor->shells;
	struct shell *shell = channel->held;
	struct bytes view, copy;
	struct err err;

	(void)ticket;
	(void)message;
	if (!shell || wire_memfd_map(*fd, SESSION_STATE_MAX, &view, &err) < 0)
		return;
	if (shells->bytes - shell->state.len + view.len <= SHELLS_BYTES) {
		copy = bytes_from(bytes_dup(view), view.len);
		if (copy.data)
			set_state(shells, shell, copy);
	}
	wire_memfd_unmap(view);
}

/* What runs in it goes on to its end, as its client sees it. */
static void answer_drop(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct session_ref *ref = message;
	const struct channel *channel = owner;
	const struct wire_empty empty = {0};
	struct shell *shell = find(channel, ref->id, ticket);

	(void)fd;
	if (!shell)
		return;
	drop(channel->supervisor->shells, shell);
	rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

/* ---- channels ---- */

static void forget(struct channel *channel)
{
	struct shells *shells = channel->supervisor->shells;

	if (channel->held) {
		channel->held->holder = NULL;
		channel->held->used_ms = clock_monotonic_ms();
	}
	DL_DELETE(shells->channels, channel);
	shells->channel_count--;
	free(channel);
}

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	(void)rpc;
	(void)why;
	forget(owner);
}

int shells_open(struct supervisor *supervisor, struct err *err)
{
	static const struct rpc_permit permits[] = {
		{MSG_SESSION_MAKE, &session_wish_schema, answer_make, false,
		 PERMIT_RATE},
		{MSG_SESSION_TAKE, &session_ref_schema, answer_take, false,
		 PERMIT_RATE},
		{MSG_SESSION_GIVE, &wire_empty_schema, answer_give, true,
		 PERMIT_RATE},
		{MSG_SESSION_DROP, &session_ref_schema, answer_drop, false,
		 PERMIT_RATE},
	};
	struct shells *shells = shells_of(supervisor, err);
	auto_free struct channel *channel = calloc(1, sizeof(*channel));
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = channel,
		.rate_code = HOST_REFUSED_FULL,
		.on_closed = on_closed,
	};
	int theirs;

	if (!shells || !channel || shells->channel_count >= CHANNELS_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "too many use sessions at once");
	channel->supervisor = supervisor;
	theirs = channel_open(supervisor->loop, &config, &channel->rpc, err);
	if (theirs < 0)
		return -1;
	DL_APPEND(shells->channels, channel);
	shells->channel_count++;
	(void)take_ptr(&channel);
	return theirs;
}

void shells_close_all(struct supervisor *supervisor)
{
	struct shells *shells = supervisor->shells;

	if (!shells)
		return;
	while (shells->channels) {
		rpc_close(shells->channels->rpc);
		forget(shells->channels);
	}
	while (shells->all)
		drop(shells, shells->all);
	free(shells);
	supervisor->shells = NULL;
}
