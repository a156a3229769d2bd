/*
 * Messages about what sandboxes are made from, between the daemon and who
 * asks: see messages.h.
 */
#ifndef SANDBOX_HOST_FLOW_MESSAGES_STORE_H
#define SANDBOX_HOST_FLOW_MESSAGES_STORE_H

#include "sandbox-host/flow/messages_host.h"

#define HOST_DIGEST_MAX	   71 /* "sha256:" and 64 digits */
#define HOST_SOURCE_MAX	   512
#define HOST_IMAGES_LISTED 64

struct host_name {
	struct bytes name;
};
extern const struct wire_schema host_name_schema;

struct host_image {
	struct bytes name;
	struct bytes source; /* as host.yaml says; cut */
	struct bytes digest; /* of what was unpacked; empty: a directory */
	bool is_there;	     /* a sandbox may have it */
	bool is_read_only;
};
extern const struct wire_schema host_image_schema;
struct host_images {
	const struct host_image *images;
	size_t images_count;
};
extern const struct wire_schema host_images_schema;

/* What a snapshot goes through. */
#define SNAPSHOT_STATES(X)                                                     \
	X(CREATING, "Creating")                                                \
	X(READY, "Ready")                                                      \
	X(FAILED, "Failed")                                                    \
	X(DELETING, "Deleting")

enum snapshot_state {
#define X(name, text) SNAPSHOT_##name,
	SNAPSHOT_STATES(X)
#undef X
		SNAPSHOT_STATE_MAX
};
const char *snapshot_state_name(enum snapshot_state state);

struct host_snapshot_request {
	struct bytes id;   /* of the sandbox: it runs, or rests */
	struct bytes name; /* may be empty */
	bool waits;	   /* answer when it is Ready; else at once */
};
extern const struct wire_schema host_snapshot_request_schema;

struct host_snapshot {
	struct bytes id;
	struct bytes name;
	struct bytes sandbox;
	uint8_t state;	      /* enum snapshot_state */
	struct bytes message; /* why it Failed */
	uint64_t created_ms;  /* wall clock */
	uint64_t bytes;	      /* that it takes */
	struct bytes image;   /* that its root is over; may be empty */
	bool has_workspace;   /* it brings one along */
	bool has_changes;     /* of an overlay workspace */
	bool was_running;     /* the sandbox goes on when it is made */
	uint32_t owner_uid;
};
extern const struct wire_schema host_snapshot_schema;

struct host_page {
	uint32_t skip; /* so many of the newest */
	uint32_t limit;
};
extern const struct wire_schema host_page_schema;
struct host_snapshots {
	const struct host_snapshot *snapshots; /* the newest first */
	size_t snapshots_count;
	uint32_t total;
};
extern const struct wire_schema host_snapshots_schema;

#endif
