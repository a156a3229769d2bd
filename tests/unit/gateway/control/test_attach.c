#include "tests/unit/gateway/control/rig.h"

#include <netinet/in.h>

#include "gateway/control/terms.h"

struct outcome {
	bool is_done;
	enum err_code code;
};

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct outcome *result = owner;

	result->is_done = true;
	result->code = outcome->err ? outcome->err->code : ERR_NONE;
}

/* A channel to control, of that user. */
static struct rpc *connect_as(struct rig *rig, uid_t uid)
{
	static const struct rpc_config none;
	struct rpc *rpc;
	struct err err;
	int fds[2];

	rig->control.rules.own_uid = 12344;
	if (getuid() == 0)
		assert_int_equal(seteuid(uid), 0);
	assert_int_equal(io_message_pair(fds, &err), 0);
	attach_accept(&rig->control, fds[0]);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	rpc = rpc_new(rig->loop, fds[1], &none, &err);
	assert_non_null(rpc);
	return rpc;
}

static int tcp_socket(bool listens)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	assert_true(fd >= 0);
	if (!listens)
		return fd;
	assert_int_equal(
		bind(fd, (const struct sockaddr *)&address, sizeof(address)),
		0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* Attach fd (closed) and return how it ended. */
static enum err_code attach(struct rig *rig, struct rpc *rpc,
			    enum listener_kind kind, int fd)
{
	struct outcome outcome = {0};
	const struct msg_attach message = {bytes_str(RIG_ID), (uint8_t)kind};
	const struct rpc_call call = {
		.type = MSG_SESSION_ATTACH,
		.schema = &msg_attach_schema,
		.message = &message,
		.fd = fd,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = 5000,
		.on_outcome = on_outcome,
		.owner = &outcome,
	};
	struct err err;

	assert_int_equal(rpc_ask(rpc, &call, NULL, &err), 0);
	rig_turns(rig);
	(void)close(fd);
	assert_true(outcome.is_done);
	return outcome.code;
}

/* Hold the session and return how it ended. */
static enum err_code hold(struct rig *rig, struct rpc *rpc, const char *id)
{
	struct outcome outcome = {0};
	const struct msg_session_hold message = {bytes_str(id)};
	const struct rpc_call call = {
		.type = MSG_SESSION_HOLD,
		.schema = &msg_session_hold_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = 5000,
		.on_outcome = on_outcome,
		.owner = &outcome,
	};
	struct err err;

	assert_int_equal(rpc_ask(rpc, &call, NULL, &err), 0);
	rig_turns(rig);
	assert_true(outcome.is_done);
	return outcome.code;
}

static void on_files(struct rpc_outcome *outcome, void *owner)
{
	const struct msg_session_terms *terms = outcome->message;
	bool *is_told = owner;

	assert_null(outcome->err);
	assert_int_equal(terms->secret_files_count, 2);
	assert_true(bytes_is(terms->secret_files[0].path, "/srv/one"));
	assert_true(bytes_is(terms->secret_files[1].path, "/creds/two"));
	*is_told = true;
}

static void terms_name_the_files_that_hold_secrets(void **state)
{
	static const struct config_source sources[] = {
		{.kind = SOURCE_FILE, .path = {(const uint8_t *)"/srv/one", 8}},
		{.kind = SOURCE_EXEC, .path = {(const uint8_t *)"/no", 3}},
		{.kind = SOURCE_CREDENTIAL,
		 .path = {(const uint8_t *)"two", 3}},
	};
	const struct wire_empty empty = {0};
	bool is_told = false;
	const struct rpc_call call = {
		.type = MSG_SESSION_TERMS,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &msg_session_terms_schema,
		.timeout_ms = 5000,
		.on_outcome = on_files,
		.owner = &is_told,
	};
	struct rig rig;
	struct rpc *rpc;
	struct err err;

	(void)state;
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", "/creds", 1), 0);
	rig_init(&rig, 0, true);
	rig.keeper.config.sources = sources;
	rig.keeper.config.sources_count = ARRAY_SIZE(sources);
	rpc = connect_as(&rig, 12345);
	assert_int_equal(rpc_ask(rpc, &call, NULL, &err), 0);
	rig_turns(&rig);
	assert_true(is_told);
	rpc_close(rpc);
	rig_turns(&rig);
	rig_release(&rig);
	assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
}

static void on_terms(struct rpc_outcome *outcome, void *owner)
{
	const struct msg_session_terms *terms = outcome->message;

	assert_null(outcome->err);
	assert_int_equal(terms->text.len, TERMS_SIZE - 1);
	memcpy(owner, terms->text.data, terms->text.len);
}

/* What a session would begin under now. */
static void ask_terms(struct rig *rig, struct rpc *rpc, char out[TERMS_SIZE])
{
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_SESSION_TERMS,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &msg_session_terms_schema,
		.timeout_ms = 5000,
		.on_outcome = on_terms,
		.owner = out,
	};
	struct err err;

	memset(out, 0, TERMS_SIZE);
	assert_int_equal(rpc_ask(rpc, &call, NULL, &err), 0);
	rig_turns(rig);
	assert_int_equal(strlen(out), TERMS_SIZE - 1);
}

