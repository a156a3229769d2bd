#include "cli/host.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/control.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/utf8.h"
#include "sandbox-host/session/dirs.h"

#define SOCKET_PATH_MAX	 sizeof(((struct sockaddr_un *)0)->sun_path)
#define TURN_MS		 100
#define WAITING_FIRST_MS 3000
#define WAITING_AGAIN_MS 30000

/* ---- the channel ---- */

/* There, and for us: root's own is for nobody else. */
static bool is_ours(char path[SOCKET_PATH_MAX], const char *dir)
{
	int len = snprintf(path, SOCKET_PATH_MAX, "%s/host.sock", dir);

	return len > 0 && (size_t)len < SOCKET_PATH_MAX &&
	       access(path, W_OK) == 0;
}

/* path: where it is, or would be (-1). */
static int find_socket(char path[SOCKET_PATH_MAX], struct err *err)
{
	const char *given = getenv("SALLYPORT_HOST");
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char dir[SOCKET_PATH_MAX], own[SOCKET_PATH_MAX];
	bool is_said;

	if (given && strlen(given) < SOCKET_PATH_MAX) {
		(void)snprintf(path, SOCKET_PATH_MAX, "%s", given);
		return 0;
	}
	if (session_run_dir(dir, sizeof(dir)) == 0 && is_ours(path, dir))
		return 0;
	/* An ordinary user's own, beside the host's gateway. */
	if (runtime)
		(void)snprintf(dir, sizeof(dir), "%s/sallyport", runtime);
	else
		(void)snprintf(dir, sizeof(dir), "/tmp/sallyport-%u", getuid());
	if (is_ours(own, dir)) {
		memcpy(path, own, sizeof(own));
		return 0;
	}
	is_said = getuid() == 0 || getenv("SALLYPORT_RUN");
	/* Who connects is told why not. */
	if (is_said && access(path, F_OK) == 0)
		return 0;
	if (!is_said)
		memcpy(path, own, sizeof(own));
	return err_set(err, ERR_CLOSED,
		       "sallyport-host does not run: there is no %s: start it, "
		       "or name its socket in SALLYPORT_HOST",
		       path);
}

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct host *host = owner;

	(void)rpc;
	(void)why;
	host->rpc = NULL;
}

/* The lock of the daemon whose socket that is: beside it, wherever it was said
 * to be. */
static void name_lock(const char *socket, char *path, size_t size)
{
	const char *slash = strrchr(socket, '/');
	int len = slash ? (int)(slash - socket + 1) : 0;

	(void)snprintf(path, size, "%.*shost.lock", len, socket);
}

/* lock: see control_wait(). */
static int open_now(struct host *host, char lock[SOCKET_PATH_MAX + NAME_MAX],
		    struct err *err)
{
	const struct rpc_config config = {.owner = host,
					  .on_closed = on_closed};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	auto_fd int fd = -1;
	int found, number;

	*host = (struct host){0};
	found = find_socket(address.sun_path, err);
	name_lock(address.sun_path, lock, SOCKET_PATH_MAX + NAME_MAX);
	if (found < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address,
			      sizeof(address)) < 0) {
		number = errno;
		return err_set(
			err, ERR_CLOSED,
			number == EACCES
				? "%s is its user's and root's alone (%s): "
				  "name "
				  "the socket of your own sallyport-host in "
				  "SALLYPORT_HOST"
				: "no sallyport-host answers at %s (%s): start "
				  "it, or name its socket in SALLYPORT_HOST",
			address.sun_path, strerror(number));
	}
	/* One that was named is believed. */
	if (!getenv("SALLYPORT_HOST") &&
	    session_check_peer(fd, address.sun_path, err) < 0)
		return -1;
	host->loop = io_loop_new(err);
	if (!host->loop)
		return -1;
	host->rpc = rpc_new(host->loop, take_fd(&fd), &config, err);
	return host->rpc ? 0 : -1;
}

