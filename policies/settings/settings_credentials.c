/*
 * credentials: files that are not readable, variables that are not passed,
 * and variables with a stand-in, whose value is in the vault.
 */
#include "common/cleanup.h"
#include "policies/settings/settings_parts.h"

static const char structured[] =
	"only whole values can be masked: put the secret alone into the vault";

static const struct settings_key keys[] = {
	{"files", JSON_ARRAY, false, NULL, NULL},
	{"envVars", JSON_ARRAY, false, NULL, NULL},
	{"allowPlaintextInject", JSON_TRUE, false,
	 "a credential never travels in the clear", NULL},
	{"awsPairs", JSON_ARRAY, false,
	 "use a credential with attach: sigv4 in a policy", NULL},
	{"sigv4", JSON_OBJECT, false,
	 "use a credential with attach: sigv4 in a policy", NULL},
};

static const struct settings_key file_keys[] = {
	{"path", JSON_STRING, true, NULL, NULL},
	{"mode", JSON_STRING, true, NULL, NULL},
	{"extract", JSON_STRING, false, NULL, NULL},
	{"onExtractNoMatch", JSON_STRING, false, NULL, NULL},
	{"decode", JSON_STRING, false, NULL, NULL},
	{"maskClaims", JSON_ARRAY, false, NULL, NULL},
	{"maskDuplicates", JSON_TRUE, false, NULL, NULL},
	{"injectHosts", JSON_ARRAY, false, NULL, NULL},
};

static const struct settings_key variable_keys[] = {
	{"name", JSON_STRING, true, NULL, NULL},
	{"mode", JSON_STRING, true, NULL, NULL},
	{"extract", JSON_STRING, false, structured, NULL},
	{"onExtractNoMatch", JSON_STRING, false, NULL, NULL},
	{"decode", JSON_STRING, false, structured, NULL},
	{"maskClaims", JSON_ARRAY, false, structured, NULL},
	{"injectHosts", JSON_ARRAY, false, NULL, NULL},
};

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

static bool is_masked(const json_t *item)
{
	return !strcmp(text_of(item, "mode"), "mask");
}

static const json_t *variables_of(const struct settings *settings)
{
	return json_object_get(settings->credentials, "envVars");
}

bool settings_hides_variable(const struct settings *settings, const char *name)
{
	const json_t *list = variables_of(settings);

	for (size_t i = 0; i < json_array_size(list); i++)
		if (!strcmp(text_of(json_array_get(list, i), "name"), name))
			return true;
	return false;
}

/* Where credentials travel; 0: an entry without a port opens it. */
static bool is_for_tls(const struct settings_domain *domain)
{
	return domain->port == 0 || domain->port == 443;
}

static bool is_covered(struct bytes host, struct bytes allowed)
{
	return bytes_equal(host, allowed) ||
	       (bytes_starts_with(allowed, bytes_str("*.")) &&
		bytes_ends_with(host, bytes_slice(allowed, 1, allowed.len)));
}

/* What a variable may go to opens nothing by itself. */
static bool is_allowed(struct settings *settings, struct bytes host)
{
	const json_t *list =
		json_object_get(settings->network, "allowedDomains");
	struct settings_domain domain;

	for (size_t i = 0; i < json_array_size(list); i++)
		if (settings_domain_read(settings_string(list, i), &domain) &&
		    is_for_tls(&domain) && is_covered(host, domain.host))
			return true;
	return false;
}

static bool has_any(const struct settings *settings)
{
	const json_t *list =
		json_object_get(settings->network, "allowedDomains");
	struct settings_domain domain;

	for (size_t i = 0; i < json_array_size(list); i++)
		if (settings_domain_read(settings_string(list, i), &domain) &&
		    is_for_tls(&domain))
			return true;
	return json_array_size(list) == 0;
}