static void terms_are_others_when_what_a_session_keeps_is(void **state)
{
	char first[TERMS_SIZE], now[TERMS_SIZE];
	struct gateway_config *config;
	struct rig rig;
	struct rpc *rpc;

	(void)state;
	rig_init(&rig, 0, true);
	config = &rig.keeper.config;
	rpc = connect_as(&rig, 12345);
	ask_terms(&rig, rpc, first);
	/* No part of it: that of upstream TLS, unless programs hear of it. */
	config->ca_bundle = bytes_str("roots");
	ask_terms(&rig, rpc, now);
	assert_string_equal(first, now);
	config->has_private_roots = true;
	ask_terms(&rig, rpc, now);
	assert_string_not_equal(first, now);
	config->has_private_roots = false;
	config->guardrail = bytes_str("version: 1\n");
	ask_terms(&rig, rpc, now);
	assert_string_not_equal(first, now);
	config->guardrail = bytes_str("");
	config->connections_max++;
	ask_terms(&rig, rpc, now);
	assert_string_not_equal(first, now);
	config->connections_max--;
	rig.control.ca.pkcs12 = bytes_str("another");
	ask_terms(&rig, rpc, now);
	assert_string_not_equal(first, now);
	rig.control.ca.pkcs12 = bytes_str("");
	ask_terms(&rig, rpc, now);
	assert_string_equal(first, now);
	rpc_close(rpc);
	rig_turns(&rig);
	rig_release(&rig);
}

static void attach_hands_a_listener_to_the_session(void **state)
{
	struct rig rig;
	struct rpc *rpc;

	(void)state;
	rig_init(&rig, 0, true);
	rig.owner_uid = getuid() == 0 ? 12345 : getuid();
	rpc = connect_as(&rig, 12345);
	assert_int_equal(attach(&rig, rpc, LISTENER_TCP, tcp_socket(true)),
			 ERR_NONE);
	assert_int_equal(attach(&rig, rpc, LISTENER_DNS_UDP,
				socket(AF_INET, SOCK_DGRAM, 0)),
			 ERR_NONE);
	assert_int_equal(rig.attaches, 2);
	assert_int_equal(rig.revocations, 0);
	rpc_close(rpc);
	rig_turns(&rig);
	rig_release(&rig);
}

static void attach_ends_the_session_when_its_channel_closes(void **state)
{
	struct rig rig;
	struct rpc *rpc;

	(void)state;
	rig_init(&rig, 0, true);
	rig.owner_uid = getuid() == 0 ? 12345 : getuid();
	rpc = connect_as(&rig, 12345);
	(void)attach(&rig, rpc, LISTENER_TCP, tcp_socket(true));
	(void)attach(&rig, rpc, LISTENER_TCP, tcp_socket(true));
	rpc_close(rpc);
	rig_turns(&rig);
	assert_int_equal(rig.revocations, 1);
	assert_string_equal(rig.reason, "ended");
	assert_null(rig.control.attached);
	rig_release(&rig);
}

/* From the first listener on the channel holds the session. */
static void attach_takes_a_held_session_from_its_connection(void **state)
{
	struct conn *conn;
	struct rig rig;
	struct rpc *rpc;

	(void)state;
	rig_init(&rig, 0, true);
	rig.owner_uid = getuid() == 0 ? 12345 : getuid();
	assert_non_null(rig.control.server.conns);
	conn = rig.control.server.conns->owner;
	(void)snprintf(conn->held[0], sizeof(conn->held[0]), "%s", RIG_ID);
	conn->held_count = 1;
	rpc = connect_as(&rig, 12345);
	(void)attach(&rig, rpc, LISTENER_TCP, tcp_socket(true));
	assert_int_equal(conn->held_count, 0);
	assert_int_equal(shutdown(rig.client, SHUT_RDWR), 0);
	rig_turns(&rig);
	assert_int_equal(rig.revocations, 0);
	rpc_close(rpc);
	rig_turns(&rig);
	assert_int_equal(rig.revocations, 1);
	rig_release(&rig);
}

