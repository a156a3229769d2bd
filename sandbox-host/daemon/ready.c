#include "sandbox-host/daemon/ready.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "sandbox-host/daemon/claim.h"

#define KIND_ARENA_MAX (4 * READY_KIND_MAX)

struct kind {
	struct buf key; /* empty: a free place */
	uid_t uid;
	bool is_bounded;
	uint64_t used_ms; /* monotonic, as the next */
	uint64_t failed_ms;
	char after[HOST_ID_MAX + 1]; /* another is built once this one runs */
	bool is_due;
	char id[HOST_ID_MAX + 1]; /* the one that is ready, or will be */
};

struct ready {
	struct io_timer *timer;
	struct kind kinds[HOST_READY_MAX];
};

/* ---- kinds ---- */

/* What is settled by the host's files at the moment it begins is not kept. */
static bool can_wait(const struct sandbox_request *request)
{
	return request->workspace.len == 0 && request->snapshot.len == 0 &&
	       request->repo.len == 0 && request->branch.len == 0 &&
	       request->volumes_count == 0 && !request->is_isolated &&
	       request->mode == 0 && !request->is_offline;
}

static struct kind *find_kind(const struct daemon *daemon, struct bytes key,
			      const struct spawn_for *asker)
{
	struct kind *kinds = daemon->ready->kinds;

	for (size_t i = 0; i < daemon->config.ready_max; i++)
		if (bytes_equal(buf_view(&kinds[i].key), key) &&
		    kinds[i].uid == asker->uid &&
		    kinds[i].is_bounded == asker->is_bounded)
			return &kinds[i];
	return NULL;
}

static struct entry *entry_of(struct daemon *daemon, const struct kind *kind)
{
	return kind->id[0] ? entry_find(daemon, bytes_str(kind->id)) : NULL;
}

static void drop(struct daemon *daemon, struct kind *kind)
{
	struct entry *entry = entry_of(daemon, kind);

	/* One that is claimed is its claimer's already. */
	if (entry && !entry->is_claimed)
		claim_end(entry);
	buf_release(&kind->key);
	*kind = (struct kind){0};
	buf_init(&kind->key, READY_KIND_MAX);
}

/* A place for another: a free one, or that which was used least lately. */
static struct kind *make_room(struct daemon *daemon)
{
	struct kind *kinds = daemon->ready->kinds;
	struct kind *oldest = &kinds[0];

	for (size_t i = 1; i < daemon->config.ready_max; i++)
		if (kinds[i].used_ms < oldest->used_ms)
			oldest = &kinds[i];
	drop(daemon, oldest);
	return oldest;
}

void ready_want(const struct entry *entry,
		const struct sandbox_request *request,
		const struct spawn_for *asker)
{
	struct daemon *daemon = entry->daemon;
	auto_type(buf_release) struct buf key;
	struct kind *kind;
	struct err err;

	buf_init(&key, READY_KIND_MAX);
	if (daemon->config.ready_max == 0 || !can_wait(request) ||
	    sandbox_request_kind(request, &key, &err) < 0)
		return;
	kind = find_kind(daemon, buf_view(&key), asker);
	if (!kind) {
		kind = make_room(daemon);
		if (buf_add(&kind->key, buf_view(&key)) < 0)
			return;
		kind->uid = asker->uid;
		kind->is_bounded = asker->is_bounded;
	}
	kind->used_ms = clock_monotonic_ms();
	memcpy(kind->after, entry->id, sizeof(kind->after));
}

/* ---- building ---- */

static int build(struct daemon *daemon, struct kind *kind, struct err *err)
{
	const struct spawn_for who = {.uid = kind->uid,
				      .is_bounded = kind->is_bounded,
				      .is_pooled = true,
				      .is_ahead = true};
	auto_type(arena_release) struct arena arena;
	struct sandbox_request request;
	struct built_of built;
	struct entry *entry;
	auto_fd int fd = -1;

	arena_init(&arena, KIND_ARENA_MAX);
	if (wire_decode(&sandbox_request_schema, buf_view(&kind->key), &arena,
			&request, err) < 0)
		return -1;
	request.expires_ms = clock_wall_ms() + READY_IDLE_MS;
	fd = sandbox_request_seal(&request, err);
	built = built_of(daemon, &request);
	entry = fd < 0 ? NULL : spawn(daemon, fd, &request, &who, err);
	if (!entry)
		return -1;
	entry->pool = POOL_READY;
	entry->built = built;
	memcpy(kind->id, entry->id, sizeof(kind->id));
	/* Nobody may wait for it, or only later. */
	if (entry_bound(entry, START_TIMEOUT_MS) < 0)
		claim_end(entry);
	return 0;
}

static bool may_build(const struct daemon *daemon, const struct kind *kind)
{
	uint64_t now = clock_monotonic_ms();

	return kind->is_due && !kind->id[0] && !daemon->is_draining &&
	       daemon->live_count < daemon->config.sandboxes_max &&
	       (kind->failed_ms == 0 || now > kind->failed_ms + READY_AGAIN_MS);
}

/* What is over of those that nobody had is of no interest. */
static void forget_over(struct daemon *daemon)
{
	struct entry *entry, *next;

	for (entry = daemon->entries; entry; entry = next) {
		next = entry->next;
		if (entry->is_pooled && entry->pool == POOL_READY &&
		    !entry->is_claimed &&
		    state_is_over((enum host_state)entry->sandbox.state))
			entry_forget(entry);
	}
}

