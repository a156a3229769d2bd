/*
 * Who reads HTTP starts no program: a process that is forked before there is a
 * token or a socket does, one program, each time it is asked. It reads no word
 * of a client's, and ends with who asks.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/mcp/web_parts.h"
#include "common/cleanup.h"
#include "common/confine.h"
#include "common/digest.h"

#define CHANNEL	 (STDERR_FILENO + 1)
#define ANSWER_S 10

enum wish {
	WISH_START, /* with the descriptor that is to be its 0 and 1 */
	WISH_KILL   /* all that still run */
};

/* A wish, or its answer: 0 with a pidfd, or an errno. */
struct word {
	int value;
	unsigned serial; /* an answer's: of its wish */
};

union room {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* ---- words ---- */

static int say(int channel, struct word word, int fd)
{
	struct iovec iov = {&word, sizeof(word)};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	union room room = {.bytes = {0}};

	if (fd >= 0) {
		message.msg_control = room.bytes;
		message.msg_controllen = sizeof(room.bytes);
		room.header.cmsg_level = SOL_SOCKET;
		room.header.cmsg_type = SCM_RIGHTS;
		room.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&room.header), &fd, sizeof(int));
	}
	return sendmsg(channel, &message, MSG_NOSIGNAL) == sizeof(word) ? 0
									: -1;
}

/* 0 and what was said; -1: nobody is there, or it was no word. *fd: -1, or
 * the caller's. */
static int hear(int channel, struct word *word, int *fd)
{
	struct iovec iov = {word, sizeof(*word)};
	union room room = {.bytes = {0}};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = room.bytes,
				 .msg_controllen = sizeof(room.bytes)};
	const struct cmsghdr *more;
	ssize_t len;

	*fd = -1;
	do {
		len = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
	} while (len < 0 && errno == EINTR);
	more = len > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (more && more->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(more), sizeof(int));
	return len == sizeof(*word) ? 0 : -1;
}

/* ---- the starter's process ---- */

/* Its standard input and output are `end`; of ours it has the rest. */
static int spawn(const struct web_config *config, int end, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int rc;

	(void)sigemptyset(&defaults);
	(void)sigaddset(&defaults, SIGPIPE);
	(void)sigaddset(&defaults, SIGTERM);
	(void)sigaddset(&defaults, SIGINT);
	(void)sigaddset(&defaults, SIGCHLD);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return ENOMEM;
	if (posix_spawnattr_init(&attributes) != 0) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return ENOMEM;
	}
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawnattr_setsigdefault(&attributes, &defaults);
	rc = posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&actions, end,
						      STDOUT_FILENO);
	if (rc == 0)
		rc = posix_spawn(pid, config->program, &actions, &attributes,
				 config->words, environ);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* The same, and *pidfd; an errno, and nothing runs. Until its pid is held it is
 * not let go: it would be another's. */
static int spawn_held(const struct web_config *config, int end, int *pidfd)
{
	pid_t pid;
	int rc;

	(void)signal(SIGCHLD, SIG_DFL);
	rc = spawn(config, end, &pid);
	if (rc == 0) {
		*pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		rc = *pidfd < 0 ? errno : 0;
		if (rc != 0) {
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, NULL, 0);
		}
	}
	(void)signal(SIGCHLD, SIG_IGN);
	/* What ended meanwhile. */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
	return rc;
}

/* A place for one more: that of one that has ended. -1: too many run. */
static int find_place(int pidfds[WEB_SESSIONS_MAX])
{
	for (int i = 0; i < WEB_SESSIONS_MAX; i++) {
		struct pollfd end = {.fd = pidfds[i], .events = POLLIN};

		if (pidfds[i] >= 0 && poll(&end, 1, 0) != 1)
			continue;
		if (pidfds[i] >= 0)
			(void)close(pidfds[i]);
		pidfds[i] = -1;
		return i;
	}
	return -1;
}

static void start_one(const struct web_config *config,
		      int pidfds[WEB_SESSIONS_MAX], unsigned serial, int end)
{
	int place = find_place(pidfds);
	int rc = place < 0 ? EAGAIN : 0;

	if (rc == 0)
		rc = spawn_held(config, end, &pidfds[place]);
	(void)say(CHANNEL, (struct word){rc, serial},
		  rc == 0 ? pidfds[place] : -1);
}

