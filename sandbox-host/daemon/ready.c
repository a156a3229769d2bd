#include "sandbox-host/daemon/ready.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "sandbox-host/daemon/images.h"

#define KIND_ARENA_MAX (4 * READY_KIND_MAX)

/* Which file it was, and as of when. */
struct stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

struct kind {
	struct buf key; /* empty: a free place */
	uid_t uid;
	bool is_bounded;
	uint64_t used_ms; /* monotonic, as the next */
	uint64_t failed_ms;
	char after[HOST_ID_MAX + 1]; /* another is built once this one runs */
	bool is_due;
	char id[HOST_ID_MAX + 1]; /* the one that is ready, or will be */
	struct stamp policy, image;
};

/* Somebody who gets one of them. */
struct claim {
	struct daemon *daemon;
	char id[HOST_ID_MAX + 1];
	struct rpc_ticket ticket;
	int request;
	struct spawn_for asker;
	uint64_t asked_ms; /* wall clock */
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

static void end(struct entry *entry)
{
	const struct supervisor_end message = {.reason = bytes_str("killed")};

	if (state_is_over((enum host_state)entry->sandbox.state))
		return;
	if (entry_bound(entry, END_TIMEOUT_MS) < 0 || !entry->rpc ||
	    rpc_tell(entry->rpc, MSG_SUPERVISOR_END, &supervisor_end_schema,
		     &message, -1, NULL) < 0)
		keep_kill(entry);
}

static void drop(struct daemon *daemon, struct kind *kind)
{
	struct entry *entry = entry_of(daemon, kind);

	/* One that is claimed is its claimer's already. */
	if (entry && !entry->is_claimed)
		end(entry);
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

/* ---- what it was built from ---- */

static struct stamp stamp_of(const char *path)
{
	struct stat info;

	if (!path || !path[0] || stat(path, &info) < 0)
		return (struct stamp){0};
	return (struct stamp){info.st_dev, info.st_ino, info.st_size,
			      info.st_ctim};
}

static bool is_same(const struct stamp *one, const struct stamp *other)
{
	return one->device == other->device && one->inode == other->inode &&
	       one->size == other->size &&
	       one->changed.tv_sec == other->changed.tv_sec &&
	       one->changed.tv_nsec == other->changed.tv_nsec;
}

static void stamp(const struct daemon *daemon,
		  const struct sandbox_request *request, struct kind *kind)
{
	struct image_root image;

	kind->policy = stamp_of(daemon->config.default_policy);
	kind->image = (struct stamp){0};
	if (images_find(daemon, request->image, &image, NULL) == 0)
		kind->image = stamp_of(image.path);
}

static bool is_unchanged(const struct daemon *daemon,
			 const struct sandbox_request *request,
			 const struct kind *kind)
{
	struct kind now;

	stamp(daemon, request, &now);
	return is_same(&now.policy, &kind->policy) &&
	       is_same(&now.image, &kind->image);
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
	struct entry *entry;
	auto_fd int fd = -1;

	arena_init(&arena, KIND_ARENA_MAX);
	if (wire_decode(&sandbox_request_schema, buf_view(&kind->key), &arena,
			&request, err) < 0)
		return -1;
	request.expires_ms = clock_wall_ms() + READY_IDLE_MS;
	fd = sandbox_request_seal(&request, err);
	stamp(daemon, &request, kind);
	entry = fd < 0 ? NULL : spawn(daemon, fd, &request, &who, err);
	if (!entry)
		return -1;
	entry->pool = POOL_READY;
	memcpy(kind->id, entry->id, sizeof(kind->id));
	/* Nobody may wait for it, or only later. */
	if (entry_bound(entry, START_TIMEOUT_MS) < 0)
		end(entry);
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

static void free_claim(struct claim *claim)
{
	(void)close(claim->request);
	free(claim);
}

/* What is ready can not be had: make one. */
static void make_another(struct claim *claim)
{
	auto_type(request_release) struct request_memory memory = {0};
	struct daemon *daemon = claim->daemon;
	struct sandbox_request request;
	struct entry *entry = NULL;
	struct err err;

	if (daemon->is_draining) {
		rpc_refuse(claim->ticket, HOST_REFUSED_UNREACHABLE,
			   "the daemon is about to end");
		free_claim(claim);
		return;
	}
	if (sandbox_request_open(claim->request, &memory, &request, &err) == 0)
		entry = spawn(daemon, claim->request, &request, &claim->asker,
			      &err);
	if (!entry)
		rpc_refuse(claim->ticket, HOST_REFUSED, "%s", err.text);
	else if (entry_wait(entry, claim->ticket, false) < 0)
		rpc_refuse(claim->ticket, HOST_REFUSED_FULL, "no memory");
	if (entry)
		ready_want(entry, &request, &claim->asker);
	io_timer_set(claim->daemon->ready->timer, READY_REFILL_MS);
	free_claim(claim);
}

/* It is theirs: with what its request says of it alone. */
static int give(struct entry *entry, const struct claim *claim, struct err *err)
{
	auto_type(request_release) struct request_memory memory = {0};
	struct host_sandbox given = entry->sandbox;
	struct text_item shown[SHOWN_ARGS_MAX];
	struct sandbox_request request;

	if (sandbox_request_open(claim->request, &memory, &request, err) < 0)
		return -1;
	given.name = request.name;
	given.note = request.note;
	given.metadata = request.metadata;
	given.metadata_count = request.metadata_count;
	given.entrypoint = shown;
	given.entrypoint_count = spawn_shown(&request, shown);
	given.created_ms = claim->asked_ms;
	entry->is_pooled = false;
	if (entry_store(entry, &given, err) == 0)
		return 0;
	entry->is_pooled = true;
	return -1;
}

static void on_taken(struct rpc_outcome *outcome, void *owner)
{
	struct claim *claim = owner;
	struct entry *entry = entry_find(claim->daemon, bytes_str(claim->id));
	struct err err;

	if (entry)
		entry->is_claimed = false;
	if (!entry || outcome->err || give(entry, claim, &err) < 0) {
		if (outcome->err)
			log_info("%s was ready, and is not given out: %s",
				 claim->id, outcome->err->text);
		if (entry)
			end(entry);
		make_another(claim);
		return;
	}
	rpc_reply(claim->ticket, &host_sandbox_schema, &entry->sandbox, -1);
	free_claim(claim);
}

/* It runs: let its supervisor make it theirs. */
static void hand_out(struct entry *entry, struct claim *claim)
{
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_SUPERVISOR_TAKE,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = claim->request,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = SUPERVISOR_TIMEOUT_MS,
		.on_outcome = on_taken,
		.owner = claim,
	};
	struct err err;

	if (entry->rpc && rpc_ask(entry->rpc, &call, NULL, &err) == 0)
		return;
	entry->is_claimed = false;
	end(entry);
	make_another(claim);
}

static struct claim *claim_new(struct entry *entry, struct rpc_ticket ticket,
			       int request_fd, const struct spawn_for *asker)
{
	struct claim *claim = calloc(1, sizeof(*claim));
	int request = fcntl(request_fd, F_DUPFD_CLOEXEC, 0);

	if (!claim || request < 0) {
		free(claim);
		if (request >= 0)
			(void)close(request);
		return NULL;
	}
	*claim = (struct claim){
		.daemon = entry->daemon,
		.ticket = ticket,
		.request = request,
		.asker = *asker,
		.asked_ms = clock_wall_ms(),
	};
	memcpy(claim->id, entry->id, sizeof(claim->id));
	return claim;
}

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
	if (is_unchanged(daemon, request, kind)) {
		refill(daemon, kind);
		return entry;
	}
	end(entry);
	return NULL;
}

bool ready_take(struct daemon *daemon, struct rpc_ticket ticket, int request_fd,
		const struct sandbox_request *request,
		const struct spawn_for *asker)
{
	struct entry *entry = find_ready(daemon, request, asker);
	enum host_state state;
	struct claim *claim;

	if (!entry)
		return false;
	state = (enum host_state)entry->sandbox.state;
	claim = state == HOST_RUNNING || state == HOST_PENDING
			? claim_new(entry, ticket, request_fd, asker)
			: NULL;
	if (!claim) {
		end(entry);
		return false;
	}
	entry->is_claimed = true;
	if (state == HOST_RUNNING)
		hand_out(entry, claim);
	else
		entry->claim = claim;
	return true;
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

static void follow_ahead(struct entry *entry, enum host_state state)
{
	struct claim *claim = entry->claim;

	if (state_is_over(state))
		lose(entry->daemon, entry);
	if (!claim || (!state_is_over(state) && state != HOST_RUNNING))
		return;
	entry->claim = NULL;
	if (state == HOST_RUNNING) {
		hand_out(entry, claim);
		return;
	}
	entry->is_claimed = false;
	make_another(claim);
}

void ready_follow(struct entry *entry)
{
	enum host_state state = (enum host_state)entry->sandbox.state;
	struct daemon *daemon = entry->daemon;

	if (!daemon->ready)
		return;
	if (entry->is_pooled && entry->pool == POOL_READY) {
		follow_ahead(entry, state);
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
		count += entry->is_pooled && entry->pool == POOL_READY &&
			 !entry->is_claimed &&
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
	struct entry *entry;

	for (entry = daemon->entries; entry; entry = entry->next) {
		struct claim *claim = entry->claim;

		entry->claim = NULL;
		if (!claim)
			continue;
		rpc_refuse(claim->ticket, HOST_REFUSED_UNREACHABLE,
			   "the daemon is about to end");
		free_claim(claim);
	}
	if (!daemon->ready)
		return;
	for (size_t i = 0; i < HOST_READY_MAX; i++)
		buf_release(&daemon->ready->kinds[i].key);
	if (daemon->ready->timer)
		io_timer_free(daemon->ready->timer);
	free(daemon->ready);
	daemon->ready = NULL;
}
