#include "gateway/warden/config_text.h"

#include <stdio.h>

#include "common/cleanup.h"
#include "policies/host.h"
#include "policies/reader.h"

#define TREES_MAX	  (64 * 1024 * 1024)
#define PORT_DIGITS	  5
#define LISTENER_TEXT_MAX 64
#define HOSTS_BYTES_MAX	  CONFIG_BYTES_MAX /* while they are read */

/* ---- directories and files ---- */

static bool read_path(struct reader *reader, const struct text_node *node,
		      const char **path)
{
	struct bytes word;
	char *copy;

	if (!reader_word(reader, node, &word))
		return false;
	if (word.len == 0 || word.data[0] != '/')
		return reader_error(reader, node,
				    "this must be an absolute path");
	copy = arena_str(reader->arena, word);
	if (!copy)
		return reader_error(reader, node, "no memory");
	*path = copy;
	return true;
}

static void read_path_field(struct reader *reader, const struct text_node *node,
			    void *target, size_t offset)
{
	(void)read_path(reader, node,
			(const char **)(void *)((char *)target + offset));
}

/* ---- dns ---- */

static bool is_address(struct bytes text)
{
	char canonical[HOST_NAME_MAX_LEN + 1];
	enum host_kind kind = host_canonical(text, canonical);

	return kind == HOST_IPV4 || kind == HOST_IPV6;
}

static bool is_port(struct bytes text)
{
	uint64_t port;

	return bytes_to_u64(text, PORT_DIGITS, &port) == 0 && port > 0 &&
	       port <= UINT16_MAX;
}

/* "10.0.0.53", "10.0.0.53:5353", "fd00::53" or "[fd00::53]:5353". */
static bool is_server(struct bytes text)
{
	ptrdiff_t bracket = bytes_find(text, ']', 0);
	ptrdiff_t colon =
		bytes_find(text, ':', bracket < 0 ? 0 : (size_t)bracket);
	bool has_port =
		colon >= 0 &&
		(bracket >= 0 || bytes_find(text, ':', (size_t)colon + 1) < 0);

	if (!has_port)
		return is_address(text);
	if (bracket >= 0 && colon != bracket + 1)
		return false;
	return is_address(bytes_slice(text, 0, (size_t)colon)) &&
	       is_port(bytes_slice(text, (size_t)colon + 1, text.len));
}

static bool read_server(struct reader *reader, const struct text_node *node,
			void *item)
{
	struct config_dns_server *server = item;

	if (!reader_word(reader, node, &server->address))
		return false;
	if (!is_server(server->address))
		return reader_error(reader, node,
				    "this must be an address, like 10.0.0.53 "
				    "or \"[fd00::53]:5353\"");
	return true;
}

static void read_servers(struct reader *reader, const struct text_node *node,
			 void *target, size_t offset)
{
	struct warden_config *config = target;
	void *items = NULL;
	size_t count = 0;

	(void)offset;
	if (!reader_list(reader, node, sizeof(struct config_dns_server),
			 read_server, &items, &count))
		return;
	if (count > CONFIG_SERVERS_MAX) {
		(void)reader_error(reader, node, "more than %d servers",
				   CONFIG_SERVERS_MAX);
		return;
	}
	config->gateway.dns_servers = items;
	config->gateway.dns_servers_count = count;
}

/* The canonical name is in the arena names. */
static bool read_host(struct reader *reader, const struct text_node *node,
		      struct arena *names, struct config_dns_host *host)
{
	const struct text_node name = {
		.kind = TEXT_SCALAR, .at = node->key_at, .value = node->key};
	char canonical[HOST_NAME_MAX_LEN + 1];

	if (host_canonical(node->key, canonical) != HOST_NAME)
		return reader_error(reader, &name, "this must be a host name");
	host->name = arena_copy(names, bytes_str(canonical));
	if (!reader_word(reader, node, &host->address))
		return false;
	if (!is_address(host->address))
		return reader_error(reader, node,
				    "this must be an address, like "
				    "198.51.100.7");
	return true;
}

