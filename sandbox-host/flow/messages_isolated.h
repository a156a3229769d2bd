/*
 * Isolated sessions: a further sandbox beside one that runs, with that one's
 * workspace below an overlay of its own (or as it is), its policy, image and
 * bounds. And what such an overlay changed, on a HOST_CHANNEL_CHANGES.
 */
#ifndef SANDBOX_HOST_FLOW_MESSAGES_ISOLATED_H
#define SANDBOX_HOST_FLOW_MESSAGES_ISOLATED_H

#include "sandbox-host/flow/sandbox_spec.h"

/* Among the metadata of such a sandbox: whose workspace it has. Names of this
 * prefix can not be given from outside. */
#define ISOLATED_OF_KEY	     "opensandbox.io/isolated-of"
#define ISOLATED_OFFLINE_KEY "opensandbox.io/isolated-offline" /* "true" */

#define ISOLATED_SANDBOX_MAX 8 /* sessions of one sandbox */

#define CHANGES_SHOWN_MAX 5000
#define CHANGES_BYTES_MAX (3 * 1024 * 1024) /* of their paths */
#define CHANGES_PATHS_MAX 64
#define CHANGES_TOLD_MAX  32 /* of a commit's outcomes */
#define CHANGES_TOLD_PATH 512

#define ISOLATED_BINDS_MAX 16
#define ISOLATED_PATH_MAX  1023 /* of a bind */
#define ISOLATED_KEYS_MAX  64	/* of variables */
#define ISOLATED_KEY_MAX   127

/* What of the sandbox's volumes the session sees elsewhere, too. Absolute
 * paths inside. */
struct isolate_bind {
	struct bytes source, target;
	bool is_read_only;
};

/* Which of the variables that the sandbox was given the session has. */
enum isolate_env {
	ISOLATE_ENV_ALL,
	ISOLATE_ENV_ALLOW, /* those of keys */
	ISOLATE_ENV_DENY,  /* all but those of keys */
	ISOLATE_ENV_MAX
};

/* From the API to the daemon, and from there to the sandbox's supervisor. */
struct host_isolate {
	struct bytes id;	/* of the sandbox beside which it is made */
	struct bytes workspace; /* that one's, as it is named inside */
	uint8_t mode;		/* enum request_mode, but not that of policy */
	bool is_offline;
	const struct isolate_bind *binds;
	size_t binds_count;
	uint8_t env; /* enum isolate_env */
	const struct text_item *keys;
	size_t keys_count;
	/* The user that it must have, which is the sandbox's own anyway. */
	bool has_uid, has_gid;
	uint32_t uid, gid;
	uint64_t expires_ms; /* wall clock; 0: never */
	struct bytes note;   /* of the sandbox that is made */
	struct bytes image;  /* the daemon's to say: what its root is; empty:
				the host's own */
};
extern const struct wire_schema host_isolate_schema;

/* In the order of enum overlay_kind and enum overlay_type. */
enum change_kind {
	CHANGE_ADDED,
	CHANGE_CHANGED,
	CHANGE_DELETED,
	CHANGE_KIND_MAX
};
enum change_type {
	CHANGE_FILE,
	CHANGE_DIRECTORY,
	CHANGE_LINK,
	CHANGE_OTHER,
	CHANGE_TYPE_MAX
};

/* One difference; path is below the workspace. Whoever runs inside chose it,
 * and what it is of. */
struct change_item {
	struct bytes path;
	uint8_t kind; /* enum change_kind */
	uint8_t type; /* enum change_type: of what is there, or was */
	uint64_t size;
};
/* Sealed in a memfd. */
struct changes_list {
	const struct change_item *items; /* sorted by path */
	size_t items_count;
	uint64_t total; /* the first ones are in items */
};
extern const struct wire_schema changes_list_schema;

struct changes_wish {
	const struct text_item *paths; /* each with what is below it; none:
					  all */
	size_t paths_count;
	bool is_forced; /* over what changed in the workspace meanwhile */
};
extern const struct wire_schema changes_wish_schema;

struct change_told {
	struct bytes path;
	struct bytes reason;
	bool is_conflict; /* else it was refused */
};
/* With a conflict nothing was written, and the session goes on. */
struct changes_result {
	uint64_t applied, refused, conflicts;
	const struct change_told *told; /* the first ones */
	size_t told_count;
};
extern const struct wire_schema changes_result_schema;

/* Encode, and seal in a memfd. A descriptor, or -1. */
int changes_list_seal(const struct changes_list *list, struct err *err);
/* Map fd (untrusted; stays the caller's) and decode it into *list, which
 * lives until request_release(memory). 0, or -1 with *memory empty. */
int changes_list_open(int fd, struct request_memory *memory,
		      struct changes_list *list, struct err *err);

#endif
