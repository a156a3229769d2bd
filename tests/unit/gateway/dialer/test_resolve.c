#include "tests/unit/gateway/dialer/dns_server.h"
#include "tests/unit/gateway/dialer/hosts.h"

#include "gateway/dialer/resolve.h"
#include "tests/unit/gateway/dialer/patience.h"

static const struct dns_row rows[] = {
	{.name = "one.example", .a = {"192.0.2.1"}, .ttl = 30},
	{.name = "two.example",
	 .a = {"192.0.2.2", "192.0.2.3"},
	 .aaaa = {"2001:db8::2"},
	 .ttl = 30},
	{.name = "zero.example",
	 .a = {"192.0.2.4"},
	 .later = "10.0.0.1",
	 .ttl = 0},
	{.name = "alias.example",
	 .cname = "real.example",
	 .a = {"192.0.2.5"},
	 .ttl = 30},
	{.name = "nothing.example"},
	{.name = "nxdomain.example", .rcode = 3},
	{.name = "servfail.example", .rcode = 2},
	{.name = "refused.example", .rcode = 5},
	{.name = "silent.example", .mood = DNS_SILENT},
	{.name = "truncated.example",
	 .a = {"192.0.2.6"},
	 .mood = DNS_TRUNCATED},
	{.name = "otherid.example", .a = {"192.0.2.7"}, .mood = DNS_OTHER_ID},
	{.name = "othername.example",
	 .a = {"192.0.2.8"},
	 .mood = DNS_OTHER_NAME},
	{.name = "garbage.example", .mood = DNS_GARBAGE},
	{.name = "empty.example", .mood = DNS_EMPTY},
	{.name = "loop.example", .mood = DNS_LOOP},
	{.name = "no6.example",
	 .a = {"192.0.2.6"},
	 .ttl = 30,
	 .mood = DNS_SILENT_IPV6},
	{.name = "no4.example",
	 .a = {"192.0.2.6"},
	 .aaaa = {"2001:db8::6"},
	 .ttl = 30,
	 .mood = DNS_SILENT_IPV4},
	{.name = "many.example",
	 .a = {"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5",
	       "192.0.2.6", "192.0.2.7", "192.0.2.8", "192.0.2.9", "192.0.2.10",
	       "192.0.2.11", "192.0.2.12", "192.0.2.13", "192.0.2.14",
	       "192.0.2.15", "192.0.2.16", "192.0.2.17"},
	 .ttl = 30},
};

static struct dns_server server;
static struct io_loop *loop;
static struct resolver *resolver;

static size_t row_of(const char *name)
{
	size_t i = 0;

	while (strcmp(rows[i].name, name) != 0)
		i++;
	return i;
}

static int setup(void **state)
{
	static const struct config_dns_host hosts[] = {
		{BYTES_LITERAL("fixed.example"), BYTES_LITERAL("198.51.100.7")},
		{BYTES_LITERAL("a.example"), BYTES_LITERAL("198.51.100.9")},
		{BYTES_LITERAL("zzzzz.example"), BYTES_LITERAL("198.51.100.9")},
		{BYTES_LITERAL("fixed.example"), BYTES_LITERAL("2001:db8::7")},
		{BYTES_LITERAL("one.localhost"), BYTES_LITERAL("198.51.100.8")},
	};
	struct config_dns_server address;
	struct gateway_config config = {
		.dns_servers = &address,
		.dns_servers_count = 1,
	};
	struct err err;

	(void)state;
	config.dns_hosts = encode_hosts(hosts, ARRAY_SIZE(hosts));
	dns_begin(&server, rows, ARRAY_SIZE(rows));
	address.address = bytes_str(server.address);
	loop = io_loop_new(&err);
	assert_non_null(loop);
	resolver = resolver_new(loop, &config, &err);
	if (!resolver)
		fail_msg("%s", err.text);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	resolver_free(resolver);
	io_loop_free(loop);
	dns_end(&server);
	return 0;
}

/* One answer, as somebody who waits sees it. */
struct asked {
	struct resolve_waiter waiter;
	struct resolved resolved;
	char why[ERR_TEXT_MAX];
	int calls;
	bool was_known; /* answered inside the ask */
};

static void on_resolved(const struct resolved *resolved, const char *why,
			void *owner)
{
	struct asked *asked = owner;

	asked->calls++;
	if (resolved)
		asked->resolved = *resolved;
	else
		(void)snprintf(asked->why, sizeof(asked->why), "%s", why);
}