static int encode_hosts(const struct config_dns_hosts *hosts,
			struct arena *arena, struct bytes *encoded)
{
	auto_type(buf_release) struct buf out;
	struct err err;

	buf_init(&out, HOSTS_BYTES_MAX);
	if (wire_encode(&config_dns_hosts_schema, hosts, &out, &err) < 0)
		return -1;
	*encoded = arena_copy(arena, buf_view(&out));
	return encoded->data ? 0 : -1;
}

static void read_hosts(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset)
{
	auto_type(arena_release) struct arena arena;
	struct warden_config *config = target;
	struct config_dns_host *hosts;
	size_t count = 0;

	(void)offset;
	arena_init(&arena, HOSTS_BYTES_MAX);
	if (!reader_kind(reader, node, TEXT_MAP))
		return;
	hosts = arena_array(&arena, node->count, sizeof(*hosts));
	if (!hosts || node->count > CONFIG_HOSTS_MAX) {
		(void)reader_error(reader, node, "too many hosts");
		return;
	}
	for (const struct text_node *item = node->first; item;
	     item = item->next)
		if (read_host(reader, item, &arena, &hosts[count]))
			count++;
	if (count > 0 &&
	    encode_hosts(&(struct config_dns_hosts){hosts, count},
			 reader->arena, &config->gateway.dns_hosts) < 0)
		(void)reader_error(reader, node, "too many hosts");
}

static void read_dns(struct reader *reader, const struct text_node *node,
		     void *target, size_t offset)
{
	static const struct reader_field fields[] = {
		{"servers", read_servers, 0},
		{"hosts", read_hosts, 0},
	};

	(void)offset;
	(void)reader_map(reader, node, fields, ARRAY_SIZE(fields), target);
}

/* ---- listen ---- */

static bool read_listener(struct reader *reader, const struct text_node *node,
			  void *item)
{
	struct config_listener *listener = item;
	char copy[LISTENER_TEXT_MAX];
	struct sockaddr_storage address;

	if (!reader_word(reader, node, &listener->address))
		return false;
	(void)snprintf(copy, sizeof(copy), "%.*s",
		       BYTES_ARGS(listener->address));
	if (listener->address.len >= sizeof(copy) ||
	    config_listener_parse(copy, &address) < 0)
		return reader_error(reader, node,
				    "this must be an address and a port, like "
				    "127.0.0.1:3128 or \"[::1]:3128\"");
	return true;
}

static void read_proxy(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset)
{
	struct warden_config *config = target;
	void *items = NULL;
	size_t count = 0;

	(void)offset;
	if (!reader_list(reader, node, sizeof(struct config_listener),
			 read_listener, &items, &count))
		return;
	if (count > CONFIG_PROXY_LISTENERS_MAX) {
		(void)reader_error(reader, node, "more than %d addresses",
				   CONFIG_PROXY_LISTENERS_MAX);
		return;
	}
	config->gateway.proxy_listeners = items;
	config->gateway.proxy_listeners_count = count;
}

static void read_listen(struct reader *reader, const struct text_node *node,
			void *target, size_t offset)
{
	static const struct reader_field fields[] = {
		{"proxy", read_proxy, 0},
	};

	(void)offset;
	(void)reader_map(reader, node, fields, ARRAY_SIZE(fields), target);
}

/* ---- tls ---- */

static void read_tls_min(struct reader *reader, const struct text_node *node,
			 void *target, size_t offset)
{
	static const struct choice versions[] = {{"1.2", 0}, {"1.3", 1}};
	struct warden_config *config = target;
	int is_13 = 0;

	(void)offset;
	if (reader_choice(reader, node, versions, ARRAY_SIZE(versions), &is_13))
		config->gateway.tls13_only = is_13 == 1;
}

static void read_tls(struct reader *reader, const struct text_node *node,
		     void *target, size_t offset)
{
	static const struct reader_field fields[] = {
		{"ca_bundle", read_path_field,
		 offsetof(struct warden_config, ca_bundle_path)},
		{"min", read_tls_min, 0},
	};

	(void)offset;
	(void)reader_map(reader, node, fields, ARRAY_SIZE(fields), target);
}

