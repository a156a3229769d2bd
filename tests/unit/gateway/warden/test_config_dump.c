#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "gateway/warden/config_dump.h"
#include "gateway/warden/config_text.h"

/* A configuration from a text that has no error. */
static void read_text(struct warden_config *config, struct bytes text,
		      const char *file)
{
	auto_type(buf_release) struct buf report;
	struct policy_errors errors = {.out = &report, .file = file};
	struct err err;

	buf_init(&report, 65536);
	assert_int_equal(warden_config_defaults(config, &err), 0);
	if (!config_text_read(config, text, &errors))
		fail_msg("%s\nin\n%.*s", buf_str(&report), BYTES_ARGS(text));
	config->gateway.has_private_roots = config->ca_bundle_path != NULL;
	if (!config->ca_bundle_path)
		config->ca_bundle_path = "/default/roots.pem";
}

static void dump_text(const struct warden_config *config, struct buf *out)
{
	buf_init(out, CONFIG_DUMP_MAX);
	assert_int_equal(config_dump(config, out), 0);
}

/* Everything that a gateway.yaml can say. */
static const char all[] =
	"state: /x/state\n"
	"run: \"/x/a \\\"run\\\"\"\n"
	"listen: {proxy: [\"127.0.0.1:3128\", \"[::1]:3128\"]}\n"
	"upstream_proxy: {url: \"socks5://[fd00::1]:1080\", secret: corp,\n"
	"  no_proxy: [.corp.example, 10.0.0.0/8, \"fd00::/16\", 192.0.2.1]}\n"
	"secrets:\n"
	"  npm: {file: /etc/npm.token}\n"
	"  sys: {credential: npm.token}\n"
	"  prog: {exec: [/bin/pass, --key, hunter2], cache: 5m, timeout: 2s}\n"
	"  one: {exec: [/bin/one]}\n"
	"  oauth: {oauth2: {token_url: "
	"\"https://t.example:8443/t?key=hunter2\",\n"
	"    client: c, client_auth: body, refresh_token: r, scope: \"a b\"}}\n"
	"  app: {github_app: {app: 12, installation: 34, key: k,\n"
	"    permissions: {contents: write, checks: read}}}\n"
	"dns:\n"
	"  servers: [10.0.0.53, \"[fd00::53]:5353\"]\n"
	"  hosts: {a.example: 198.51.100.7, b.example: \"fd00::1\"}\n"
	"tls: {ca_bundle: /x/ca.pem, min: \"1.3\"}\n"
	"guardrail: /x/guardrail.yaml\n"
	"audit: {retain: 36h, export: [{jsonl: /x/audit.jsonl}]}\n"
	"limits: {sessions: 7, connections: 9}\n";

static bool same(const struct warden_config *a, const struct warden_config *b)
{
	auto_type(buf_release) struct buf one, other;
	struct err err;

	buf_init(&one, CONFIG_BYTES_MAX);
	buf_init(&other, CONFIG_BYTES_MAX);
	assert_int_equal(
		wire_encode(&gateway_config_schema, &a->gateway, &one, &err),
		0);
	assert_int_equal(
		wire_encode(&gateway_config_schema, &b->gateway, &other, &err),
		0);
	return bytes_equal(buf_view(&one), buf_view(&other)) &&
	       !strcmp(a->state, b->state) && !strcmp(a->run, b->run);
}

static void a_dump_means_the_same_again(void **state)
{
	static const char *const texts[] = {
		"tls: {}\n",
		"audit: {retain: 90d}\n",
		"audit: {retain: 1500ms}\n",
		"dns: {hosts: {a.example: 198.51.100.7}}\n",
		("secrets: {app: {github_app: {app: 1, installation: 2, key: k,"
		 " api: \"https://ghe.example/api/v3\"}}}\n"),
		"upstream_proxy: {url: http://p.example:3128}\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct warden_config config, again;
		struct buf text;

		read_text(&config, bytes_str(texts[i]), "a.yaml");
		dump_text(&config, &text);
		read_text(&again, buf_view(&text), "b.yaml");
		if (!same(&config, &again))
			fail_msg("%s", buf_str(&text));
		buf_release(&text);
		warden_config_release(&config);
		warden_config_release(&again);
	}
}

