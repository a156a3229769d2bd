#include "cli/mcp/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"

#define LINGER_MS 3600000 /* for its input, which ends with it */

static const struct io_limits in_limits = {
	.in_max = 1,
	.out_high = JOB_INPUT_MAX,
	.out_max = JOB_INPUT_MAX,
};
static const struct io_limits out_limits = {.in_max = 64 * 1024};

struct output {
	struct job *job;
	struct io *io; /* NULL: it ended */
	struct buf text;
	bool is_cut;
};

struct job {
	struct io_loop *loop;
	struct output outputs[2]; /* stdout, stderr */
	struct io_watch *watch;	  /* NULL: it ended */
	struct io_timer *timer;
	pid_t pid; /* 0: reaped */
	int pidfd;
	int status;
	size_t ios; /* that must be released before the job is freed */
	bool is_over, has_timed_out;
	job_fn *on_end;
	void *owner;
};

int job_add(struct job_line *line, const char *word)
{
	if (line->count == JOB_WORDS_MAX)
		return -1;
	/* execve(2) takes them so, and changes none. */
	memcpy(&line->words[line->count++], &word, sizeof(word));
	line->words[line->count] = NULL;
	return 0;
}

/* ---- the end ---- */

static void free_if_released(struct job *job)
{
	if (!job->is_over || job->ios > 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(job->outputs); i++)
		buf_release(&job->outputs[i].text);
	free(job);
}

static void release(struct job *job)
{
	job->is_over = true;
	io_watch_free(job->watch);
	io_timer_free(job->timer);
	(void)close(job->pidfd);
	for (size_t i = 0; i < ARRAY_SIZE(job->outputs); i++)
		if (job->outputs[i].io)
			io_close(job->outputs[i].io);
	free_if_released(job);
}

static void look(struct job *job)
{
	struct job_end end = {
		.out = buf_view(&job->outputs[0].text),
		.err = buf_view(&job->outputs[1].text),
		.is_cut = job->outputs[0].is_cut || job->outputs[1].is_cut,
		.has_timed_out = job->has_timed_out,
	};

	if (job->is_over || job->pid || job->outputs[0].io ||
	    job->outputs[1].io)
		return;
	end.code = WIFEXITED(job->status) ? WEXITSTATUS(job->status)
					  : 128 + WTERMSIG(job->status);
	job->on_end(job, &end, job->owner);
	release(job);
}

static void reap(struct job *job)
{
	while (waitpid(job->pid, &job->status, 0) < 0 && errno == EINTR)
		;
	job->pid = 0;
}

static void on_exit_of(int fd, bool readable, bool writable, void *owner)
{
	struct job *job = owner;

	(void)fd;
	(void)readable;
	(void)writable;
	io_watch_set(job->watch, false, false);
	reap(job);
	look(job);
}

static void on_timeout(void *owner)
{
	struct job *job = owner;

	job->has_timed_out = true;
	if (job->pid)
		(void)kill(job->pid, SIGKILL);
}

void job_kill(struct job *job)
{
	if (job->pid) {
		(void)kill(job->pid, SIGKILL);
		reap(job);
	}
	release(job);
}

/* ---- its three pipes ---- */

static void on_released(struct job *job)
{
	job->ios--;
	free_if_released(job);
}

static void on_input(struct io *io, enum io_event event, void *owner)
{
	if (event == IO_RELEASED)
		on_released(owner);
	else if (event == IO_FAILED)
		io_close(io);
}

static void take(struct output *output)
{
	struct buf *in = io_in(output->io);
	struct bytes bytes = buf_view(in);
	size_t room = buf_room(&output->text);

	output->is_cut |= bytes.len > room;
	if (buf_add(&output->text, bytes_slice(bytes, 0, room)) < 0)
		output->is_cut = true;
	buf_consume(in, bytes.len);
}

static void on_output(struct io *io, enum io_event event, void *owner)
{
	struct output *output = owner;

	if (event == IO_RELEASED) {
		on_released(output->job);
		return;
	}
	if (!output->io)
		return;
	take(output);
	if (event == IO_EOF || event == IO_FAILED) {
		io_close(io);
		output->io = NULL;
		look(output->job);
	}
}

