#include "sandbox-host/flow/sandbox_spec.h"

#include <string.h>

#include "common/cleanup.h"
#include "policies/policy.h"

#define REQUEST_ARENA_MAX (4 * REQUEST_BYTES_MAX)

static const struct wire_field metadata_fields[] = {
	WIRE_TEXT(struct text_pair, name, REQUEST_KEY_MAX),
	WIRE_TEXT(struct text_pair, value, REQUEST_VALUE_MAX),
};
const struct wire_schema metadata_schema =
	WIRE_SCHEMA("metadata", struct text_pair, metadata_fields);

static const struct wire_field shown_fields[] = {
	WIRE_BYTES(struct text_item, text, SHOWN_ARG_MAX),
};
const struct wire_schema shown_schema =
	WIRE_SCHEMA("shown", struct text_item, shown_fields);

static const struct wire_field word_fields[] = {
	WIRE_BYTES(struct text_item, text, REQUEST_ARG_MAX),
};
static const struct wire_schema word_schema =
	WIRE_SCHEMA("word", struct text_item, word_fields);

static const struct wire_field volume_fields[] = {
	WIRE_BYTES(struct volume_request, source, REQUEST_PATH_MAX),
	WIRE_BYTES(struct volume_request, sub_path, REQUEST_PATH_MAX),
	WIRE_BYTES(struct volume_request, below, REQUEST_PATH_MAX),
	WIRE_BYTES(struct volume_request, target, REQUEST_PATH_MAX),
	WIRE_BOOL(struct volume_request, is_read_only),
};
static const struct wire_schema volume_schema =
	WIRE_SCHEMA("volume", struct volume_request, volume_fields);

static const struct wire_field sandbox_request_fields[] = {
	WIRE_TEXT(struct sandbox_request, name, REQUEST_NAME_MAX),
	WIRE_BYTES(struct sandbox_request, policy, POLICY_TEXT_MAX),
	WIRE_BYTES(struct sandbox_request, policy_path, REQUEST_PATH_MAX),
	WIRE_TEXT(struct sandbox_request, repo, 2048),
	WIRE_TEXT(struct sandbox_request, branch, 255),
	WIRE_BYTES(struct sandbox_request, workspace, REQUEST_PATH_MAX),
	WIRE_BYTES(struct sandbox_request, home, REQUEST_PATH_MAX),
	WIRE_TEXT(struct sandbox_request, image, REQUEST_NAME_MAX),
	WIRE_TEXT(struct sandbox_request, snapshot, REQUEST_NAME_MAX),
	WIRE_LIST(struct sandbox_request, volumes, REQUEST_VOLUMES_MAX,
		  &volume_schema),
	WIRE_LIST(struct sandbox_request, caller, REQUEST_ENV_MAX,
		  &word_schema),
	WIRE_LIST(struct sandbox_request, env, REQUEST_ENV_MAX, &word_schema),
	WIRE_LIST(struct sandbox_request, entrypoint, REQUEST_ARGS_MAX,
		  &word_schema),
	WIRE_U64(struct sandbox_request, expires_ms),
	WIRE_U64(struct sandbox_request, memory_bytes),
	WIRE_U64(struct sandbox_request, processes),
	WIRE_U64(struct sandbox_request, cpu_milli),
	WIRE_LIST(struct sandbox_request, metadata, REQUEST_METADATA_MAX,
		  &metadata_schema),
	WIRE_BYTES(struct sandbox_request, note, REQUEST_NOTE_MAX),
	WIRE_BOOL(struct sandbox_request, is_isolated),
	WIRE_ENUM(struct sandbox_request, mode, REQUEST_MODE_MAX),
	WIRE_BOOL(struct sandbox_request, is_offline),
};
const struct wire_schema sandbox_request_schema = WIRE_SCHEMA(
	"sandbox-request", struct sandbox_request, sandbox_request_fields);

static const struct wire_field exec_request_fields[] = {
	WIRE_LIST(struct exec_request, argv, REQUEST_ARGS_MAX, &word_schema),
	WIRE_LIST(struct exec_request, env, REQUEST_ENV_MAX, &word_schema),
	WIRE_BYTES(struct exec_request, cwd, REQUEST_PATH_MAX),
	WIRE_U64(struct exec_request, timeout_ms),
	WIRE_BOOL(struct exec_request, has_terminal),
	WIRE_U16(struct exec_request, rows),
	WIRE_U16(struct exec_request, columns),
	WIRE_BOOL(struct exec_request, is_detached),
	WIRE_LIST(struct exec_request, judged, REQUEST_ARGS_MAX, &word_schema),
	WIRE_BOOL(struct exec_request, user.has_uid),
	WIRE_BOOL(struct exec_request, user.has_gid),
	WIRE_U32(struct exec_request, user.uid),
	WIRE_U32(struct exec_request, user.gid),
};
const struct wire_schema exec_request_schema =
	WIRE_SCHEMA("exec-request", struct exec_request, exec_request_fields);

