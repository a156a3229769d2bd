/*
 * What host.yaml says of what sandboxes are made from: `store`, `images`,
 * `volumes`, `pool`, and the limits of snapshots.
 */
#ifndef SANDBOX_HOST_DAEMON_CONFIG_STORE_H
#define SANDBOX_HOST_DAEMON_CONFIG_STORE_H

#include "policies/reader.h"

#define HOST_IMAGES_MAX		    64
#define HOST_VOLUMES_MAX	    16
#define HOST_POOLS_MAX		    16
#define HOST_POOL_SIZE_MAX	    100
#define HOST_SNAPSHOTS_DEFAULT	    100
#define HOST_SNAPSHOTS_MAX	    1000
#define HOST_SNAPSHOT_BYTES_DEFAULT (10ull << 30)
#define HOST_IMAGE_BYTES_DEFAULT    (16ull << 30)
/* What a slow registry may take for a large image. */
#define HOST_IMAGE_TIME_DEFAULT_MS (60ull * 60 * 1000)
#define HOST_IMAGE_TIME_MIN_MS	   1000ull
#define HOST_IMAGE_TIME_MAX_MS	   (24ull * 60 * 60 * 1000)

/* Where an image comes from, by what its source looks like. */
enum image_kind {
	IMAGE_PATH, /* "/x": a directory, or a tar that is unpacked */
	IMAGE_OCI   /* "docker://", "oci:", "oci-archive:": skopeo's words */
};

struct host_image_config {
	const char *name;
	const char *source;
	const char *digest; /* "sha256:" and 64 digits; NULL: any */
	enum image_kind kind;
	bool is_read_only;
};

struct host_pool_config {
	const char *name;
	const char *policy;	  /* a file; NULL: the default */
	size_t policy_at;	  /* where the text says so */
	struct bytes policy_text; /* what was in it; empty: the default */
	const char *image;	  /* NULL: the host's own root */
	size_t size;
};

struct host_store_config {
	const char *path;
	struct host_image_config *images;
	size_t image_count;
	const char **volumes; /* roots */
	size_t volume_count;
	struct host_pool_config *pools;
	size_t pool_count;
	size_t snapshots_max;
	uint64_t snapshot_bytes; /* of all of them */
	uint64_t image_bytes;	 /* of each one: packed, and unpacked */
	uint64_t image_time_ms;	 /* of each one, until it is in the store */
};

/* Read functions (policies/reader.h); offset leads to the store's. */
void config_read_images(struct reader *reader, const struct text_node *node,
			void *target, size_t offset);
void config_read_volumes(struct reader *reader, const struct text_node *node,
			 void *target, size_t offset);
void config_read_pools(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset);
void config_read_snapshots(struct reader *reader, const struct text_node *node,
			   void *target, size_t offset);
void config_read_snapshot_bytes(struct reader *reader,
				const struct text_node *node, void *target,
				size_t offset);
void config_read_image_bytes(struct reader *reader,
			     const struct text_node *node, void *target,
			     size_t offset);
void config_read_image_time(struct reader *reader, const struct text_node *node,
			    void *target, size_t offset);
/* Does every pool name an image that there is? */
void config_check_pools(struct reader *reader, const struct text_node *root,
			const struct host_store_config *store);

#endif
