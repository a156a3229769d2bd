#include "sandbox-host/reporter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/plain.h"
#include "policies/remedy.h"
#include "sandbox-host/control.h"
#include "sandbox-host/notify.h"
#include "sandbox-host/outside.h"
#include "sandbox-host/peers.h"

#define CHANNEL	      (STDERR_FILENO + 1) /* all that it has at first */
#define RULE_BYTES    32
#define WORDS_AT_ONCE 64
#define FINISH_MS     1000

/* What it says; of the text as much as there is, with its end. */
struct word {
	uint32_t constraint;
	char rule[RULE_BYTES];
	char text[REPORT_TEXT_MAX];
};

/* ---- its process ---- */

static void say(void *owner, const struct sandbox_event *event)
{
	const int *channel = owner;
	struct word word = {.constraint = event->constraint};

	(void)snprintf(word.rule, sizeof(word.rule), "%s", event->rule);
	(void)snprintf(word.text, sizeof(word.text), "%s", event->text);
	(void)send(*channel, &word,
		   offsetof(struct word, text) + strlen(word.text) + 1,
		   MSG_NOSIGNAL);
}

/* Which processes are ours. -1: nobody listens any more. */
static int learn(struct notify *notify)
{
	struct control_message message;
	struct err err;

	if (control_receive(CHANNEL, &message, NULL, NULL, &err) < 0)
		return -1;
	notify_know(notify, message.pid, message.value != 0);
	return 0;
}

_Noreturn static void serve(const struct plan *plan, pid_t init, int outside)
{
	const struct control_message ready = {.kind = CONTROL_READY};
	int channel = CHANNEL, fds[1 + REPORTER_FDS_MAX];
	size_t count = ARRAY_SIZE(fds);
	struct notify notify;
	struct report report;
	struct err err;

	report_open(&report, say, &channel);
	if (control_send(CHANNEL, &ready, NULL, 0, &err) < 0 ||
	    control_expect(CHANNEL, CONTROL_NOTIFY, fds, &count, &err) < 0)
		_exit(0);
	if (count < 2 ||
	    notify_open(&notify, fds[1], fds[0], plan, &report, &err) < 0)
		_exit(1);
	notify.init = init;
	notify.peers = (struct peers){
		.inside = count > 2 ? fds[2] : -1,
		.outside = outside,
		.init = init,
	};
	if (peers_begin(&notify.peers, &err) < 0)
		_exit(1);
	for (;;) {
		struct pollfd waits[] = {
			{.fd = CHANNEL, .events = POLLIN},
			{.fd = notify.fd, .events = POLLIN},
		};

		if (poll(waits, ARRAY_SIZE(waits), -1) < 0)
			continue;
		/* First all that must be known of who asks. */
		if (waits[0].revents && learn(&notify) < 0)
			_exit(0);
		if (waits[0].revents)
			continue;
		if (waits[1].revents & POLLIN)
			(void)notify_serve(&notify);
		else if (waits[1].revents)
			break;
	}
	report_flush(&report);
	_exit(0);
}

/* Nothing of ours but its end of the channel, and no signal: what is typed at
 * the command's terminal is not for it. */
static int leave_all(int *channel, struct err *err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t all;

	if (null < 0)
		return err_system(err, "reporter: open /dev/null");
	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
		return err_system(err, "reporter: block signals");
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (dup2(null, fd) < 0)
			return err_system(err, "reporter: leave descriptors");
	if (*channel != CHANNEL && dup2(*channel, CHANNEL) < 0)
		return err_system(err, "reporter: keep its channel");
	*channel = CHANNEL;
	if (close_range(CHANNEL + 1, ~0u, 0) < 0)
		return err_system(err, "reporter: close descriptors");
	return 0;
}

static int die_with_caller(struct err *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_system(err, "reporter: PR_SET_PDEATHSIG");
	return 0;
}

_Noreturn static void become(int channel, const struct plan *plan,
			     const struct identity *identity, pid_t init)
{
	struct control_message failed = {.kind = CONTROL_FAILED};
	bool is_root = plan->identity.is_privileged;
	int peers = -1;

	if (leave_all(&channel, &failed.err) == 0 &&
	    peers_open(&peers, &failed.err) == 0 &&
	    outside_confine_reporter(is_root ? identity->host_uid : geteuid(),
				     is_root ? identity->host_gid : getegid(),
				     &failed.err) == 0 &&
	    die_with_caller(&failed.err) == 0)
		serve(plan, init, peers);
	(void)control_send(channel, &failed, NULL, 0, NULL);
	_exit(1);
}

