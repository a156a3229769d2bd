#include "tests/unit/gateway/dialer/dns_server.h"
#include "tests/unit/gateway/dialer/hosts.h"

#include "gateway/dialer/dial.h"
#include "tests/unit/gateway/dialer/patience.h"

#define ENDS_MS UINT64_MAX

/* Loopback may be dialled by an exception; 127.9.0.0/16 may not. */
static const uint8_t loopback[16] = {[10] = 0xff, 0xff, 127, 0, 0, 0};
static const struct scope_range exceptions[] = {
	{{loopback, sizeof(loopback)}, 112},
};
static const unsigned all_classes = ADDRESS_PRIVATE | ADDRESS_LINK_LOCAL |
				    ADDRESS_METADATA | ADDRESS_LOOPBACK;

static const struct dns_row rows[] = {
	{.name = "good.example", .a = {"127.0.0.1"}, .ttl = 30},
	{.name = "private.example", .a = {"10.0.0.1"}, .ttl = 30},
	{.name = "loop.example", .a = {"127.9.0.1"}, .ttl = 30},
	{.name = "mapped.example", .aaaa = {"::ffff:10.0.0.1"}, .ttl = 30},
	{.name = "nat64.example", .aaaa = {"64:ff9b::a00:1"}, .ttl = 30},
	{.name = "six.example", .aaaa = {"::1"}, .ttl = 30},
	{.name = "meta.example",
	 .cname = "metadata.internal",
	 .a = {"169.254.169.254"},
	 .ttl = 30},
	{.name = "mixed.example", .a = {"10.0.0.1", "127.0.0.1"}, .ttl = 30},
	{.name = "any.example", .a = {"0.0.0.0"}, .ttl = 30},
	{.name = "rebind.example",
	 .a = {"127.0.0.1"},
	 .later = "10.0.0.1",
	 .ttl = 0},
	{.name = "nxdomain.example", .rcode = 3},
	{.name = "silent.example", .mood = DNS_SILENT},
};

static struct dns_server server;
static struct session_table sessions;
static struct dialer dialer;
static struct dial_client client;
static int listening = -1, refusing = -1;
static uint16_t port, closed_port;

/* What was answered, by ticket id. */
static struct {
	enum constraint constraint;
	char detail[DIAL_DETAIL_MAX];
	char address[ADDRESS_TEXT_SIZE];
	int calls;
	bool has_fd;
} answers[DIALS_OF_CLIENT_MAX + 8];

static void note_answer(struct rpc_ticket ticket,
			const struct dial_outcome *outcome)
{
	answers[ticket.id].calls++;
	answers[ticket.id].constraint = outcome->constraint;
	answers[ticket.id].has_fd = outcome->fd >= 0;
	(void)snprintf(answers[ticket.id].detail, DIAL_DETAIL_MAX, "%s",
		       outcome->detail);
	memcpy(answers[ticket.id].address, outcome->address,
	       sizeof(outcome->address));
}

static uint16_t bind_somewhere(int *fd)
{
	union address address;
	socklen_t len = sizeof(address.v4);

	assert_true(address_parse(bytes_str("127.0.0.1"), &address));
	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(*fd >= 0);
	assert_int_equal(bind(*fd, &address.any, len), 0);
	assert_int_equal(getsockname(*fd, &address.any, &len), 0);
	return ntohs(address.v4.sin_port);
}

static void add_session(const char *id, uint64_t expires_ms,
			bool with_exception)
{
	const struct scope_host hosts[] = {
		{BYTES_LITERAL("*.example"), port},
		{BYTES_LITERAL("*.example"), closed_port},
		{BYTES_LITERAL("localhost"), port},
		{BYTES_LITERAL("127.0.0.1"), port},
		{BYTES_LITERAL("127.9.0.1"), port},
		{BYTES_LITERAL("10.0.0.1"), port},
		{BYTES_LITERAL("169.254.169.254"), port},
		{BYTES_LITERAL("::1"), port},
	};
	uint8_t lease[DIGEST_LEN] = {0};
	const struct session_package package = {
		.id = bytes_str(id),
		.expires_ms = expires_ms,
		.lease_hash = bytes_from(lease, sizeof(lease)),
		.scope = {.hosts = hosts,
			  .hosts_count = ARRAY_SIZE(hosts),
			  .deny_classes = all_classes,
			  .allow = exceptions,
			  .allow_count = with_exception},
	};
	struct err err;
	auto_fd int fd = package_seal(&package, &err);
	struct package *opened = package_open(fd, &err);

	assert_non_null(opened);
	assert_non_null(session_add(&sessions, opened, &err));
}

