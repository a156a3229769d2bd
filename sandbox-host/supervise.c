#include "sandbox-host/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "policies/remedy.h"
#include "sandbox-host/control.h"
#include "sandbox-host/handle.h"

static const int forwarded[] = {SIGINT,	 SIGTERM, SIGHUP,   SIGQUIT,
				SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};

enum slot {
	SLOT_CONTROL,
	SLOT_REPORTER,
	SLOT_SIGNALS,
	SLOT_TERMINAL,
	SLOT_INPUT,
	SLOT_DISK,
	SLOT_NEWS,
	SLOT_MAX
};

/* One wait, while it lasts. */
struct watch {
	struct sandbox *sandbox;
	bool has_ended;	 /* init is gone */
	bool has_status; /* the command's exit code is known */
	int exit_code;
};

static int exit_code_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static void serve_control(struct watch *watch)
{
	struct sandbox *sandbox = watch->sandbox;
	struct control_message message;

	if (control_receive(sandbox->control, &message, NULL, NULL, NULL) < 0) {
		watch->has_ended = true;
		return;
	}
	if (message.kind == CONTROL_EXITED && !watch->has_status) {
		watch->has_status = true;
		watch->exit_code = exit_code_of(message.value);
		limits_report_end(&sandbox->limits, message.value,
				  &sandbox->report);
	}
	if (message.kind == CONTROL_FAILED) {
		report_say(&sandbox->report, "%s", message.err.text);
		watch->has_status = true;
		watch->exit_code =
			message.value ? message.value : SANDBOX_EXIT_FAILED;
	}
}

static void serve_signals(struct watch *watch)
{
	struct control_message message = {.kind = CONTROL_SIGNAL};
	struct signalfd_siginfo info;

	if (read(watch->sandbox->signals, &info, sizeof(info)) != sizeof(info))
		return;
	/* A pty tells its foreground group by itself. */
	if (info.ssi_signo == SIGWINCH &&
	    watch->sandbox->terminal.master >= 0) {
		terminal_resize(&watch->sandbox->terminal);
		return;
	}
	message.value = (int)info.ssi_signo;
	(void)control_send(watch->sandbox->control, &message, NULL, 0, NULL);
}

/* Kill all of it. */
static void end(struct watch *watch)
{
	watch->has_status = true;
	watch->exit_code = 128 + SIGKILL;
	(void)syscall(SYS_pidfd_send_signal, watch->sandbox->pidfd, SIGKILL,
		      NULL, 0);
}

/* How long to wait at most, for poll; -1: for ever. Ends the sandbox when
 * its time is over. */
static int check_time(struct watch *watch)
{
	struct sandbox *sandbox = watch->sandbox;
	uint64_t used = clock_monotonic_ms() - sandbox->start_ms;

	if (!sandbox->time_ms || watch->has_status)
		return -1;
	if (used < sandbox->time_ms) {
		uint64_t left = sandbox->time_ms - used;

		return left > INT32_MAX ? INT32_MAX : (int)left;
	}
	report_deny(&sandbox->report, CONSTRAINT_resource_limit, RULE_TIME,
		    "the command was ended by resource_limit (time: %llu ms)",
		    (unsigned long long)sandbox->time_ms);
	end(watch);
	return -1;
}

static void serve_disk(struct watch *watch)
{
	struct sandbox *sandbox = watch->sandbox;
	struct err words;

	disk_watch_take(&sandbox->disk, &sandbox->report, &words);
	end(watch);
}

static int news_fd(const struct sandbox *sandbox)
{
	const struct sandbox_news *news = &sandbox->news;

	return news->fd_of ? news->fd_of(news->owner) : -1;
}

static void serve_news(struct watch *watch)
{
	struct sandbox *sandbox = watch->sandbox;
	struct sandbox_news *news = &sandbox->news;
	char why[REPORT_TEXT_MAX];

	if (watch->has_status || news->on_news(news->owner, why, sizeof(why)))
		return;
	report_deny(&sandbox->report, CONSTRAINT_filesystem, RULE_SECRETS,
		    "the command was ended by filesystem (%s)", why);
	end(watch);
}

static void turn(struct watch *watch)
{
	struct sandbox *sandbox = watch->sandbox;
	int timeout = check_time(watch);
	struct pollfd fds[SLOT_MAX] = {
		[SLOT_CONTROL] = {.fd = sandbox->control, .events = POLLIN},
		[SLOT_REPORTER] = {.fd = sandbox->reporter.fd,
				   .events = POLLIN},
		[SLOT_SIGNALS] = {.fd = sandbox->signals, .events = POLLIN},
		[SLOT_DISK] = {.fd = sandbox->disk.fd, .events = POLLIN},
		[SLOT_NEWS] = {.fd = watch->has_status ? -1 : news_fd(sandbox),
			       .events = POLLIN},
	};

	terminal_poll(&sandbox->terminal, &fds[SLOT_TERMINAL]);
	if (poll(fds, SLOT_MAX, timeout) < 0)
		return;
	if (fds[SLOT_REPORTER].revents)
		(void)reporter_hear(&sandbox->reporter, &sandbox->report);
	if (fds[SLOT_SIGNALS].revents)
		serve_signals(watch);
	terminal_serve(&sandbox->terminal, &fds[SLOT_TERMINAL]);
	if (fds[SLOT_CONTROL].revents)
		serve_control(watch);
	if (fds[SLOT_DISK].revents)
		serve_disk(watch);
	if (fds[SLOT_NEWS].revents)
		serve_news(watch);
}

int supervise_begin(struct sandbox *sandbox, struct err *err)
{
	struct sigaction action;
	sigset_t set;

	sigemptyset(&set);
	/* What the caller ignores (nohup) is not for the command either. */
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		if (sigaction(forwarded[i], NULL, &action) == 0 &&
		    action.sa_handler != SIG_IGN)
			sigaddset(&set, forwarded[i]);
	if (sigprocmask(SIG_BLOCK, &set, &sandbox->old_mask) < 0)
		return err_system(err, "wait: block signals");
	sandbox->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (sandbox->signals >= 0)
		return 0;
	err_system(err, "wait: watch signals");
	(void)sigprocmask(SIG_SETMASK, &sandbox->old_mask, NULL);
	return -1;
}

void supervise_end(struct sandbox *sandbox)
{
	if (sandbox->signals < 0)
		return;
	(void)close(sandbox->signals);
	sandbox->signals = -1;
	(void)sigprocmask(SIG_SETMASK, &sandbox->old_mask, NULL);
}

void sandbox_listen(struct sandbox *sandbox, const struct sandbox_news *news)
{
	sandbox->news = *news;
}

int sandbox_wait(struct sandbox *sandbox, int *exit_code, struct err *err)
{
	struct watch watch = {.sandbox = sandbox, .exit_code = 128 + SIGKILL};
	siginfo_t info;

	if (sandbox->signals < 0)
		return err_set(err, ERR_INVALID, "wait: nothing was started");
	while (!watch.has_ended)
		turn(&watch);
	reporter_finish(&sandbox->reporter, &sandbox->report);
	terminal_drain(&sandbox->terminal);
	terminal_close(&sandbox->terminal);
	while (waitid(P_PIDFD, (id_t)sandbox->pidfd, &info, WEXITED) < 0 &&
	       errno == EINTR)
		;
	sandbox->pid = -1;
	limits_report(&sandbox->limits, &sandbox->report);
	report_flush(&sandbox->report);
	supervise_end(sandbox);
	*exit_code = watch.exit_code;
	return 0;
}
