#include "sandbox-host/daemon/config_store.h"

#include <string.h>

#include "common/cleanup.h"

#define DIGEST_PREFIX "sha256:"
#define DIGEST_DIGITS 64
#define NAME_LEN_MAX  63

static struct host_store_config *store_of(void *target, size_t offset)
{
	return (struct host_store_config *)(void *)((char *)target + offset);
}

/* A key that becomes the name of a directory. */
static const char *name_of(struct reader *reader, const struct text_node *node)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	bool is_good = node->key.len > 0 && node->key.len <= NAME_LEN_MAX &&
		       node->key.data[0] != '.' && node->key.data[0] != '-';

	for (size_t i = 0; is_good && i < node->key.len; i++)
		is_good = memchr(chars, node->key.data[i], sizeof(chars) - 1);
	if (is_good)
		return arena_str(reader->arena, node->key);
	text_error(&reader->source, node->key_at,
		   "a name has letters, digits, '.', '_' and '-', and begins "
		   "with a letter, a digit or '_'");
	return NULL;
}

static const char *copy_word(struct reader *reader,
			     const struct text_node *node)
{
	struct bytes word;

	if (!reader_word(reader, node, &word))
		return NULL;
	if (word.len > 0)
		return arena_str(reader->arena, word);
	(void)reader_error(reader, node, "this is empty");
	return NULL;
}

static bool is_path(const char *word)
{
	return word[0] == '/' && word[1] && !strstr(word, "/..");
}

/* ---- images ---- */

static void read_source(struct reader *reader, const struct text_node *node,
			void *target, size_t offset)
{
	static const char *const kinds[] = {"docker://",
					    "oci:", "oci-archive:"};
	struct host_image_config *image = target;
	const char *word = copy_word(reader, node);

	(void)offset;
	if (!word)
		return;
	image->source = word;
	image->kind = IMAGE_PATH;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (bytes_starts_with(bytes_str(word), bytes_str(kinds[i])))
			image->kind = IMAGE_OCI;
	if (image->kind == IMAGE_PATH && !is_path(word))
		(void)reader_error(reader, node,
				   "this must be an absolute path, or begin "
				   "with docker://, oci: or oci-archive:");
}

static void read_digest(struct reader *reader, const struct text_node *node,
			void *target, size_t offset)
{
	struct host_image_config *image = target;
	const char *word = copy_word(reader, node);
	size_t len = strlen(DIGEST_PREFIX);

	(void)offset;
	if (!word)
		return;
	if (strncmp(word, DIGEST_PREFIX, len) != 0 ||
	    strspn(word + len, "0123456789abcdef") != DIGEST_DIGITS ||
	    word[len + DIGEST_DIGITS])
		(void)reader_error(reader, node,
				   "this must be sha256: and 64 hexadecimal "
				   "digits");
	else
		image->digest = word;
}

static void read_mode(struct reader *reader, const struct text_node *node,
		      void *target, size_t offset)
{
	static const struct choice choices[] = {{"write", false},
						{"read", true}};
	struct host_image_config *image = target;
	int value;

	(void)offset;
	if (reader_choice(reader, node, choices, ARRAY_SIZE(choices), &value))
		image->is_read_only = value;
}

static void read_image(struct reader *reader, const struct text_node *node,
		       struct host_image_config *image)
{
	static const struct reader_field fields[] = {
		{"source", read_source, 0},
		{"digest", read_digest, 0},
		{"mode", read_mode, 0},
	};

	image->name = name_of(reader, node);
	if (node->kind == TEXT_SCALAR)
		read_source(reader, node, image, 0);
	else if (reader_map(reader, node, fields, ARRAY_SIZE(fields), image))
		(void)reader_require(reader, node, "source");
}

void config_read_images(struct reader *reader, const struct text_node *node,
			void *target, size_t offset)
{
	struct host_store_config *store = store_of(target, offset);

	if (!reader_kind(reader, node, TEXT_MAP))
		return;
	if (node->count > HOST_IMAGES_MAX) {
		(void)reader_error(reader, node, "more than %d images",
				   HOST_IMAGES_MAX);
		return;
	}
	store->images = arena_array(reader->arena, node->count + 1,
				    sizeof(*store->images));
	store->image_count = 0;
	for (const struct text_node *at = node->first; store->images && at;
	     at = at->next) {
		struct host_image_config *image =
			&store->images[store->image_count++];

		*image = (struct host_image_config){0};
		read_image(reader, at, image);
	}
}

/* ---- volumes ---- */

