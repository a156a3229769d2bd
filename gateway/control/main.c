/*
 * sallyport-control: the API of the gateway, on two Unix sockets.
 */
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/secret.h"
#include "gateway/control/attach.h"
#include "gateway/control/ca.h"
#include "gateway/control/conn.h"
#include "gateway/control/events.h"
#include "gateway/control/terms.h"

#define ROWS_PER_SECOND 5000

/* ---- listeners ---- */

/* The listener's own address ends in "/control.sock". */
static void note_run(struct control *control,
		     const struct sockaddr_storage *local)
{
	const struct sockaddr_un *address = (const struct sockaddr_un *)local;
	const char *slash;

	if (control->run[0] || address->sun_family != AF_UNIX)
		return;
	slash = strrchr(address->sun_path, '/');
	if (slash)
		(void)snprintf(control->run, sizeof(control->run), "%.*s",
			       (int)(slash - address->sun_path),
			       address->sun_path);
}

static void on_client(int fd, const struct sockaddr_storage *peer,
		      const struct sockaddr_storage *local, bool was_redirected,
		      void *owner)
{
	struct control *control = owner;

	(void)peer;
	(void)was_redirected;
	note_run(control, local);
	conn_accept(control, fd);
}

static void on_channel(int fd, const struct sockaddr_storage *peer,
		       const struct sockaddr_storage *local,
		       bool was_redirected, void *owner)
{
	(void)peer;
	(void)local;
	(void)was_redirected;
	attach_accept(owner, fd);
}

static void on_listener(struct keeper *keeper, enum listener_kind kind, int fd)
{
	struct control *control = keeper->owner;
	auto_fd int socket = fd;
	struct err err = {.code = ERR_NONE};

	if (kind == LISTENER_CONTROL && control->server.listener_count == 0)
		(void)http_server_listen(&control->server, take_fd(&socket),
					 on_client, control, &err);
	else if (kind == LISTENER_ATTACH && !control->channels)
		control->channels = io_listen(keeper->loop, take_fd(&socket),
					      on_channel, control, &err);
	else
		(void)err_set(&err, ERR_INVALID,
			      "a listener came that nobody asked for");
	if (err.code != ERR_NONE)
		log_error("%s", err.text);
}

/* ---- peers ---- */

static void answer_rows(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct keeper_peer *peer = owner;

	(void)ticket;
	(void)fd;
	events_tell(peer->keeper->owner, message);
}

static void on_peer(struct keeper *keeper, struct keeper_peer *peer)
{
	if (peer->role == ROLE_LEDGER)
		events_ledger_came(keeper->owner);
	else if (peer->role == ROLE_MINTER)
		ca_forget(keeper->owner);
}

/* ---- life ---- */

static void on_later(void *owner)
{
	attach_end_some(owner);
	attach_ask_some(owner);
	conns_go_on(owner);
}

static int prepare(struct keeper *keeper, struct confine_spec *confine,
		   struct err *err)
{
	struct control *control = keeper->owner;
	size_t seed = 0;

	(void)confine;
	secret_protect_process();
	/* jansson would open /dev/urandom for it. */
	while (seed == 0)
		random_bytes(&seed, sizeof(seed));
	json_object_seed(seed);
	return who_rules_init(&control->rules, err);
}

static int start(struct keeper *keeper, struct err *err)
{
	struct control *control = keeper->owner;

	control->keeper = keeper;
	io_loop_wipe(keeper->loop);
	ca_forget(control);
	conns_open(control);
	control->later = io_timer_new(keeper->loop, on_later, control);
	if (!control->later)
		return err_set(err, ERR_SYSTEM, "start: no memory");
	return 0;
}

static int on_config(struct keeper *keeper, const struct gateway_config *before,
		     struct err *err)
{
	uint8_t was[DIGEST_LEN], is[DIGEST_LEN];

	(void)err;
	terms_of_config(before, was);
	terms_of_config(&keeper->config, is);
	if (memcmp(was, is, sizeof(is)) != 0)
		attach_tell_terms(keeper->owner);
	return 0;
}

int main(void)
{
	static const struct rpc_permit ledger_permits[] = {
		{MSG_LEDGER_ROWS, &msg_ledger_rows_schema, answer_rows, false,
		 ROWS_PER_SECOND},
	};
	static const struct keeper_service services[] = {
		{ROLE_LEDGER, ledger_permits, ARRAY_SIZE(ledger_permits)},
	};
	/* Connections and who is behind them; packages of sessions; memory
	 * that is locked for a secret. */
	static const char *const syscalls[] = {
		"accept4",  "getsockname",	 "getsockopt",
		"shutdown", CONFINE_CALLS_MEMFD, CONFINE_CALLS_SECRET,
		NULL,
	};
	static const struct keeper_spec spec = {
		.role = ROLE_CONTROL,
		.services = services,
		.service_count = ARRAY_SIZE(services),
		.prepare = prepare,
		.syscalls = syscalls,
		.start = start,
		.on_peer = on_peer,
		.on_listener = on_listener,
		.on_config = on_config,
	};
	static struct control control;

	return keeper_main(&spec, &control);
}
