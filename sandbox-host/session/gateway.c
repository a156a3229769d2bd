#include "sandbox-host/session/gateway.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "gateway/flow/messages.h"
#include "gateway/flow/run_config.h"
#include "sandbox-host/session/dirs.h"

#define POLL_MS		  10
#define OTHER_START_MS	  2000
#define ATTACH_TIMEOUT_MS 30000 /* 200 at once on a busy machine */
#define TERMS_TIMEOUT_MS  2000
#define ATTACH_CONNECT_S  10
#define TOLD_PER_SECOND	  1000
#define BUSY_TRY_MS	  50
#define TOO_MANY_JUST_NOW 429
#define LINE_MAX_BYTES	  256

/* ---- start one ---- */

int gateway_find_program(const char *name, char path[PATH_MAX], struct err *err)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;
	int used;

	if (len < 0)
		return err_system(err, "read /proc/self/exe");
	self[len] = '\0';
	slash = strrchr(self, '/');
	*slash = '\0';
	used = snprintf(path, PATH_MAX, "%s/../libexec/sallyport/%s", self,
			name);
	/* A process of ours is there itself. */
	if (used > 0 && used < PATH_MAX && access(path, X_OK) < 0)
		used = snprintf(path, PATH_MAX, "%s/%s", self, name);
	if (used < 0 || used >= PATH_MAX || access(path, X_OK) < 0)
		return err_set(err, ERR_MISSING, "there is no %s", path);
	return 0;
}

static int find_gateway(char path[PATH_MAX], struct err *err)
{
	if (gateway_find_program("sallyport-gateway", path, err) < 0)
		return err_set(err, ERR_MISSING,
			       "no gateway runs, and there is no %s to start",
			       path);
	return 0;
}

struct start {
	char path[PATH_MAX];
	char run[PATH_MAX];
	char config[PATH_MAX]; /* "": the default, if it is there */
	char state[PATH_MAX];  /* "": the one that config names */
	char log[PATH_MAX + 16];
	off_t said; /* what stood in the log before */
};

static void exec_gateway(const struct start *start)
{
	const char *words[9] = {"sallyport-gateway", "--exit-when-idle",
				"--run", start->run};
	int out = open(start->log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW,
		       0600);
	int null = open("/dev/null", O_RDWR);
	size_t count = 4;
	int done;

	if (start->config[0]) {
		words[count++] = "--config";
		words[count++] = start->config;
	}
	if (start->state[0]) {
		words[count++] = "--state";
		words[count++] = start->state;
	}

	/* Its own session: a Ctrl-C here is for the command inside. */
	if (out < 0 || null < 0 || setsid() < 0)
		_exit(126);
	done = dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	       dup2(out, STDERR_FILENO) < 0 || close_range(3, ~0U, 0) < 0;
	if (!done)
		(void)execv(start->path, (char *const *)(uintptr_t)words);
	_exit(127);
}

/* A directory in /tmp must be ours alone. */
static int make_run_dir(const char *run, struct err *err)
{
	struct stat info;

	if (mkdir(run, 0700) < 0 && errno != EEXIST)
		return err_system(err, "make directory %s", run);
	if (lstat(run, &info) == 0 && S_ISDIR(info.st_mode) &&
	    info.st_uid == getuid())
		return 0;
	return err_set(err, ERR_DENIED,
		       "no gateway answers in %s, which is no directory of "
		       "this user: name another in SALLYPORT_RUN",
		       run);
}

/* Of the gateway before: what it was told, or what the file says that was named
 * for it; unless this environment says another. */
static int choose_state(const struct run_config *before, struct start *start)
{
	bool is_named =
		before->file[0] && strcmp(before->file, CONFIG_DEFAULT) != 0;
	bool is_ours = getenv("SALLYPORT_STATE") != NULL;

	start->state[0] = '\0';
	if (!is_ours && before->state[0])
		(void)snprintf(start->state, sizeof(start->state), "%s",
			       before->state);
	else if (is_ours || !is_named)
		return session_state_dir(start->state, sizeof(start->state));
	return 0;
}

static int choose(struct start *start, struct err *err)
{
	auto_type(run_config_release) struct run_config before = {0};

	if (run_config_find(start->run, &before, err) < 0)
		return -1;
	(void)snprintf(start->config, sizeof(start->config), "%s", before.file);
	return choose_state(&before, start) < 0
		       ? err_set(err, ERR_TOO_LARGE, "a path is too long")
		       : 0;
}

