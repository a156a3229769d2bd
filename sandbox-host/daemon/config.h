/*
 * What the daemon was told: host.yaml (interface.md section 2) and its command
 * line. Trusted, but checked like a policy: every error is told with
 * file:line:col and caret; a key that is not supported is an error.
 */
#ifndef SANDBOX_HOST_DAEMON_CONFIG_H
#define SANDBOX_HOST_DAEMON_CONFIG_H

#include "common/buf.h"
#include "policies/text.h"
#include "sandbox-host/daemon/config_api.h"
#include "sandbox-host/daemon/config_store.h"
#include "sandbox-host/sandbox.h"

#define HOST_SANDBOXES_DEFAULT 500
#define HOST_SANDBOXES_MAX     10000
#define HOST_READY_DEFAULT     4
#define HOST_READY_MAX	       16

/* What can be said of it, and where it was said. */
enum host_key {
	HOST_KEY_RUN,
	HOST_KEY_WORKSPACES,
	HOST_KEY_GATEWAY,
	HOST_KEY_DEFAULT_POLICY,
	HOST_KEY_UIDS,
	HOST_KEY_STORE,
	HOST_KEY_IMAGES,
	HOST_KEY_VOLUMES,
	HOST_KEY_POOL,
	HOST_KEY_LISTEN,
	HOST_KEY_INSECURE,
	HOST_KEY_TLS,
	HOST_KEY_API_KEYS,
	HOST_KEY_POLICIES,
	HOST_KEY_SANDBOXES,
	HOST_KEY_READY,
	HOST_KEY_SNAPSHOTS,
	HOST_KEY_SNAPSHOT_BYTES,
	HOST_KEY_IMAGE_BYTES,
	HOST_KEY_IMAGE_TIME,
	HOST_KEY_MAX
};

struct host_config {
	struct arena arena;
	const char *run;	/* directory: host.sock, sandboxes/ */
	const char *workspaces; /* directory for those that we make */
	const char *gateway;	/* directory of its sockets; NULL: the usual */
	const char *default_policy; /* file; NULL: no network */
	struct sandbox_uids uids;   /* as root */
	size_t sandboxes_max;
	size_t ready_max; /* kept ready for nobody yet; 0: none */
	struct host_store_config store;
	struct host_api api;
	struct text_place from[HOST_KEY_MAX];
};

/* The defaults for this user. 0, or -1. */
int host_config_defaults(struct host_config *config, struct err *err);
/* Read text over what stands in config. False when there is any error; all of
 * them are told in *errors. */
bool host_config_read(struct host_config *config, struct bytes text,
		      struct policy_errors *errors);
/* Read the files of policies that it names. False when one can not be read:
 * told in *errors where text, which config was read from, names it. */
bool host_config_read_policies(struct host_config *config, struct bytes text,
			       struct policy_errors *errors);
void host_config_release(struct host_config *config);

#endif