static void ask(struct asked *asked, const char *name)
{
	struct err err;

	*asked = (struct asked){.waiter = {.fn = on_resolved, .owner = asked}};
	switch (resolver_ask(resolver, bytes_str(name), &asked->waiter,
			     &asked->resolved, &err)) {
	case 1:
		asked->calls = 1;
		asked->was_known = true;
		break;
	case 0:
		assert_int_equal(asked->calls, 0);
		break;
	default:
		asked->calls = 1;
		(void)snprintf(asked->why, sizeof(asked->why), "%s", err.text);
	}
}

static struct patience patience;

static void wait_for(struct asked *asked, unsigned ms)
{
	uint64_t end = patience_ms(&patience) + ms;

	while (!asked->calls && patience_ms(&patience) < end)
		patience_turn(&patience, loop);
	assert_int_equal(asked->calls, 1);
}

static void assert_address(const struct asked *asked, size_t at,
			   const char *text)
{
	char address[ADDRESS_TEXT_SIZE];

	assert_true(at < asked->resolved.count);
	address_format(&asked->resolved.addresses[at], address);
	assert_string_equal(address, text);
}

static void resolver_finds_addresses_of_both_families(void **state)
{
	struct asked asked;
	unsigned seen = 0;

	(void)state;
	ask(&asked, "two.example");
	assert_false(asked.was_known);
	wait_for(&asked, 2000);
	assert_int_equal(asked.resolved.count, 3);
	for (size_t i = 0; i < 3; i++)
		seen += asked.resolved.addresses[i].any.sa_family == AF_INET6;
	assert_int_equal(seen, 1);
}

static void resolver_follows_an_alias_to_its_address(void **state)
{
	struct asked asked;

	(void)state;
	ask(&asked, "alias.example");
	wait_for(&asked, 2000);
	assert_int_equal(asked.resolved.count, 1);
	assert_address(&asked, 0, "192.0.2.5");
}

static void resolver_asks_dns_once_for_many_and_caches(void **state)
{
	struct asked many[20], later;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		ask(&many[i], "one.example");
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		wait_for(&many[i], 2000);
		assert_address(&many[i], 0, "192.0.2.1");
	}
	ask(&later, "one.example");
	assert_true(later.was_known);
	assert_address(&later, 0, "192.0.2.1");
	assert_int_equal(server.asked[row_of("one.example")], 1);
}

static void resolver_keeps_an_answer_without_ttl_for_its_floor(void **state)
{
	struct asked first, second;

	(void)state;
	ask(&first, "zero.example");
	wait_for(&first, 2000);
	assert_address(&first, 0, "192.0.2.4");
	/* The server would say 10.0.0.1 now. */
	ask(&second, "zero.example");
	assert_true(second.was_known);
	assert_address(&second, 0, "192.0.2.4");
}

static void resolver_says_why_a_name_did_not_resolve(void **state)
{
	static const char *const names[] = {
		"nothing.example", "nxdomain.example",	"servfail.example",
		"refused.example", "truncated.example", "othername.example",
		"otherid.example", "garbage.example",	"empty.example",
		"loop.example",
	};
	struct asked asked[ARRAY_SIZE(names)];

	(void)state;
	patience = patience_begin();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ask(&asked[i], names[i]);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		wait_for(&asked[i], 6000);
		if (asked[i].resolved.count != 0 || asked[i].why[0] == '\0')
			fail_msg("%s resolved", names[i]);
	}
	assert_true(patience_ms(&patience) < 5000);
	/* The twin: an honest name still resolves. */
	ask(&asked[0], "one.example");
	wait_for(&asked[0], 2000);
	assert_address(&asked[0], 0, "192.0.2.1");
}

static void resolver_gives_up_on_a_silent_server_in_time(void **state)
{
	struct asked asked, again;

	(void)state;
	patience = patience_begin();
	ask(&asked, "silent.example");
	wait_for(&asked, 6000);
	assert_int_equal(asked.resolved.count, 0);
	assert_true(patience_real_ms(&patience) >= 1000);
	assert_true(patience_ms(&patience) < 5000);
	assert_int_equal(server.asked[row_of("silent.example")], 2);
	/* It was not remembered as a failure. */
	ask(&again, "silent.example");
	assert_int_equal(again.calls, 0);
	resolver_cancel(&again.waiter);
}

/* RFC 8305 section 3, RFC 4074: servers that drop one type of question. */
static void resolver_does_not_wait_for_a_family_that_is_silent(void **state)
{
	struct asked ipv4, ipv6, again;

	(void)state;
	patience = patience_begin();
	ask(&ipv4, "no6.example");
	ask(&ipv6, "no4.example");
	wait_for(&ipv4, 1400);
	wait_for(&ipv6, 1400);
	/* Long before the question is asked again. */
	assert_true(patience_ms(&patience) < RESOLVE_TRY_MS);
	assert_int_equal(ipv4.resolved.count, 1);
	assert_address(&ipv4, 0, "192.0.2.6");
	assert_int_equal(ipv6.resolved.count, 1);
	assert_address(&ipv6, 0, "2001:db8::6");
	ask(&again, "no6.example");
	assert_true(again.was_known);
}

