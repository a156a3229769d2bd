#include "sandbox-host/environment.h"

#include <string.h>

#include "common/cleanup.h"

#define STRING(text)	   #text
#define TO_STRING(literal) STRING(literal)
#define PROXY_HOST	   SANDBOX_ADDRESS4
#define PROXY_PORT	   TO_STRING(SANDBOX_PROXY_PORT)
#define PROXY_URL	   "http://" PROXY_HOST ":" PROXY_PORT
#define LOCALE_PREFIX	   "LC_"
#define NO_PROXY	   "localhost,127.0.0.1,::1"

static const char *const kept[] = {
	"PATH",	  "HOME",     "USER",	  "LOGNAME",	 "SHELL",
	"TERM",	  "LANG",     "LANGUAGE", "TZ",		 "COLORTERM",
	"EDITOR", "NO_COLOR", "PAGER",	  "FORCE_COLOR",
};

static const struct sandbox_variable proxy[] = {
	{"HTTP_PROXY", PROXY_URL},   {"HTTPS_PROXY", PROXY_URL},
	{"http_proxy", PROXY_URL},   {"https_proxy", PROXY_URL},
	{"NO_PROXY", NO_PROXY},	     {"no_proxy", NO_PROXY},
	{"NODE_USE_ENV_PROXY", "1"}, {"GIT_TERMINAL_PROMPT", "0"},
};

static const struct sandbox_variable trust[] = {
	{"SSL_CERT_FILE", SANDBOX_CA_BUNDLE},
	{"SSL_CERT_DIR", "/etc/ssl/certs"},
	{"GIT_SSL_CAINFO", SANDBOX_CA_BUNDLE},
	/* git would read each certificate of the host's directory as well, for
	 * each request anew: two thirds of the request's time. */
	{"GIT_SSL_CAPATH", SANDBOX_CA_DIR},
	{"NODE_EXTRA_CA_CERTS", SANDBOX_CA_PEM},
	{"REQUESTS_CA_BUNDLE", SANDBOX_CA_BUNDLE},
	{"CURL_CA_BUNDLE", SANDBOX_CA_BUNDLE},
	{"PIP_CERT", SANDBOX_CA_BUNDLE},
	{"AWS_CA_BUNDLE", SANDBOX_CA_BUNDLE},
	{"DENO_CERT", SANDBOX_CA_PEM},
	{"CARGO_HTTP_CAINFO", SANDBOX_CA_BUNDLE},
};

static const struct sandbox_variable java = {
	"JAVA_TOOL_OPTIONS",
	"-Djavax.net.ssl.trustStore=" SANDBOX_CA_PKCS12
	" -Djavax.net.ssl.trustStoreType=PKCS12"
	" -Djavax.net.ssl.trustStorePassword=changeit"
	" -Dhttp.proxyHost=" PROXY_HOST " -Dhttp.proxyPort=" PROXY_PORT
	" -Dhttps.proxyHost=" PROXY_HOST " -Dhttps.proxyPort=" PROXY_PORT
	" -Dhttp.nonProxyHosts=localhost|127.*|[::1]",
};

static const struct sandbox_variable path = {
	"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};

/* Ends of names whose variables are secrets, and whole names. */
static const char *const secret_ends[] = {
	"TOKEN",       "SECRET",	"PASSWORD", "PASSWD",
	"PASSPHRASE",  "API_KEY",	"APIKEY",   "ACCESS_KEY",
	"PRIVATE_KEY", "SECRET_KEY",	"AUTH_KEY", "CREDENTIAL",
	"CREDENTIALS", "ACCESS_KEY_ID", "_PAT",	    "_AUTH",
};
static const char *const secret_names[] = {
	"SSH_AUTH_SOCK",
	"GPG_AGENT_INFO",
	"NETRC",
	"PGPASSFILE",
	"KUBECONFIG",
	"DATABASE_URL",
	"DBUS_SESSION_BUS_ADDRESS",
	"DOCKER_HOST",
	"DOCKER_CONFIG",
};

struct list {
	struct sandbox_variable *items;
	size_t count, size;
};

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text);
	size_t end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

