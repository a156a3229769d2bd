#include "gateway/flow/config.h"

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

static const struct wire_field listener_fields[] = {
	WIRE_TEXT(struct config_listener, address, 64),
};
static const struct wire_schema listener_schema =
	WIRE_SCHEMA("listener", struct config_listener, listener_fields);

static const struct wire_field config_fields[] = {
	WIRE_LIST(struct gateway_config, dns_servers, 16, &server_schema),
	WIRE_LIST(struct gateway_config, dns_hosts, CONFIG_NAMES_MAX,
		  &host_schema),
	WIRE_LIST(struct gateway_config, proxy_listeners,
		  CONFIG_PROXY_LISTENERS_MAX, &listener_schema),
	WIRE_BYTES(struct gateway_config, ca_bundle, CONFIG_BYTES_MAX / 2),
	WIRE_BOOL(struct gateway_config, tls13_only),
	WIRE_BYTES(struct gateway_config, state, CONFIG_PATH_MAX),
	WIRE_U32(struct gateway_config, sessions_max),
	WIRE_U32(struct gateway_config, connections_max),
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
