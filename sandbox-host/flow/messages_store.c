#include "sandbox-host/flow/messages_store.h"

#include <assert.h>

static const char *const state_names[SNAPSHOT_STATE_MAX] = {
#define X(name, text) [SNAPSHOT_##name] = text,
	SNAPSHOT_STATES(X)
#undef X
};

const char *snapshot_state_name(enum snapshot_state state)
{
	assert(state < SNAPSHOT_STATE_MAX);
	return state_names[state];
}

static const struct wire_field host_name_fields[] = {
	WIRE_TEXT(struct host_name, name, REQUEST_NAME_MAX),
};
const struct wire_schema host_name_schema =
	WIRE_SCHEMA("host-name", struct host_name, host_name_fields);

static const struct wire_field host_image_fields[] = {
	WIRE_TEXT(struct host_image, name, REQUEST_NAME_MAX),
	WIRE_BYTES(struct host_image, source, HOST_SOURCE_MAX),
	WIRE_TEXT(struct host_image, digest, HOST_DIGEST_MAX),
	WIRE_BOOL(struct host_image, is_there),
	WIRE_BOOL(struct host_image, is_read_only),
};
const struct wire_schema host_image_schema =
	WIRE_SCHEMA("host-image", struct host_image, host_image_fields);

static const struct wire_field host_images_fields[] = {
	WIRE_LIST(struct host_images, images, HOST_IMAGES_LISTED,
		  &host_image_schema),
};
const struct wire_schema host_images_schema =
	WIRE_SCHEMA("host-images", struct host_images, host_images_fields);

static const struct wire_field host_snapshot_request_fields[] = {
	WIRE_TEXT(struct host_snapshot_request, id, HOST_ID_MAX),
	WIRE_TEXT(struct host_snapshot_request, name, REQUEST_NAME_MAX),
	WIRE_BOOL(struct host_snapshot_request, waits),
};
const struct wire_schema host_snapshot_request_schema =
	WIRE_SCHEMA("host-snapshot-request", struct host_snapshot_request,
		    host_snapshot_request_fields);

static const struct wire_field host_snapshot_fields[] = {
	WIRE_TEXT(struct host_snapshot, id, HOST_ID_MAX),
	WIRE_TEXT(struct host_snapshot, name, REQUEST_NAME_MAX),
	WIRE_TEXT(struct host_snapshot, sandbox, HOST_ID_MAX),
	WIRE_ENUM(struct host_snapshot, state, SNAPSHOT_STATE_MAX),
	WIRE_BYTES(struct host_snapshot, message, HOST_MESSAGE_MAX),
	WIRE_U64(struct host_snapshot, created_ms),
	WIRE_U64(struct host_snapshot, bytes),
	WIRE_TEXT(struct host_snapshot, image, REQUEST_NAME_MAX),
	WIRE_BOOL(struct host_snapshot, has_workspace),
	WIRE_BOOL(struct host_snapshot, has_changes),
	WIRE_BOOL(struct host_snapshot, was_running),
	WIRE_U32(struct host_snapshot, owner_uid),
};
const struct wire_schema host_snapshot_schema = WIRE_SCHEMA(
	"host-snapshot", struct host_snapshot, host_snapshot_fields);

static const struct wire_field host_page_fields[] = {
	WIRE_U32(struct host_page, skip),
	WIRE_U32(struct host_page, limit),
};
const struct wire_schema host_page_schema =
	WIRE_SCHEMA("host-page", struct host_page, host_page_fields);

static const struct wire_field host_snapshots_fields[] = {
	WIRE_LIST(struct host_snapshots, snapshots, HOST_LIST_MAX,
		  &host_snapshot_schema),
	WIRE_U32(struct host_snapshots, total),
};
const struct wire_schema host_snapshots_schema = WIRE_SCHEMA(
	"host-snapshots", struct host_snapshots, host_snapshots_fields);