/* Control was restarted: the channel over which it was attached is gone. */
static void a_session_that_is_held_ends_with_the_channel(void **state)
{
	struct rig rig;
	struct rpc *rpc;

	(void)state;
	rig_init(&rig, 0, true);
	rig.owner_uid = getuid() == 0 ? 12345 : getuid();
	rpc = connect_as(&rig, 12345);
	assert_int_equal(hold(&rig, rpc, RIG_ID), ERR_NONE);
	assert_int_equal(rig.attaches, 0);
	assert_int_equal(rig.revocations, 0);
	rpc_close(rpc);
	rig_turns(&rig);
	assert_int_equal(rig.revocations, 1);
	assert_string_equal(rig.reason, "ended");
	assert_null(rig.control.attached);
	rig_release(&rig);
}

static void hold_refuses_a_session_of_somebody_else_and_none(void **state)
{
	struct rig rig;
	struct rpc *rpc;

	(void)state;
	rig_init(&rig, 0, true);
	rig.owner_uid = 12346;
	rpc = connect_as(&rig, 12345);
	assert_int_equal(hold(&rig, rpc, RIG_ID), ERR_DENIED);
	assert_int_equal(hold(&rig, rpc, ""), ERR_DENIED);
	rpc_close(rpc);
	rig_turns(&rig);
	assert_int_equal(rig.revocations, 0);
	rig_release(&rig);
}

static void attach_refuses_a_session_of_somebody_else(void **state)
{
	struct rig rig;
	struct rpc *rpc;

	(void)state;
	rig_init(&rig, 0, true);
	rig.owner_uid = 12346;
	rpc = connect_as(&rig, 12345);
	assert_int_equal(attach(&rig, rpc, LISTENER_TCP, tcp_socket(true)),
			 ERR_DENIED);
	rpc_close(rpc);
	rig_turns(&rig);
	assert_int_equal(rig.attaches, 0);
	assert_int_equal(rig.revocations, 0);
	rig_release(&rig);
}

static void attach_refuses_what_is_no_such_listener(void **state)
{
	struct rig rig;
	struct rpc *rpc;
	int pipes[2];

	(void)state;
	rig_init(&rig, 0, true);
	rig.owner_uid = getuid() == 0 ? 12345 : getuid();
	rpc = connect_as(&rig, 12345);
	assert_int_equal(pipe(pipes), 0);
	(void)close(pipes[1]);
	assert_int_equal(attach(&rig, rpc, LISTENER_TCP, pipes[0]), ERR_DENIED);
	assert_int_equal(attach(&rig, rpc, LISTENER_TCP, tcp_socket(false)),
			 ERR_DENIED);
	assert_int_equal(attach(&rig, rpc, LISTENER_DNS_UDP, tcp_socket(true)),
			 ERR_DENIED);
	assert_int_equal(attach(&rig, rpc, LISTENER_CONTROL, tcp_socket(true)),
			 ERR_DENIED);
	assert_int_equal(rig.attaches, 0);
	rpc_close(rpc);
	rig_turns(&rig);
	rig_release(&rig);
}

static void attach_ends_later_what_cannot_be_ended_now(void **state)
{
	struct control_rate full;
	struct rig rig;
	struct rpc *rpc;

	(void)state;
	rig_init(&rig, 0, true);
	rig.owner_uid = getuid() == 0 ? 12345 : getuid();
	rpc = connect_as(&rig, 12345);
	(void)attach(&rig, rpc, LISTENER_TCP, tcp_socket(true));
	full = rig.control.rates[MSG_SESSION_REVOKE];
	rig.control.rates[MSG_SESSION_REVOKE].open = 1000;
	rpc_close(rpc);
	rig_turns(&rig);
	assert_int_equal(rig.revocations, 0);
	assert_non_null(rig.control.attached);
	rig.control.rates[MSG_SESSION_REVOKE] = full;
	for (int i = 0; i < 100 && !rig.revocations; i++)
		rig_turns(&rig);
	rig_turns(&rig);
	assert_int_equal(rig.revocations, 1);
	assert_null(rig.control.attached);
	rig_release(&rig);
}

struct many {
	struct outcome outcomes[24];
	size_t count;
};