/* ---- ours ---- */

int reporter_start(struct reporter *reporter, const struct plan *plan,
		   const struct identity *identity, pid_t init, struct err *err)
{
	int ends[2];

	if (control_pair(ends, err) < 0)
		return -1;
	reporter->pid = fork();
	if (reporter->pid == 0)
		become(ends[1], plan, identity, init);
	(void)close(ends[1]);
	reporter->fd = ends[0];
	if (reporter->pid > 0)
		return 0;
	(void)err_system(err, "reporter: fork");
	(void)close(reporter->fd);
	reporter->fd = -1;
	return -1;
}

int reporter_wait(const struct reporter *reporter, struct err *err)
{
	return control_expect(reporter->fd, CONTROL_READY, NULL, NULL, err);
}

int reporter_serve(struct reporter *reporter, int root, const int *fds,
		   size_t count, struct err *err)
{
	const struct control_message message = {.kind = CONTROL_NOTIFY};
	int all[1 + REPORTER_FDS_MAX] = {root};
	int result;

	assert(count <= REPORTER_FDS_MAX);
	memcpy(all + 1, fds, count * sizeof(*fds));
	result = control_send(reporter->fd, &message, all, 1 + count, err);
	for (size_t i = 0; i <= count; i++)
		(void)close(all[i]);
	/* From now on nobody waits for it. */
	if (result == 0 && fcntl(reporter->fd, F_SETFL, O_NONBLOCK) < 0)
		result = err_system(err, "reporter: prepare");
	return result;
}

/* Of the rules that it judges by. NULL: of none. */
static const char *rule_of(const char *text)
{
	static const char *const rules[] = {
		"",	      RULE_WRITE,    RULE_PROTECT, RULE_HIDE,
		RULE_SOCKETS, RULE_SYSCALLS, RULE_SET_ID};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (!strcmp(text, rules[i]))
			return rules[i];
	return NULL;
}

static void tell(struct report *report, struct word *word, size_t len)
{
	struct sandbox_event event = {.text = word->text};

	if (len <= offsetof(struct word, text) ||
	    ((char *)word)[len - 1] != '\0' ||
	    (word->constraint != CONSTRAINT_none &&
	     word->constraint != CONSTRAINT_filesystem &&
	     word->constraint != CONSTRAINT_syscall))
		return;
	/* As report.c says it. */
	plain_text(word->text);
	word->rule[RULE_BYTES - 1] = '\0';
	event.constraint = (enum constraint)word->constraint;
	event.rule = rule_of(word->rule);
	if (event.rule)
		report_pass(report, &event);
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

bool reporter_hear(struct reporter *reporter, struct report *report)
{
	struct word word;
	ssize_t len = 1;

	for (int i = 0; i < WORDS_AT_ONCE && len > 0; i++) {
		len = recv(reporter->fd, &word, sizeof(word), 0);
		if (len > 0)
			tell(report, &word, (size_t)len);
	}
	if (len > 0 || (len < 0 && (errno == EAGAIN || errno == EINTR)))
		return true;
	(void)close(reporter->fd);
	reporter->fd = -1;
	/* It ends, or has closed its end and would be waited for: one that
	 * ends by itself does so as it did. */
	(void)kill(reporter->pid, SIGKILL);
	if (wait_for(reporter->pid) != 0)
		report_say(report, "the reporter has ended before its time: "
				   "calls that it judges fail");
	return false;
}

void reporter_finish(struct reporter *reporter, struct report *report)
{
	struct pollfd more = {.fd = reporter->fd, .events = POLLIN};
	uint64_t last = clock_monotonic_ms() + FINISH_MS;

	while (reporter->fd >= 0 && clock_monotonic_ms() < last &&
	       poll(&more, 1, FINISH_MS) > 0)
		(void)reporter_hear(reporter, report);
}

void reporter_know(const struct reporter *reporter, pid_t inside, bool is_ours)
{
	struct control_message message = {
		.kind = CONTROL_STARTED, .pid = inside, .value = is_ours};

	/* It reads faster than processes of ours begin. */
	if (reporter->fd >= 0)
		(void)control_send(reporter->fd, &message, NULL, 0, NULL);
}

void reporter_end(struct reporter *reporter)
{
	if (reporter->fd < 0)
		return;
	(void)close(reporter->fd);
	reporter->fd = -1;
	(void)kill(reporter->pid, SIGKILL);
	(void)wait_for(reporter->pid);
}