bool environment_is_secret(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(secret_ends); i++)
		if (ends_with(name, secret_ends[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(secret_names); i++)
		if (!strcmp(name, secret_names[i]))
			return true;
	return false;
}

bool environment_is_kept(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (!strcmp(kept[i], name))
			return true;
	return strncmp(name, LOCALE_PREFIX, strlen(LOCALE_PREFIX)) == 0;
}

static bool is_usable(const char *name)
{
	return name[0] && !strchr(name, '=');
}

static int put(struct list *list, struct sandbox_variable variable,
	       struct err *err)
{
	if (!is_usable(variable.name))
		return err_set(err, ERR_INVALID,
			       "environment: %s can not be set in a sandbox",
			       variable.name);
	for (size_t i = 0; i < list->count; i++) {
		if (!strcmp(list->items[i].name, variable.name)) {
			list->items[i] = variable;
			return 0;
		}
	}
	if (list->count == list->size)
		return err_set(err, ERR_TOO_LARGE,
			       "environment: too many variables");
	list->items[list->count++] = variable;
	return 0;
}

static int put_all(struct list *list, const struct sandbox_variable *variables,
		   size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++)
		if (put(list, variables[i], err) < 0)
			return -1;
	return 0;
}

static const char *value_of(const char *const *caller, const char *name)
{
	size_t len = strlen(name);

	for (; caller && *caller; caller++)
		if (!strncmp(*caller, name, len) && (*caller)[len] == '=')
			return *caller + len + 1;
	return NULL;
}

static int put_named(struct list *list, const char *const *caller,
		     const char *name, struct err *err)
{
	const char *value = value_of(caller, name);

	if (!value)
		return 0;
	return put(list, (struct sandbox_variable){name, value}, err);
}

/* LC_ALL and its like are kept as well. */
static int put_kept(struct list *list, const struct environment *from,
		    struct arena *arena, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (put_named(list, from->caller, kept[i], err) < 0)
			return -1;
	for (const char *const *at = from->caller; at && *at; at++) {
		const char *equals = strchr(*at, '=');
		const char *name;

		if (strncmp(*at, LOCALE_PREFIX, strlen(LOCALE_PREFIX)) != 0 ||
		    !equals)
			continue;
		name = arena_str(arena,
				 bytes_from(*at, (size_t)(equals - *at)));
		if (!name || put_named(list, from->caller, name, err) < 0)
			return -1;
	}
	return 0;
}

static int put_passed(struct list *list, const struct environment *from,
		      struct err *err)
{
	for (size_t i = 0; i < from->pass.count; i++) {
		const char *name = from->pass.items[i];

		if (environment_is_secret(name)) {
			if (from->on_dropped && value_of(from->caller, name))
				from->on_dropped(from->owner, name);
			continue;
		}
		if (put_named(list, from->caller, name, err) < 0)
			return -1;
	}
	return 0;
}

int environment_make(const struct environment *from, struct arena *arena,
		     const struct sandbox_variable **out, size_t *count,
		     struct err *err)
{
	struct list list = {.size = SANDBOX_ENV_MAX};

	list.items = arena_array(arena, list.size, sizeof(*list.items));
	if (!list.items)
		return err_set(err, ERR_TOO_LARGE, "environment: no memory");
	if (put(&list, path, err) < 0 ||
	    put_kept(&list, from, arena, err) < 0 ||
	    put_all(&list, from->image, from->image_count, err) < 0 ||
	    put_passed(&list, from, err) < 0 ||
	    put_all(&list, proxy, ARRAY_SIZE(proxy), err) < 0 ||
	    (from->has_ca &&
	     (put_all(&list, trust, ARRAY_SIZE(trust), err) < 0 ||
	      put(&list, java, err) < 0)) ||
	    put_all(&list, from->set, from->set_count, err) < 0)
		return -1;
	*out = list.items;
	*count = list.count;
	return 0;
}