static void check_hosts(struct settings *settings, const json_t *item)
{
	const json_t *hosts = json_object_get(item, "injectHosts");
	struct settings_domain domain;

	if (!hosts && !has_any(settings))
		settings_error(settings, "credentials.envVars",
			       "no host of allowedDomains has port 443, where "
			       "a masked variable could go");
	for (size_t i = 0; i < json_array_size(hosts); i++) {
		struct bytes text = settings_string(hosts, i);

		if (!settings_domain_read(text, &domain) ||
		    !is_for_tls(&domain) || !is_allowed(settings, domain.host))
			settings_error(settings, "credentials.envVars",
				       "injectHosts: \"%.*s\" is not one of "
				       "allowedDomains, with port 443",
				       BYTES_ARGS(text));
	}
}

/* The hosts that a masked variable may go to; where none are named, all that
 * are allowed. */
static void add_hosts(struct settings *settings, const json_t *item)
{
	const json_t *hosts = json_object_get(item, "injectHosts");
	struct settings_domain domain;
	size_t count = 0;

	if (!hosts)
		hosts = json_object_get(settings->network, "allowedDomains");
	settings_add(settings, "[");
	for (size_t i = 0; i < json_array_size(hosts); i++) {
		if (!settings_domain_read(settings_string(hosts, i), &domain) ||
		    !is_for_tls(&domain))
			continue;
		settings_add(settings, count++ ? ", " : "");
		settings_add_quoted(settings, domain.host);
	}
	settings_add(settings, "]");
}

void settings_mask_rules(struct settings *settings)
{
	const json_t *list = variables_of(settings);

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		if (!is_masked(item))
			continue;
		settings_add(settings,
			     "    - name: masked-%zu\n      hosts: ", i);
		add_hosts(settings, item);
		settings_add(settings,
			     "\n      ports: [443]\n      credential: "
			     "masked-%zu\n      action: allow\n",
			     i);
	}
}

static void add_credential(struct settings *settings, const json_t *item,
			   size_t i)
{
	const char *name = text_of(item, "name");

	settings_add(settings,
		     "  - name: masked-%zu\n    attach: placeholder\n    "
		     "secret: ",
		     i);
	settings_add_quoted(settings, bytes_str(name));
	settings_add(settings, "\n    hosts: ");
	add_hosts(settings, item);
	settings_add(settings, "\n    placeholder: {env: [");
	settings_add_quoted(settings, bytes_str(name));
	settings_add(settings, "], in: [header, basic]}\n");
	settings_note(settings, "credentials.envVars",
		      "stricter: the value of %.64s comes from the vault, not "
		      "from the environment: sallyport secret put %.64s",
		      name, name);
}

static void check_modes(struct settings *settings, const json_t *list,
			const char *where)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *mode = text_of(json_array_get(list, i), "mode");

		if (strcmp(mode, "mask") != 0 && strcmp(mode, "deny") != 0)
			settings_error(settings, where,
				       "a mode is \"deny\" or \"mask\"");
	}
}

void settings_credentials(struct settings *settings)
{
	const json_t *files = json_object_get(settings->credentials, "files");
	const json_t *list = variables_of(settings);
	size_t masked = 0;

	if (!settings->credentials)
		return;
	settings_check(settings, settings->credentials, "credentials", keys,
		       ARRAY_SIZE(keys));
	settings_check_items(settings, files, "credentials.files", file_keys,
			     ARRAY_SIZE(file_keys));
	settings_check_items(settings, list, "credentials.envVars",
			     variable_keys, ARRAY_SIZE(variable_keys));
	check_modes(settings, files, "credentials.files");
	check_modes(settings, list, "credentials.envVars");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		if (!is_masked(item))
			continue;
		check_hosts(settings, item);
		if (masked++ == 0)
			settings_add(settings, "credentials:\n");
		add_credential(settings, item, i);
	}
	if (masked > SETTINGS_CREDENTIALS_MAX)
		settings_error(settings, "credentials.envVars",
			       "more than %d masked variables",
			       SETTINGS_CREDENTIALS_MAX);
}

void settings_environment(struct settings *settings)
{
	size_t count = 0;

	for (size_t i = 0; i < settings->facts->variable_count; i++) {
		const char *name = settings->facts->variables[i];

		if (settings_hides_variable(settings, name))
			continue;
		settings_add(settings,
			     count++ ? ", " : "environment:\n  pass: [");
		settings_add_quoted(settings, bytes_str(name));
	}
	if (count > 0)
		settings_add(settings, "]\n");
}
