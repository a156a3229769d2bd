#include "cli/teller.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/sandbox.h"
#include "sandbox-host/session/denials.h"
#include "sandbox-host/session/gateway.h"
#include "sandbox-host/session/reap.h"

#define PATH_BYTES 160

/* Where it writes, until nobody reads there. */
struct outlet {
	int fd; /* -1: none, or given up */
	int stop;
	int number; /* errno, where it is a file that takes no more */
};

struct listener {
	const char *session;
	int stop;
	struct outlet told, events;
	struct told lines;
	const struct policy_strings *quiet;
	json_int_t sequence;	   /* of the last row that was heard */
	struct attachment holding; /* once control was another */
};

/* ---- what the run says ---- */

/* What there is of these poll events on the run's pipe, after `ms` at most. */
static short look(int stop, short events, int ms)
{
	struct pollfd run = {.fd = stop, .events = events};

	return poll(&run, 1, ms) > 0 ? run.revents : 0;
}

static bool is_orphaned(int stop)
{
	return (look(stop, 0, 0) & POLLHUP) != 0;
}

static bool is_stopped(int stop)
{
	return look(stop, POLLIN, 0) != 0;
}

/* ---- writing, where somebody may have stopped reading ---- */

static void do_nothing(int number)
{
	(void)number;
}

/* Others write to the same pipe: what had room a moment ago may block, and
 * is interrupted by this. */
