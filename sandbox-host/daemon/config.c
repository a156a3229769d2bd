#include "sandbox-host/daemon/config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/directories.h"
#include "common/file.h"
#include "policies/reader.h"

#define CONFIG_ARENA_MAX                                                       \
	(4 * 1024 * 1024 +                                                     \
	 (API_POLICIES_MAX + HOST_POOLS_MAX) * POLICY_TEXT_MAX)
#define TREES_MAX  (4 * 1024 * 1024)
#define UID_DIGITS 10
#define UID_LEAST  1000 /* what is below belongs to the system */

/* ---- defaults ---- */

/* $NAME/suffix when the variable holds an absolute path. */
static const char *below(struct arena *arena, const char *name,
			 const char *suffix)
{
	const char *value = getenv(name);

	return value && value[0] == '/'
		       ? arena_format(arena, "%s%s", value, suffix)
		       : NULL;
}

/* What a variable says, and on record that it did; NULL. */
static const char *from_variable(struct host_config *config, enum host_key key,
				 const char *name, const char *suffix)
{
	const char *path = below(&config->arena, name, suffix);

	if (path)
		config->from[key].where = name;
	return path;
}

static const char *default_run(struct host_config *config)
{
	const char *path =
		from_variable(config, HOST_KEY_RUN, "SALLYPORT_RUN", "");

	if (!path && geteuid() == 0)
		return "/run/sallyport";
	if (!path)
		path = from_variable(config, HOST_KEY_RUN, "XDG_RUNTIME_DIR",
				     "/sallyport");
	return path ? path
		    : arena_format(&config->arena, "/tmp/sallyport-%u",
				   geteuid());
}

/* Below a directory that is empty in every sandbox: an ordinary user's see
 * each other's files otherwise. */
static const char *default_workspaces(struct host_config *config)
{
	const char *path;

	if (geteuid() == 0)
		return "/var/lib/sallyport-host/workspaces";
	path = from_variable(config, HOST_KEY_WORKSPACES, "XDG_RUNTIME_DIR",
			     "/sallyport-workspaces");
	return path ? path
		    : arena_format(&config->arena,
				   "/tmp/sallyport-workspaces-%u", geteuid());
}

/* Below what is hidden in every sandbox. */
static const char *default_store(struct host_config *config)
{
	const char *path;

	if (geteuid() == 0)
		return "/var/lib/sallyport-host/store";
	path = from_variable(config, HOST_KEY_STORE, "XDG_STATE_HOME",
			     "/sallyport/store");
	if (!path)
		path = from_variable(config, HOST_KEY_STORE, "HOME",
				     "/.local/state/sallyport/store");
	return path ? path
		    : arena_format(&config->arena, "/tmp/sallyport-store-%u",
				   geteuid());
}

int host_config_defaults(struct host_config *config, struct err *err)
{
	*config = (struct host_config){
		.sandboxes_max = HOST_SANDBOXES_DEFAULT,
		.ready_max = HOST_READY_DEFAULT,
	};
	arena_init(&config->arena, CONFIG_ARENA_MAX);
	if (directories_check_variable("SALLYPORT_RUN", err) < 0)
		return -1;
	config->run = default_run(config);
	config->workspaces = default_workspaces(config);
	config->store = (struct host_store_config){
		.path = default_store(config),
		.snapshots_max = HOST_SNAPSHOTS_DEFAULT,
		.snapshot_bytes = HOST_SNAPSHOT_BYTES_DEFAULT,
		.image_bytes = HOST_IMAGE_BYTES_DEFAULT,
		.image_time_ms = HOST_IMAGE_TIME_DEFAULT_MS,
	};
	return config->run && config->workspaces && config->store.path
		       ? 0
		       : err_set(err, ERR_TOO_LARGE, "no memory");
}

void host_config_release(struct host_config *config)
{
	arena_release(&config->arena);
}

/* ---- host.yaml ---- */

static void read_path(struct reader *reader, const struct text_node *node,
		      void *target, size_t offset)
{
	const char **path = (const char **)(void *)((char *)target + offset);
	struct bytes word;
	const char *copy;

	if (!reader_word(reader, node, &word))
		return;
	copy = word.len > 0 && word.data[0] == '/'
		       ? arena_str(reader->arena, word)
		       : NULL;
	if (copy)
		*path = copy;
	else
		(void)reader_error(reader, node,
				   "this must be an absolute path");
}

/* "2000000-2065535" */
static void read_uids(struct reader *reader, const struct text_node *node,
		      void *target, size_t offset)
{
	struct host_config *config = target;
	struct bytes word, first;
	uint64_t low, high;

	(void)offset;
	if (!reader_word(reader, node, &word))
		return;
	if (!bytes_split(&word, '-', &first) ||
	    bytes_to_u64(first, UID_DIGITS, &low) < 0 ||
	    bytes_to_u64(word, UID_DIGITS, &high) < 0 || low < UID_LEAST ||
	    high < low || high >= UINT32_MAX)
		(void)reader_error(reader, node,
				   "this must be two user ids from %d up, like "
				   "2000000-2065535",
				   UID_LEAST);
	else
		config->uids = (struct sandbox_uids){
			(uid_t)low, (unsigned)(high - low + 1)};
}

static void read_sandboxes(struct reader *reader, const struct text_node *node,
			   void *target, size_t offset)
{
	struct host_config *config = target;
	uint64_t value;

	(void)offset;
	if (reader_number(reader, node, 1, HOST_SANDBOXES_MAX, &value))
		config->sandboxes_max = (size_t)value;
}

static void read_ready(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset)
{
	struct host_config *config = target;
	uint64_t value;

	(void)offset;
	if (reader_number(reader, node, 0, HOST_READY_MAX, &value))
		config->ready_max = (size_t)value;
}

