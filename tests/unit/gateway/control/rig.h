/*
 * Control without its process: a real loop, connections made of socket
 * pairs, and fakes of the other processes.
 */
#ifndef TESTS_CONTROL_RIG_H
#define TESTS_CONTROL_RIG_H

#include "tests/unit/gateway/control/fakes_keepers.h"

static inline void rig_turns(struct rig *rig)
{
	struct err err;

	for (int i = 0; i < 30; i++)
		assert_int_equal(io_loop_turn(rig->loop, i % 6 == 5, &err), 0);
}

/* ---- making and ending ---- */

/* A channel to a fake that answers everything. */
static inline struct rpc *rig_channel(struct rig *rig)
{
	static const struct rpc_config none;
	const struct rpc_config answers = {
		.permits = rig_permits,
		.permit_count = ARRAY_SIZE(rig_permits),
		.owner = rig,
	};
	struct rpc *ours;
	struct err err;
	int fds[2];

	assert_int_equal(io_message_pair(fds, &err), 0);
	ours = rpc_new(rig->loop, fds[0], &none, &err);
	rig->fakes[rig->fake_count++] =
		rpc_new(rig->loop, fds[1], &answers, &err);
	assert_non_null(ours);
	return ours;
}

/* Another connection, of that user. Returns the test's side. */
static inline int rig_connect(struct rig *rig, uid_t uid, bool is_admin)
{
	struct conn *conn;
	int fds[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	conn_accept(&rig->control, fds[0]);
	assert_non_null(rig->control.server.conns);
	conn = rig->control.server.conns->prev->owner;
	conn->who = (struct who){uid, is_admin};
	return fds[1];
}

static inline void rig_on_later(void *owner)
{
	attach_end_some(owner);
	attach_ask_some(owner);
	conns_go_on(owner);
}

static inline void rig_init(struct rig *rig, uid_t uid, bool is_admin)
{
	static const enum role roles[] = {ROLE_VAULT, ROLE_MINTER, ROLE_LEDGER};
	static const struct keeper_spec spec;
	struct err err;

	*rig = (struct rig){.owner_uid = 1000, .created_ms = 1763751600000};
	rig->loop = io_loop_new(&err);
	assert_non_null(rig->loop);
	rig->keeper.spec = &spec;
	rig->keeper.loop = rig->loop;
	rig->keeper.owner = &rig->control;
	rig->keeper.config.sessions_max = 1000;
	rig->keeper.warden = rig_channel(rig);
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
		struct keeper_peer *peer = &rig->peers[i];

		*peer = (struct keeper_peer){.keeper = &rig->keeper,
					     .role = roles[i],
					     .rpc = rig_channel(rig)};
		DL_PREPEND(rig->keeper.peers, peer);
	}
	rig->control.keeper = &rig->keeper;
	conns_open(&rig->control);
	rig->control.rules.own_uid = getuid();
	rig->control.later =
		io_timer_new(rig->loop, rig_on_later, &rig->control);
	ca_forget(&rig->control);
	buf_init(&rig->got, 16 << 20);
	rig->client = rig_connect(rig, uid, is_admin);
}

static inline void rig_release(struct rig *rig)
{
	(void)close(rig->client);
	http_server_close(&rig->control.server);
	rig_turns(rig);
	rpc_close(rig->keeper.warden);
	for (size_t i = 0; i < ARRAY_SIZE(rig->peers); i++)
		rpc_close(rig->peers[i].rpc);
	for (size_t i = 0; i < rig->fake_count; i++)
		rpc_close(rig->fakes[i]);
	rig_turns(rig);
	io_timer_free(rig->control.later);
	arena_release(&rig->control.ca_arena);
	package_free(rig->package);
	keeper_records_release(&rig->keeper);
	io_loop_free(rig->loop);
	buf_release(&rig->got);
}

/* ---- talking ---- */

static inline void rig_send(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL),
			 strlen(text));
}

/* What arrived at fd so far; the loop turns first. */
static inline const char *rig_receive(struct rig *rig, int fd)
{
	uint8_t part[65536];
	ssize_t len;

	rig_turns(rig);
	buf_clear(&rig->got);
	while ((len = recv(fd, part, sizeof(part), 0)) > 0)
		assert_int_equal(
			buf_add(&rig->got, bytes_from(part, (size_t)len)), 0);
	return buf_str(&rig->got);
}

/* Send a request on the rig's connection and return the answer. */
static inline const char *rig_ask(struct rig *rig, const char *request)
{
	rig_send(rig->client, request);
	return rig_receive(rig, rig->client);
}

#define assert_contains(text, part)                                            \
	do {                                                                   \
		const char *text_ = (text);                                    \
		if (!strstr(text_, part))                                      \
			fail_msg("\"%s\" is not in:\n%s", part, text_);        \
	} while (0)

static inline void assert_status(const char *answer, unsigned status)
{
	char line[32];

	(void)snprintf(line, sizeof(line), "HTTP/1.1 %u ", status);
	if (strncmp(answer, line, strlen(line)) != 0)
		fail_msg("status %u was expected:\n%s", status, answer);
}

#endif
