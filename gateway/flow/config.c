#include "gateway/flow/config.h"

#include "policies/policy.h"

#define CONFIG_NAMES_MAX 10000
#define CONFIG_PATH_MAX	 4096

static const struct wire_field server_fields[] = {
	WIRE_TEXT(struct config_dns_server, address, 64),
};
static const struct wire_schema server_schema =
	WIRE_SCHEMA("dns-server", struct config_dns_server, server_fields);

static const struct wire_field host_fields[] = {
	WIRE_TEXT(struct config_dns_host, name, 253),
	WIRE_TEXT(struct config_dns_host, address, 64),
};
static const struct wire_schema host_schema =
	WIRE_SCHEMA("dns-host", struct config_dns_host, host_fields);
static const struct wire_field hosts_fields[] = {
	WIRE_LIST(struct config_dns_hosts, hosts, CONFIG_NAMES_MAX,
		  &host_schema),
};
const struct wire_schema config_dns_hosts_schema =
	WIRE_SCHEMA("dns-hosts", struct config_dns_hosts, hosts_fields);

static const struct wire_field listener_fields[] = {
	WIRE_TEXT(struct config_listener, address, 64),
};
static const struct wire_schema listener_schema =
	WIRE_SCHEMA("listener", struct config_listener, listener_fields);

static const struct wire_field name_fields[] = {
	WIRE_TEXT(struct config_name, name, 253),
};
static const struct wire_schema name_schema =
	WIRE_SCHEMA("config-name", struct config_name, name_fields);

static const struct wire_field range_fields[] = {
	WIRE_BYTES(struct config_range, address, 16),
	WIRE_FIELD(struct config_range, prefix, WIRE_KIND_U8, 129),
};
static const struct wire_schema range_schema =
	WIRE_SCHEMA("config-range", struct config_range, range_fields);

static const struct wire_field export_fields[] = {
	WIRE_TEXT(struct config_export, path, CONFIG_EXPORT_PATH_MAX),
};
static const struct wire_schema export_schema =
	WIRE_SCHEMA("config-export", struct config_export, export_fields);

static const struct wire_field config_fields[] = {
	WIRE_LIST(struct gateway_config, dns_servers, 16, &server_schema),
	WIRE_BYTES(struct gateway_config, dns_hosts, CONFIG_BYTES_MAX),
	WIRE_LIST(struct gateway_config, proxy_listeners,
		  CONFIG_PROXY_LISTENERS_MAX, &listener_schema),
	WIRE_ENUM(struct gateway_config, proxy.kind, PROXY_KIND_MAX),
	WIRE_TEXT(struct gateway_config, proxy.host, 253),
	WIRE_U16(struct gateway_config, proxy.port),
	WIRE_TEXT(struct gateway_config, proxy.secret, 128),
	WIRE_LIST(struct gateway_config, proxy.except_names,
		  CONFIG_PROXY_EXCEPT_MAX, &name_schema),
	WIRE_LIST(struct gateway_config, proxy.except_ranges,
		  CONFIG_PROXY_EXCEPT_MAX, &range_schema),
	WIRE_LIST(struct gateway_config, sources, SOURCES_MAX,
		  &config_source_schema),
	WIRE_BYTES(struct gateway_config, ca_bundle, CONFIG_BYTES_MAX / 2),
	WIRE_BOOL(struct gateway_config, has_private_roots),
	WIRE_BYTES(struct gateway_config, guardrail, POLICY_TEXT_MAX),
	WIRE_BOOL(struct gateway_config, tls13_only),
	WIRE_BYTES(struct gateway_config, state, CONFIG_PATH_MAX),
	WIRE_U32(struct gateway_config, sessions_max),
	WIRE_U32(struct gateway_config, connections_max),
	WIRE_U64(struct gateway_config, audit_retain_ms),
	WIRE_LIST(struct gateway_config, audit_exports, CONFIG_EXPORTS_MAX,
		  &export_schema),
	WIRE_U32(struct gateway_config, uid_base),
};
const struct wire_schema gateway_config_schema =
	WIRE_SCHEMA("config", struct gateway_config, config_fields);

int gateway_config_load(int fd, struct arena *arena,
			struct gateway_config *config, struct err *err)
{
	struct bytes view;

	if (wire_memfd_map(fd, CONFIG_BYTES_MAX, &view, err) < 0)
		return -1;
	if (wire_decode(&gateway_config_schema, view, arena, config, err) < 0) {
		wire_memfd_unmap(view);
		return -1;
	}
	return 0;
}

const struct config_source *
gateway_config_source(const struct gateway_config *config, struct bytes name)
{
	for (size_t i = 0; i < config->sources_count; i++)
		if (bytes_equal(config->sources[i].name, name))
			return &config->sources[i];
	return NULL;
}

bool gateway_config_buys(const struct gateway_config *config)
{
	for (size_t i = 0; i < config->sources_count; i++)
		if (source_is_bought(&config->sources[i]))
			return true;
	return false;
}

bool gateway_config_tls_differs(const struct gateway_config *a,
				const struct gateway_config *b)
{
	return a->tls13_only != b->tls13_only ||
	       !bytes_equal(a->ca_bundle, b->ca_bundle);
}