static void kill_all(const int pidfds[WEB_SESSIONS_MAX])
{
	for (size_t i = 0; i < WEB_SESSIONS_MAX; i++)
		if (pidfds[i] >= 0)
			(void)syscall(SYS_pidfd_send_signal, pidfds[i], SIGKILL,
				      NULL, 0);
}

_Noreturn static void serve(const struct web_config *config, int channel)
{
	static const int not_ours[] = {SIGINT, SIGTERM, SIGPIPE, SIGCHLD};
	int pidfds[WEB_SESSIONS_MAX];
	struct word wish;
	int fd;

	for (size_t i = 0; i < WEB_SESSIONS_MAX; i++)
		pidfds[i] = -1;
	/* What has ended is waited for by nobody: of SIGCHLD, too. */
	for (size_t i = 0; i < ARRAY_SIZE(not_ours); i++)
		(void)signal(not_ours[i], SIG_IGN);
	if ((channel != CHANNEL && dup2(channel, CHANNEL) < 0) ||
	    fcntl(CHANNEL, F_SETFD, FD_CLOEXEC) < 0 ||
	    close_range(CHANNEL + 1, ~0u, 0) < 0)
		_exit(1);
	while (hear(CHANNEL, &wish, &fd) == 0) {
		if (wish.value == WISH_START && fd >= 0)
			start_one(config, pidfds, wish.serial, fd);
		else if (wish.value == WISH_KILL)
			kill_all(pidfds);
		if (fd >= 0)
			(void)close(fd);
	}
	_exit(0);
}

/* ---- ours ---- */

int web_starter_open(struct web *web, struct err *err)
{
	const struct timeval patience = {.tv_sec = ANSWER_S};
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_system(err, "make a socket");
	web->starter_pid = fork();
	if (web->starter_pid == 0)
		serve(web->config, ends[1]);
	(void)close(ends[1]);
	web->starter = ends[0];
	if (web->starter_pid < 0 ||
	    setsockopt(web->starter, SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)) < 0)
		return err_system(err, "start a process");
	return 0;
}

/* An answer that comes after its time is nobody's: that session's input was
 * closed, and it ends. */
static int hear_of(const struct web *web, struct word *answer, int *fd)
{
	while (hear(web->starter, answer, fd) == 0) {
		if (answer->serial == web->starter_serial)
			return 0;
		if (*fd >= 0)
			(void)close(*fd);
	}
	return -1;
}

int web_starter_start(struct web *web, int end, struct err *err)
{
	struct word word = {WISH_START, ++web->starter_serial};
	int fd;

	if (say(web->starter, word, end) < 0 || hear_of(web, &word, &fd) < 0)
		return err_set(err, ERR_CLOSED,
			       "who starts sessions does not answer");
	if (word.value == 0 && fd >= 0)
		return fd;
	errno = word.value;
	return err_system(err, "run %s", web->config->program);
}

void web_starter_kill_all(const struct web *web)
{
	(void)say(web->starter, (struct word){WISH_KILL, 0}, -1);
}

void web_starter_close(struct web *web)
{
	if (web->starter < 0)
		return;
	(void)close(web->starter);
	web->starter = -1;
	while (waitpid(web->starter_pid, NULL, 0) < 0 && errno == EINTR)
		;
}

#ifdef SP_UNCONFINED
int web_confine(struct err *err)
{
	(void)err;
	return 0;
}
#else
int web_confine(struct err *err)
{
	/* Beside the base set: connections, a pair for each session, and the
	 * end of the starter and of the loop. */
	static const char *const calls[] = {
		"accept4",    "getsockname",  "getsockopt",	"setsockopt",
		"fstat",      "shutdown",     "socketpair",	"wait4",
		"newfstatat", "rt_sigaction", "rt_sigprocmask", NULL,
	};
	const struct confine_spec spec = {.name = "mcp", .syscalls = calls};
	size_t seed = 0;

	/* jansson would open /dev/urandom for it. */
	while (seed == 0)
		random_bytes(&seed, sizeof(seed));
	json_object_seed(seed);
	return confine(&spec, err);
}
#endif
