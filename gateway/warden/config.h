/*
 * What the warden was told: gateway.yaml (interface.md section 2) and its
 * command line. Trusted, but checked like a policy: every error is told
 * with file:line:col and caret; a key that is not supported is an error.
 */
#ifndef GATEWAY_WARDEN_CONFIG_H
#define GATEWAY_WARDEN_CONFIG_H

#include "gateway/flow/config.h"
#include "policies/text.h"

/* What can be said of it, and where it was said. */
enum config_key {
	CONFIG_STATE,
	CONFIG_RUN,
	CONFIG_LISTEN_PROXY,
	CONFIG_UPSTREAM_PROXY,
	CONFIG_SECRETS,
	CONFIG_DNS_SERVERS,
	CONFIG_DNS_HOSTS,
	CONFIG_CA_BUNDLE,
	CONFIG_TLS_MIN,
	CONFIG_GUARDRAIL,
	CONFIG_AUDIT_RETAIN,
	CONFIG_AUDIT_EXPORT,
	CONFIG_LIMIT_SESSIONS,
	CONFIG_LIMIT_CONNECTIONS,
	CONFIG_KEY_MAX
};

/* The command line's part. */
struct config_options {
	const char *file;     /* NULL: fallback, if it is there */
	const char *fallback; /* once it was read, it is file */
	const char *state;
	const char *run;
	bool exit_when_idle;
};

struct warden_config {
	struct arena arena;
	const char *state; /* directory, made 0700 */
	const char *
		run; /* directory of the sockets: 0755 when root's, else 0700 */
	const char *ca_bundle_path;
	const char *guardrail_path;    /* NULL: there is none */
	struct gateway_config gateway; /* what the children get */
	size_t sessions_max;
	bool exit_when_idle; /* started for one command */
	unsigned idle_ms;
	struct text_place from[CONFIG_KEY_MAX];
	/* The one before, after a reload: what it holds may be in use. */
	struct warden_config *before;
};

/* The defaults for this user: $SALLYPORT_STATE and $SALLYPORT_RUN, else
 * /var/lib and /run for root, else $XDG_STATE_HOME and $XDG_RUNTIME_DIR (or
 * below $HOME/.local/state and /tmp). 0, or -1. */
int warden_config_defaults(struct warden_config *config, struct err *err);
/* Read and check a file, and the guardrail that it names, over what stands
 * in config. Errors are appended to
 * report (as people read them); -1 then. */
int warden_config_read(struct warden_config *config, const char *path,
		       struct buf *report, struct err *err);
/* Load the CA bundle's bytes; without a configured one the system's, which
 * may be missing. 0, or -1. */
int warden_config_finish(struct warden_config *config, struct err *err);
/* What the processes get of it, in sealed memory. A descriptor, or -1. */
int warden_config_seal(const struct warden_config *config, struct err *err);
void warden_config_release(struct warden_config *config);

#endif