static void resolver_does_not_call_who_waits_no_more(void **state)
{
	struct asked asked, other;

	(void)state;
	ask(&asked, "one.example");
	ask(&other, "one.example");
	resolver_cancel(&asked.waiter);
	wait_for(&other, 2000);
	assert_int_equal(asked.calls, 0);
}

static void resolver_answers_the_operators_names_without_dns(void **state)
{
	struct asked asked;

	(void)state;
	ask(&asked, "fixed.example");
	assert_true(asked.was_known);
	assert_int_equal(asked.resolved.count, 2);
	assert_address(&asked, 0, "198.51.100.7");
	assert_address(&asked, 1, "2001:db8::7");
	assert_int_equal(server.unknown, 0);
}

static void resolver_knows_localhost_without_files_or_dns(void **state)
{
	struct asked asked;

	(void)state;
	ask(&asked, "localhost");
	assert_true(asked.was_known);
	assert_address(&asked, 0, "::1");
	assert_address(&asked, 1, "127.0.0.1");
	ask(&asked, "x.localhost");
	assert_address(&asked, 1, "127.0.0.1");
	ask(&asked, "one.localhost");
	assert_address(&asked, 0, "198.51.100.8");
	assert_int_equal(server.unknown, 0);
}

static void resolver_takes_no_more_addresses_than_its_bound(void **state)
{
	struct asked asked;

	(void)state;
	ask(&asked, "many.example");
	wait_for(&asked, 2000);
	assert_int_equal(asked.resolved.count, RESOLVE_ADDRESSES_MAX);
}

static void resolver_bounds_the_names_it_is_asking_for(void **state)
{
	static struct asked many[RESOLVE_NAMES_MAX];
	struct resolved resolved;
	struct asked more = {0};
	struct err err;
	char name[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		(void)snprintf(name, sizeof(name), "n%zu.example", i);
		ask(&many[i], name);
		assert_int_equal(many[i].calls, 0);
	}
	assert_int_equal(resolver_ask(resolver, bytes_str("one.example"),
				      &more.waiter, &resolved, &err),
			 -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		resolver_cancel(&many[i].waiter);
}

static void resolver_refuses_a_configuration_that_is_wrong(void **state)
{
	static const struct {
		const char *server;
		bool is_good;
	} cases[] = {
		{"10.0.0.53", true},
		{"10.0.0.53:5353", true},
		{"fd00::53", true},
		{"[fd00::53]", true},
		{"[fd00::53]:53", true},
		{"dns.example", false},
		{"10.0.0", false},
		{"10.0.0.53:", false},
		{"10.0.0.53:0", false},
		{"10.0.0.53:65536", false},
		{"[fd00::53", false},
		{"[fd00::53]53", false},
		{"", false},
		{"10.0.0.53,10.0.0.54", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct config_dns_server address = {
			bytes_str(cases[i].server)};
		const struct gateway_config config = {.dns_servers = &address,
						      .dns_servers_count = 1};
		struct err err;
		struct resolver *other = resolver_new(loop, &config, &err);

		if ((other != NULL) != cases[i].is_good)
			fail_msg("%s", cases[i].server);
		if (other)
			resolver_free(other);
	}
}

#define RESOLVE_TEST(test)                                                     \
	cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RESOLVE_TEST(resolver_finds_addresses_of_both_families),
		RESOLVE_TEST(resolver_follows_an_alias_to_its_address),
		RESOLVE_TEST(resolver_asks_dns_once_for_many_and_caches),
		RESOLVE_TEST(
			resolver_keeps_an_answer_without_ttl_for_its_floor),
		RESOLVE_TEST(resolver_says_why_a_name_did_not_resolve),
		RESOLVE_TEST(resolver_gives_up_on_a_silent_server_in_time),
		RESOLVE_TEST(
			resolver_does_not_wait_for_a_family_that_is_silent),
		RESOLVE_TEST(resolver_does_not_call_who_waits_no_more),
		RESOLVE_TEST(resolver_answers_the_operators_names_without_dns),
		RESOLVE_TEST(resolver_knows_localhost_without_files_or_dns),
		RESOLVE_TEST(resolver_takes_no_more_addresses_than_its_bound),
		RESOLVE_TEST(resolver_bounds_the_names_it_is_asking_for),
		RESOLVE_TEST(resolver_refuses_a_configuration_that_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