/* ---- limits ---- */

static void read_sessions(struct reader *reader, const struct text_node *node,
			  void *target, size_t offset)
{
	struct warden_config *config = target;
	uint64_t value;

	(void)offset;
	if (!reader_number(reader, node, 1, CONFIG_SESSIONS_MAX, &value))
		return;
	config->sessions_max = (size_t)value;
	config->gateway.sessions_max = (uint32_t)value;
}

static void read_connections(struct reader *reader,
			     const struct text_node *node, void *target,
			     size_t offset)
{
	struct warden_config *config = target;
	uint64_t value;

	(void)offset;
	if (reader_number(reader, node, 1, CONFIG_CONNECTIONS_MAX, &value))
		config->gateway.connections_max = (uint32_t)value;
}

static void read_limits(struct reader *reader, const struct text_node *node,
			void *target, size_t offset)
{
	static const struct reader_field fields[] = {
		{"sessions", read_sessions, 0},
		{"connections", read_connections, 0},
		{"memory", NULL, 0},
	};

	(void)offset;
	(void)reader_map(reader, node, fields, ARRAY_SIZE(fields), target);
}

/* ---- where it was said ---- */

static void note_keys(struct warden_config *config,
		      const struct text_source *source,
		      const struct text_node *root)
{
	static const struct text_key keys[CONFIG_KEY_MAX] = {
		[CONFIG_STATE] = {"state", NULL},
		[CONFIG_RUN] = {"run", NULL},
		[CONFIG_LISTEN_PROXY] = {"listen", "proxy"},
		[CONFIG_UPSTREAM_PROXY] = {"upstream_proxy", NULL},
		[CONFIG_SECRETS] = {"secrets", NULL},
		[CONFIG_DNS_SERVERS] = {"dns", "servers"},
		[CONFIG_DNS_HOSTS] = {"dns", "hosts"},
		[CONFIG_CA_BUNDLE] = {"tls", "ca_bundle"},
		[CONFIG_TLS_MIN] = {"tls", "min"},
		[CONFIG_GUARDRAIL] = {"guardrail", NULL},
		[CONFIG_AUDIT_RETAIN] = {"audit", "retain"},
		[CONFIG_AUDIT_EXPORT] = {"audit", "export"},
		[CONFIG_LIMIT_SESSIONS] = {"limits", "sessions"},
		[CONFIG_LIMIT_CONNECTIONS] = {"limits", "connections"},
	};

	text_find_keys(source, root, keys, CONFIG_KEY_MAX, config->from);
}

/* ---- all ---- */

bool config_text_read(struct warden_config *config, struct bytes text,
		      struct policy_errors *errors)
{
	static const struct reader_field fields[] = {
		{"state", read_path_field,
		 offsetof(struct warden_config, state)},
		{"run", read_path_field, offsetof(struct warden_config, run)},
		{"dns", read_dns, 0},
		{"tls", read_tls, 0},
		{"limits", read_limits, 0},
		{"listen", read_listen, 0},
		{"upstream_proxy", config_read_upstream_proxy, 0},
		{"secrets", config_read_sources, 0},
		{"guardrail", read_path_field,
		 offsetof(struct warden_config, guardrail_path)},
		{"store", NULL, 0},
		{"audit", config_read_audit, 0},
	};
	auto_type(arena_release) struct arena trees;
	struct reader reader = {
		.source = {text, errors->file, errors},
		.arena = &config->arena,
		.owner = config,
	};
	const struct text_node *root;

	arena_init(&trees, TREES_MAX);
	errors->count = 0;
	root = text_parse(&reader.source, &trees);
	if (root)
		(void)reader_map(&reader, root, fields, ARRAY_SIZE(fields),
				 config);
	if (errors->count > 0 || !root)
		return false;
	note_keys(config, &reader.source, root);
	return true;
}
