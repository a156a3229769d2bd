#include "gateway/warden/config_dump.h"

#include <arpa/inet.h>
#include <inttypes.h>

#include "common/cleanup.h"
#include "policies/dump_text.h"

#define MAPPED_PREFIX 96 /* bits of an IPv4-mapped address before IPv4's */

struct dump {
	struct dump_text text;
	const struct warden_config *config;
};

#define add(dump, ...) dump_text_add(&(dump)->text, __VA_ARGS__)

static void add_quoted(struct dump *dump, struct bytes text)
{
	dump_text_quoted(&dump->text, text);
}

/* "  # gateway.yaml:12" and the end of the line. */
static void add_from(struct dump *dump, enum config_key key)
{
	const struct text_place *from = &dump->config->from[key];

	dump_text_from(&dump->text, from->where, from->line);
}

/* ---- lists ---- */

static void add_item(struct dump *dump, struct bytes text)
{
	add(dump, "    - ");
	add_quoted(dump, text);
	add(dump, "\n");
}

static void add_range(struct dump *dump, const struct config_range *range)
{
	char text[INET6_ADDRSTRLEN] = "";
	bool is_v4 =
		range->prefix >= MAPPED_PREFIX &&
		IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)
					     range->address.data);
	const uint8_t *address = range->address.data + (is_v4 ? 12 : 0);

	(void)inet_ntop(is_v4 ? AF_INET : AF_INET6, address, text,
			sizeof(text));
	add(dump, "    - \"%s/%u\"\n", text,
	    range->prefix - (is_v4 ? MAPPED_PREFIX : 0));
}

/* ---- listen, dns, tls ---- */

static void add_listen(struct dump *dump, const struct gateway_config *config)
{
	if (config->proxy_listeners_count == 0) {
		add(dump, "# listen.proxy: none  # default\n");
		return;
	}
	add(dump, "listen:\n  proxy:");
	add_from(dump, CONFIG_LISTEN_PROXY);
	for (size_t i = 0; i < config->proxy_listeners_count; i++)
		add_item(dump, config->proxy_listeners[i].address);
}

static const char *kind_text(const struct config_proxy *proxy)
{
	return proxy->kind == PROXY_HTTP ? "http" : "socks5";
}

/* An IPv6 address stands in brackets before a port. */
static bool has_colon(struct bytes host)
{
	return bytes_find(host, ':', 0) >= 0;
}

static void add_proxy(struct dump *dump, const struct config_proxy *proxy)
{
	if (proxy->kind == PROXY_NONE) {
		add(dump, "# upstream_proxy: none  # default\n");
		return;
	}
	add(dump, "upstream_proxy:");
	add_from(dump, CONFIG_UPSTREAM_PROXY);
	add(dump,
	    has_colon(proxy->host) ? "  url: \"%s://[%.*s]:%u\"\n"
				   : "  url: \"%s://%.*s:%u\"\n",
	    kind_text(proxy), BYTES_ARGS(proxy->host), proxy->port);
	if (proxy->secret.len > 0) {
		add(dump, "  secret: ");
		add_quoted(dump, proxy->secret);
		add(dump, "\n");
	}
	if (proxy->except_names_count + proxy->except_ranges_count > 0)
		add(dump, "  no_proxy:\n");
	for (size_t i = 0; i < proxy->except_names_count; i++)
		add_item(dump, proxy->except_names[i].name);
	for (size_t i = 0; i < proxy->except_ranges_count; i++)
		add_range(dump, &proxy->except_ranges[i]);
}

static void add_hosts(struct dump *dump, struct bytes encoded)
{
	auto_type(arena_release) struct arena arena;
	struct config_dns_hosts names;
	struct err err;

	arena_init(&arena, CONFIG_BYTES_MAX);
	if (wire_decode(&config_dns_hosts_schema, encoded, &arena, &names,
			&err) < 0) {
		dump->text.is_full = true;
		return;
	}
	for (size_t i = 0; i < names.hosts_count; i++)
		add(dump, "    %.*s: \"%.*s\"\n",
		    BYTES_ARGS(names.hosts[i].name),
		    BYTES_ARGS(names.hosts[i].address));
}

