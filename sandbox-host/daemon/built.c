#include "sandbox-host/daemon/built.h"

#include <sys/stat.h>

#include "sandbox-host/daemon/daemon.h"
#include "sandbox-host/daemon/images.h"

static struct stamp stamp_of(const char *path)
{
	struct stat info;

	if (!path || !path[0] || stat(path, &info) < 0)
		return (struct stamp){0};
	return (struct stamp){info.st_dev, info.st_ino, info.st_size,
			      info.st_ctim};
}

static bool is_same(const struct stamp *one, const struct stamp *other)
{
	return one->device == other->device && one->inode == other->inode &&
	       one->size == other->size &&
	       one->changed.tv_sec == other->changed.tv_sec &&
	       one->changed.tv_nsec == other->changed.tv_nsec;
}

struct built_of built_of(const struct daemon *daemon,
			 const struct sandbox_request *request)
{
	struct built_of built = {0};
	struct image_root image;

	if (request->policy.len == 0)
		built.policy = stamp_of(daemon->config.default_policy);
	if (images_find(daemon, request->image, &image, NULL) == 0)
		built.image = stamp_of(image.path);
	return built;
}

bool built_is_same(const struct daemon *daemon,
		   const struct sandbox_request *request,
		   const struct built_of *built)
{
	struct built_of now = built_of(daemon, request);

	return is_same(&now.policy, &built->policy) &&
	       is_same(&now.image, &built->image);
}
