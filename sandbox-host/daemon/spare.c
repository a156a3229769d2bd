#include "sandbox-host/daemon/spare.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "sandbox-host/base.h"

#define PROGRAM	 "sallyport-supervisor"
#define ARGS_MAX (21 + 2 * HOST_VOLUMES_MAX)

struct waits {
	struct io_watch *watch;
	int channel;
	pid_t pid;
};

struct spare {
	struct waits waits[SPARES_MAX]; /* the oldest first */
	size_t count, wanted;
	bool is_taken;		     /* one was, and is not replaced yet */
	struct io_timer *timer;	     /* of the next */
	struct io_timer *fewer;	     /* of when one will do again */
	struct supervisor_base last; /* what a sandbox began with */
	struct supervisor_base base; /* that it is to begin with */
};

/* ---- one process ---- */

/* The channel at its place, nothing else of ours. */
static int place(int channel)
{
	int high = fcntl(channel, F_DUPFD, SUPERVISOR_CHANNEL + 1);

	if (high < 0 || dup2(high, SUPERVISOR_CHANNEL) < 0)
		return -1;
	return close_range(SUPERVISOR_CHANNEL + 1, ~0u, 0);
}

/* Where volumes may be, and where none of them may be. */
static size_t add_roots(const struct host_config *config, const char **argv,
			size_t count)
{
	const struct host_store_config *store = &config->store;
	const char *const private[] = {config->run, config->workspaces,
				       store->path};

	for (size_t i = 0; i < store->volume_count; i++) {
		argv[count++] = "--volumes";
		argv[count++] = store->volumes[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(private); i++) {
		argv[count++] = "--private";
		argv[count++] = private[i];
	}
	if (config->api.key) {
		argv[count++] = "--secret";
		argv[count++] = config->api.key;
	}
	return count;
}

static const char *base_of(const struct supervisor_base *told,
			   char text[BASE_TEXT_MAX])
{
	const struct base base = {
		.uid = told->uid,
		.gid = told->gid,
		.has_read = told->has_read,
		.tmpfs_bytes = told->tmpfs_bytes,
	};

	base_text(&base, text);
	return text;
}

static int find_program(char program[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", program, PATH_MAX - 1);
	char *name;

	if (len <= 0)
		return -1;
	program[len] = '\0';
	name = strrchr(program, '/');
	(void)snprintf(name, PATH_MAX - (size_t)(name - program), "/" PROGRAM);
	return 0;
}

_Noreturn static void become_supervisor(const struct daemon *daemon,
					int channel)
{
	const struct host_config *config = &daemon->config;
	char program[PATH_MAX], uids[32], base[BASE_TEXT_MAX];
	const char *argv[ARGS_MAX] = {PROGRAM, "--id", BIRTH_NO_ID,
				      "--workspaces", config->workspaces};
	size_t count = 5;

	if (find_program(program) < 0)
		_exit(126);
	if (config->default_policy) {
		argv[count++] = "--default-policy";
		argv[count++] = config->default_policy;
	}
	if (config->uids.count) {
		(void)snprintf(uids, sizeof(uids), "%u-%u",
			       (unsigned)config->uids.first,
			       (unsigned)config->uids.first +
				       config->uids.count - 1);
		argv[count++] = "--uids";
		argv[count++] = uids;
	}
	count = add_roots(config, argv, count);
	if (daemon->spare->base.is_known) {
		argv[count++] = "--base";
		argv[count++] = base_of(&daemon->spare->base, base);
	}
	/* It finds the gateway as the command line does. */
	if (config->gateway)
		(void)setenv("SALLYPORT_RUN", config->gateway, 1);
	/* Commands have the limit that was made for them. */
	(void)setrlimit(RLIMIT_NOFILE, &daemon->files);
	/* Its own session: what ends us does not end it. */
	if (setsid() < 0 || place(channel) < 0)
		_exit(126);
	(void)execv(program, (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* Our end of its channel; -1. */
static int start(const struct daemon *daemon, pid_t *pid, struct err *err)
{
	int ends[2];

	if (io_message_pair(ends, err) < 0)
		return -1;
	*pid = fork();
	if (*pid == 0)
		become_supervisor(daemon, ends[1]);
	(void)close(ends[1]);
	if (*pid > 0)
		return ends[0];
	(void)close(ends[0]);
	return err_system(err, "start a supervisor");
}

/* ---- those that wait ---- */

/* It is somebody's, or nobody's. Its channel. */
static int forget(struct spare *spare, size_t place)
{
	const struct waits old = spare->waits[place];

	io_watch_free(old.watch);
	spare->count--;
	memmove(&spare->waits[place], &spare->waits[place + 1],
		(spare->count - place) * sizeof(old));
	return old.channel;
}

static void end_beyond(struct spare *spare, size_t count)
{
	while (spare->count > count)
		(void)close(forget(spare, spare->count - 1));
}

/* It has nothing to say: so it has ended. */
static void on_word(int fd, bool readable, bool writable, void *owner)
{
	struct daemon *daemon = owner;
	struct spare *spare = daemon->spare;
	size_t place = 0;

	(void)readable;
	(void)writable;
	while (place < spare->count && spare->waits[place].channel != fd)
		place++;
	assert(place < spare->count);
	log_warn("the supervisor that waited, process %d, has ended",
		 (int)spare->waits[place].pid);
	(void)close(forget(spare, place));
	io_timer_set(spare->timer, SPARE_AGAIN_MS);
}

static int keep_one(struct daemon *daemon, struct err *err)
{
	struct spare *spare = daemon->spare;
	struct waits *next = &spare->waits[spare->count];
	auto_fd int channel = start(daemon, &next->pid, err);

	if (channel < 0)
		return -1;
	next->watch = io_watch_new(daemon->loop, channel, on_word, daemon);
	if (!next->watch)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	io_watch_set(next->watch, true, false);
	next->channel = take_fd(&channel);
	spare->count++;
	return 0;
}

static void on_due(void *owner)
{
	struct daemon *daemon = owner;
	struct spare *spare = daemon->spare;
	struct err err;

	if (spare->count >= spare->wanted || daemon->is_draining)
		return;
	if (keep_one(daemon, &err) < 0) {
		log_warn("no supervisor waits: %s", err.text);
		io_timer_set(spare->timer, SPARE_AGAIN_MS);
	} else if (spare->count < spare->wanted) {
		io_timer_set(spare->timer, SPARE_DELAY_MS);
	} else {
		spare->is_taken = false;
	}
}

static void on_fewer(void *owner)
{
	struct daemon *daemon = owner;

	daemon->spare->wanted = 1;
	end_beyond(daemon->spare, 1);
}

/* What nobody waits for does not count as a second one. */
static void note_taken(struct spare *spare, const struct birth *birth)
{
	if (spare->is_taken && !birth->is_ahead && !birth->is_pooled) {
		spare->wanted = SPARES_MAX;
		io_timer_set(spare->fewer, SPARE_MORE_MS);
	}
	spare->is_taken = true;
}

/* -1: none waits. */
static int take(struct daemon *daemon, const struct birth *birth, pid_t *pid)
{
	struct spare *spare = daemon->spare;

	note_taken(spare, birth);
	io_timer_set(spare->timer, SPARE_DELAY_MS);
	if (spare->count == 0)
		return -1;
	*pid = spare->waits[0].pid;
	return forget(spare, 0);
}

int spare_give(struct daemon *daemon, const struct birth *birth,
	       const int fds[BIRTH_FDS], pid_t *pid, struct err *err)
{
	auto_fd int waits = take(daemon, birth, pid);
	auto_fd int made = -1;

	if (waits >= 0 && birth_send(waits, birth, fds, err) == 0)
		return take_fd(&waits);
	/* There is none, or it has just died. */
	made = start(daemon, pid, err);
	if (made < 0 || birth_send(made, birth, fds, err) < 0)
		return -1;
	return take_fd(&made);
}

void spare_begin_anew(struct daemon *daemon)
{
	struct spare *spare = daemon->spare;

	if (spare->count == 0)
		return;
	end_beyond(spare, 0);
	io_timer_set(spare->timer, SPARE_DELAY_MS);
}

static bool is_same(const struct supervisor_base *one,
		    const struct supervisor_base *other)
{
	return one->is_known == other->is_known && one->uid == other->uid &&
	       one->gid == other->gid && one->has_read == other->has_read &&
	       one->tmpfs_bytes == other->tmpfs_bytes;
}

/* What is begun in vain costs more than it would have saved: so two in a row
 * have to be alike. The one that waits may have been begun before the last one
 * was built. */
void spare_expect(struct daemon *daemon, const struct supervisor_base *base)
{
	struct spare *spare = daemon->spare;
	struct supervisor_base next = *base;

	if (!is_same(&spare->last, base))
		next = (struct supervisor_base){0};
	spare->last = *base;
	if (is_same(&spare->base, &next))
		return;
	spare->base = next;
	spare_begin_anew(daemon);
}

/* ---- begin and end ---- */

int spare_open(struct daemon *daemon, struct err *err)
{
	struct spare *spare = calloc(1, sizeof(*spare));

	daemon->spare = spare;
	if (spare) {
		spare->wanted = 1;
		spare->timer = io_timer_new(daemon->loop, on_due, daemon);
		spare->fewer = io_timer_new(daemon->loop, on_fewer, daemon);
	}
	if (!spare || !spare->timer || !spare->fewer)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	/* Until there was one: a workspace that is made for it is ours. */
	spare->base = (struct supervisor_base){
		.is_known = true, .uid = geteuid(), .gid = getegid()};
	spare->last = spare->base;
	io_timer_set(spare->timer, SPARE_DELAY_MS);
	return 0;
}

void spare_close(struct daemon *daemon)
{
	struct spare *spare = daemon->spare;

	if (!spare)
		return;
	end_beyond(spare, 0);
	if (spare->timer)
		io_timer_free(spare->timer);
	if (spare->fewer)
		io_timer_free(spare->fewer);
	free(spare);
	daemon->spare = NULL;
}