int host_open(struct host *host, struct err *err)
{
	char lock[SOCKET_PATH_MAX + NAME_MAX];
	struct control_patience patience = {0};

	while (open_now(host, lock, err) < 0)
		if (!control_wait(&patience, lock, err))
			return -1;
	return 0;
}

void host_close(struct host *host)
{
	struct err err;

	if (host->rpc)
		rpc_close(host->rpc);
	if (!host->loop)
		return;
	/* The channel is freed at the end of a turn. */
	(void)io_loop_turn(host->loop, 0, &err);
	io_loop_free(host->loop);
	*host = (struct host){0};
}

/* ---- asking ---- */

struct asked {
	const struct host_call *call;
	bool is_done;
	int code;
};

static int code_of(const struct rpc_refusal *refusal)
{
	static const int codes[HOST_REFUSAL_MAX] = {
		[HOST_REFUSED] = EXIT_FAILED,
		[HOST_REFUSED_INVALID] = EXIT_INVALID,
		[HOST_REFUSED_MISSING] = EXIT_NOT_FOUND,
		[HOST_REFUSED_STATE] = EXIT_CONFLICT,
		[HOST_REFUSED_FULL] = EXIT_FAILED,
		[HOST_REFUSED_FORBIDDEN] = EXIT_NOT_PERMITTED,
		[HOST_REFUSED_UNSUPPORTED] = EXIT_FAILED,
		[HOST_REFUSED_UNREACHABLE] = EXIT_UNREACHABLE,
	};

	if (refusal->code == 0 || refusal->code >= HOST_REFUSAL_MAX)
		return EXIT_FAILED;
	return codes[refusal->code];
}

int host_outcome_code(const struct rpc_outcome *outcome)
{
	if (outcome->refusal)
		return cli_fail(code_of(outcome->refusal), "%.*s",
				BYTES_ARGS(outcome->refusal->detail));
	return outcome->err ? cli_fail_err(outcome->err) : EXIT_OK;
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct asked *asked = owner;

	asked->is_done = true;
	if (outcome->refusal || outcome->err)
		asked->code = host_outcome_code(outcome);
	else if (asked->call->take)
		asked->call->take(outcome->message, &outcome->fd,
				  asked->call->owner);
}

/* Whoever waits is told why, and that no harm is done by not waiting. */
static void tell_waiting(const char *what, uint64_t since_ms, uint64_t *next_ms)
{
	uint64_t now = clock_monotonic_ms();

	if (!what || now < *next_ms)
		return;
	*next_ms = now + WAITING_AGAIN_MS;
	(void)fprintf(stderr,
		      "sallyport: waiting for %s, %llu s so far (Ctrl-C ends "
		      "the wait alone: sallyport-host goes on)\n",
		      what, (unsigned long long)((now - since_ms) / 1000));
}

static unsigned timeout_of(const struct host_call *call)
{
	if (call->waits_for)
		return HOST_LONG_MS;
	return call->timeout_ms ? call->timeout_ms : HOST_TIMEOUT_MS;
}

int host_ask_on(struct host *host, struct rpc *rpc,
		const struct host_call *call)
{
	struct asked asked = {.call = call};
	const struct rpc_call wanted = {
		.type = call->type,
		.schema = call->schema,
		.message = call->message,
		.fd = call->fd,
		.reply_schema = call->reply,
		.timeout_ms = timeout_of(call),
		.on_outcome = on_outcome,
		.owner = &asked,
	};
	uint64_t since = clock_monotonic_ms();
	uint64_t next = since + WAITING_FIRST_MS;
	struct err err;

	if (rpc_ask(rpc, &wanted, NULL, &err) < 0)
		return cli_fail_err(&err);
	while (!asked.is_done) {
		if (io_loop_turn(host->loop, TURN_MS, &err) < 0)
			return cli_fail_err(&err);
		if (!asked.is_done)
			tell_waiting(call->waits_for, since, &next);
	}
	return asked.code;
}