static int prepare(struct start *start, struct err *err)
{
	struct stat info;

	if (find_gateway(start->path, err) < 0)
		return -1;
	if (session_run_dir(start->run, sizeof(start->run)) < 0)
		return err_set(err, ERR_TOO_LARGE, "a path is too long");
	if (make_run_dir(start->run, err) < 0 || choose(start, err) < 0)
		return -1;
	(void)snprintf(start->log, sizeof(start->log), "%s/gateway.log",
		       start->run);
	start->said = stat(start->log, &info) == 0 ? info.st_size : 0;
	return 0;
}

/* Its pid, or -1. */
static pid_t start_gateway(struct start *start, struct err *err)
{
	pid_t child;

	if (prepare(start, err) < 0)
		return -1;
	child = fork();
	if (child < 0)
		return err_system(err, "start the gateway");
	if (child == 0)
		exec_gateway(start);
	return child;
}

/* The last line of what it said since, without the time of a log's line; ""
 * when it said nothing. */
static void read_last_line(const struct start *start, char line[LINE_MAX_BYTES])
{
	auto_fd int fd = open(start->log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	off_t at = size - (LINE_MAX_BYTES - 1);
	char *from, *message;
	ssize_t len = 0;

	if (at < start->said)
		at = start->said;
	if (at < size)
		len = pread(fd, line, LINE_MAX_BYTES - 1, at);
	line[len > 0 ? len : 0] = '\0';
	while (len > 0 && line[len - 1] == '\n')
		line[--len] = '\0';
	from = strrchr(line, '\n');
	from = from ? from + 1 : line;
	message = strstr(from, " msg=");
	from = message ? message + strlen(" msg=") : from;
	memmove(line, from, strlen(from) + 1);
}

static int tell_no_answer(const struct start *start, struct err *err)
{
	char line[LINE_MAX_BYTES];

	read_last_line(start, line);
	return err_set(err, ERR_CLOSED,
		       "the gateway that was started does not answer (see %s)"
		       "%s%s",
		       start->log, line[0] ? ": " : "", line);
}

static bool is_run_held(const struct start *start)
{
	char lock[PATH_MAX + 8];

	(void)snprintf(lock, sizeof(lock), "%s/lock", start->run);
	return session_is_held(lock);
}

/* One of root's that just starts is the gateway for all: its guardrail and its
 * secrets are not in one of our own. */
static int open_other(struct client *client, struct err *err)
{
	const struct timespec wait = {.tv_nsec = POLL_MS * 1000000};
	uint64_t until = clock_monotonic_ms() + SESSION_START_MAX_MS;

	while (client_open(client, err) < 0) {
		if (err->code != ERR_CLOSED || !session_just_taken() ||
		    clock_monotonic_ms() >= until)
			return -1;
		(void)nanosleep(&wait, NULL);
	}
	return 0;
}

int gateway_open(struct client *client, struct err *err)
{
	const struct timespec wait = {.tv_nsec = POLL_MS * 1000000};
	uint64_t until =
		clock_monotonic_ms() + GATEWAY_STOP_MAX_MS + GATEWAY_START_MS;
	struct start start;
	pid_t child;

	if (open_other(client, err) == 0)
		return 0;
	if (err->code != ERR_CLOSED)
		return -1;
	child = start_gateway(&start, err);
	if (child < 0)
		return -1;
	while (clock_monotonic_ms() < until) {
		(void)nanosleep(&wait, NULL);
		if (client_open(client, err) == 0)
			return 0;
		/* Somebody else's may have been there first, and then it has
		 * the directory. */
		if (child > 0 && waitpid(child, NULL, WNOHANG) == child) {
			until = clock_monotonic_ms() +
				(is_run_held(&start) ? OTHER_START_MS : 0);
			child = 0;
		}
	}
	return tell_no_answer(&start, err);
}

/* ---- the session ---- */

static void add_permissions(json_t *body, const char *const *permissions)
{
	json_t *list = json_array();

	for (; *permissions; permissions++)
		(void)json_array_append_new(list, json_string(*permissions));
	(void)json_object_set_new(body, "permissions", list);
}

int gateway_ask_create(struct client *client,
		       const struct session_request *request, struct err *err)
{
	json_t *body = json_pack(
		"{s:s%, s:s*, s:s*, s:s*, s:s*, s:b, s:b}", "policy",
		request->policy.data ? (const char *)request->policy.data : "",
		request->policy.len, "repo", request->repo, "branch",
		request->branch, "again", request->again, "lease",
		request->lease, "hold", request->holds, "proxy",
		request->has_proxy);
	auto_free char *text = NULL;
	struct client_request call = {
		.method = "POST",
		.path = "/v1/sessions",
		.type = "application/json",
	};

	if (body && request->ttl_s)
		(void)json_object_set_new(body, "ttl_s",
					  json_integer(request->ttl_s));
	if (body && request->permissions)
		add_permissions(body, request->permissions);
	text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	json_decref(body);
	if (!text)
		return err_set(err, ERR_INVALID,
			       "the policy or a name is not UTF-8");
	call.body = bytes_str(text);
	return client_send(client, &call, err);
}

int gateway_take_created(struct client *client, struct reply *reply,
			 struct err *err)
{
	if (client_receive(client, "POST", reply, err) < 0)
		return -1;
	return reply_check(reply, err);
}

bool gateway_wait_turn(struct reply *reply, uint64_t until_ms)
{
	const struct timespec wait = {.tv_nsec = BUSY_TRY_MS * 1000000L};

	if (reply->status != TOO_MANY_JUST_NOW ||
	    clock_monotonic_ms() >= until_ms)
		return false;
	reply_release(reply);
	*reply = (struct reply){0};
	(void)nanosleep(&wait, NULL);
	return true;
}

int gateway_end(struct client *client, const char *id, const char *reason,
		struct err *err)
{
	char path[256];
	const struct client_request call = {.method = "DELETE", .path = path};
	auto_type(reply_release) struct reply reply = {0};

	(void)snprintf(path, sizeof(path), "/v1/sessions/%s?reason=%s", id,
		       reason);
	if (client_call(client, &call, &reply, err) < 0)
		return -1;
	return reply_check(&reply, err);
}

/* ---- the attach channel ---- */

static int connect_attach(struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char run[sizeof(address.sun_path) - 16];
	const struct timeval timeout = {.tv_sec = ATTACH_CONNECT_S};
	auto_fd int fd = -1;

	if (session_run_dir(run, sizeof(run)) < 0)
		return err_set(err, ERR_TOO_LARGE,
			       "the run directory's path "
			       "is too long for a socket");
	(void)snprintf(address.sun_path, sizeof(address.sun_path),
		       "%s/attach.sock", run);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) <
		    0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) <
		    0 ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return err_system(err, "connect to %s", address.sun_path);
	return take_fd(&fd);
}

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct attachment *attachment = owner;

	(void)rpc;
	(void)why;
	attachment->rpc = NULL;
	if (attachment->on_lost)
		attachment->on_lost(attachment->owner);
}

