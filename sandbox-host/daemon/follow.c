#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "sandbox-host/daemon/daemon.h"

#define FOLLOWS_MAX    1024
#define FOLLOW_LOOK_MS 50

/* One who waits for events, or for what an entrypoint writes. */
struct follow {
	struct rpc_ticket ticket;
	char id[HOST_ID_MAX + 1];
	uint64_t after;
	uint64_t until_ms; /* monotonic */
	bool is_log;
	struct follow *next, *prev;
};

/* ---- events ---- */

static bool answer_events(const struct follow *follow,
			  const struct entry *entry, bool is_last)
{
	struct host_event events[HOST_EVENTS_MAX];
	struct host_events message = {.events = events};

	for (uint64_t i = 0; entry->events && i < EVENTS_KEPT; i++) {
		uint64_t sequence = entry->event_last - EVENTS_KEPT + 1 + i;
		const struct kept_event *kept =
			&entry->events[sequence % EVENTS_KEPT];

		if (!kept->kind || kept->sequence <= follow->after ||
		    kept->sequence != sequence)
			continue;
		if (message.events_count == HOST_EVENTS_MAX) {
			message.more = true;
			break;
		}
		events[message.events_count++] = (struct host_event){
			.sequence = kept->sequence,
			.time_ms = kept->time_ms,
			.kind = bytes_str(kept->kind),
			.text = kept->text,
			.rule = bytes_str(kept->rule),
		};
	}
	if (message.events_count == 0 && !is_last)
		return false;
	rpc_reply(follow->ticket, &host_events_schema, &message, -1);
	return true;
}

/* ---- logs ---- */

static bool answer_log(const struct follow *follow, const struct entry *entry,
		       bool is_last)
{
	auto_fd int fd =
		openat(entry->dir, FILE_LOG, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	uint8_t block[HOST_LOG_MAX];
	struct host_log message = {.start = follow->after};
	struct stat info = {0};
	ssize_t len = 0;

	if (fd >= 0 && fstat(fd, &info) == 0) {
		uint64_t size = (uint64_t)info.st_size;
		uint64_t first = size > LOG_KEPT ? size - LOG_KEPT : 0;

		if (message.start < first)
			message.start = first;
		len = pread(fd, block, sizeof(block), (off_t)message.start);
	}
	message.text = bytes_from(block, len > 0 ? (size_t)len : 0);
	message.has_ended =
		len <= 0 &&
		state_is_over((enum host_state)entry->sandbox.state);
	if (message.text.len == 0 && !message.has_ended && !is_last)
		return false;
	rpc_reply(follow->ticket, &host_log_schema, &message, -1);
	return true;
}

/* ---- those who wait ---- */

/* True: it is answered. */
static bool look(struct daemon *daemon, const struct follow *follow)
{
	const struct entry *entry = entry_find(daemon, bytes_str(follow->id));
	bool is_last = io_loop_now_ms(daemon->loop) >= follow->until_ms;

	if (!entry) {
		rpc_refuse(follow->ticket, HOST_REFUSED_MISSING,
			   "the sandbox is gone");
		return true;
	}
	/* Nothing will happen any more. */
	is_last |= state_is_over((enum host_state)entry->sandbox.state);
	return follow->is_log ? answer_log(follow, entry, is_last)
			      : answer_events(follow, entry, is_last);
}

void follow_look(struct daemon *daemon)
{
	struct follow *follow, *next;

	DL_FOREACH_SAFE(daemon->follows, follow, next)
	{
		if (!look(daemon, follow))
			continue;
		DL_DELETE(daemon->follows, follow);
		daemon->follow_count--;
		free(follow);
	}
}

static void on_timer(void *owner)
{
	struct daemon *daemon = owner;

	follow_look(daemon);
	if (daemon->follows)
		io_timer_set(daemon->follow_timer, FOLLOW_LOOK_MS);
}

void follow_add(struct daemon *daemon, struct rpc_ticket ticket,
		const struct host_after *after, bool is_log)
{
	uint32_t wait_ms = after->wait_ms < HOST_WAIT_MAX_MS ? after->wait_ms
							     : HOST_WAIT_MAX_MS;
	struct follow *follow = daemon->follow_count < FOLLOWS_MAX
					? calloc(1, sizeof(*follow))
					: NULL;

	if (!follow) {
		rpc_refuse(ticket, HOST_REFUSED_FULL, "too many wait already");
		return;
	}
	*follow = (struct follow){
		.ticket = ticket,
		.after = after->after,
		.until_ms = io_loop_now_ms(daemon->loop) + wait_ms,
		.is_log = is_log,
	};
	(void)snprintf(follow->id, sizeof(follow->id), "%.*s",
		       BYTES_ARGS(after->id));
	if (look(daemon, follow)) {
		free(follow);
		return;
	}
	DL_APPEND(daemon->follows, follow);
	daemon->follow_count++;
	io_timer_set(daemon->follow_timer, FOLLOW_LOOK_MS);
}

int follow_open(struct daemon *daemon, struct err *err)
{
	daemon->follow_timer = io_timer_new(daemon->loop, on_timer, daemon);
	return daemon->follow_timer ? 0
				    : err_set(err, ERR_TOO_LARGE, "no memory");
}

void follow_close(struct daemon *daemon)
{
	struct follow *follow, *next;

	DL_FOREACH_SAFE(daemon->follows, follow, next)
	{
		rpc_refuse(follow->ticket, HOST_REFUSED_UNREACHABLE,
			   "the daemon ends");
		DL_DELETE(daemon->follows, follow);
		free(follow);
	}
	if (daemon->follow_timer)
		io_timer_free(daemon->follow_timer);
}
