#include "cli/control_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/settings_file.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "policies/policy.h"
#include "policies/settings/settings.h"
#include "sandbox-host/session/client.h"
#include "sandbox-host/session/reap.h"

#define PIECE	   (64 * 1024)
#define PATH_BYTES 160

struct reader {
	const struct control_fd_spec *spec;
	struct buf line;
	bool is_skipping; /* the rest of a line that is too long */
	bool has_update;  /* one line was right */
};

int control_fd_open(const char *text, struct err *err)
{
	char *end;
	long fd = strtol(text, &end, 10);
	struct stat info;
	int flags;

	if (*text < '0' || *text > '9' || *end || fd < CONTROL_FD_FIRST ||
	    fd > 1 << 20)
		return err_set(
			err, ERR_INVALID,
			"--control-fd %s: it must be a number from %d on", text,
			CONTROL_FD_FIRST);
	flags = fcntl((int)fd, F_GETFL);
	if (flags < 0 || fstat((int)fd, &info) < 0 || S_ISDIR(info.st_mode) ||
	    (flags & O_ACCMODE) == O_WRONLY)
		return err_set(
			err, ERR_INVALID,
			"--control-fd %s: nothing can be read there, and "
			"nothing is run without the channel that was "
			"asked for",
			text);
	return (int)fd;
}

/* ---- one line ---- */

static void say(const char *what, const char *why)
{
	(void)fprintf(stderr, "sallyport: --control-fd: %s%s%s\n", what,
		      why[0] ? ": " : "", why);
}

static int put_policy(const struct reader *reader, const struct buf *policy,
		      struct err *err)
{
	char path[PATH_BYTES];
	struct client_request request = {
		.method = "PUT",
		.path = path,
		.type = "application/json",
	};
	struct bytes text = buf_view(policy);
	json_t *root = json_pack("{s:s%}", "policy", text.data, text.len);
	char *body = root ? json_dumps(root, JSON_COMPACT) : NULL;
	struct reply reply = {0};
	int result;

	json_decref(root);
	if (!body)
		return err_set(err, ERR_INVALID, "it is no text");
	(void)snprintf(path, sizeof(path), "/v1/sessions/%s/policy",
		       reader->spec->session);
	request.body = bytes_str(body);
	result = client_once(&request, &reply, err);
	reply_release(&reply);
	free(body);
	return result;
}

static void take_line(struct reader *reader, struct bytes line)
{
	auto_type(buf_release) struct buf policy, notes;
	struct err err = {0};

	buf_init(&policy, POLICY_TEXT_MAX);
	buf_init(&notes, SETTINGS_NOTES_MAX);
	if (settings_file_follow(reader->spec->settings, line,
				 reader->spec->words, &policy, &notes) < 0) {
		say("a line is dropped",
		    buf_len(&notes) ? buf_str(&notes) : "");
		return;
	}
	if (put_policy(reader, &policy, &err) < 0)
		say("a line is dropped", err.text);
	else
		reader->has_update = true;
}

/* ---- reading ---- */

static void end_line(struct reader *reader)
{
	if (reader->is_skipping)
		say("a line is dropped", "it is too long");
	else if (buf_len(&reader->line) > 0)
		take_line(reader, buf_view(&reader->line));
	buf_clear(&reader->line);
	reader->is_skipping = false;
}

static void take_piece(struct reader *reader, struct bytes piece)
{
	while (piece.len > 0) {
		ssize_t end = bytes_find(piece, '\n', 0);
		size_t len = end < 0 ? piece.len : (size_t)end;

		if (buf_add(&reader->line, bytes_slice(piece, 0, len)) < 0)
			reader->is_skipping = true;
		if (end >= 0)
			end_line(reader);
		piece = bytes_slice(piece, len + (end >= 0), piece.len);
	}
}

/* 0 at its end, or -1. */
static int read_all(struct reader *reader)
{
	static uint8_t piece[PIECE];
	int fd = reader->spec->fd;

	for (;;) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		ssize_t len = read(fd, piece, sizeof(piece));

		if (len == 0)
			return 0;
		if (len > 0)
			take_piece(reader, bytes_from(piece, (size_t)len));
		else if (errno == EAGAIN)
			(void)poll(&ready, 1, -1);
		else if (errno != EINTR)
			return -1;
	}
}

/* ---- the process ---- */

_Noreturn static void read_lines(const struct control_fd_spec *spec, pid_t run)
{
	static const int not_for_us[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM,
					 SIGPIPE};
	struct reader reader = {.spec = spec};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != run)
		_exit(0);
	for (size_t i = 0; i < ARRAY_SIZE(not_for_us); i++)
		(void)signal(not_for_us[i], SIG_IGN);
	(void)close(STDIN_FILENO);
	(void)close(STDOUT_FILENO);
	if (spec->fd > STDERR_FILENO + 1)
		(void)close_range(STDERR_FILENO + 1, (unsigned)spec->fd - 1, 0);
	(void)close_range((unsigned)spec->fd + 1, ~0U, 0);
	buf_init(&reader.line, SETTINGS_TEXT_MAX);
	if (read_all(&reader) == 0) {
		/* A last line may have no end. */
		end_line(&reader);
		_exit(0);
	}
	say("it cannot be read any more", strerror(errno));
	if (!reader.has_update)
		(void)kill(run, SIGTERM);
	_exit(1);
}

int control_fd_start(struct control_fd *control,
		     const struct control_fd_spec *spec, struct err *err)
{
	pid_t run = getpid();

	control->pid = fork();
	if (control->pid == 0)
		read_lines(spec, run);
	(void)close(spec->fd);
	if (control->pid > 0)
		return 0;
	control->pid = 0;
	return err_system(err, "fork");
}

void control_fd_stop(struct control_fd *control)
{
	if (control->pid <= 0)
		return;
	reap_within(control->pid, 0);
	control->pid = 0;
}
