/*
 * network: who may be reached.
 */
#include "common/cleanup.h"
#include "policies/settings/settings_parts.h"

#define PORTS_MAX 64

static const struct settings_key keys[] = {
	{"allowedDomains", JSON_ARRAY, true, NULL, NULL},
	{"deniedDomains", JSON_ARRAY, true, NULL, NULL},
	{"deniedDomainReasons", JSON_OBJECT, false, NULL, NULL},
	{"strictAllowlist", JSON_TRUE, false, NULL, NULL},
	{"deniedResolvedAddresses", JSON_ARRAY, false, NULL, NULL},
	{"allowUnixSockets", JSON_ARRAY, false, NULL,
	 "sockets of the host stay closed; sandbox-runtime does not heed this "
	 "on Linux either"},
	{"allowAllUnixSockets", JSON_TRUE, false, NULL,
	 "stricter: sockets made inside work, those of the host stay closed"},
	{"allowLocalBinding", JSON_TRUE, false, NULL, NULL},
	{"allowMachLookup", JSON_ARRAY, false, NULL,
	 "of another system: without an effect here"},
	{"httpProxyPort", JSON_INTEGER, false,
	 "the gateway is the proxy: another one is not supported", NULL},
	{"socksProxyPort", JSON_INTEGER, false,
	 "the gateway is the proxy: another one is not supported", NULL},
	{"mitmProxy", JSON_OBJECT, false,
	 "the gateway is the proxy: another one is not supported", NULL},
	{"parentProxy", JSON_OBJECT, false,
	 "set upstream_proxy in the gateway's configuration", NULL},
	{"filterRequest", JSON_STRING, false,
	 "use rules or network.script of a policy", NULL},
	{"tlsTerminate", JSON_OBJECT, false, NULL, NULL},
};

static const struct settings_key tls_keys[] = {
	{"caCertPath", JSON_STRING, false, "the gateway has a CA of its own",
	 NULL},
	{"caKeyPath", JSON_STRING, false, "the gateway has a CA of its own",
	 NULL},
	{"excludeDomains", JSON_ARRAY, false, NULL, NULL},
	{"extraCaCertPaths", JSON_ARRAY, false,
	 "set tls.ca_bundle in the gateway's configuration", NULL},
};

/* Ports of all entries: a denial without one is for each of them. */
struct ports {
	uint16_t items[PORTS_MAX];
	size_t count;
};

static void add_port(struct settings *settings, struct ports *ports,
		     uint16_t port)
{
	for (size_t i = 0; i < ports->count; i++)
		if (ports->items[i] == port)
			return;
	if (ports->count < PORTS_MAX)
		ports->items[ports->count++] = port;
	else
		settings_error(settings, "network.allowedDomains",
			       "more than %d ports", PORTS_MAX);
}

static const json_t *list_of(const struct settings *settings, const char *name)
{
	return json_object_get(settings->network, name);
}

static void read_domains(struct settings *settings, const char *name,
			 struct ports *ports)
{
	const json_t *list = list_of(settings, name);
	struct settings_domain domain;

	for (size_t i = 0; i < json_array_size(list); i++) {
		struct bytes text = settings_string(list, i);

		if (!settings_domain_read(text, &domain) ||
		    (bytes_is(domain.host, "*") &&
		     strcmp(name, "deniedDomains") != 0))
			settings_error(settings, name,
				       "\"%.*s\" is no domain (example.com, "
				       "*.example.com:8443, [2001:db8::1])",
				       BYTES_ARGS(text));
		else if (domain.port)
			add_port(settings, ports, domain.port);
	}
}

/* ---- rules ---- */

static void add_denial(struct settings *settings, size_t i,
		       const struct ports *ports)
{
	const json_t *list = list_of(settings, "deniedDomains");
	struct bytes text = settings_string(list, i);
	const json_t *reason =
		json_object_getn(list_of(settings, "deniedDomainReasons"),
				 (const char *)text.data, text.len);
	struct settings_domain domain;

	if (!settings_domain_read(text, &domain))
		return;
	settings_add(settings, "    - name: denied-%zu\n      hosts: [", i);
	settings_add_quoted(settings, domain.host);
	settings_add(settings, "]\n      ports: [");
	if (domain.port)
		settings_add(settings, "%u", domain.port);
	for (size_t p = 0; !domain.port && p < ports->count; p++)
		settings_add(settings, "%s%u", p ? ", " : "", ports->items[p]);
	settings_add(settings, "]\n      action: deny\n");
	if (json_is_string(reason)) {
		settings_add(settings, "      reason: ");
		settings_add_quoted(settings,
				    bytes_from(json_string_value(reason),
					       json_string_length(reason)));
		settings_add(settings, "\n");
	}
}

