#include "sandbox-host/mounts_overlay.h"

#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/mounts.h"

/* Where both trees stand while the overlay is made: overlayfs of the kernels
 * that we serve takes its layers by path only, and keeps mounts of its own. */
#define AT	  "/.layers" /* no image brings such a name */
#define AT_LOWER  AT "/lower"
#define AT_LAYERS AT "/ours"

static int attach(int tree, const char *at, uint64_t attributes,
		  const char *path, struct err *err)
{
	if (mounts_restrict(tree, attributes, path, err) < 0 ||
	    mounts_make_dir(at, 0700, err) < 0)
		return -1;
	return mounts_attach(tree, at, err);
}

static void detach(const char *at)
{
	(void)umount2(at, MNT_DETACH);
	(void)rmdir(at);
}

static int refuse(const char *path, struct err *err)
{
	return err_set(err, ERR_UNSUPPORTED,
		       "overlay %s: this kernel or the file system of the "
		       "state directory can not do it (%s): Linux 5.11 and "
		       "ext4, xfs or btrfs can",
		       path, strerror(errno));
}

static int make(const char *path, struct err *err)
{
	static const struct {
		const char *key, *value;
	} options[] = {
		{"source", "overlay"},
		{"lowerdir", AT_LOWER},
		{"upperdir", AT_LAYERS "/" MOUNTS_UPPER},
		{"workdir", AT_LAYERS "/" MOUNTS_WORK},
	};
	auto_fd int context = fsopen("overlay", FSOPEN_CLOEXEC);
	int tree;

	if (context < 0)
		return refuse(path, err);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (fsconfig(context, FSCONFIG_SET_STRING, options[i].key,
			     options[i].value, 0) < 0)
			return refuse(path, err);
	if (fsconfig(context, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0 ||
	    fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return refuse(path, err);
	tree = fsmount(context, FSMOUNT_CLOEXEC, 0);
	return tree < 0 ? refuse(path, err) : tree;
}

int mounts_overlay(int lower, int layers, const char *path, struct err *err)
{
	int tree = -1;

	if (mounts_make_dir(AT, 0700, err) < 0)
		return -1;
	if (attach(lower, AT_LOWER,
		   MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
		   path, err) == 0 &&
	    attach(layers, AT_LAYERS, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
		   path, err) == 0)
		tree = make(path, err);
	detach(AT_LAYERS);
	detach(AT_LOWER);
	(void)rmdir(AT);
	return tree;
}
