#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/warden/config.h"

struct read_text {
	struct warden_config config;
	struct buf report;
	struct err err;
	char path[64];
	int result;
};

/* Read text as a file "gateway.yaml" of its own. */
static void read_text(struct read_text *read, const char *text)
{
	int fd;

	*read = (struct read_text){.path = "/tmp/gateway-test-XXXXXX"};
	buf_init(&read->report, 65536);
	fd = mkstemp(read->path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
	assert_int_equal(warden_config_defaults(&read->config, &read->err), 0);
	read->result = warden_config_read(&read->config, read->path,
					  &read->report, &read->err);
}

static void done(struct read_text *read)
{
	(void)unlink(read->path);
	buf_release(&read->report);
	warden_config_release(&read->config);
}

static void config_reads_every_key_it_knows(void **state)
{
	struct config_dns_hosts names;
	struct read_text read;
	const struct gateway_config *gateway = &read.config.gateway;

	(void)state;
	read_text(
		&read,
		"state: /x/state\n"
		"run: /x/run\n"
		"dns:\n"
		"  servers: [10.0.0.53, \"10.0.0.54:5353\", \"fd00::53\",\n"
		"            \"[fd00::53]:5353\"]\n"
		"  hosts: {GitHub.com: 198.51.100.7, a.example: \"fd00::1\"}\n"
		"tls: {ca_bundle: /x/ca.pem, min: \"1.3\"}\n"
		"listen: {proxy: [\"127.0.0.1:3128\", \"[::1]:3128\"]}\n"
		"upstream_proxy: {url: socks5://Proxy.example:1080,\n"
		"  secret: corp, no_proxy: [.Corp.example, 10.0.0.0/8]}\n"
		"audit: {retain: 90d, export: [{jsonl: /x/a}, {jsonl: /b}]}\n"
		"limits: {sessions: 7, connections: 9}\n");
	assert_int_equal(read.result, 0);
	assert_string_equal(read.config.state, "/x/state");
	assert_string_equal(read.config.run, "/x/run");
	assert_string_equal(read.config.ca_bundle_path, "/x/ca.pem");
	assert_int_equal(gateway->dns_servers_count, 4);
	assert_true(
		bytes_is(gateway->dns_servers[3].address, "[fd00::53]:5353"));
	assert_int_equal(wire_decode(&config_dns_hosts_schema,
				     gateway->dns_hosts, &read.config.arena,
				     &names, &read.err),
			 0);
	assert_int_equal(names.hosts_count, 2);
	assert_true(bytes_is(names.hosts[0].name, "github.com"));
	assert_true(bytes_is(names.hosts[1].address, "fd00::1"));
	assert_true(gateway->tls13_only);
	assert_int_equal(gateway->proxy.kind, PROXY_SOCKS5);
	assert_true(bytes_is(gateway->proxy.host, "proxy.example"));
	assert_int_equal(gateway->proxy.port, 1080);
	assert_true(bytes_is(gateway->proxy.secret, "corp"));
	assert_int_equal(gateway->proxy.except_names_count, 1);
	assert_true(
		bytes_is(gateway->proxy.except_names[0].name, "corp.example"));
	assert_int_equal(gateway->proxy.except_ranges_count, 1);
	assert_int_equal(gateway->proxy.except_ranges[0].prefix, 96 + 8);
	assert_int_equal(gateway->proxy_listeners_count, 2);
	assert_true(
		bytes_is(gateway->proxy_listeners[1].address, "[::1]:3128"));
	assert_int_equal(gateway->audit_retain_ms, 90ull * 86400000);
	assert_int_equal(gateway->audit_exports_count, 2);
	assert_true(bytes_is(gateway->audit_exports[1].path, "/b"));
	assert_int_equal(gateway->sessions_max, 7);
	assert_int_equal(read.config.sessions_max, 7);
	assert_int_equal(gateway->connections_max, 9);
	done(&read);
}

static void config_keeps_the_defaults_of_what_is_not_said(void **state)
{
	struct read_text read;

	(void)state;
	read_text(&read, "tls: {min: \"1.2\"}\n");
	assert_int_equal(read.result, 0);
	assert_false(read.config.gateway.tls13_only);
	assert_int_equal(read.config.sessions_max, 1000);
	assert_int_equal(read.config.gateway.connections_max, 1000);
	assert_int_equal(read.config.gateway.uid_base,
			 geteuid() == 0 ? 997000 : 0);
	done(&read);
}

/* One error of a text, and where it is. */
struct refusal {
	const char *text, *where, *message;
};

static void check_refusal(const struct refusal *refusal)
{
	struct read_text read;
	const char *report;

	read_text(&read, refusal->text);
	assert_int_equal(read.result, -1);
	report = buf_str(&read.report);
	if (!strstr(report, refusal->where) ||
	    !strstr(report, refusal->message))
		fail_msg("%s: %s", refusal->text, report);
	assert_non_null(strchr(report, '^'));
	assert_non_null(strstr(read.err.text, "1 error"));
	done(&read);
}

static void config_refuses_what_it_does_not_know_and_says_where(void **state)
{
	static const struct refusal rows[] = {
		{"listen: {proxy: [\"127.0.0.1:1\", localhost:1]}\n",
		 ":1:33:", "an address and a port"},
		{"listen: {proxy: [127.0.0.1]}\n",
		 ":1:18:", "an address and a port"},
		{"listen: {proxy: [\"127.0.0.1:0\"]}\n",
		 ":1:19:", "an address and a port"},
		{"listen: {proxy: [\"127.0.0.1:65536\"]}\n",
		 ":1:19:", "an address and a port"},
		{"listen: {proxy: [\"::1:3128\"]}\n",
		 ":1:19:", "an address and a port"},
		{"listen: {proxy: [\"[127.0.0.1]:3128\"]}\n",
		 ":1:19:", "an address and a port"},
		{"upstream_proxy: {url: x}\n", ":1:23:", "must be http://"},
		{"upstream_proxy: {url: https://a.example:1}\n",
		 ":1:23:", "must be http://"},
		{"upstream_proxy: {url: http://a.example}\n",
		 ":1:23:", "must be http://"},
		{"upstream_proxy: {url: \"http://u:p@a.example:1\"}\n",
		 ":1:24:", "credentials stand in a secret"},
		{"upstream_proxy: {secret: x}\n", ":1:17:", "url"},
		{"upstream_proxy: {url: http://a.example:1,\n"
		 "  no_proxy: [10.0.0.1/8]}\n",
		 ":2:14:", "bits after the prefix"},
		{"upstream_proxy: {url: http://a.example:1,\n"
		 "  no_proxy: [\"*.corp.example\"]}\n",
		 ":2:15:", "without a *"},
		{"upstream_proxy: {url: http://a.example:1,\n"
		 "  no_proxy: [\"a.example:80\"]}\n",
		 ":2:15:", "not an address"},
		{"guardrail: x\n", ":1:12:", "this must be an absolute path"},
		{"store: sqlite\n", ":1:1:", "\"store\" is not supported yet"},
		{"audit: {retain: 0d}\n", ":1:17:", ""},
		{"limits:\n  memory: 2GiB\n",
		 ":2:3:", "\"memory\" is not supported yet"},
		{"tls: {}\nstat: /x\n", ":2:1:", "did you mean \"state\"?"},
		{"tls: {}\nstate: x\n", ":2:8:", "absolute path"},
		{"dns: {servers: [ns.example]}\n", ":1:17:", "an address"},
		{"dns: {servers: [\"10.0.0.1:0\"]}\n", ":1:18:", "an address"},
		{"dns: {servers: [0177.0.0.1]}\n", ":1:17:", "an address"},
		{"dns: {hosts: {a.example: b.example}}\n",
		 ":1:26:", "an address"},
		{"dns: {hosts: {10.0.0.1: 10.0.0.2}}\n",
		 ":1:15:", "a host name"},
		{"tls: {min: \"1.1\"}\n", ":1:13:", "\"1.1\""},
		{"limits: {sessions: 0}\n", ":1:20:", "a number from 1"},
		{"run: /a\nrun: /b\n", ":2:1:", "twice"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_refusal(&rows[i]);
}

static void config_refuses_exports_that_cannot_be(void **state)
{
	static const struct refusal rows[] = {
		{"audit: {export: [{jsonl: x}]}\n", ":1:26:", "absolute path"},
		{"audit: {export: [/x]}\n", ":1:18:", "map"},
		{"audit: {export: [{}]}\n", ":1:18:", "jsonl"},
		{"audit: {export: [{jsonl: /x, syslog: /x}]}\n",
		 ":1:30:", "syslog"},
		{"audit: {export: [{jsonl: /x}, {jsonl: /x}]}\n",
		 ":1:17:", "twice"},
		{"audit: {export: [{jsonl: /a}, {jsonl: /b}, {jsonl: /c},\n"
		 "  {jsonl: /d}, {jsonl: /e}]}\n",
		 ":1:17:", "more than 4"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_refusal(&rows[i]);
}

static void config_tells_all_errors_at_once(void **state)
{
	struct read_text read;

	(void)state;
	read_text(&read, "state: x\nrun: y\nlisten: {proxy: [x]}\n");
	assert_int_equal(read.result, -1);
	assert_non_null(strstr(read.err.text, "3 errors"));
	done(&read);
}

/* finish() of a configuration with a bundle of that text. */
static int finish_with_roots(struct read_text *read, const char *roots)
{
	char path[] = "/tmp/sallyport-roots-XXXXXX", text[128];
	int fd = mkstemp(path), result;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, roots, strlen(roots)), strlen(roots));
	assert_int_equal(close(fd), 0);
	(void)snprintf(text, sizeof(text), "tls: {ca_bundle: %s}\n", path);
	read_text(read, text);
	assert_int_equal(read->result, 0);
	result = warden_config_finish(&read->config, &read->err);
	assert_int_equal(unlink(path), 0);
	return result;
}

static void config_loads_the_bundle_that_it_names(void **state)
{
	static const char roots[] = "mine\n-----BEGIN CERTIFICATE-----\n";
	struct read_text read;

	(void)state;
	assert_int_equal(finish_with_roots(&read, roots), 0);
	assert_true(bytes_is(read.config.gateway.ca_bundle, roots));
	done(&read);
}

static void config_refuses_a_named_bundle_without_a_certificate(void **state)
{
	static const char *const rows[] = {"", "root:x:0:0\n",
					   "-----BEGIN PRIVATE KEY-----\n"};
	struct read_text read;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(finish_with_roots(&read, rows[i]), -1);
		assert_non_null(
			strstr(read.err.text, "no certificate (PEM) is in it"));
		assert_non_null(strstr(read.err.text, ":1: CA bundle: /tmp/"));
		done(&read);
	}
}

static void config_refuses_a_named_bundle_that_is_not_there(void **state)
{
	struct read_text read;

	(void)state;
	read_text(&read, "tls: {ca_bundle: /nonexistent/ca.pem}\n");
	assert_int_equal(read.result, 0);
	assert_int_equal(warden_config_finish(&read.config, &read.err), -1);
	assert_non_null(strstr(read.err.text, "/nonexistent/ca.pem"));
	done(&read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(config_reads_every_key_it_knows),
		cmocka_unit_test(config_keeps_the_defaults_of_what_is_not_said),
		cmocka_unit_test(
			config_refuses_what_it_does_not_know_and_says_where),
		cmocka_unit_test(config_refuses_exports_that_cannot_be),
		cmocka_unit_test(config_tells_all_errors_at_once),
		cmocka_unit_test(config_loads_the_bundle_that_it_names),
		cmocka_unit_test(
			config_refuses_a_named_bundle_without_a_certificate),
		cmocka_unit_test(
			config_refuses_a_named_bundle_that_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