/* Those with that port, or all without one. */
static void add_allowed(struct settings *settings, uint16_t port)
{
	const json_t *list = list_of(settings, "allowedDomains");
	struct settings_domain domain;
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(list); i++) {
		if (!settings_domain_read(settings_string(list, i), &domain) ||
		    domain.port != port)
			continue;
		if (count++ == 0)
			settings_add(settings,
				     "    - name: allowed-%u\n      hosts: [",
				     port);
		else
			settings_add(settings, ", ");
		settings_add_quoted(settings, domain.host);
	}
	if (count == 0)
		return;
	settings_add(settings, "]\n");
	if (port)
		settings_add(settings, "      ports: [%u]\n", port);
	else
		settings_note(settings, "network.allowedDomains",
			      "stricter: an entry without a port opens 443 and "
			      "80, not all");
	settings_add(settings, "      action: allow\n");
}

/* ---- addresses ---- */

static void add_addresses(struct settings *settings)
{
	const json_t *ranges = list_of(settings, "deniedResolvedAddresses");
	const json_t *denied = list_of(settings, "deniedDomains");
	const json_t *allowed = list_of(settings, "allowedDomains");
	struct settings_domain domain;
	size_t count = 0;

	settings_add(settings, "  addresses:\n    deny: [link-local, metadata, "
			       "loopback");
	for (size_t i = 0; i < json_array_size(ranges); i++) {
		settings_add(settings, ", ");
		settings_add_quoted(settings, settings_string(ranges, i));
	}
	for (size_t i = 0; i < json_array_size(denied); i++) {
		if (!settings_domain_read(settings_string(denied, i),
					  &domain) ||
		    !domain.is_address)
			continue;
		settings_add(settings, ", ");
		settings_add_quoted(settings, domain.host);
	}
	settings_add(settings, "]\n");
	for (size_t i = 0; i < json_array_size(allowed); i++) {
		if (!settings_domain_read(settings_string(allowed, i),
					  &domain) ||
		    !domain.is_address)
			continue;
		settings_add(settings, count++ ? ", " : "    allow: [");
		settings_add_quoted(settings, domain.host);
	}
	if (count > 0)
		settings_add(settings, "]\n");
}

static void add_tls(struct settings *settings)
{
	const json_t *tls = list_of(settings, "tlsTerminate");
	const json_t *except = json_object_get(tls, "excludeDomains");

	if (!tls)
		return;
	settings_check(settings, tls, "network.tlsTerminate", tls_keys,
		       ARRAY_SIZE(tls_keys));
	settings_add(settings, "  tls:\n    inspect: always\n");
	for (size_t i = 0; i < json_array_size(except); i++) {
		settings_add(settings, i ? ", " : "    tunnel: [");
		settings_add_quoted(settings, settings_string(except, i));
	}
	if (json_array_size(except) > 0)
		settings_add(settings, "]\n");
}

static void check_reasons(struct settings *settings)
{
	const json_t *reasons = list_of(settings, "deniedDomainReasons");
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)reasons, name, value)
	{
		if (!json_is_string(value) || json_string_length(value) == 0)
			settings_error(settings, "network.deniedDomainReasons",
				       "the reason of \"%.64s\" must be a "
				       "string",
				       name);
	}
}

void settings_network(struct settings *settings)
{
	struct ports ports = {{443, 80}, 2};

	settings_check(settings, settings->network, "network", keys,
		       ARRAY_SIZE(keys));
	if (json_is_false(list_of(settings, "strictAllowlist")))
		settings_note(settings, "network.strictAllowlist",
			      "stricter: nobody is asked about a domain that "
			      "is not allowed");
	check_reasons(settings);
	read_domains(settings, "allowedDomains", &ports);
	read_domains(settings, "deniedDomains", &ports);
	settings_add(settings, "network:\n  default: deny\n");
	if (json_array_size(list_of(settings, "allowedDomains")) > 0)
		settings_add(settings, "  rules:\n");
	if (json_array_size(list_of(settings, "allowedDomains")) > 0) {
		for (size_t i = 0;
		     i < json_array_size(list_of(settings, "deniedDomains"));
		     i++)
			add_denial(settings, i, &ports);
		settings_mask_rules(settings);
		add_allowed(settings, 0);
		for (size_t i = 0; i < ports.count; i++)
			add_allowed(settings, ports.items[i]);
	}
	add_tls(settings);
	add_addresses(settings);
}