static int open_output(struct job *job, size_t at, int *fd)
{
	struct output *output = &job->outputs[at];

	output->job = job;
	buf_init(&output->text, JOB_OUTPUT_MAX);
	output->io =
		io_new(job->loop, take_fd(fd), &out_limits, on_output, output);
	if (!output->io)
		return -1;
	job->ios++;
	io_read_start(output->io);
	return 0;
}

static int open_input(struct job *job, int *fd, struct bytes bytes)
{
	struct io *io =
		io_new(job->loop, take_fd(fd), &in_limits, on_input, job);

	if (!io)
		return -1;
	job->ios++;
	(void)io_write(io, bytes);
	io_close_flushed(io, LINGER_MS);
	return 0;
}

/* ---- begin ---- */

struct pipes {
	int fds[3][2]; /* of stdin, stdout, stderr: [0] reads, [1] writes */
};

static void pipes_release(struct pipes *pipes)
{
	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < 2; j++)
			if (pipes->fds[i][j] >= 0)
				(void)close(pipes->fds[i][j]);
}

static int pipes_open(struct pipes *pipes, struct err *err)
{
	for (size_t i = 0; i < 3; i++)
		pipes->fds[i][0] = pipes->fds[i][1] = -1;
	/* A socket can be ended on our side, and kept until that was read. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pipes->fds[0]) <
	    0)
		return err_system(err, "make a pipe");
	for (size_t i = 1; i < 3; i++)
		if (pipe2(pipes->fds[i], O_CLOEXEC) < 0)
			return err_system(err, "make a pipe");
	return 0;
}

/* The ends that are the program's. */
static int place(posix_spawn_file_actions_t *actions, const struct pipes *pipes)
{
	int rc = 0;

	for (int i = 0; i < 3 && rc == 0; i++)
		rc = posix_spawn_file_actions_adddup2(
			actions, pipes->fds[i][i == 0 ? 0 : 1], i);
	return rc;
}

static int start(struct job *job, const struct job_line *line,
		 const struct pipes *pipes, struct err *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int rc;

	(void)sigemptyset(&defaults);
	(void)sigaddset(&defaults, SIGPIPE);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return err_set(err, ERR_SYSTEM, "memory is out");
	if (posix_spawnattr_init(&attributes) != 0) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return err_set(err, ERR_SYSTEM, "memory is out");
	}
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawnattr_setsigdefault(&attributes, &defaults);
	rc = place(&actions, pipes);
	if (rc == 0)
		rc = posix_spawn(&job->pid, line->words[0], &actions,
				 &attributes, line->words, environ);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	errno = rc;
	return rc == 0 ? 0 : err_system(err, "run %s", line->words[0]);
}

/* From here on it ends by job_kill() or by itself. */
static int attend(struct job *job, const struct job_line *line,
		  struct pipes *pipes, struct err *err)
{
	job->pidfd = (int)syscall(SYS_pidfd_open, job->pid, 0);
	if (job->pidfd >= 0)
		job->watch =
			io_watch_new(job->loop, job->pidfd, on_exit_of, job);
	job->timer = io_timer_new(job->loop, on_timeout, job);
	if (!job->watch || !job->timer ||
	    open_output(job, 0, &pipes->fds[1][0]) < 0 ||
	    open_output(job, 1, &pipes->fds[2][0]) < 0 ||
	    open_input(job, &pipes->fds[0][1], line->input) < 0)
		return err_set(err, ERR_SYSTEM, "memory is out");
	io_watch_set(job->watch, true, false);
	io_timer_set(job->timer, line->timeout_ms);
	return 0;
}

struct job *job_run(struct io_loop *loop, const struct job_line *line,
		    job_fn *on_end, void *owner, struct err *err)
{
	auto_type(pipes_release) struct pipes pipes;
	struct job *job = calloc(1, sizeof(*job));

	if (pipes_open(&pipes, err) < 0 || !job) {
		free(job);
		return NULL;
	}
	job->loop = loop;
	job->on_end = on_end;
	job->owner = owner;
	if (start(job, line, &pipes, err) < 0) {
		free(job);
		return NULL;
	}
	if (attend(job, line, &pipes, err) < 0) {
		job_kill(job);
		return NULL;
	}
	return job;
}
