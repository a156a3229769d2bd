#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/warden/reload.h"

static const struct config_source file = {
	.name = BYTES_LITERAL("npm"),
	.kind = SOURCE_FILE,
	.path = BYTES_LITERAL("/npm"),
};
static const struct config_source token = {
	.name = BYTES_LITERAL("app"),
	.kind = SOURCE_OAUTH2,
	.host = BYTES_LITERAL("tokens.example"),
};
static const struct config_dns_server server = {
	BYTES_LITERAL("10.0.0.53"),
};

static struct warden_config base(void)
{
	return (struct warden_config){
		.state = "/state",
		.run = "/run",
		.sessions_max = 10,
		.gateway = {.sessions_max = 10},
	};
}

static void changes_are_told_apart(void **state)
{
	const struct warden_config old = base();
	char names[RELOAD_NAMES_MAX];
	struct warden_config next;

	(void)state;
#define AFTER(names_wanted, ...)                                               \
	do {                                                                   \
		next = base();                                                 \
		__VA_ARGS__;                                                   \
		reload_fixed(&old, &next, names);                              \
		assert_string_equal(names, names_wanted);                      \
	} while (0)
	AFTER("", (void)0);
	AFTER("state", next.state = "/other");
	AFTER("state, run", next.state = "/other"; next.run = "/other");
	AFTER("limits.sessions (more than at the start)",
	      next.sessions_max = 11);
	AFTER("", next.sessions_max = 9);
	AFTER("dns.servers", next.gateway.dns_servers = &server;
	      next.gateway.dns_servers_count = 1);
	AFTER("", next.gateway.dns_hosts = bytes_str("forge"));
	AFTER("upstream_proxy", next.gateway.proxy.port = 3128);
	AFTER("", next.gateway.sources = &file; next.gateway.sources_count = 1);
	AFTER("secrets that are bought (oauth2, github_app)",
	      next.gateway.sources = &token;
	      next.gateway.sources_count = 1);
	AFTER("", next.gateway.guardrail = bytes_str("version: 1"));
	AFTER("", next.gateway.tls13_only = true);
	AFTER("", next.gateway.connections_max = 7);
#undef AFTER
}

static void what_is_taken_is_named(void **state)
{
	static const struct config_export export = {BYTES_LITERAL("/rows")};
	const struct warden_config old = base();
	char names[RELOAD_TEXT_MAX];
	struct warden_config next;

	(void)state;
#define TAKES(names_wanted, ...)                                               \
	do {                                                                   \
		next = base();                                                 \
		__VA_ARGS__;                                                   \
		reload_taken(&old, &next, names);                              \
		assert_string_equal(names, names_wanted);                      \
	} while (0)
	TAKES("", (void)0);
	TAKES("guardrail", next.gateway.guardrail = bytes_str("version: 1"));
	TAKES("dns.hosts", next.gateway.dns_hosts = bytes_str("forge"));
	TAKES("tls", next.gateway.tls13_only = true);
	TAKES("tls", next.gateway.ca_bundle = bytes_str("x"));
	TAKES("secrets", next.gateway.sources = &file;
	      next.gateway.sources_count = 1);
	TAKES("limits.sessions", next.sessions_max = 9);
	TAKES("limits.connections", next.gateway.connections_max = 7);
	TAKES("audit.retain, audit.export", next.gateway.audit_retain_ms = 1;
	      next.gateway.audit_exports = &export;
	      next.gateway.audit_exports_count = 1);
#undef TAKES
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_are_told_apart),
		cmocka_unit_test(what_is_taken_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