static bool read_root(struct reader *reader, const struct text_node *node,
		      void *item)
{
	const char **path = item;

	*path = copy_word(reader, node);
	if (!*path || is_path(*path))
		return *path != NULL;
	return reader_error(reader, node,
			    "this must be an absolute path, and not /");
}

void config_read_volumes(struct reader *reader, const struct text_node *node,
			 void *target, size_t offset)
{
	struct host_store_config *store = store_of(target, offset);
	void *items = NULL;

	(void)reader_list(reader, node, sizeof(const char *), read_root, &items,
			  &store->volume_count);
	store->volumes = items;
	if (store->volume_count > HOST_VOLUMES_MAX)
		(void)reader_error(reader, node, "more than %d roots",
				   HOST_VOLUMES_MAX);
}

/* ---- pools ---- */

static void read_policy(struct reader *reader, const struct text_node *node,
			void *target, size_t offset)
{
	struct host_pool_config *pool = target;

	(void)offset;
	pool->policy = copy_word(reader, node);
	pool->policy_at = node->at;
	if (pool->policy && !is_path(pool->policy))
		(void)reader_error(reader, node,
				   "this must be an absolute path");
}

static void read_pool_image(struct reader *reader, const struct text_node *node,
			    void *target, size_t offset)
{
	struct host_pool_config *pool = target;

	(void)offset;
	pool->image = copy_word(reader, node);
}

static void read_size(struct reader *reader, const struct text_node *node,
		      void *target, size_t offset)
{
	struct host_pool_config *pool = target;
	uint64_t value;

	(void)offset;
	if (reader_number(reader, node, 1, HOST_POOL_SIZE_MAX, &value))
		pool->size = (size_t)value;
}

void config_read_pools(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset)
{
	static const struct reader_field fields[] = {
		{"policy", read_policy, 0},
		{"image", read_pool_image, 0},
		{"size", read_size, 0},
	};
	struct host_store_config *store = store_of(target, offset);

	if (!reader_kind(reader, node, TEXT_MAP))
		return;
	if (node->count > HOST_POOLS_MAX) {
		(void)reader_error(reader, node, "more than %d pools",
				   HOST_POOLS_MAX);
		return;
	}
	store->pools = arena_array(reader->arena, node->count + 1,
				   sizeof(*store->pools));
	store->pool_count = 0;
	for (const struct text_node *at = node->first; store->pools && at;
	     at = at->next) {
		struct host_pool_config *pool =
			&store->pools[store->pool_count++];

		*pool = (struct host_pool_config){.name = name_of(reader, at)};
		if (reader_map(reader, at, fields, ARRAY_SIZE(fields), pool))
			(void)reader_require(reader, at, "size");
	}
}

static bool is_image(const struct host_store_config *store, const char *name)
{
	for (size_t i = 0; i < store->image_count; i++)
		if (store->images[i].name &&
		    !strcmp(store->images[i].name, name))
			return true;
	return false;
}

void config_check_pools(struct reader *reader, const struct text_node *root,
			const struct host_store_config *store)
{
	const struct text_node *pools =
		root->kind == TEXT_MAP ? text_child(root, "pool") : NULL;
	const struct text_node *at = pools ? pools->first : NULL;

	for (size_t i = 0; i < store->pool_count && at; i++, at = at->next)
		if (store->pools[i].image &&
		    !is_image(store, store->pools[i].image))
			(void)reader_error(reader, at, "`images` has no \"%s\"",
					   store->pools[i].image);
}

/* ---- limits ---- */

void config_read_snapshots(struct reader *reader, const struct text_node *node,
			   void *target, size_t offset)
{
	uint64_t value;

	if (reader_number(reader, node, 0, HOST_SNAPSHOTS_MAX, &value))
		store_of(target, offset)->snapshots_max = (size_t)value;
}

void config_read_snapshot_bytes(struct reader *reader,
				const struct text_node *node, void *target,
				size_t offset)
{
	uint64_t value;

	if (reader_size(reader, node, &value))
		store_of(target, offset)->snapshot_bytes = value;
}

void config_read_image_bytes(struct reader *reader,
			     const struct text_node *node, void *target,
			     size_t offset)
{
	uint64_t value;

	if (reader_size(reader, node, &value))
		store_of(target, offset)->image_bytes = value;
}

void config_read_image_time(struct reader *reader, const struct text_node *node,
			    void *target, size_t offset)
{
	uint64_t value;

	if (!reader_duration(reader, node, &value))
		return;
	if (value < HOST_IMAGE_TIME_MIN_MS || value > HOST_IMAGE_TIME_MAX_MS)
		(void)reader_error(reader, node, "this must be 1s to 24h");
	else
		store_of(target, offset)->image_time_ms = value;
}