static void add_dns(struct dump *dump, const struct gateway_config *config)
{
	if (config->dns_servers_count == 0)
		add(dump, "# dns.servers: those of /etc/resolv.conf"
			  "  # default\n");
	if (config->dns_hosts.len == 0)
		add(dump, "# dns.hosts: none  # default\n");
	if (config->dns_servers_count + config->dns_hosts.len == 0)
		return;
	add(dump, "dns:\n");
	if (config->dns_servers_count > 0) {
		add(dump, "  servers:");
		add_from(dump, CONFIG_DNS_SERVERS);
	}
	for (size_t i = 0; i < config->dns_servers_count; i++)
		add_item(dump, config->dns_servers[i].address);
	if (config->dns_hosts.len > 0) {
		add(dump, "  hosts:");
		add_from(dump, CONFIG_DNS_HOSTS);
		add_hosts(dump, config->dns_hosts);
	}
}

static void add_tls(struct dump *dump, const struct warden_config *config)
{
	if (!config->gateway.has_private_roots)
		add(dump, "# tls.ca_bundle: %s  # default\n",
		    config->ca_bundle_path);
	add(dump, "tls:\n");
	if (config->gateway.has_private_roots) {
		add(dump, "  ca_bundle: ");
		add_quoted(dump, bytes_str(config->ca_bundle_path));
		add_from(dump, CONFIG_CA_BUNDLE);
	}
	add(dump, "  min: \"%s\"", config->gateway.tls13_only ? "1.3" : "1.2");
	add_from(dump, CONFIG_TLS_MIN);
}

/* ---- secrets ---- */

static void add_named(struct dump *dump, const char *name, struct bytes text)
{
	if (text.len == 0)
		return;
	add(dump, "      %s: ", name);
	add_quoted(dump, text);
	add(dump, "\n");
}

static void add_url(struct dump *dump, const char *name,
		    const struct config_source *source)
{
	ptrdiff_t query = bytes_find(source->url_path, '?', 0);

	add(dump,
	    has_colon(source->host) ? "      %s: \"https://[%.*s]:%u"
				    : "      %s: \"https://%.*s:%u",
	    name, BYTES_ARGS(source->host), source->port);
	add(dump, "%.*s\"%s\n",
	    BYTES_ARGS(bytes_slice(source->url_path, 0,
				   query < 0 ? SIZE_MAX : (size_t)query)),
	    query < 0 ? "" : "  # and a query");
}

static void add_exec(struct dump *dump, const struct config_source *source)
{
	add(dump, "    exec: [");
	add_quoted(dump, source->words[0].text);
	if (source->words_count > 1)
		add(dump, "]  # and %zu arguments, not shown\n",
		    source->words_count - 1);
	else
		add(dump, "]\n");
	add(dump, "    cache: %" PRIu64 "ms\n    timeout: %ums\n",
	    source->cache_ms, source->timeout_ms);
}

static void add_app(struct dump *dump, const struct config_source *source)
{
	add(dump,
	    "    github_app:\n      app: %" PRIu64
	    "\n      installation: %" PRIu64 "\n",
	    source->app, source->installation);
	add_named(dump, "key", source->client);
	add_url(dump, "api", source);
	if (source->permissions_count > 0)
		add(dump, "      permissions:\n");
	for (size_t i = 0; i < source->permissions_count; i++)
		add(dump, "        %.*s: %s\n",
		    BYTES_ARGS(source->permissions[i].name),
		    source->permissions[i].write ? "write" : "read");
}