static void answer_changed(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	const struct attachment *attachment = owner;

	(void)ticket;
	(void)message;
	(void)fd;
	if (attachment->on_changed)
		attachment->on_changed(attachment->owner);
}

static void answer_terms(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	struct attachment *attachment = owner;

	(void)ticket;
	(void)message;
	(void)fd;
	if (attachment->on_terms)
		attachment->on_terms(attachment->owner);
}

static int open_on(struct attachment *attachment, struct err *err)
{
	static const struct rpc_permit permits[] = {
		{MSG_TERMS_CHANGED, &wire_empty_schema, answer_terms, false,
		 TOLD_PER_SECOND},
		{MSG_SESSION_CHANGED, &msg_session_hold_schema, answer_changed,
		 false, TOLD_PER_SECOND},
	};
	const struct rpc_config config = {.permits = permits,
					  .permit_count = ARRAY_SIZE(permits),
					  .owner = attachment,
					  .on_closed = on_closed};

	attachment->fd = connect_attach(err);
	if (attachment->fd >= 0)
		attachment->rpc =
			rpc_new(attachment->loop, attachment->fd, &config, err);
	if (attachment->rpc)
		return 0;
	attachment_close(attachment);
	return -1;
}

int attachment_open(struct attachment *attachment, struct err *err)
{
	*attachment = (struct attachment){.loop = io_loop_new(err),
					  .has_own_loop = true};
	return attachment->loop ? open_on(attachment, err) : -1;
}

