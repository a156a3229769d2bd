#include "sandbox-host/flow/messages_isolated.h"

#include "common/cleanup.h"

#define LIST_ARENA_MAX (4 * REQUEST_BYTES_MAX)

static const struct wire_field bind_fields[] = {
	WIRE_BYTES(struct isolate_bind, source, ISOLATED_PATH_MAX),
	WIRE_BYTES(struct isolate_bind, target, ISOLATED_PATH_MAX),
	WIRE_BOOL(struct isolate_bind, is_read_only),
};
static const struct wire_schema bind_schema =
	WIRE_SCHEMA("isolate-bind", struct isolate_bind, bind_fields);

static const struct wire_field key_fields[] = {
	WIRE_BYTES(struct text_item, text, ISOLATED_KEY_MAX),
};
static const struct wire_schema key_schema =
	WIRE_SCHEMA("isolate-key", struct text_item, key_fields);

static const struct wire_field host_isolate_fields[] = {
	WIRE_TEXT(struct host_isolate, id, 32),
	WIRE_BYTES(struct host_isolate, workspace, REQUEST_PATH_MAX),
	WIRE_ENUM(struct host_isolate, mode, REQUEST_MODE_MAX),
	WIRE_BOOL(struct host_isolate, is_offline),
	WIRE_LIST(struct host_isolate, binds, ISOLATED_BINDS_MAX, &bind_schema),
	WIRE_ENUM(struct host_isolate, env, ISOLATE_ENV_MAX),
	WIRE_LIST(struct host_isolate, keys, ISOLATED_KEYS_MAX, &key_schema),
	WIRE_BOOL(struct host_isolate, has_uid),
	WIRE_BOOL(struct host_isolate, has_gid),
	WIRE_U32(struct host_isolate, uid),
	WIRE_U32(struct host_isolate, gid),
	WIRE_U64(struct host_isolate, expires_ms),
	WIRE_BYTES(struct host_isolate, note, REQUEST_NOTE_MAX),
	WIRE_TEXT(struct host_isolate, image, REQUEST_NAME_MAX),
};
const struct wire_schema host_isolate_schema =
	WIRE_SCHEMA("host-isolate", struct host_isolate, host_isolate_fields);

static const struct wire_field change_item_fields[] = {
	WIRE_BYTES(struct change_item, path, REQUEST_PATH_MAX),
	WIRE_ENUM(struct change_item, kind, CHANGE_KIND_MAX),
	WIRE_ENUM(struct change_item, type, CHANGE_TYPE_MAX),
	WIRE_U64(struct change_item, size),
};
static const struct wire_schema change_item_schema =
	WIRE_SCHEMA("change-item", struct change_item, change_item_fields);

static const struct wire_field changes_list_fields[] = {
	WIRE_LIST(struct changes_list, items, CHANGES_SHOWN_MAX,
		  &change_item_schema),
	WIRE_U64(struct changes_list, total),
};
const struct wire_schema changes_list_schema =
	WIRE_SCHEMA("changes-list", struct changes_list, changes_list_fields);

static const struct wire_field path_fields[] = {
	WIRE_BYTES(struct text_item, text, CHANGES_TOLD_PATH),
};
static const struct wire_schema path_schema =
	WIRE_SCHEMA("path", struct text_item, path_fields);

static const struct wire_field changes_wish_fields[] = {
	WIRE_LIST(struct changes_wish, paths, CHANGES_PATHS_MAX, &path_schema),
	WIRE_BOOL(struct changes_wish, is_forced),
};
const struct wire_schema changes_wish_schema =
	WIRE_SCHEMA("changes-wish", struct changes_wish, changes_wish_fields);

static const struct wire_field change_told_fields[] = {
	WIRE_BYTES(struct change_told, path, CHANGES_TOLD_PATH),
	WIRE_TEXT(struct change_told, reason, 128),
	WIRE_BOOL(struct change_told, is_conflict),
};
static const struct wire_schema change_told_schema =
	WIRE_SCHEMA("change-told", struct change_told, change_told_fields);

static const struct wire_field changes_result_fields[] = {
	WIRE_U64(struct changes_result, applied),
	WIRE_U64(struct changes_result, refused),
	WIRE_U64(struct changes_result, conflicts),
	WIRE_LIST(struct changes_result, told, CHANGES_TOLD_MAX,
		  &change_told_schema),
};
const struct wire_schema changes_result_schema = WIRE_SCHEMA(
	"changes-result", struct changes_result, changes_result_fields);

int changes_list_seal(const struct changes_list *list, struct err *err)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, REQUEST_BYTES_MAX);
	if (wire_encode(&changes_list_schema, list, &out, err) < 0)
		return -1;
	return wire_memfd_seal("sallyport-changes", buf_view(&out), err);
}

int changes_list_open(int fd, struct request_memory *memory,
		      struct changes_list *list, struct err *err)
{
	*memory = (struct request_memory){0};
	if (wire_memfd_map(fd, REQUEST_BYTES_MAX, &memory->mapping, err) < 0)
		return -1;
	arena_init(&memory->arena, LIST_ARENA_MAX);
	if (wire_decode(&changes_list_schema, memory->mapping, &memory->arena,
			list, err) == 0)
		return 0;
	request_release(memory);
	return -1;
}
