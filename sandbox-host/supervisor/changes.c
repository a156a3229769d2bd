/*
 * What an isolated session changed: told while it runs, and written into the
 * workspace when that is asked for. Nothing may change it meanwhile, so a
 * commit ends the sandbox first; one that would meet a conflict is refused
 * before, and ends nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/overlay.h"
#include "sandbox-host/supervisor/channel.h"
#include "sandbox-host/supervisor/parts.h"

#define PERMIT_RATE 50 /* a second */

static_assert(OVERLAY_ADDED == (int)CHANGE_ADDED &&
		      OVERLAY_CHANGED == (int)CHANGE_CHANGED &&
		      OVERLAY_DELETED == (int)CHANGE_DELETED &&
		      OVERLAY_FILE == (int)CHANGE_FILE &&
		      OVERLAY_DIRECTORY == (int)CHANGE_DIRECTORY &&
		      OVERLAY_LINK == (int)CHANGE_LINK &&
		      OVERLAY_OTHER == (int)CHANGE_OTHER,
	      "the messages tell them as they are");

struct changes_channel {
	struct supervisor *supervisor;
	struct rpc *rpc;
};

/* One that is wanted, and what became of it. */
struct commit {
	const char *paths[CHANGES_PATHS_MAX + 1];
	struct overlay_wish wish;
	struct overlay_result result;
	struct change_told told[CHANGES_TOLD_MAX];
	size_t told_count;
	struct arena arena; /* of paths and what was told */
	struct err err;	    /* of what failed once it had begun */
};

/* ---- what changed ---- */

struct listing {
	struct changes_list list;
	struct change_item *items;
	struct arena arena;
	size_t bytes;
};

static enum overlay_answer
add_item(void *owner, const struct overlay_change *change, struct err *err)
{
	struct listing *listing = owner;
	struct bytes path = bytes_str(change->path);
	struct change_item *item = &listing->items[listing->list.items_count];

	(void)err;
	listing->list.total++;
	listing->bytes += path.len;
	if (listing->list.items_count == CHANGES_SHOWN_MAX ||
	    listing->bytes > CHANGES_BYTES_MAX)
		return OVERLAY_GO_ON;
	*item = (struct change_item){
		.path = arena_copy(&listing->arena, path),
		.kind = (uint8_t)change->kind,
		.type = (uint8_t)change->type,
		.size = change->after && change->type == OVERLAY_FILE
				? (uint64_t)change->after->st_size
				: 0,
	};
	listing->list.items_count += item->path.len == path.len;
	return OVERLAY_GO_ON;
}

static int list_all(const char *dir, struct listing *listing, struct err *err)
{
	struct overlay *overlay = overlay_open(dir, OVERLAY_LOOK, err);
	int result =
		overlay ? overlay_each(overlay, add_item, listing, err) : -1;

	overlay_close(overlay);
	listing->list.items = listing->items;
	return result < 0 ? -1 : changes_list_seal(&listing->list, err);
}

static void answer_show(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct changes_channel *channel = owner;
	const struct wire_empty empty = {0};
	struct listing listing = {
		.items = calloc(CHANGES_SHOWN_MAX + 1, sizeof(*listing.items)),
	};
	auto_fd int sealed = -1;
	struct err err;

	(void)message;
	(void)fd;
	arena_init(&listing.arena, 2 * CHANGES_BYTES_MAX);
	err_set(&err, ERR_TOO_LARGE, "no memory");
	if (listing.items)
		sealed = list_all(channel->supervisor->changes, &listing, &err);
	if (sealed < 0)
		rpc_refuse(ticket, HOST_REFUSED, "%s", err.text);
	else
		rpc_reply(ticket, &wire_empty_schema, &empty, sealed);
	arena_release(&listing.arena);
	free(listing.items);
}

/* ---- a commit ---- */

static void on_outcome(void *owner, enum overlay_outcome outcome,
		       const struct overlay_change *change, const char *reason)
{
	struct commit *commit = owner;
	struct change_told *told = &commit->told[commit->told_count];

	if (outcome == OVERLAY_APPLIED ||
	    commit->told_count == CHANGES_TOLD_MAX)
		return;
	*told = (struct change_told){
		.path = arena_copy(&commit->arena,
				   bytes_slice(bytes_str(change->path), 0,
					       CHANGES_TOLD_PATH)),
		.reason = bytes_str(reason),
		.is_conflict = outcome == OVERLAY_CONFLICT,
	};
	commit->told_count++;
}

static struct commit *commit_new(const struct changes_wish *wish)
{
	struct commit *commit = calloc(1, sizeof(*commit));

	if (!commit)
		return NULL;
	arena_init(&commit->arena, 1024 * 1024);
	commit->wish = (struct overlay_wish){
		.paths = commit->paths,
		.is_forced = wish->is_forced,
		.on_outcome = on_outcome,
		.owner = commit,
	};
	for (size_t i = 0; i < wish->paths_count; i++) {
		commit->paths[i] =
			arena_str(&commit->arena, wish->paths[i].text);
		if (!commit->paths[i]) {
			arena_release(&commit->arena);
			free(commit);
			return NULL;
		}
	}
	return commit;
}