/* Four listeners of a channel, all at once. */
static void attach_four(struct rpc *rpc, struct many *many)
{
	const struct msg_attach message = {bytes_str(RIG_ID), LISTENER_TCP};
	struct rpc_call call = {
		.type = MSG_SESSION_ATTACH,
		.schema = &msg_attach_schema,
		.message = &message,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = 60000,
		.on_outcome = on_outcome,
	};
	struct err err;

	for (size_t i = 0; i < 4; i++) {
		call.fd = tcp_socket(true);
		call.owner = &many->outcomes[many->count++];
		assert_int_equal(rpc_ask(rpc, &call, NULL, &err), 0);
		(void)close(call.fd);
	}
}

static void attach_waits_when_the_warden_is_asked_too_often(void **state)
{
	struct many many = {0};
	struct rpc *channels[6];
	struct rig rig;

	(void)state;
	rig_init(&rig, 0, true);
	rig.owner_uid = getuid() == 0 ? 12345 : getuid();
	rig.control.rates[MSG_SESSION_LIST].open = 1000;
	for (size_t i = 0; i < ARRAY_SIZE(channels); i++) {
		channels[i] = connect_as(&rig, 12345);
		attach_four(channels[i], &many);
	}
	rig_turns(&rig);
	assert_int_equal(rig.control.late_count, many.count);
	/* Who leaves waits for nothing. */
	rpc_close(channels[0]);
	rig_turns(&rig);
	rig.control.rates[MSG_SESSION_LIST].open = 0;
	rig.control.rates[MSG_SESSION_ATTACH].open = 1000;
	for (int i = 0; i < 200 && rig.control.late_count != 20; i++)
		rig_turns(&rig);
	rig.control.rates[MSG_SESSION_ATTACH].open = 0;
	for (int i = 0; i < 200 && rig.attaches < 20; i++)
		rig_turns(&rig);
	rig_turns(&rig);
	assert_int_equal(rig.attaches, 20);
	assert_null(rig.control.late);
	for (size_t i = 4; i < many.count; i++) {
		assert_true(many.outcomes[i].is_done);
		assert_int_equal(many.outcomes[i].code, ERR_NONE);
	}
	for (size_t i = 1; i < ARRAY_SIZE(channels); i++)
		rpc_close(channels[i]);
	rig_turns(&rig);
	assert_null(rig.control.attached);
	rig_release(&rig);
}

/* As many channels as sessions (and some), half of them of one user. */
static void attach_takes_as_many_channels_as_there_may_be_sessions(void **state)
{
	enum {
		SESSIONS = 24,
		OF_USER = (SESSIONS + CONTROL_ATTACHED_SPARE) / 2
	};
	struct rpc *channels[SESSIONS + 1];
	struct rig rig;

	(void)state;
	rig_init(&rig, 0, true);
	rig.keeper.config.sessions_max = SESSIONS;
	for (size_t i = 0; i < OF_USER; i++) {
		channels[i] = connect_as(&rig, 12345);
		assert_int_equal(rig.control.attached_count, i + 1);
	}
	channels[OF_USER] = connect_as(&rig, 12345);
	assert_int_equal(rig.control.attached_count, OF_USER);
	rpc_close(channels[OF_USER]);
	/* As an ordinary user the test is one user only. */
	for (size_t i = OF_USER; i < SESSIONS + 1; i++)
		channels[i] = connect_as(&rig, 12346);
	assert_int_equal(rig.control.attached_count,
			 getuid() == 0 ? SESSIONS : OF_USER);
	for (size_t i = 0; i < SESSIONS + 1; i++)
		rpc_close(channels[i]);
	rig_turns(&rig);
	assert_null(rig.control.attached);
	rig_release(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terms_name_the_files_that_hold_secrets),
		cmocka_unit_test(terms_are_others_when_what_a_session_keeps_is),
		cmocka_unit_test(attach_hands_a_listener_to_the_session),
		cmocka_unit_test(
			attach_ends_the_session_when_its_channel_closes),
		cmocka_unit_test(
			attach_takes_a_held_session_from_its_connection),
		cmocka_unit_test(a_session_that_is_held_ends_with_the_channel),
		cmocka_unit_test(
			hold_refuses_a_session_of_somebody_else_and_none),
		cmocka_unit_test(attach_refuses_a_session_of_somebody_else),
		cmocka_unit_test(attach_refuses_what_is_no_such_listener),
		cmocka_unit_test(attach_ends_later_what_cannot_be_ended_now),
		cmocka_unit_test(
			attach_waits_when_the_warden_is_asked_too_often),
		cmocka_unit_test(
			attach_takes_as_many_channels_as_there_may_be_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
