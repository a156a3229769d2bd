/* What may be asked about snapshots. */
#include "sandbox-host/daemon/answers_store.h"

#include "sandbox-host/daemon/snapshots.h"

static struct daemon *daemon_of(void *owner)
{
	return ((struct asker *)owner)->daemon;
}

static struct snapshot *find(void *owner, struct bytes id,
			     struct rpc_ticket ticket)
{
	struct snapshot *snapshot = snapshots_find(daemon_of(owner), id);

	if (!snapshot)
		rpc_refuse(ticket, HOST_REFUSED_MISSING,
			   "there is no snapshot %.*s", BYTES_ARGS(id));
	return snapshot;
}

static size_t count(const struct daemon *daemon)
{
	size_t result = 0;

	for (const struct snapshot *at = daemon->snapshots; at; at = at->next)
		result++;
	return result;
}

void answer_snapshot(struct rpc_ticket ticket, const void *message, int *fd,
		     void *owner)
{
	const struct host_snapshot_request *request = message;
	const struct asker *asker = owner;
	struct daemon *daemon = asker->daemon;
	struct entry *entry = entry_find(daemon, request->id);
	enum host_state state;

	(void)fd;
	if (!entry || entry->is_pooled) {
		rpc_refuse(ticket, HOST_REFUSED_MISSING,
			   "there is no sandbox %.*s", BYTES_ARGS(request->id));
		return;
	}
	state = (enum host_state)entry->sandbox.state;
	if (state != HOST_RUNNING && state != HOST_PAUSED)
		rpc_refuse(ticket, HOST_REFUSED_STATE, "the sandbox is %s",
			   host_state_name(state));
	else if (!entry->rpc)
		rpc_refuse(ticket, HOST_REFUSED_UNREACHABLE,
			   "its supervisor does not answer");
	else if (count(daemon) >= daemon->config.store.snapshots_max)
		rpc_refuse(ticket, HOST_REFUSED_FULL,
			   "there are %zu snapshots already: limits.snapshots",
			   count(daemon));
	else
		snapshots_begin(entry, request, asker->uid, ticket);
}

void answer_snapshots(struct rpc_ticket ticket, const void *message, int *fd,
		      void *owner)
{
	const struct host_page *page = message;
	struct host_snapshot shown[HOST_LIST_MAX];
	struct host_snapshots list = {.snapshots = shown};
	size_t limit =
		page->limit < HOST_LIST_MAX ? page->limit : HOST_LIST_MAX;

	(void)fd;
	for (const struct snapshot *at = daemon_of(owner)->snapshots; at;
	     at = at->next)
		if (list.total++ >= page->skip && list.snapshots_count < limit)
			shown[list.snapshots_count++] = at->shown;
	rpc_reply(ticket, &host_snapshots_schema, &list, -1);
}

void answer_snapshot_show(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct host_ref *ref = message;
	const struct snapshot *snapshot = find(owner, ref->id, ticket);

	(void)fd;
	if (snapshot)
		rpc_reply(ticket, &host_snapshot_schema, &snapshot->shown, -1);
}

void answer_snapshot_remove(struct rpc_ticket ticket, const void *message,
			    int *fd, void *owner)
{
	const struct host_ref *ref = message;
	struct snapshot *snapshot = find(owner, ref->id, ticket);
	const struct wire_empty empty = {0};

	(void)fd;
	if (!snapshot)
		return;
	if (snapshot->shown.state == SNAPSHOT_CREATING) {
		rpc_refuse(ticket, HOST_REFUSED_STATE,
			   "the snapshot is Creating");
		return;
	}
	snapshots_remove(snapshot);
	rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}