static void tick(unsigned every_s)
{
	const struct itimerval timer = {.it_interval.tv_sec = every_s,
					.it_value.tv_sec = every_s};

	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* Wait for room: 1, there is; 0, look again; -1, there will be none. */
static int wait_for_room(const struct outlet *outlet)
{
	bool is_last = is_stopped(outlet->stop);
	struct pollfd fds[] = {
		{.fd = outlet->fd, .events = POLLOUT},
		{.fd = outlet->stop, .events = is_last ? 0 : POLLIN},
	};
	int ready =
		poll(fds, ARRAY_SIZE(fds), is_last ? TELLER_STALLED_MS : -1);

	if (ready < 0)
		return errno == EINTR ? 0 : -1;
	if (ready == 0 || is_orphaned(outlet->stop))
		return -1;
	return fds[0].revents != 0;
}

static ssize_t write_some(int fd, struct bytes text)
{
	ssize_t put;

	tick(1);
	put = write(fd, text.data, text.len < PIPE_BUF ? text.len : PIPE_BUF);
	tick(0);
	return put < 0 && (errno == EINTR || errno == EAGAIN) ? 0 : put;
}

static void put(struct outlet *outlet, struct bytes text)
{
	while (outlet->fd >= 0 && text.len > 0) {
		int room = wait_for_room(outlet);
		ssize_t put = room > 0 ? write_some(outlet->fd, text) : room;

		if (put < 0) {
			outlet->number = room > 0 && errno != EPIPE ? errno : 0;
			outlet->fd = -1;
		} else {
			text = bytes_slice(text, (size_t)put, text.len);
		}
	}
}

/* ---- rows ---- */

/* A terminal in raw mode wants the carriage return. */
static void tell_line(struct listener *listener, const char *text)
{
	char whole[DENIALS_LINE_BYTES + 2];

	(void)snprintf(whole, sizeof(whole), "%s%s", text,
		       isatty(STDERR_FILENO) ? "\r\n" : "\n");
	put(&listener->told, bytes_str(whole));
}

/* Whoever reads them later must not take what is there for all. */
static void tell_events_end(struct listener *listener)
{
	char text[128];

	if (listener->events.fd >= 0 || listener->events.number == 0)
		return;
	(void)snprintf(text, sizeof(text),
		       "sallyport: --events: %s: no more is written there",
		       strerror(listener->events.number));
	tell_line(listener, text);
}

/* The row, and of a denied one what to do. */
static void put_event(struct listener *listener, struct bytes line, json_t *row)
{
	const char *remedy = denials_remedy(row);
	char *text = NULL;

	if (listener->events.fd < 0)
		return;
	if (remedy[0] &&
	    json_object_set_new(row, "try", json_string(remedy)) == 0)
		text = json_dumps(row, JSON_COMPACT);
	put(&listener->events, text ? bytes_str(text) : line);
	put(&listener->events, bytes_str("\n"));
	free(text);
	tell_events_end(listener);
}

static bool on_line(struct bytes line, void *owner)
{
	struct listener *listener = owner;
	char text[DENIALS_LINE_BYTES];
	json_t *row;

	if (line.len == 0)
		return true;
	row = json_loadb((const char *)line.data, line.len, 0, NULL);
	if (row)
		listener->sequence =
			json_integer_value(json_object_get(row, "sequence"));
	if (denials_are_known(listener->quiet, row)) {
		json_decref(row);
		return true;
	}
	put_event(listener, line, row);
	if (denials_tell(&listener->lines, row, text, sizeof(text)))
		tell_line(listener, text);
	json_decref(row);
	return true;
}

/* 0 when all was heard that `what` has. */
static int listen_to(struct listener *listener, const char *what, int until)
{
	struct client client;
	char path[PATH_BYTES];
	struct err err;
	int heard;

	(void)snprintf(path, sizeof(path),
		       "/v1/%s?session=%s%s&after=%" JSON_INTEGER_FORMAT, what,
		       listener->session,
		       listener->events.fd >= 0 ? "" : "&denied=1",
		       listener->sequence);
	if (client_open_within(&client, TELLER_CONNECT_MS, &err) < 0)
		return -1;
	client.until = until;
	heard = client_follow(&client, path, on_line, listener, &err);
	client_close(&client);
	return heard;
}

/* The control that knew that the run holds the session may be gone. */
static void hold(struct listener *listener)
{
	struct attachment *holding = &listener->holding;
	struct err err;

	if (attachment_is_open(holding))
		return;
	attachment_close(holding);
	if (attachment_open(holding, &err) < 0)
		return;
	if (attachment_hold(holding, listener->session, &err) < 0 ||
	    attachment_wait(holding, &err) < 0)
		attachment_close(holding);
}

static void follow(struct listener *listener)
{
	int pause_ms = TELLER_RETRY_MS;

	while (!is_stopped(listener->stop)) {
		json_int_t before = listener->sequence;
		uint64_t since = clock_monotonic_ms();

		(void)listen_to(listener, "events", listener->stop);
		if (listener->sequence != before ||
		    clock_monotonic_ms() - since > TELLER_RETRY_MAX_MS)
			pause_ms = TELLER_RETRY_MS;
		if (look(listener->stop, POLLIN, pause_ms))
			break;
		pause_ms *= 2;
		if (pause_ms > TELLER_RETRY_MAX_MS)
			pause_ms = TELLER_RETRY_MAX_MS;
		hold(listener);
	}
}

/* What was stored when the command had ended. Control may be away, or too
 * busy for it just then. */
static void tell_rest(struct listener *listener)
{
	const struct timespec pause = {.tv_nsec = TELLER_RETRY_MS * 1000000};
	uint64_t until = clock_monotonic_ms() + TELLER_REST_MS;

	while (listen_to(listener, "audit", -1) < 0) {
		if (clock_monotonic_ms() > until || is_orphaned(listener->stop))
			return;
		(void)nanosleep(&pause, NULL);
	}
}

/* ---- the end of a run that was killed ---- */

/* Control does so itself, unless it is another than the run knew. */
static void end_session(const char *session)
{
	const struct timespec pause = {.tv_nsec = TELLER_RETRY_MS * 1000000};
	uint64_t until = clock_monotonic_ms() + TELLER_END_MS;
	struct client client;
	struct err err;

	while (clock_monotonic_ms() < until) {
		if (client_open_within(&client, TELLER_CONNECT_MS, &err) == 0) {
			int ended =
				gateway_end(&client, session, "ended", &err);

			client_close(&client);
			if (ended == 0 || err.code == ERR_MISSING)
				return;
		}
		(void)nanosleep(&pause, NULL);
	}
}

/* ---- the process ---- */

/* What the sandbox's supervisor has open ends with it alone. */
static void close_others(int one, int other)
{
	unsigned low = (unsigned)(one < other ? one : other);
	unsigned high = (unsigned)(one < other ? other : one);

	if (low > STDERR_FILENO + 1)
		(void)close_range(STDERR_FILENO + 1, low - 1, 0);
	if (high > low + 1)
		(void)close_range(low + 1, high - 1, 0);
	(void)close_range(high + 1, ~0U, 0);
}

/* Who reads what the command prints does not wait for us. */
static void leave_standard(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	(void)dup2(null, STDIN_FILENO);
	(void)dup2(null, STDOUT_FILENO);
	(void)close(null);
}

/* Rows as they are stored, until the command has ended; then, asked for
 * once, those that were not stored by then. */
_Noreturn static void tell_all(struct listener *listener, pid_t run)
{
	int stop = listener->stop;
	int events = listener->events.fd;
	static const int not_for_us[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM,
					 SIGPIPE};
	/* Not restarted: it ends a write. */
	const struct sigaction ticked = {.sa_handler = do_nothing};

	for (size_t i = 0; i < ARRAY_SIZE(not_for_us); i++)
		(void)signal(not_for_us[i], SIG_IGN);
	(void)sigaction(SIGALRM, &ticked, NULL);
	close_others(stop, events >= 0 ? events : stop);
	leave_standard();
	follow(listener);
	if (is_orphaned(stop)) {
		sandbox_sweep(run);
		end_session(listener->session);
	} else {
		tell_rest(listener);
	}
	_exit(0);
}

int teller_start(struct teller *teller, const char *session, FILE *events,
		 const struct policy_strings *quiet, struct err *err)
{
	struct listener listener = {.session = session, .quiet = quiet};
	pid_t run = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_system(err, "pipe");
	listener.stop = ends[0];
	listener.told = (struct outlet){STDERR_FILENO, ends[0], 0};
	listener.events =
		(struct outlet){events ? fileno(events) : -1, ends[0], 0};
	teller->pid = fork();
	if (teller->pid == 0)
		tell_all(&listener, run);
	(void)close(ends[0]);
	teller->stop = ends[1];
	if (teller->pid > 0)
		return 0;
	(void)err_system(err, "fork");
	(void)close(ends[1]);
	teller->pid = 0;
	return -1;
}

void teller_stop(struct teller *teller)
{
	if (teller->pid <= 0)
		return;
	if (write(teller->stop, "", 1) == 1)
		reap_within(teller->pid, TELLER_LAST_MS);
	else
		reap_within(teller->pid, 0);
	(void)close(teller->stop);
	teller->pid = 0;
}