static void commit_free(struct commit *commit)
{
	arena_release(&commit->arena);
	free(commit);
}

static int run(struct commit *commit, const char *dir, enum overlay_use use,
	       struct err *err)
{
	struct overlay *overlay = overlay_open(dir, use, err);
	int result = -1;

	commit->told_count = 0;
	if (overlay)
		result = overlay_commit(overlay, &commit->wish, &commit->result,
					err);
	overlay_close(overlay);
	return result;
}

static void drop(struct supervisor *supervisor)
{
	struct overlay *overlay;
	struct err err;

	overlay = overlay_open(supervisor->changes, OVERLAY_DROP, &err);
	if ((overlay && overlay_discard(overlay, &err) < 0) ||
	    (!overlay && err.code != ERR_MISSING))
		events_add(supervisor, "filesystem", err.text);
	overlay_close(overlay);
}

void changes_finish(struct supervisor *supervisor)
{
	struct commit *commit = supervisor->commit;

	if (commit)
		(void)run(commit, supervisor->changes, OVERLAY_OWN,
			  &commit->err);
	drop(supervisor);
}

static void reply(struct rpc_ticket ticket, const struct commit *commit)
{
	const struct changes_result result = {
		.applied = commit->result.applied,
		.refused = commit->result.refused,
		.conflicts = commit->result.conflicts,
		.told = commit->told,
		.told_count = commit->told_count,
	};

	if (commit->err.code)
		rpc_refuse(ticket, HOST_REFUSED,
			   "the session has ended; of its changes %zu were "
			   "applied: %s",
			   commit->result.applied, commit->err.text);
	else
		rpc_reply(ticket, &changes_result_schema, &result, -1);
}

/* The channel outlives the sandbox for as long as the answer takes. */
static void carry_out(struct rpc_ticket ticket, struct supervisor *supervisor,
		      struct commit *commit)
{
	struct err err = {0};

	commit->wish.is_dry = true;
	if (run(commit, supervisor->changes, OVERLAY_LOOK, &err) < 0) {
		rpc_refuse(ticket, HOST_REFUSED, "%s", err.text);
		return;
	}
	commit->wish.is_dry = false;
	if (commit->result.conflicts == 0) {
		supervisor->commit = commit;
		life_end(supervisor, HOST_TERMINATED, "committed",
			 "its changes are in the workspace");
		supervisor->commit = NULL;
	}
	reply(ticket, commit);
}

static bool are_paths(const struct changes_wish *wish)
{
	for (size_t i = 0; i < wish->paths_count; i++) {
		struct bytes path = wish->paths[i].text;

		if (path.len == 0 || path.data[0] == '/' ||
		    path.data[path.len - 1] == '/' ||
		    memchr(path.data, 0, path.len))
			return false;
	}
	return true;
}

static void answer_commit(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct changes_wish *wish = message;
	const struct changes_channel *channel = owner;
	struct commit *commit;

	(void)fd;
	if (!are_paths(wish)) {
		rpc_refuse(ticket, HOST_REFUSED_INVALID,
			   "paths are below the workspace");
		return;
	}
	commit = commit_new(wish);
	if (!commit) {
		rpc_refuse(ticket, HOST_REFUSED, "no memory");
		return;
	}
	carry_out(ticket, channel->supervisor, commit);
	commit_free(commit);
}

/* ---- the channel ---- */

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct changes_channel *channel = owner;

	(void)rpc;
	(void)why;
	channel->supervisor->changes_channel = NULL;
	free(channel);
}

int changes_open(struct supervisor *supervisor, struct err *err)
{
	static const struct rpc_permit permits[] = {
		{MSG_CHANGES_SHOW, &wire_empty_schema, answer_show, false,
		 PERMIT_RATE},
		{MSG_CHANGES_COMMIT, &changes_wish_schema, answer_commit, false,
		 PERMIT_RATE},
	};
	auto_free struct changes_channel *channel = calloc(1, sizeof(*channel));
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = channel,
		.on_closed = on_closed,
	};
	int theirs;

	if (!channel || supervisor->changes_channel)
		return err_set(err, ERR_TOO_LARGE,
			       "somebody looks at its changes already");
	channel->supervisor = supervisor;
	theirs = channel_open(supervisor->loop, &config, &channel->rpc, err);
	if (theirs < 0)
		return -1;
	supervisor->changes_channel = take_ptr(&channel);
	return theirs;
}

void changes_close(struct supervisor *supervisor)
{
	if (!supervisor->changes_channel)
		return;
	rpc_close(supervisor->changes_channel->rpc);
	free(supervisor->changes_channel);
	supervisor->changes_channel = NULL;
}