int attachment_open_on(struct attachment *attachment, struct io_loop *loop,
		       void (*on_lost)(void *owner), void *owner,
		       struct err *err)
{
	*attachment = (struct attachment){
		.loop = loop, .on_lost = on_lost, .owner = owner};
	return open_on(attachment, err);
}

void attachment_close(struct attachment *attachment)
{
	struct err err;

	if (attachment->rpc)
		rpc_close(attachment->rpc);
	if (attachment->has_own_loop) {
		/* The channel is freed at the end of a turn. */
		(void)io_loop_turn(attachment->loop, 0, &err);
		io_loop_free(attachment->loop);
	}
	*attachment = (struct attachment){0};
}

static void on_given(struct rpc_outcome *outcome, void *owner)
{
	struct attachment *attachment = owner;

	/* One that was closed meanwhile waits for nothing. */
	if (attachment->waiting > 0)
		attachment->waiting--;
	if (outcome->err && attachment->err.code == ERR_NONE)
		attachment->err = *outcome->err;
}

static int ask(struct attachment *attachment, const struct rpc_call *wanted,
	       struct err *err)
{
	struct rpc_call call = *wanted;

	call.reply_schema = &wire_empty_schema;
	call.timeout_ms = ATTACH_TIMEOUT_MS;
	call.on_outcome = on_given;
	call.owner = attachment;
	if (!attachment->rpc)
		return err_set(err, ERR_CLOSED, "the gateway hung up");
	if (rpc_ask(attachment->rpc, &call, NULL, err) < 0)
		return -1;
	attachment->waiting++;
	return 0;
}

static int give_one(struct attachment *attachment, const char *id,
		    unsigned kind, int fd, struct err *err)
{
	const struct msg_attach message = {
		.id = bytes_str(id),
		.kind = (uint8_t)kind,
	};
	const struct rpc_call call = {
		.type = MSG_SESSION_ATTACH,
		.schema = &msg_attach_schema,
		.message = &message,
		.fd = fd,
	};

	return ask(attachment, &call, err);
}

int attachment_hold(struct attachment *attachment, const char *id,
		    struct err *err)
{
	const struct msg_session_hold message = {.id = bytes_str(id)};
	const struct rpc_call call = {
		.type = MSG_SESSION_HOLD,
		.schema = &msg_session_hold_schema,
		.message = &message,
		.fd = -1,
	};

	return ask(attachment, &call, err);
}

int attachment_ask_terms(struct attachment *attachment,
			 rpc_outcome_fn *on_outcome, void *owner,
			 struct err *err)
{
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_SESSION_TERMS,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &msg_session_terms_schema,
		.timeout_ms = TERMS_TIMEOUT_MS,
		.on_outcome = on_outcome,
		.owner = owner,
	};

	if (!attachment->rpc)
		return err_set(err, ERR_CLOSED, "the gateway hung up");
	return rpc_ask(attachment->rpc, &call, NULL, err);
}

bool attachment_is_open(struct attachment *attachment)
{
	struct err err;

	if (!attachment->loop || !attachment->rpc)
		return false;
	return io_loop_turn(attachment->loop, 0, &err) == 0 && attachment->rpc;
}

int attachment_wait(struct attachment *attachment, struct err *err)
{
	while (attachment->waiting > 0)
		if (io_loop_turn(attachment->loop, 100, err) < 0)
			return -1;
	if (attachment->err.code == ERR_NONE)
		return 0;
	*err = attachment->err;
	return err_prefix(err, "attach the listeners");
}

int attachment_offer(struct attachment *attachment, const char *id,
		     const struct sandbox_listeners *listeners, struct err *err)
{
	const struct {
		int fd;
		unsigned kind;
	} table[] = {
		{listeners->tcp4, LISTENER_TCP},
		{listeners->tcp6, LISTENER_TCP},
		{listeners->udp, LISTENER_DNS_UDP},
		{listeners->tcp_dns, LISTENER_DNS_TCP},
	};
	int result = 0;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (result == 0 && table[i].fd >= 0)
			result = give_one(attachment, id, table[i].kind,
					  table[i].fd, err);
		if (table[i].fd >= 0)
			(void)close(table[i].fd);
	}
	return result;
}

int attachment_give(struct attachment *attachment, const char *id,
		    const struct sandbox_listeners *listeners, struct err *err)
{
	return attachment_offer(attachment, id, listeners, err) < 0
		       ? -1
		       : attachment_wait(attachment, err);
}