int host_ask(struct host *host, const struct host_call *call)
{
	if (!host->rpc)
		return cli_fail(EXIT_UNREACHABLE, "sallyport-host hung up");
	return host_ask_on(host, host->rpc, call);
}

static void keep_is_paused(const void *message, int *fd, void *owner)
{
	const struct host_sandbox *sandbox = message;

	(void)fd;
	*(bool *)owner = sandbox->state == HOST_PAUSED;
}

int host_ask_running(struct host *host, const struct host_call *call,
		     struct bytes id)
{
	const struct host_ref ref = {.id = id};
	bool is_paused = false;
	const struct host_call show = {
		.type = MSG_HOST_SHOW,
		.schema = &host_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply = &host_sandbox_schema,
		.take = keep_is_paused,
		.owner = &is_paused,
	};
	int code = host_ask(host, call);

	if (code == EXIT_CONFLICT && host_ask(host, &show) == EXIT_OK &&
	    is_paused)
		return cli_fail(code,
				"it goes on with: sallyport sandbox resume "
				"%.*s",
				BYTES_ARGS(id));
	return code;
}

int host_once(const struct host_call *call)
{
	struct host host;
	struct err err;
	int code;

	if (host_open(&host, &err) < 0)
		code = cli_fail_err(&err);
	else
		code = host_ask(&host, call);
	host_close(&host);
	return code;
}

/* ---- JSON ---- */

json_t *host_text_json(struct bytes text)
{
	json_t *value =
		text.len > 0 ? json_stringn((const char *)text.data, text.len)
			     : json_string("");
	char *mended;
	size_t len;

	if (value || text.len == 0)
		return value;
	mended = malloc(text.len);
	if (!mended)
		return NULL;
	memcpy(mended, text.data, text.len);
	for (size_t at = 0; at < text.len; at += len > 0 ? len : 1) {
		len = utf8_len(bytes_slice(text, at, text.len));
		if (len == 0)
			mended[at] = '?';
	}
	value = json_stringn(mended, text.len);
	free(mended);
	return value;
}

static json_t *time_json(uint64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE];

	if (wall_ms == 0)
		return json_null();
	clock_format(wall_ms, text);
	return json_string(text);
}

static json_t *words_json(const struct text_item *items, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		(void)json_array_append_new(list,
					    host_text_json(items[i].text));
	return list;
}

static json_t *metadata_json(const struct host_sandbox *sandbox)
{
	json_t *object = json_object();

	for (size_t i = 0; i < sandbox->metadata_count; i++) {
		const struct text_pair *pair = &sandbox->metadata[i];

		(void)json_object_setn_new(
			object, (const char *)pair->name.data, pair->name.len,
			host_text_json(pair->value));
	}
	return object;
}

json_t *host_sandbox_json(const struct host_sandbox *sandbox)
{
	json_t *object = json_pack(
		"{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:I, "
		"s:o, s:o, s:o}",
		"id", host_text_json(sandbox->id), "name",
		host_text_json(sandbox->name), "state",
		host_state_name((enum host_state)sandbox->state), "reason",
		host_text_json(sandbox->reason), "message",
		host_text_json(sandbox->message), "changed",
		time_json(sandbox->changed_ms), "created",
		time_json(sandbox->created_ms), "expires",
		time_json(sandbox->expires_ms), "owner_uid",
		(json_int_t)sandbox->owner_uid, "session",
		host_text_json(sandbox->session), "workspace",
		host_text_json(sandbox->workspace), "pid",
		(json_int_t)sandbox->init_pid, "entrypoint",
		words_json(sandbox->entrypoint, sandbox->entrypoint_count),
		"metadata", metadata_json(sandbox), "image",
		host_text_json(sandbox->image));

	if (object && sandbox->has_exit_code)
		(void)json_object_set_new(
			object, "exit_code",
			json_integer((json_int_t)sandbox->exit_code));
	return object;
}