static void new_resolver(void)
{
	const struct config_dns_server address = {bytes_str(server.address)};
	static const struct config_dns_host hosts[] = {
		{BYTES_LITERAL("fixed.example"), BYTES_LITERAL("127.0.0.1")},
		{BYTES_LITERAL("fixedbad.example"), BYTES_LITERAL("10.0.0.1")},
	};
	const struct gateway_config config = {
		.dns_servers = &address,
		.dns_servers_count = 1,
		.dns_hosts = encode_hosts(hosts, ARRAY_SIZE(hosts)),
	};
	struct err err;

	if (dialer.resolver)
		resolver_free(dialer.resolver);
	dialer.resolver = resolver_new(dialer.loop, &config, &err);
	assert_non_null(dialer.resolver);
}

static int setup(void **state)
{
	struct err err;

	(void)state;
	memset(answers, 0, sizeof(answers));
	client = (struct dial_client){0};
	dns_begin(&server, rows, ARRAY_SIZE(rows));
	port = bind_somewhere(&listening);
	assert_int_equal(listen(listening, 64), 0);
	/* It refuses, and nobody else gets its port. */
	closed_port = bind_somewhere(&refusing);
	add_session("s-1", ENDS_MS, true);
	add_session("s-strict", ENDS_MS, false);
	add_session("s-old", 1, true);
	dialer = (struct dialer){
		.loop = io_loop_new(&err),
		.sessions = &sessions,
		.answer = note_answer,
	};
	assert_non_null(dialer.loop);
	new_resolver();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dialer_cancel(&dialer, &client, CONSTRAINT_internal);
	assert_int_equal(dialer.count, 0);
	resolver_free(dialer.resolver);
	io_loop_free(dialer.loop);
	session_table_release(&sessions);
	(void)close(take_fd(&listening));
	(void)close(take_fd(&refusing));
	dns_end(&server);
	return 0;
}

static void begin(uint32_t id, const char *session, const char *host,
		  uint16_t to)
{
	const struct msg_dial wanted = {bytes_str(host), to};

	answers[id].calls = 0;
	dialer_dial(&dialer, &client, bytes_str(session), &wanted,
		    (struct rpc_ticket){.id = id});
}

static struct patience patience;

static void wait_for(uint32_t id)
{
	uint64_t end = patience_ms(&patience) + 6000;

	while (!answers[id].calls && patience_ms(&patience) < end)
		patience_turn(&patience, dialer.loop);
	assert_int_equal(answers[id].calls, 1);
}

static void dial(const char *session, const char *host, uint16_t to)
{
	begin(0, session, host, to);
	wait_for(0);
	assert_int_equal(client.count, 0);
	assert_int_equal(answers[0].has_fd,
			 answers[0].constraint == CONSTRAINT_none);
	assert_int_equal(answers[0].detail[0] == '\0',
			 answers[0].constraint == CONSTRAINT_none);
}

/* Ports that are known at run time only. */
#define OPEN   65535
#define CLOSED 65534