/* Of a kind that nobody asks for any more nothing is kept. */
static bool forget_unused(struct daemon *daemon)
{
	uint64_t now = clock_monotonic_ms();
	bool is_any_left = false;

	for (size_t i = 0; i < daemon->config.ready_max; i++) {
		struct kind *kind = &daemon->ready->kinds[i];

		if (buf_len(&kind->key) == 0)
			continue;
		if (kind->used_ms + READY_KIND_MS < now)
			drop(daemon, kind);
		else
			is_any_left = true;
	}
	return is_any_left;
}

static void on_timer(void *owner)
{
	struct daemon *daemon = owner;
	struct err err;

	forget_over(daemon);
	if (forget_unused(daemon))
		io_timer_set(daemon->ready->timer, READY_IDLE_MS);
	for (size_t i = 0; i < daemon->config.ready_max; i++) {
		struct kind *kind = &daemon->ready->kinds[i];

		if (!may_build(daemon, kind))
			continue;
		kind->is_due = false;
		if (build(daemon, kind, &err) < 0)
			log_warn("keep one ready: %s", err.text);
	}
}

static void refill(struct daemon *daemon, struct kind *kind)
{
	kind->is_due = true;
	io_timer_set(daemon->ready->timer, READY_REFILL_MS);
}

/* ---- giving one out ---- */

/* The one that is there for a request, no longer its kind's. */
static struct entry *find_ready(struct daemon *daemon,
				const struct sandbox_request *request,
				const struct spawn_for *asker)
{
	auto_type(buf_release) struct buf key;
	struct entry *entry;
	struct kind *kind;
	struct err err;

	buf_init(&key, READY_KIND_MAX);
	if (daemon->config.ready_max == 0 || !can_wait(request) ||
	    sandbox_request_kind(request, &key, &err) < 0)
		return NULL;
	kind = find_kind(daemon, buf_view(&key), asker);
	entry = kind ? entry_of(daemon, kind) : NULL;
	if (!entry || !entry->rpc)
		return NULL;
	kind->id[0] = '\0';
	kind->used_ms = clock_monotonic_ms();
	if (built_is_same(daemon, request, &entry->built)) {
		refill(daemon, kind);
		return entry;
	}
	claim_end(entry);
	return NULL;
}

bool ready_take(struct daemon *daemon, struct rpc_ticket ticket, int request_fd,
		const struct sandbox_request *request,
		const struct spawn_for *asker)
{
	struct entry *entry = find_ready(daemon, request, asker);

	return entry && claim_begin(entry, ticket, request_fd, asker);
}

void ready_refill(struct daemon *daemon)
{
	io_timer_set(daemon->ready->timer, READY_REFILL_MS);
}

/* ---- states ---- */

/* One that nobody asked for yet is not there any more. */
static void lose(struct daemon *daemon, const struct entry *entry)
{
	struct kind *kinds = daemon->ready->kinds;

	for (size_t i = 0; i < daemon->config.ready_max; i++) {
		if (strcmp(kinds[i].id, entry->id) != 0)
			continue;
		kinds[i].id[0] = '\0';
		if (entry->sandbox.state == HOST_FAILED)
			kinds[i].failed_ms = clock_monotonic_ms();
	}
	io_timer_set(daemon->ready->timer, READY_REFILL_MS);
}

void ready_follow(struct entry *entry)
{
	enum host_state state = (enum host_state)entry->sandbox.state;
	struct daemon *daemon = entry->daemon;

	if (!daemon->ready)
		return;
	if (entry->is_pooled && entry->pool == POOL_READY) {
		if (state_is_over(state))
			lose(daemon, entry);
		return;
	}
	for (size_t i = 0; i < daemon->config.ready_max; i++) {
		struct kind *kind = &daemon->ready->kinds[i];

		if (strcmp(kind->after, entry->id) != 0)
			continue;
		kind->after[0] = '\0';
		if (state == HOST_RUNNING)
			refill(daemon, kind);
	}
}

size_t ready_count(const struct daemon *daemon)
{
	size_t count = 0;

	for (const struct entry *entry = daemon->entries; entry;
	     entry = entry->next)
		count += entry->is_pooled && !entry->is_claimed &&
			 !state_is_over((enum host_state)entry->sandbox.state);
	return count;
}

/* ---- begin and end ---- */

void ready_begin_anew(struct daemon *daemon)
{
	for (size_t i = 0; i < HOST_READY_MAX; i++)
		drop(daemon, &daemon->ready->kinds[i]);
}

int ready_open(struct daemon *daemon, struct err *err)
{
	daemon->ready = calloc(1, sizeof(*daemon->ready));
	if (daemon->ready)
		daemon->ready->timer =
			io_timer_new(daemon->loop, on_timer, daemon);
	if (!daemon->ready || !daemon->ready->timer)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	for (size_t i = 0; i < HOST_READY_MAX; i++)
		buf_init(&daemon->ready->kinds[i].key, READY_KIND_MAX);
	return 0;
}

void ready_close(struct daemon *daemon)
{
	if (!daemon->ready)
		return;
	for (size_t i = 0; i < HOST_READY_MAX; i++)
		buf_release(&daemon->ready->kinds[i].key);
	if (daemon->ready->timer)
		io_timer_free(daemon->ready->timer);
	free(daemon->ready);
	daemon->ready = NULL;
}
