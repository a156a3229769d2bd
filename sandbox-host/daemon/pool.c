#include "sandbox-host/daemon/pool.h"

#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"

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
	const struct supervisor_end message = {.reason = bytes_str("killed")};

	if (!entry->rpc ||
	    rpc_tell(entry->rpc, MSG_SUPERVISOR_END, &supervisor_end_schema,
		     &message, -1, NULL) < 0)
		keep_kill(entry);
	if (state_may_become((enum host_state)entry->sandbox.state,
			     HOST_STOPPING))
		entry_become(entry, HOST_STOPPING, "killed", "");
}

static void build(struct daemon *daemon, size_t number)
{
	const struct host_pool_config *pool =
		&daemon->config.store.pools[number];
	const struct sandbox_request request = request_of(pool);
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
	if (entry_store(entry, &entry->sandbox, &err) < 0)
		log_warn("pool %s: %s", pool->name, err.text);
}

/* What is over of one that nobody had is of no interest. */
static size_t count(struct daemon *daemon, size_t number)
{
	struct entry *entry, *next;
	size_t found = 0;

	for (entry = daemon->entries; entry; entry = next) {
		enum host_state state = (enum host_state)entry->sandbox.state;

		next = entry->next;
		if (!entry->is_pooled || entry->pool != number)
			continue;
		if (state_is_over(state))
			entry_forget(entry);
		else
			found += state == HOST_PENDING || state == HOST_RUNNING;
	}
	return found;
}

void pool_fill(struct daemon *daemon)
{
	const struct host_store_config *store = &daemon->config.store;

	/* Nobody knows what those of another daemon were built from; or it was
	 * something else. */
	(void)count(daemon, POOL_UNKNOWN);
	for (struct entry *entry = daemon->entries; entry; entry = entry->next)
		if (entry->is_pooled && entry->pool == POOL_UNKNOWN &&
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

		if (!entry->is_pooled || entry->pool >= store->pool_count ||
		    entry->sandbox.state != HOST_RUNNING || !entry->rpc)
			continue;
		own = request_of(&store->pools[entry->pool]);
		if (bytes_equal(own.policy, request->policy) &&
		    bytes_equal(own.image, request->image))
			return entry;
	}
	return NULL;
}

static void on_renewed(struct rpc_outcome *outcome, void *owner)
{
	(void)outcome;
	(void)owner;
}

static int set_end(struct entry *entry, uint64_t expires_ms, struct err *err)
{
	const struct host_renew renew = {bytes_str(entry->id), expires_ms};
	const struct rpc_call call = {
		.type = MSG_SUPERVISOR_RENEW,
		.schema = &host_renew_schema,
		.message = &renew,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = SUPERVISOR_TIMEOUT_MS,
		.on_outcome = on_renewed,
	};

	/* Its time begins with it, whether or not it has an end. */
	return rpc_ask(entry->rpc, &call, NULL, err);
}

struct entry *pool_take(struct daemon *daemon,
			const struct sandbox_request *request, uid_t owner)
{
	struct entry *entry = is_bare(request) ? find(daemon, request) : NULL;
	struct host_sandbox given;
	struct err err;

	if (!entry)
		return NULL;
	given = entry->sandbox;
	given.name = request->name;
	given.note = request->note;
	given.metadata = request->metadata;
	given.metadata_count = request->metadata_count;
	given.owner_uid = owner;
	given.created_ms = clock_wall_ms();
	given.expires_ms = request->expires_ms;
	entry->is_pooled = false;
	if (set_end(entry, request->expires_ms, &err) < 0 ||
	    entry_store(entry, &given, &err) < 0) {
		log_warn("%s: %s", entry->id, err.text);
		entry->is_pooled = true;
		return NULL;
	}
	/* Another takes its place, soon. */
	io_timer_set(daemon->sweep_timer, POOL_FILL_MS);
	return entry;
}