static const struct {
	const char *session, *host;
	uint16_t port;
	enum constraint constraint;
	const char *says; /* in the address or the detail */
} cases[] = {
	{"s-1", "good.example", OPEN, CONSTRAINT_none, "127.0.0.1"},
	{"s-1", "fixed.example", OPEN, CONSTRAINT_none, "127.0.0.1"},
	{"s-1", "mixed.example", OPEN, CONSTRAINT_none, "127.0.0.1"},
	{"s-1", "127.0.0.1", OPEN, CONSTRAINT_none, "127.0.0.1"},
	{"s-1", "localhost", OPEN, CONSTRAINT_none, "127.0.0.1"},
	{"s-2", "good.example", OPEN, CONSTRAINT_session_revoked,
	 "good.example"},
	{"", "good.example", OPEN, CONSTRAINT_session_revoked, ""},
	{"s-old", "good.example", OPEN, CONSTRAINT_lease_expired, ""},
	{"s-1", "good.test", OPEN, CONSTRAINT_host_not_allowed, "good.test"},
	{"s-1", "example", OPEN, CONSTRAINT_host_not_allowed, ""},
	{"s-1", "127.0.0.2", OPEN, CONSTRAINT_host_not_allowed, ""},
	{"s-1", "good.example", 1, CONSTRAINT_port_not_allowed, "port 1"},
	{"s-1", "good.example", 0, CONSTRAINT_request_malformed, ""},
	{"s-1", "Good.example", OPEN, CONSTRAINT_request_malformed, ""},
	{"s-1", "good.example.", OPEN, CONSTRAINT_request_malformed, ""},
	{"s-1", "0x7f.1", OPEN, CONSTRAINT_request_malformed, ""},
	{"s-1", "[::1]", OPEN, CONSTRAINT_request_malformed, ""},
	{"s-1", "a b.example", OPEN, CONSTRAINT_request_malformed, ""},
	{"s-1", "", OPEN, CONSTRAINT_request_malformed, ""},
	{"s-1", "private.example", OPEN, CONSTRAINT_address_forbidden,
	 "private.example resolves to 10.0.0.1"},
	{"s-1", "loop.example", OPEN, CONSTRAINT_address_forbidden,
	 "127.9.0.1"},
	{"s-1", "mapped.example", OPEN, CONSTRAINT_address_forbidden,
	 "10.0.0.1"},
	{"s-1", "nat64.example", OPEN, CONSTRAINT_address_forbidden,
	 "64:ff9b::a00:1"},
	{"s-1", "six.example", OPEN, CONSTRAINT_address_forbidden, "::1"},
	{"s-1", "meta.example", OPEN, CONSTRAINT_address_forbidden,
	 "169.254.169.254"},
	{"s-1", "any.example", OPEN, CONSTRAINT_address_forbidden, "0.0.0.0"},
	{"s-1", "fixedbad.example", OPEN, CONSTRAINT_address_forbidden,
	 "10.0.0.1"},
	{"s-1", "127.9.0.1", OPEN, CONSTRAINT_address_forbidden, "127.9.0.1"},
	{"s-1", "10.0.0.1", OPEN, CONSTRAINT_address_forbidden, ""},
	{"s-1", "169.254.169.254", OPEN, CONSTRAINT_address_forbidden, ""},
	{"s-1", "::1", OPEN, CONSTRAINT_address_forbidden, "::1"},
	{"s-strict", "good.example", OPEN, CONSTRAINT_address_forbidden,
	 "127.0.0.1"},
	{"s-strict", "localhost", OPEN, CONSTRAINT_address_forbidden, "::1"},
	{"s-1", "nxdomain.example", OPEN, CONSTRAINT_dns_failed,
	 "nxdomain.example did not resolve"},
	{"s-1", "good.example", CLOSED, CONSTRAINT_connect_failed,
	 "good.example (127.0.0.1)"},
};

static void dialer_connects_or_names_the_constraint(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint16_t to = cases[i].port;

		if (to == OPEN || to == CLOSED)
			to = to == OPEN ? port : closed_port;
		dial(cases[i].session, cases[i].host, to);
		if (answers[0].constraint != cases[i].constraint)
			fail_msg("%s: %s (%s)", cases[i].host,
				 constraint_name(answers[0].constraint),
				 answers[0].detail);
		if (!strstr(answers[0].constraint == CONSTRAINT_none
				    ? answers[0].address
				    : answers[0].detail,
			    cases[i].says))
			fail_msg("%s: %s", cases[i].host, answers[0].detail);
	}
}