static void add_source(struct dump *dump, const struct config_source *source)
{
	add(dump, "  %.*s:\n", BYTES_ARGS(source->name));
	switch ((enum source_kind)source->kind) {
	case SOURCE_FILE:
	case SOURCE_CREDENTIAL:
		add(dump, "    %s: ",
		    source->kind == SOURCE_FILE ? "file" : "credential");
		add_quoted(dump, source->path);
		add(dump, "\n");
		break;
	case SOURCE_EXEC:
		add_exec(dump, source);
		break;
	case SOURCE_OAUTH2:
		add(dump, "    oauth2:\n");
		add_url(dump, "token_url", source);
		add_named(dump, "client", source->client);
		add_named(dump, "client_auth",
			  bytes_str(source->in_body ? "body" : "basic"));
		add_named(dump, "refresh_token", source->refresh);
		add_named(dump, "scope", source->scope);
		break;
	case SOURCE_GITHUB_APP:
		add_app(dump, source);
		break;
	case SOURCE_KIND_MAX:
		break;
	}
}

static void add_sources(struct dump *dump, const struct gateway_config *config)
{
	if (config->sources_count == 0) {
		add(dump, "# secrets: all in the vault  # default\n");
		return;
	}
	add(dump, "secrets:");
	add_from(dump, CONFIG_SECRETS);
	for (size_t i = 0; i < config->sources_count; i++)
		add_source(dump, &config->sources[i]);
}

/* ---- audit, limits ---- */

static void add_retain(struct dump *dump, uint64_t ms)
{
	static const struct {
		uint64_t ms;
		const char *name;
	} units[] = {
		{86400000, "d"}, {3600000, "h"}, {60000, "m"},
		{1000, "s"},	 {1, "ms"},
	};
	size_t i = 0;

	while (ms % units[i].ms != 0)
		i++;
	add(dump, "  retain: %" PRIu64 "%s", ms / units[i].ms, units[i].name);
	add_from(dump, CONFIG_AUDIT_RETAIN);
}

static void add_audit(struct dump *dump, const struct gateway_config *config)
{
	if (config->audit_retain_ms == 0)
		add(dump, "# audit.retain: for ever  # default\n");
	if (config->audit_exports_count == 0)
		add(dump, "# audit.export: none  # default\n");
	if (config->audit_retain_ms == 0 && config->audit_exports_count == 0)
		return;
	add(dump, "audit:\n");
	if (config->audit_retain_ms > 0)
		add_retain(dump, config->audit_retain_ms);
	if (config->audit_exports_count > 0) {
		add(dump, "  export:");
		add_from(dump, CONFIG_AUDIT_EXPORT);
	}
	for (size_t i = 0; i < config->audit_exports_count; i++) {
		add(dump, "    - jsonl: ");
		add_quoted(dump, config->audit_exports[i].path);
		add(dump, "\n");
	}
}

static void add_limits(struct dump *dump, const struct warden_config *config)
{
	add(dump, "limits:\n  sessions: %zu", config->sessions_max);
	add_from(dump, CONFIG_LIMIT_SESSIONS);
	add(dump, "  connections: %u", config->gateway.connections_max);
	add_from(dump, CONFIG_LIMIT_CONNECTIONS);
}

/* ---- all ---- */

static void add_path(struct dump *dump, const char *name, const char *path,
		     enum config_key key)
{
	add(dump, "%s: ", name);
	add_quoted(dump, bytes_str(path));
	add_from(dump, key);
}

int config_dump(const struct warden_config *config, struct buf *out)
{
	struct dump dump = {.text = {.out = out}, .config = config};

	add_path(&dump, "state", config->state, CONFIG_STATE);
	add_path(&dump, "run", config->run, CONFIG_RUN);
	add_listen(&dump, &config->gateway);
	add_proxy(&dump, &config->gateway.proxy);
	add_sources(&dump, &config->gateway);
	add_dns(&dump, &config->gateway);
	add_tls(&dump, config);
	if (config->guardrail_path)
		add_path(&dump, "guardrail", config->guardrail_path,
			 CONFIG_GUARDRAIL);
	else
		add(&dump, "# guardrail: none  # default\n");
	add_audit(&dump, &config->gateway);
	add_limits(&dump, config);
	return dump.text.is_full ? -1 : 0;
}
