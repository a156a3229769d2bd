#include "sandbox-host/daemon/pool.h"

#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "sandbox-host/daemon/claim.h"
#include "sandbox-host/daemon/ready.h"

static struct sandbox_request request_of(const struct host_pool_config *pool)
{
	return (struct sandbox_request){
		.policy = pool->policy_text,
		.image = bytes_str(pool->image ? pool->image : ""),
	};
}

/* ---- building ---- */

static void end(struct entry *entry)
{
	claim_end(entry);
	if (state_may_become((enum host_state)entry->sandbox.state,
			     HOST_STOPPING))
		entry_become(entry, HOST_STOPPING, "killed", "");
}

static void build(struct daemon *daemon, size_t number)
{
	const struct host_pool_config *pool =
		&daemon->config.store.pools[number];
	const struct sandbox_request request = request_of(pool);
	const struct built_of built = built_of(daemon, &request);
	struct entry *entry = NULL;
	struct err err;
	auto_fd int fd = sandbox_request_seal(&request, &err);

	if (fd >= 0)
		entry = spawn(daemon, fd, &request,
			      &(struct spawn_for){.uid = geteuid(),
						  .is_pooled = true},
			      &err);
	if (!entry) {
		log_warn("pool %s: %s", pool->name, err.text);
		return;
	}
	entry->pool = number;
	entry->built = built;
	if (entry_store(entry, &entry->sandbox, &err) < 0)
		log_warn("pool %s: %s", pool->name, err.text);
	/* Nobody waits for it. */
	if (entry_bound(entry, START_TIMEOUT_MS) < 0)
		claim_end(entry);
}

/* Nobody has it yet, nor will. */
static bool is_waiting(const struct entry *entry)
{
	return entry->is_pooled && !entry->is_claimed;
}

/* What is over of one that nobody had is of no interest. */
static size_t count(struct daemon *daemon, size_t number)
{
	struct entry *entry, *next;
	size_t found = 0;

	for (entry = daemon->entries; entry; entry = next) {
		enum host_state state = (enum host_state)entry->sandbox.state;

		next = entry->next;
		if (!is_waiting(entry) || entry->pool != number)
			continue;
		if (state_is_over(state))
			entry_forget(entry);
		else
			found += state == HOST_PENDING || state == HOST_RUNNING;
	}
	return found;
}

/* Those that would be built from something else by now. */
static void mark_old(struct daemon *daemon)
{
	const struct host_store_config *store = &daemon->config.store;

	for (struct entry *entry = daemon->entries; entry;
	     entry = entry->next) {
		struct sandbox_request request;

		if (!is_waiting(entry) || entry->pool >= store->pool_count)
			continue;
		request = request_of(&store->pools[entry->pool]);
		if (!built_is_same(daemon, &request, &entry->built))
			entry->pool = POOL_UNKNOWN;
	}
}

void pool_fill(struct daemon *daemon)
{
	const struct host_store_config *store = &daemon->config.store;

	mark_old(daemon);
	/* Nobody knows what those of another daemon were built from; or it was
	 * something else. */
	(void)count(daemon, POOL_UNKNOWN);
	for (struct entry *entry = daemon->entries; entry; entry = entry->next)
		if (is_waiting(entry) && entry->pool == POOL_UNKNOWN &&
		    entry->sandbox.state != HOST_STOPPING)
			end(entry);
	for (size_t i = 0; i < store->pool_count; i++)
		for (size_t have = count(daemon, i);
		     have < store->pools[i].size && !daemon->is_draining &&
		     daemon->live_count < daemon->config.sandboxes_max;
		     have++)
			build(daemon, i);
}

void pool_begin_anew(struct daemon *daemon)
{
	for (struct entry *entry = daemon->entries; entry; entry = entry->next)
		if (entry->is_pooled && entry->pool != POOL_READY)
			entry->pool = POOL_UNKNOWN;
	pool_fill(daemon);
}

void pool_close(struct daemon *daemon)
{
	for (struct entry *entry = daemon->entries; entry; entry = entry->next)
		if (entry->is_pooled &&
		    !state_is_over((enum host_state)entry->sandbox.state))
			end(entry);
}

/* ---- giving one out ---- */

/* Nothing in it that is settled while a sandbox is built. */
static bool is_bare(const struct sandbox_request *request)
{
	return request->policy_path.len == 0 && request->repo.len == 0 &&
	       request->branch.len == 0 && request->workspace.len == 0 &&
	       request->home.len == 0 && request->snapshot.len == 0 &&
	       request->volumes_count == 0 && request->caller_count == 0 &&
	       request->env_count == 0 && request->entrypoint_count == 0 &&
	       request->memory_bytes == 0 && request->processes == 0 &&
	       request->cpu_milli == 0 && !request->is_isolated &&
	       request->mode == 0 && !request->is_offline;
}

static struct entry *find(const struct daemon *daemon,
			  const struct sandbox_request *request)
{
	const struct host_store_config *store = &daemon->config.store;

	for (struct entry *entry = daemon->entries; entry;
	     entry = entry->next) {
		struct sandbox_request own;

		if (!is_waiting(entry) || entry->pool >= store->pool_count ||
		    entry->sandbox.state != HOST_RUNNING || !entry->rpc)
			continue;
		own = request_of(&store->pools[entry->pool]);
		if (bytes_equal(own.policy, request->policy) &&
		    bytes_equal(own.image, request->image) &&
		    built_is_same(daemon, &own, &entry->built))
			return entry;
	}
	return NULL;
}

bool pool_take(struct daemon *daemon, struct rpc_ticket ticket, int request_fd,
	       const struct sandbox_request *request,
	       const struct spawn_for *asker)
{
	struct entry *entry = NULL;

	/* What host.yaml may say a stranger may not. */
	if (is_bare(request) && !asker->is_bounded)
		entry = find(daemon, request);
	if (!entry || !claim_begin(entry, ticket, request_fd, asker))
		return false;
	/* Another takes its place, soon. */
	io_timer_set(daemon->sweep_timer, POOL_FILL_MS);
	return true;
}

void pool_follow(struct entry *entry)
{
	/* One that could not be built is tried again a while later. */
	if (entry->is_pooled && entry->pool != POOL_READY &&
	    entry->sandbox.state == HOST_TERMINATED)
		io_timer_set(entry->daemon->sweep_timer, POOL_FILL_MS);
}