static void a_dump_shows_every_key_and_no_secret(void **state)
{
	static const char *const wanted[] = {
		"state: \"/x/state\"  # a.yaml:1\n",
		"run: \"/x/a \\\"run\\\"\"  # a.yaml:2\n",
		"  proxy:  # a.yaml:3\n    - \"127.0.0.1:3128\"\n",
		"upstream_proxy:  # a.yaml:4\n  url: "
		"\"socks5://[fd00::1]:1080\"",
		"    - \"10.0.0.0/8\"\n    - \"fd00::/16\"\n"
		"    - \"192.0.2.1/32\"\n",
		"    file: \"/etc/npm.token\"\n",
		"    credential: \"npm.token\"\n",
		"exec: [\"/bin/pass\"]  # and 2 arguments, not shown\n",
		"exec: [\"/bin/one\"]\n",
		"token_url: \"https://t.example:8443/t\"  # and a query\n",
		"        contents: write\n        checks: read\n",
		"    b.example: \"fd00::1\"\n",
		"  ca_bundle: \"/x/ca.pem\"  # a.yaml:18\n"
		"  min: \"1.3\"  # a.yaml:18\n",
		"guardrail: \"/x/guardrail.yaml\"  # a.yaml:19\n",
		"  retain: 36h  # a.yaml:20\n  export:  # a.yaml:20\n"
		"    - jsonl: \"/x/audit.jsonl\"\n",
		"  sessions: 7  # a.yaml:21\n",
	};
	struct warden_config config;
	struct buf text;

	(void)state;
	read_text(&config, bytes_str(all), "a.yaml");
	dump_text(&config, &text);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!strstr(buf_str(&text), wanted[i]))
			fail_msg("%s is not in\n%s", wanted[i], buf_str(&text));
	assert_null(strstr(buf_str(&text), "hunter2"));
	buf_release(&text);
	warden_config_release(&config);
}

static void a_default_is_called_one(void **state)
{
	static const char *const wanted[] = {
		"state: \"/from/environment\"  # SALLYPORT_STATE\n",
		"# listen.proxy: none  # default\n",
		"# dns.servers: those of /etc/resolv.conf  # default\n",
		"# tls.ca_bundle: /default/roots.pem  # default\n",
		"  min: \"1.2\"  # default\n",
		"# audit.retain: for ever  # default\n",
		"  sessions: 1000  # default\n",
		"  connections: 1000  # default\n",
	};
	struct warden_config config;
	struct buf text;

	(void)state;
	assert_int_equal(setenv("SALLYPORT_STATE", "/from/environment", 1), 0);
	read_text(&config, bytes_str("tls: {}\n"), "a.yaml");
	assert_int_equal(unsetenv("SALLYPORT_STATE"), 0);
	dump_text(&config, &text);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!strstr(buf_str(&text), wanted[i]))
			fail_msg("%s is not in\n%s", wanted[i], buf_str(&text));
	buf_release(&text);
	warden_config_release(&config);
}

static void a_dump_that_is_too_long_is_a_failure(void **state)
{
	struct warden_config config;
	struct buf text;

	(void)state;
	read_text(&config, bytes_str(all), "a.yaml");
	buf_init(&text, 500);
	assert_int_equal(config_dump(&config, &text), -1);
	buf_release(&text);
	warden_config_release(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dump_means_the_same_again),
		cmocka_unit_test(a_dump_shows_every_key_and_no_secret),
		cmocka_unit_test(a_default_is_called_one),
		cmocka_unit_test(a_dump_that_is_too_long_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