static void read_limits(struct reader *reader, const struct text_node *node,
			void *target, size_t offset)
{
	static const struct reader_field fields[] = {
		{"sandboxes", read_sandboxes, 0},
		{"ready", read_ready, 0},
		{"snapshots", config_read_snapshots,
		 offsetof(struct host_config, store)},
		{"snapshot_bytes", config_read_snapshot_bytes,
		 offsetof(struct host_config, store)},
		{"image_bytes", config_read_image_bytes,
		 offsetof(struct host_config, store)},
		{"image_time", config_read_image_time,
		 offsetof(struct host_config, store)},
	};

	(void)offset;
	(void)reader_map(reader, node, fields, ARRAY_SIZE(fields), target);
}

/* ---- where it was said ---- */

static void note_keys(struct host_config *config,
		      const struct text_source *source,
		      const struct text_node *root)
{
	static const struct text_key keys[HOST_KEY_MAX] = {
		[HOST_KEY_RUN] = {"run", NULL},
		[HOST_KEY_WORKSPACES] = {"workspaces", NULL},
		[HOST_KEY_GATEWAY] = {"gateway", NULL},
		[HOST_KEY_DEFAULT_POLICY] = {"default_policy", NULL},
		[HOST_KEY_UIDS] = {"uid_range", NULL},
		[HOST_KEY_STORE] = {"store", NULL},
		[HOST_KEY_IMAGES] = {"images", NULL},
		[HOST_KEY_VOLUMES] = {"volumes", NULL},
		[HOST_KEY_POOL] = {"pool", NULL},
		[HOST_KEY_LISTEN] = {"listen", NULL},
		[HOST_KEY_INSECURE] = {"insecure_listen", NULL},
		[HOST_KEY_TLS] = {"tls", NULL},
		[HOST_KEY_API_KEYS] = {"api_keys", NULL},
		[HOST_KEY_POLICIES] = {"policies", NULL},
		[HOST_KEY_SANDBOXES] = {"limits", "sandboxes"},
		[HOST_KEY_READY] = {"limits", "ready"},
		[HOST_KEY_SNAPSHOTS] = {"limits", "snapshots"},
		[HOST_KEY_SNAPSHOT_BYTES] = {"limits", "snapshot_bytes"},
		[HOST_KEY_IMAGE_BYTES] = {"limits", "image_bytes"},
		[HOST_KEY_IMAGE_TIME] = {"limits", "image_time"},
	};

	text_find_keys(source, root, keys, HOST_KEY_MAX, config->from);
}

/* ---- all ---- */

bool host_config_read(struct host_config *config, struct bytes text,
		      struct policy_errors *errors)
{
	static const struct reader_field fields[] = {
		{"run", read_path, offsetof(struct host_config, run)},
		{"workspaces", read_path,
		 offsetof(struct host_config, workspaces)},
		{"gateway", read_path, offsetof(struct host_config, gateway)},
		{"default_policy", read_path,
		 offsetof(struct host_config, default_policy)},
		{"uid_range", read_uids, 0},
		{"limits", read_limits, 0},
		{"listen", read_listen, offsetof(struct host_config, api)},
		{"insecure_listen", read_insecure,
		 offsetof(struct host_config, api)},
		{"tls", read_tls, offsetof(struct host_config, api)},
		{"api_keys", read_api_keys, offsetof(struct host_config, api)},
		{"policies", read_policies, offsetof(struct host_config, api)},
		{"store", read_path, offsetof(struct host_config, store.path)},
		{"images", config_read_images,
		 offsetof(struct host_config, store)},
		{"volumes", config_read_volumes,
		 offsetof(struct host_config, store)},
		{"pool", config_read_pools,
		 offsetof(struct host_config, store)},
	};
	auto_type(arena_release) struct arena trees;
	struct reader reader = {
		.source = {text, errors->file, errors},
		.arena = &config->arena,
		.owner = config,
	};
	const struct text_node *root;

	arena_init(&trees, TREES_MAX);
	errors->count = 0;
	root = text_parse(&reader.source, &trees);
	if (root &&
	    reader_map(&reader, root, fields, ARRAY_SIZE(fields), config))
		check_api(&reader, root, &config->api);
	if (root)
		config_check_pools(&reader, root, &config->store);
	if (!root || errors->count > 0)
		return false;
	note_keys(config, &reader.source, root);
	return true;
}

/* ---- policies ---- */

static bool read_policy(const struct text_source *source, struct arena *arena,
			const char *path, size_t at, struct bytes *out)
{
	auto_type(buf_release) struct buf text;
	struct err err = {0};

	buf_init(&text, POLICY_TEXT_MAX);
	if (file_read_path(path, &text, &err) == 0)
		*out = arena_copy(arena, buf_view(&text));
	if (err.code == ERR_NONE && out->len != buf_len(&text))
		(void)err_set(&err, ERR_TOO_LARGE, "no memory");
	if (err.code != ERR_NONE)
		text_error(source, at, "%s", err.text);
	return err.code == ERR_NONE;
}

bool host_config_read_policies(struct host_config *config, struct bytes text,
			       struct policy_errors *errors)
{
	const struct text_source source = {text, errors->file, errors};
	struct host_store_config *store = &config->store;
	struct host_api *api = &config->api;
	bool result = true;

	for (size_t i = 0; i < store->pool_count; i++)
		if (store->pools[i].policy &&
		    !read_policy(&source, &config->arena,
				 store->pools[i].policy,
				 store->pools[i].policy_at,
				 &store->pools[i].policy_text))
			result = false;
	for (size_t i = 0; i < api->policies_count; i++)
		if (!read_policy(&source, &config->arena, api->policies[i].path,
				 api->policies[i].at, &api->policies[i].text))
			result = false;
	return result;
}
