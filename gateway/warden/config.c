#include "gateway/warden/config.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/directories.h"
#include "common/file.h"
#include "common/log.h"
#include "gateway/flow/limits.h"
#include "gateway/warden/config_text.h"
#include "policies/guardrail.h"

#define CONFIG_ARENA_MAX  (16 * 1024 * 1024)
#define CA_BUNDLE_MAX	  (CONFIG_BYTES_MAX / 2)
#define CA_BUNDLE_DEFAULT "/etc/ssl/certs/ca-certificates.crt"
#define SESSIONS_DEFAULT  1000
/* Roles become users of their own, from this one on (systemd's and
 * containers' ranges lie elsewhere). */
#define UID_BASE 997000

/* ---- defaults ---- */

/* "$NAME/sallyport" when the variable holds an absolute path, else NULL. */
static const char *below_variable(struct arena *arena, const char *name,
				  const char *suffix)
{
	const char *value = getenv(name);

	if (!value || value[0] != '/')
		return NULL;
	return arena_format(arena, "%s%s", value, suffix);
}

/* A directory that a variable names. */
struct default_path {
	const char *variable, *suffix;
};

static const char *from_variables(struct warden_config *config,
				  enum config_key key,
				  const struct default_path *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *path = below_variable(
			&config->arena, rows[i].variable, rows[i].suffix);

		if (!path)
			continue;
		config->from[key].where = rows[i].variable;
		return path;
	}
	return NULL;
}

static const char *default_state(struct warden_config *config)
{
	static const struct default_path rows[] = {
		{"SALLYPORT_STATE", ""},
		{"XDG_STATE_HOME", "/sallyport"},
		{"HOME", "/.local/state/sallyport"},
	};
	bool is_root = geteuid() == 0;
	const char *path = from_variables(config, CONFIG_STATE, rows,
					  is_root ? 1 : ARRAY_SIZE(rows));

	return !path && is_root ? "/var/lib/sallyport" : path;
}

static const char *default_run(struct warden_config *config)
{
	static const struct default_path rows[] = {
		{"SALLYPORT_RUN", ""},
		{"XDG_RUNTIME_DIR", "/sallyport"},
	};
	bool is_root = geteuid() == 0;
	const char *path = from_variables(config, CONFIG_RUN, rows,
					  is_root ? 1 : ARRAY_SIZE(rows));

	if (!path && is_root)
		return "/run/sallyport";
	return path ? path
		    : arena_format(&config->arena, "/tmp/sallyport-%u",
				   geteuid());
}

int warden_config_defaults(struct warden_config *config, struct err *err)
{
	*config = (struct warden_config){
		.sessions_max = SESSIONS_DEFAULT,
		.gateway.sessions_max = SESSIONS_DEFAULT,
		.gateway.connections_max = CONNECTIONS_DEFAULT,
		.gateway.uid_base = geteuid() == 0 ? UID_BASE : 0,
	};
	arena_init(&config->arena, CONFIG_ARENA_MAX);
	if (directories_check_variable("SALLYPORT_RUN", err) < 0 ||
	    directories_check_variable("SALLYPORT_STATE", err) < 0)
		return -1;
	config->run = default_run(config);
	config->state = default_state(config);
	if (!config->run || !config->state)
		return err_set(err, ERR_INVALID,
			       "no state directory: HOME is not set");
	return 0;
}

/* ---- files ---- */

/* At most max bytes of a file, in arena. 0; -1, with errno ENOENT in
 * err->number when there is no such file. */
static int read_file(struct arena *arena, const char *path, size_t max,
		     struct bytes *text, struct err *err)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, max);
	if (file_read_path(path, &out, err) < 0)
		return -1;
	*text = arena_copy(arena, buf_view(&out));
	if (text->len != buf_len(&out))
		return err_set(err, ERR_TOO_LARGE, "read %s: no memory", path);
	return 0;
}

/* What is wrong with a file: where it was named. Always -1. */
static int name_place(const struct warden_config *config, enum config_key key,
		      const char *what, struct err *err)
{
	const struct text_place *from = &config->from[key];

	if (!from->where)
		return err_prefix(err, "%s", what);
	return err_prefix(err, "%s:%u: %s", from->where, from->line, what);
}

/* The text as it stands is what sessions get: it is compiled for each. */
static int read_guardrail(struct warden_config *config, struct buf *report,
			  struct err *err)
{
	const char *path = config->guardrail_path;
	struct policy_errors errors = {.out = report, .file = path};
	struct policy *guardrail;

	if (!path)
		return 0;
	if (read_file(&config->arena, path, POLICY_TEXT_MAX,
		      &config->gateway.guardrail, err) < 0)
		return name_place(config, CONFIG_GUARDRAIL, "guardrail", err);
	guardrail = guardrail_compile(config->gateway.guardrail, NULL, &errors);
	policy_free(guardrail);
	if (guardrail)
		return 0;
	return err_set(err, ERR_INVALID, "%s has %zu error%s", path,
		       errors.count, errors.count == 1 ? "" : "s");
}

int warden_config_read(struct warden_config *config, const char *path,
		       struct buf *report, struct err *err)
{
	struct policy_errors errors = {.out = report, .file = path};
	struct bytes text = {NULL, 0};

	if (read_file(&config->arena, path, POLICY_TEXT_MAX, &text, err) < 0)
		return -1;
	if (config_text_read(config, text, &errors))
		return read_guardrail(config, report, err);
	return err_set(err, ERR_INVALID, "%s has %zu error%s", path,
		       errors.count, errors.count == 1 ? "" : "s");
}

/* Who names a bundle wants upstreams verified by it. That it is no PEM would
 * be known at the first request alone. */
static int check_roots(const struct warden_config *config, struct err *err)
{
	static const struct bytes label = BYTES_LITERAL("CERTIFICATE-----");

	if (bytes_find_bytes(config->gateway.ca_bundle, label, 0) >= 0)
		return 0;
	(void)err_set(err, ERR_INVALID, "%s: no certificate (PEM) is in it",
		      config->ca_bundle_path);
	return name_place(config, CONFIG_CA_BUNDLE, "CA bundle", err);
}

int warden_config_finish(struct warden_config *config, struct err *err)
{
	bool is_default = !config->ca_bundle_path;
	const char *path =
		is_default ? CA_BUNDLE_DEFAULT : config->ca_bundle_path;

	if (config->state[0] != '/' || config->run[0] != '/')
		return err_set(err, ERR_INVALID,
			       "state and run must be absolute paths");
	config->gateway.state = bytes_str(config->state);
	config->ca_bundle_path = path;
	config->gateway.has_private_roots = !is_default;
	if (read_file(&config->arena, path, CA_BUNDLE_MAX,
		      &config->gateway.ca_bundle, err) == 0)
		return is_default ? 0 : check_roots(config, err);
	if (!is_default || err->number != ENOENT)
		return name_place(config, CONFIG_CA_BUNDLE, "CA bundle", err);
	log_warn("no CA bundle %s: no upstream TLS can be verified", path);
	return 0;
}

int warden_config_seal(const struct warden_config *config, struct err *err)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, CONFIG_BYTES_MAX);
	if (wire_encode(&gateway_config_schema, &config->gateway, &out, err) <
	    0)
		return -1;
	return wire_memfd_seal("sallyport-config", buf_view(&out), err);
}

void warden_config_release(struct warden_config *config)
{
	arena_release(&config->arena);
}