static int seal(const struct wire_schema *schema, const void *request,
		struct err *err)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, REQUEST_BYTES_MAX);
	if (wire_encode(schema, request, &out, err) < 0)
		return -1;
	return wire_memfd_seal("sallyport-request", buf_view(&out), err);
}

int sandbox_request_seal(const struct sandbox_request *request, struct err *err)
{
	return seal(&sandbox_request_schema, request, err);
}

int sandbox_request_kind(const struct sandbox_request *request, struct buf *out,
			 struct err *err)
{
	struct sandbox_request kind = *request;

	kind.name = kind.note = bytes_from(NULL, 0);
	kind.metadata_count = 0;
	kind.entrypoint_count = 0;
	kind.expires_ms = 0;
	return wire_encode(&sandbox_request_schema, &kind, out, err);
}

int exec_request_seal(const struct exec_request *request, struct err *err)
{
	return seal(&exec_request_schema, request, err);
}

void request_release(struct request_memory *memory)
{
	wire_memfd_unmap(memory->mapping);
	arena_release(&memory->arena);
	*memory = (struct request_memory){0};
}

/* ---- what a system call would end at a NUL ---- */

static bool has_nul(struct bytes text)
{
	return text.len > 0 && memchr(text.data, 0, text.len);
}

static bool any_has_nul(const struct text_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (has_nul(items[i].text))
			return true;
	return false;
}

/* All of them "NAME=..."; a name that is empty would be none. */
static bool are_variables(const struct text_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes_find(items[i].text, '=', 0) <= 0 ||
		    has_nul(items[i].text))
			return false;
	return true;
}

static bool is_absolute(struct bytes path)
{
	return path.len == 0 || (path.data[0] == '/' && !has_nul(path));
}

/* Is one component of path ".."? */
static bool has_parent(struct bytes path)
{
	struct bytes part;

	bool has_more;

	do {
		has_more = bytes_split(&path, '/', &part);
		if (bytes_is(part, ".."))
			return true;
	} while (has_more);
	return false;
}

static int check_volumes(const struct sandbox_request *request, struct err *err)
{
	for (size_t i = 0; i < request->volumes_count; i++) {
		const struct volume_request *volume = &request->volumes[i];

		if (volume->source.len == 0 || volume->target.len == 0 ||
		    !is_absolute(volume->source) ||
		    !is_absolute(volume->target))
			return err_set(err, ERR_INVALID,
				       "a volume's paths must be absolute");
		if (has_nul(volume->sub_path) || has_parent(volume->sub_path) ||
		    has_nul(volume->below) || has_parent(volume->below) ||
		    has_parent(volume->source) || has_parent(volume->target))
			return err_set(err, ERR_INVALID,
				       "a volume's paths have no \"..\"");
	}
	return 0;
}

static int check_sandbox(const struct sandbox_request *request, struct err *err)
{
	if (!are_variables(request->env, request->env_count) ||
	    !are_variables(request->caller, request->caller_count))
		return err_set(err, ERR_INVALID,
			       "a variable that is not NAME=VALUE");
	if (any_has_nul(request->entrypoint, request->entrypoint_count) ||
	    has_nul(request->policy_path))
		return err_set(err, ERR_INVALID, "a word with a NUL in it");
	if (!is_absolute(request->workspace) || !is_absolute(request->home))
		return err_set(err, ERR_INVALID, "a path must be absolute");
	return check_volumes(request, err);
}

static int check_exec(const struct exec_request *request, struct err *err)
{
	if (request->argv_count == 0 || request->argv[0].text.len == 0)
		return err_set(err, ERR_INVALID, "there is no command");
	if (any_has_nul(request->argv, request->argv_count) ||
	    any_has_nul(request->judged, request->judged_count))
		return err_set(err, ERR_INVALID, "a word with a NUL in it");
	if (!are_variables(request->env, request->env_count))
		return err_set(err, ERR_INVALID,
			       "a variable that is not NAME=VALUE");
	return is_absolute(request->cwd)
		       ? 0
		       : err_set(err, ERR_INVALID,
				 "the directory must be an absolute path");
}

/* ---- taking one ---- */

static int open_memory(int fd, const struct wire_schema *schema,
		       struct request_memory *memory, void *request,
		       struct err *err)
{
	*memory = (struct request_memory){0};
	if (wire_memfd_map(fd, REQUEST_BYTES_MAX, &memory->mapping, err) < 0)
		return -1;
	arena_init(&memory->arena, REQUEST_ARENA_MAX);
	return wire_decode(schema, memory->mapping, &memory->arena, request,
			   err);
}

int sandbox_request_open(int fd, struct request_memory *memory,
			 struct sandbox_request *request, struct err *err)
{
	if (open_memory(fd, &sandbox_request_schema, memory, request, err) ==
		    0 &&
	    check_sandbox(request, err) == 0)
		return 0;
	request_release(memory);
	return -1;
}

int exec_request_open(int fd, struct request_memory *memory,
		      struct exec_request *request, struct err *err)
{
	if (open_memory(fd, &exec_request_schema, memory, request, err) == 0 &&
	    check_exec(request, err) == 0)
		return 0;
	request_release(memory);
	return -1;
}
