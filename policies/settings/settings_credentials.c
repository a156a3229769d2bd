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
		if (!settings_domain_read(settings_string(hosts, i), &domain))
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
