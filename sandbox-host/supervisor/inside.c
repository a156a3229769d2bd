#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "sandbox-host/supervisor/parts.h"

#define WORDS_PER_TURN 64

struct waiting *inside_wait(struct supervisor *supervisor,
			    void (*on_word)(struct service_word *, void *),
			    void *owner)
{
	struct waiting *waiting = supervisor->waiting_count < WAITING_MAX
					  ? calloc(1, sizeof(*waiting))
					  : NULL;

	if (!waiting)
		return NULL;
	waiting->serial = ++supervisor->last_serial;
	waiting->on_word = on_word;
	waiting->owner = owner;
	DL_APPEND(supervisor->waiting, waiting);
	supervisor->waiting_count++;
	return waiting;
}

void inside_forget(struct supervisor *supervisor, struct waiting *waiting)
{
	if (!waiting)
		return;
	DL_DELETE(supervisor->waiting, waiting);
	supervisor->waiting_count--;
	free(waiting);
}

static struct waiting *find(const struct supervisor *supervisor,
			    uint32_t serial)
{
	struct waiting *waiting;

	DL_FOREACH(supervisor->waiting, waiting)
	if (waiting->serial == serial)
		return waiting;
	return NULL;
}

static void hear_reports(struct supervisor *supervisor)
{
	if (!supervisor->reports || service_report(supervisor->sandbox))
		return;
	io_watch_free(supervisor->reports);
	supervisor->reports = NULL;
}

/* What was denied of a command is told before its end is: it was said
 * before. False when there is no other word. */
static bool hear_one(struct supervisor *supervisor)
{
	struct service_word word;
	struct waiting *waiting;

	service_hear(supervisor->sandbox, &word);
	if (word.kind == SERVICE_NOTHING)
		return false;
	hear_reports(supervisor);
	if (word.kind == SERVICE_GONE) {
		life_end(supervisor, HOST_FAILED, "ended",
			 "process 1 of the sandbox has ended");
		return false;
	}
	waiting = find(supervisor, word.serial);
	if (waiting)
		waiting->on_word(&word, waiting->owner);
	/* Whoever waits takes it, and leaves -1. */
	if (word.fd >= 0)
		(void)close(word.fd);
	return supervisor->sandbox != NULL;
}

static void on_control(int fd, bool readable, bool writable, void *owner)
{
	struct supervisor *supervisor = owner;

	(void)fd;
	(void)readable;
	(void)writable;
	for (int i = 0; i < WORDS_PER_TURN; i++)
		if (!hear_one(supervisor))
			return;
}

static void on_report(int fd, bool readable, bool writable, void *owner)
{
	struct supervisor *supervisor = owner;

	(void)fd;
	(void)readable;
	(void)writable;
	hear_reports(supervisor);
}

static void on_disk(int fd, bool readable, bool writable, void *owner)
{
	struct supervisor *supervisor = owner;
	struct err words;

	(void)fd;
	(void)readable;
	(void)writable;
	io_watch_free(supervisor->disk);
	supervisor->disk = NULL;
	service_take_disk(supervisor->sandbox, &words);
	life_end(supervisor, HOST_TERMINATED, "resource_limit", words.text);
}

/* Is there something to be watched? 0, or -1. */
static int watch_disk(struct supervisor *supervisor, struct err *err)
{
	int fd = service_disk_fd(supervisor->sandbox);

	if (fd < 0)
		return 0;
	supervisor->disk =
		io_watch_new(supervisor->loop, fd, on_disk, supervisor);
	if (!supervisor->disk)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	io_watch_set(supervisor->disk, true, false);
	return 0;
}

int inside_begin(struct supervisor *supervisor, struct err *err)
{
	supervisor->control = io_watch_new(
		supervisor->loop, service_control_fd(supervisor->sandbox),
		on_control, supervisor);
	supervisor->reports = io_watch_new(
		supervisor->loop, service_report_fd(supervisor->sandbox),
		on_report, supervisor);
	if (!supervisor->control || !supervisor->reports)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	io_watch_set(supervisor->control, true, false);
	io_watch_set(supervisor->reports, true, false);
	return watch_disk(supervisor, err);
}

void inside_end(struct supervisor *supervisor)
{
	if (supervisor->control)
		io_watch_free(supervisor->control);
	if (supervisor->reports)
		io_watch_free(supervisor->reports);
	if (supervisor->disk)
		io_watch_free(supervisor->disk);
	supervisor->control = NULL;
	supervisor->reports = NULL;
	supervisor->disk = NULL;
}
