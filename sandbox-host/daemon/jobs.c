#include "sandbox-host/daemon/jobs.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"

#define PROGRAM	   "sallyport-store"
#define ANSWER_MAX 1024

struct running {
	pid_t pid;
	int answer;
	struct io_watch *watch;
	struct io_timer *timer;
	unsigned time_max_ms;
	const char *time_name;
	bool is_late;
	char text[ANSWER_MAX + 1];
	size_t len;
	void (*on_end)(const struct job_result *result, void *owner);
	void *owner;
	struct running *next, *prev;
};

static struct running *all;
static size_t count;

/* ---- its process ---- */

static int place(const struct job *job, int answer)
{
	int high[STORE_TREES_MAX + 1];
	size_t total = job->fd_count + 1;

	for (size_t i = 0; i < total; i++) {
		high[i] = fcntl(i == 0 ? answer : job->fds[i - 1], F_DUPFD,
				STORE_FIRST + STORE_TREES_MAX);
		if (high[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < total; i++)
		if (dup2(high[i], STORE_ANSWER + (int)i) < 0)
			return -1;
	return close_range(STORE_ANSWER + (unsigned)total, ~0u, 0);
}

_Noreturn static void become_store(const struct job *job, int answer)
{
	char program[PATH_MAX], bytes[32];
	const char *argv[JOB_WORDS_MAX + 4] = {PROGRAM, job->what, bytes};
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	size_t size = sizeof(program);
	char *name;

	if (len <= 0)
		_exit(126);
	program[len] = '\0';
	name = strrchr(program, '/');
	(void)snprintf(name, size - (size_t)(name - program), "/" PROGRAM);
	(void)snprintf(bytes, sizeof(bytes), "%llu",
		       (unsigned long long)job->bytes_max);
	for (size_t i = 0; i < job->word_count; i++)
		argv[3 + i] = job->words[i];
	if (setsid() < 0 || place(job, answer) < 0)
		_exit(126);
	(void)execv(program, (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* ---- its answer ---- */

/* "ok DIGEST BYTES" or "error TEXT"; nothing: it died. */
static void read_answer(const char *text, struct job_result *result)
{
	unsigned long long bytes;

	if (sscanf(text, "ok %79s %llu", result->digest, &bytes) == 2) {
		result->is_done = true;
		result->bytes = bytes;
		return;
	}
	(void)snprintf(
		result->message, sizeof(result->message), "%.*s",
		JOB_MESSAGE_SIZE - 1,
		strncmp(text, "error ", 6) == 0
			? text + 6
			: "the store's process ended before it was done");
	for (char *at = result->message; *at; at++)
		if ((uint8_t)*at < ' ' || (uint8_t)*at > '~')
			*at = at[1] ? '?' : '\0';
}

static void release(struct running *running)
{
	DL_DELETE(all, running);
	count--;
	if (running->watch)
		io_watch_free(running->watch);
	if (running->timer)
		io_timer_free(running->timer);
	(void)close(running->answer);
	free(running);
}

static void say_late(const struct running *running, struct job_result *result)
{
	(void)snprintf(result->message, sizeof(result->message),
		       "it took longer than %s: %u s", running->time_name,
		       running->time_max_ms / 1000);
}

/* Its programs have a group of their own, and end when it does. They hold the
 * pipe of its answer: once that is closed nobody writes any more, and only
 * then its end is told. */
static void on_late(void *owner)
{
	struct running *running = owner;

	running->is_late = true;
	(void)kill(-running->pid, SIGKILL);
}

static void on_answer(int fd, bool readable, bool writable, void *owner)
{
	struct running *running = owner;
	struct job_result result = {0};
	void (*on_end)(const struct job_result *, void *) = running->on_end;
	void *whose = running->owner;
	ssize_t len;

	(void)readable;
	(void)writable;
	len = read(fd, running->text + running->len, ANSWER_MAX - running->len);
	if (len > 0) {
		running->len += (size_t)len;
		if (running->len < ANSWER_MAX)
			return;
	}
	running->text[running->len] = '\0';
	if (running->is_late)
		say_late(running, &result);
	else
		read_answer(running->text, &result);
	release(running);
	on_end(&result, whose);
}

int job_start(struct io_loop *loop, const struct job *job, struct err *err)
{
	struct running *running =
		count < JOBS_MAX ? calloc(1, sizeof(*running)) : NULL;
	int ends[2];

	if (!running)
		return err_set(err, ERR_TOO_LARGE,
			       "%d pieces of work are under way already",
			       JOBS_MAX);
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(running);
		return err_system(err, "start the store's process");
	}
	*running = (struct running){.answer = ends[0],
				    .time_max_ms = job->time_max_ms,
				    .time_name = job->time_name,
				    .on_end = job->on_end,
				    .owner = job->owner};
	DL_APPEND(all, running);
	count++;
	running->watch = io_watch_new(loop, ends[0], on_answer, running);
	running->timer = io_timer_new(loop, on_late, running);
	running->pid = running->watch && running->timer ? fork() : -1;
	if (running->pid == 0)
		become_store(job, ends[1]);
	(void)close(ends[1]);
	if (running->pid < 0) {
		release(running);
		return err_system(err, "start the store's process");
	}
	io_watch_set(running->watch, true, false);
	io_timer_set(running->timer, job->time_max_ms);
	return 0;
}

/* Its group is there once its process has made it. */
void job_break_off(const void *owner)
{
	const struct running *running;

	DL_FOREACH(all, running)
	if (running->owner == owner && kill(-running->pid, SIGKILL) < 0)
		(void)kill(running->pid, SIGKILL);
}

void jobs_close(void)
{
	struct running *running, *next;

	DL_FOREACH_SAFE(all, running, next)
	{
		/* Its programs are in its group. */
		(void)kill(-running->pid, SIGKILL);
		release(running);
	}
}
