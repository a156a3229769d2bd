#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox-host/daemon/daemon.h"

static const struct host_image_config *find(const struct daemon *daemon,
					    struct bytes name)
{
	const struct host_store_config *store = &daemon->config.store;

	for (size_t i = 0; i < store->image_count; i++)
		if (bytes_is(name, store->images[i].name))
			return &store->images[i];
	return NULL;
}

int images_find(const struct daemon *daemon, struct bytes name,
		struct image_root *root, struct err *err)
{
	const struct host_image_config *image;
	struct stat info;
	int len;

	*root = (struct image_root){0};
	if (name.len == 0)
		return 0;
	image = find(daemon, name);
	if (!image)
		return err_set(err, ERR_INVALID,
			       "image %.*s: host.yaml has none of that name",
			       BYTES_ARGS(name));
	root->is_read_only = image->is_read_only;
	if (image->kind == IMAGE_PATH && stat(image->source, &info) == 0 &&
	    S_ISDIR(info.st_mode))
		len = snprintf(root->path, sizeof(root->path), "%s",
			       image->source);
	else
		len = snprintf(root->path, sizeof(root->path),
			       "%s/images/%s/root", daemon->config.store.path,
			       image->name);
	if (len < 0 || (size_t)len >= sizeof(root->path))
		return err_set(err, ERR_TOO_LARGE, "image: a long path");
	if (stat(root->path, &info) < 0 || !S_ISDIR(info.st_mode))
		return err_set(err, ERR_INVALID,
			       "image %s: it is not in the store: sallyport "
			       "image pull %s",
			       image->name, image->name);
	return 0;
}
