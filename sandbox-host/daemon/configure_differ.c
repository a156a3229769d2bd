/* What differs between two configurations, by the names of host.yaml. */
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "sandbox-host/daemon/configure.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_uids(const struct sandbox_uids *a,
		      const struct sandbox_uids *b)
{
	return a->first == b->first && a->count == b->count;
}

static bool same_images(const struct host_store_config *a,
			const struct host_store_config *b)
{
	bool is_same = a->image_count == b->image_count;

	for (size_t i = 0; is_same && i < a->image_count; i++) {
		const struct host_image_config *one = &a->images[i];
		const struct host_image_config *other = &b->images[i];

		is_same = same_text(one->name, other->name) &&
			  same_text(one->source, other->source) &&
			  same_text(one->digest, other->digest) &&
			  one->is_read_only == other->is_read_only;
	}
	return is_same;
}

static bool same_volumes(const struct host_store_config *a,
			 const struct host_store_config *b)
{
	bool is_same = a->volume_count == b->volume_count;

	for (size_t i = 0; is_same && i < a->volume_count; i++)
		is_same = same_text(a->volumes[i], b->volumes[i]);
	return is_same;
}

static bool same_pools(const struct host_store_config *a,
		       const struct host_store_config *b)
{
	bool is_same = a->pool_count == b->pool_count;

	for (size_t i = 0; is_same && i < a->pool_count; i++) {
		const struct host_pool_config *one = &a->pools[i];
		const struct host_pool_config *other = &b->pools[i];

		is_same = same_text(one->name, other->name) &&
			  same_text(one->policy, other->policy) &&
			  bytes_equal(one->policy_text, other->policy_text) &&
			  same_text(one->image, other->image) &&
			  one->size == other->size;
	}
	return is_same;
}

static bool same_listeners(const struct host_api *a, const struct host_api *b)
{
	bool is_same = a->listen_count == b->listen_count;

	for (size_t i = 0; is_same && i < a->listen_count; i++)
		is_same = bytes_equal(a->listen[i].text, b->listen[i].text);
	return is_same;
}

static bool same_tls(const struct host_api *a, const struct host_api *b)
{
	return same_text(a->certificate, b->certificate) &&
	       same_text(a->key, b->key);
}

static bool same_keys(const struct host_api *a, const struct host_api *b)
{
	bool is_same = a->keys_count == b->keys_count;

	for (size_t i = 0; is_same && i < a->keys_count; i++)
		is_same = bytes_equal(a->keys[i].sha256, b->keys[i].sha256);
	return is_same;
}

static bool same_policies(const struct host_api *a, const struct host_api *b)
{
	bool is_same = a->policies_count == b->policies_count;

	for (size_t i = 0; is_same && i < a->policies_count; i++) {
		const struct api_policy_file *one = &a->policies[i];
		const struct api_policy_file *other = &b->policies[i];

		is_same = bytes_equal(one->name, other->name) &&
			  same_text(one->path, other->path) &&
			  bytes_equal(one->text, other->text);
	}
	return is_same;
}

/* ---- as names ---- */

struct difference {
	const char *name;
	bool is_same;
};

/* "images, limits.ready" */
static void list_names(const struct difference *rows, size_t count,
		       char names[CONFIGURE_NAMES_MAX])
{
	size_t len = 0;

	names[0] = '\0';
	for (size_t i = 0; i < count && len < CONFIGURE_NAMES_MAX; i++)
		if (!rows[i].is_same)
			len += (size_t)snprintf(
				names + len, CONFIGURE_NAMES_MAX - len, "%s%s",
				len ? ", " : "", rows[i].name);
}

void configure_fixed(const struct host_config *old,
		     const struct host_config *next,
		     char names[CONFIGURE_NAMES_MAX])
{
	const struct difference rows[] = {
		{"run", same_text(old->run, next->run)},
		{"workspaces", same_text(old->workspaces, next->workspaces)},
		{"gateway", same_text(old->gateway, next->gateway)},
		{"store", same_text(old->store.path, next->store.path)},
		{"listen", same_listeners(&old->api, &next->api)},
		{"tls", same_tls(&old->api, &next->api)},
	};

	list_names(rows, ARRAY_SIZE(rows), names);
}

void configure_taken(const struct host_config *old,
		     const struct host_config *next,
		     char names[CONFIGURE_NAMES_MAX])
{
	const struct host_store_config *a = &old->store, *b = &next->store;
	const struct difference rows[] = {
		{"default_policy",
		 same_text(old->default_policy, next->default_policy)},
		{"uid_range", same_uids(&old->uids, &next->uids)},
		{"images", same_images(a, b)},
		{"volumes", same_volumes(a, b)},
		{"pool", same_pools(a, b)},
		{"insecure_listen",
		 old->api.may_be_insecure == next->api.may_be_insecure},
		{"api_keys", same_keys(&old->api, &next->api)},
		{"policies", same_policies(&old->api, &next->api)},
		{"limits.sandboxes", old->sandboxes_max == next->sandboxes_max},
		{"limits.ready", old->ready_max == next->ready_max},
		{"limits.snapshots", a->snapshots_max == b->snapshots_max},
		{"limits.snapshot_bytes",
		 a->snapshot_bytes == b->snapshot_bytes},
		{"limits.image_bytes", a->image_bytes == b->image_bytes},
		{"limits.image_time", a->image_time_ms == b->image_time_ms},
	};

	list_names(rows, ARRAY_SIZE(rows), names);
}

bool configure_rebuilds(const struct host_config *old,
			const struct host_config *next)
{
	return !same_text(old->default_policy, next->default_policy) ||
	       !same_uids(&old->uids, &next->uids) ||
	       !same_images(&old->store, &next->store) ||
	       !same_volumes(&old->store, &next->store) ||
	       !same_pools(&old->store, &next->store) ||
	       old->ready_max != next->ready_max;
}