static void dialer_checks_the_address_again_at_every_dial(void **state)
{
	(void)state;
	dial("s-1", "rebind.example", port);
	assert_int_equal(answers[0].constraint, CONSTRAINT_none);
	/* DNS says something else once the cache has forgotten. */
	new_resolver();
	dial("s-1", "rebind.example", port);
	assert_int_equal(answers[0].constraint, CONSTRAINT_address_forbidden);
	/* A cached address is checked as well: another session, with a
	 * narrower scope, may not have it. */
	dial("s-1", "good.example", port);
	assert_int_equal(answers[0].constraint, CONSTRAINT_none);
	dial("s-strict", "good.example", port);
	assert_int_equal(answers[0].constraint, CONSTRAINT_address_forbidden);
	session_remove(&sessions, session_find(&sessions, bytes_str("s-1")));
	add_session("s-1", ENDS_MS, false);
	dial("s-1", "good.example", port);
	assert_int_equal(answers[0].constraint, CONSTRAINT_address_forbidden);
}

static void dialer_survives_a_session_that_changes_while_it_waits(void **state)
{
	(void)state;
	begin(0, "s-1", "good.example", port);
	assert_int_equal(answers[0].calls, 0);
	/* Its package, which the dial began with, is freed here. */
	session_remove(&sessions, session_find(&sessions, bytes_str("s-1")));
	add_session("s-1", ENDS_MS, true);
	wait_for(0);
	assert_int_equal(answers[0].constraint, CONSTRAINT_none);
	begin(0, "s-1", "mixed.example", port);
	session_remove(&sessions, session_find(&sessions, bytes_str("s-1")));
	wait_for(0);
	assert_int_equal(answers[0].constraint, CONSTRAINT_session_revoked);
}

static void dialer_bounds_the_dials_of_an_edge(void **state)
{
	(void)state;
	for (uint32_t id = 0; id < DIALS_OF_CLIENT_MAX; id++) {
		begin(id, "s-1", "silent.example", port);
		assert_int_equal(answers[id].calls, 0);
	}
	begin(DIALS_OF_CLIENT_MAX, "s-1", "good.example", port);
	assert_int_equal(answers[DIALS_OF_CLIENT_MAX].constraint,
			 CONSTRAINT_limit_connections);
	dialer_cancel(&dialer, &client, CONSTRAINT_session_revoked);
	for (uint32_t id = 0; id < DIALS_OF_CLIENT_MAX; id++) {
		assert_int_equal(answers[id].calls, 1);
		assert_int_equal(answers[id].constraint,
				 CONSTRAINT_session_revoked);
	}
	assert_int_equal(dialer.count, 0);
	/* The twin: there is room again. */
	dial("s-1", "good.example", port);
	assert_int_equal(answers[0].constraint, CONSTRAINT_none);
}

static void dialer_bounds_the_dials_of_all(void **state)
{
	struct dial_client other = {0};
	const struct msg_dial wanted = {bytes_str("good.example"), port};

	(void)state;
	dialer.count = DIALS_MAX;
	dialer_dial(&dialer, &other, bytes_str("s-1"), &wanted,
		    (struct rpc_ticket){.id = 1});
	assert_int_equal(answers[1].constraint, CONSTRAINT_limit_connections);
	dialer.count = 0;
	dial("s-1", "good.example", port);
	assert_int_equal(answers[0].constraint, CONSTRAINT_none);
}

static void dialer_fails_in_time_when_dns_is_silent(void **state)
{
	(void)state;
	patience = patience_begin();
	dial("s-1", "silent.example", port);
	assert_int_equal(answers[0].constraint, CONSTRAINT_dns_failed);
	assert_true(patience_ms(&patience) < 5000);
}

#define DIAL_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIAL_TEST(dialer_connects_or_names_the_constraint),
		DIAL_TEST(dialer_checks_the_address_again_at_every_dial),
		DIAL_TEST(
			dialer_survives_a_session_that_changes_while_it_waits),
		DIAL_TEST(dialer_bounds_the_dials_of_an_edge),
		DIAL_TEST(dialer_bounds_the_dials_of_all),
		DIAL_TEST(dialer_fails_in_time_when_dns_is_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
