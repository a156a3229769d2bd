#include "sandbox-host/daemon/config_dump.h"

#include <inttypes.h>

#include "common/cleanup.h"
#include "common/quantity.h"
#include "policies/dump_text.h"

struct dump {
	struct dump_text text;
	const struct host_config *config;
};

#define add(dump, ...) dump_text_add(&(dump)->text, __VA_ARGS__)

static void add_quoted(struct dump *dump, struct bytes text)
{
	dump_text_quoted(&dump->text, text);
}

/* "  # host.yaml:12" and the end of the line. */
static void add_from(struct dump *dump, enum host_key key)
{
	const struct text_place *from = &dump->config->from[key];

	dump_text_from(&dump->text, from->where, from->line);
}

static void add_path(struct dump *dump, const char *name, const char *path,
		     enum host_key key)
{
	if (!path) {
		add(dump, "# %s: none  # default\n", name);
		return;
	}
	add(dump, "%s: ", name);
	add_quoted(dump, bytes_str(path));
	add_from(dump, key);
}

/* "    name: "text"", where there is one */
static void add_named(struct dump *dump, const char *name, const char *text)
{
	if (!text)
		return;
	add(dump, "    %s: ", name);
	add_quoted(dump, bytes_str(text));
	add(dump, "\n");
}

static void add_item(struct dump *dump, struct bytes text)
{
	add(dump, "  - ");
	add_quoted(dump, text);
	add(dump, "\n");
}

/* "name:", or that there is none. Is there? */
static bool begin(struct dump *dump, const char *name, size_t count,
		  enum host_key key)
{
	if (count == 0) {
		add(dump, "# %s: none", name);
		add_from(dump, key);
		return false;
	}
	add(dump, "%s:", name);
	add_from(dump, key);
	return true;
}

/* ---- what they are made from ---- */

static void add_uids(struct dump *dump, const struct sandbox_uids *uids)
{
	if (uids->count == 0) {
		add(dump, "# uid_range: the usual one  # default\n");
		return;
	}
	add(dump, "uid_range: %u-%u", (unsigned)uids->first,
	    (unsigned)uids->first + uids->count - 1);
	add_from(dump, HOST_KEY_UIDS);
}

static void add_images(struct dump *dump, const struct host_store_config *store)
{
	if (!begin(dump, "images", store->image_count, HOST_KEY_IMAGES))
		return;
	for (size_t i = 0; i < store->image_count; i++) {
		const struct host_image_config *image = &store->images[i];

		add(dump, "  \"%s\":\n", image->name);
		add_named(dump, "source", image->source);
		add_named(dump, "digest", image->digest);
		add_named(dump, "mode", image->is_read_only ? "read" : "write");
	}
}

static void add_pools(struct dump *dump, const struct host_store_config *store)
{
	if (!begin(dump, "pool", store->pool_count, HOST_KEY_POOL))
		return;
	for (size_t i = 0; i < store->pool_count; i++) {
		const struct host_pool_config *pool = &store->pools[i];

		add(dump, "  \"%s\":\n", pool->name);
		add_named(dump, "policy", pool->policy);
		add_named(dump, "image", pool->image);
		add(dump, "    size: %zu\n", pool->size);
	}
}

static void add_store(struct dump *dump, const struct host_store_config *store)
{
	add_path(dump, "store", store->path, HOST_KEY_STORE);
	add_images(dump, store);
	if (begin(dump, "volumes", store->volume_count, HOST_KEY_VOLUMES))
		for (size_t i = 0; i < store->volume_count; i++)
			add_item(dump, bytes_str(store->volumes[i]));
	add_pools(dump, store);
}

/* ---- the API ---- */

static void add_tls(struct dump *dump, const struct host_api *api)
{
	if (!begin(dump, "tls", api->certificate != NULL, HOST_KEY_TLS))
		return;
	add(dump, "  certificate: ");
	add_quoted(dump, bytes_str(api->certificate));
	add(dump, "\n  key: ");
	add_quoted(dump, bytes_str(api->key));
	add(dump, "\n");
}

static void add_api(struct dump *dump, const struct host_api *api)
{
	if (begin(dump, "listen", api->listen_count, HOST_KEY_LISTEN))
		for (size_t i = 0; i < api->listen_count; i++)
			add_item(dump, api->listen[i].text);
	add(dump, "insecure_listen: %s",
	    api->may_be_insecure ? "true" : "false");
	add_from(dump, HOST_KEY_INSECURE);
	add_tls(dump, api);
	add(dump, "# api_keys: %zu, not shown", api->keys_count);
	add_from(dump, HOST_KEY_API_KEYS);
	if (!begin(dump, "policies", api->policies_count, HOST_KEY_POLICIES))
		return;
	for (size_t i = 0; i < api->policies_count; i++) {
		add(dump, "  ");
		add_quoted(dump, api->policies[i].name);
		add(dump, ": ");
		add_quoted(dump, bytes_str(api->policies[i].path));
		add(dump, "\n");
	}
}

/* ---- limits ---- */

static void add_size(struct dump *dump, const char *name, uint64_t bytes,
		     enum host_key key)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t i = 0;

	while (bytes > 0 && bytes % 1024 == 0 && i + 1 < ARRAY_SIZE(units)) {
		bytes /= 1024;
		i++;
	}
	add(dump, "  %s: %" PRIu64 "%s", name, bytes, units[i]);
	add_from(dump, key);
}

static void add_time(struct dump *dump, const char *name, uint64_t ms,
		     enum host_key key)
{
	char text[QUANTITY_TEXT_SIZE];

	quantity_time_text(ms, text);
	add(dump, "  %s: %s", name, text);
	add_from(dump, key);
}

static void add_number(struct dump *dump, const char *name, size_t number,
		       enum host_key key)
{
	add(dump, "  %s: %zu", name, number);
	add_from(dump, key);
}

static void add_limits(struct dump *dump, const struct host_config *config)
{
	const struct host_store_config *store = &config->store;

	add(dump, "limits:\n");
	add_number(dump, "sandboxes", config->sandboxes_max,
		   HOST_KEY_SANDBOXES);
	add_number(dump, "ready", config->ready_max, HOST_KEY_READY);
	add_number(dump, "snapshots", store->snapshots_max, HOST_KEY_SNAPSHOTS);
	add_size(dump, "snapshot_bytes", store->snapshot_bytes,
		 HOST_KEY_SNAPSHOT_BYTES);
	add_size(dump, "image_bytes", store->image_bytes, HOST_KEY_IMAGE_BYTES);
	add_time(dump, "image_time", store->image_time_ms, HOST_KEY_IMAGE_TIME);
}

/* ---- all ---- */

int config_dump(const struct host_config *config, struct buf *out)
{
	struct dump dump = {.text = {.out = out}, .config = config};

	add_path(&dump, "run", config->run, HOST_KEY_RUN);
	add_path(&dump, "workspaces", config->workspaces, HOST_KEY_WORKSPACES);
	if (config->gateway)
		add_path(&dump, "gateway", config->gateway, HOST_KEY_GATEWAY);
	else
		add(&dump, "# gateway: the usual one  # default\n");
	add_path(&dump, "default_policy", config->default_policy,
		 HOST_KEY_DEFAULT_POLICY);
	add_uids(&dump, &config->uids);
	add_store(&dump, &config->store);
	add_api(&dump, &config->api);
	add_limits(&dump, config);
	return dump.text.is_full ? -1 : 0;
}
