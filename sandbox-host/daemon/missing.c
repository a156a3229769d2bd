#include "sandbox-host/daemon/missing.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "policies/policy.h"
#include "sandbox-host/daemon/images.h"

/* err, with where host.yaml says it and what comes of it. */
static void tell_of(const struct host_config *config, enum host_key key,
		    const char *what, const struct err *err,
		    void (*tell)(const char *text))
{
	const struct text_place *place = &config->from[key];
	char text[ERR_TEXT_MAX + PATH_MAX];

	(void)snprintf(text, sizeof(text), "%s:%u: %s: %s", place->where,
		       place->line, what, err->text);
	tell(text);
}

/* ---- the default policy ---- */

/* Nobody waits for who may write to a pipe of that name. */
static int look_at_policy(const char *path, struct err *err)
{
	auto_type(buf_release) struct buf text;
	auto_fd int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	buf_init(&text, POLICY_TEXT_MAX);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_system(err, "open %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "%s is no file", path);
	return file_read(fd, &text, err) < 0 ? err_prefix(err, "%s", path) : 0;
}

/* ---- images and volumes ---- */

/* One that was unpacked is in the store, wherever its tar is by now. */
static int look_at_image(const struct host_store_config *store,
			 const struct host_image_config *image, struct err *err)
{
	char path[PATH_MAX];
	struct stat info;

	if (image->kind != IMAGE_PATH || stat(image->source, &info) == 0)
		return 0;
	(void)err_system(err, "look at %s", image->source);
	(void)snprintf(path, sizeof(path), "%s/images/%s/" IMAGE_ROOT,
		       store->path, image->name);
	return stat(path, &info);
}

static int look_at_root(const char *path, struct err *err)
{
	struct stat info;

	if (stat(path, &info) < 0)
		return err_system(err, "look at %s", path);
	return 0;
}

void missing_tell(const struct host_config *config,
		  void (*tell)(const char *text))
{
	const struct host_store_config *store = &config->store;
	const char *policy = config->default_policy;
	char name[NAME_MAX + 64];
	struct err err;

	if (policy && look_at_policy(policy, &err) < 0)
		tell_of(config, HOST_KEY_DEFAULT_POLICY,
			"default_policy: no sandbox without a policy of its "
			"own begins until this is mended",
			&err, tell);
	for (size_t i = 0; i < store->image_count; i++) {
		if (look_at_image(store, &store->images[i], &err) == 0)
			continue;
		(void)snprintf(name, sizeof(name),
			       "images.%s: no sandbox has it until this is "
			       "mended",
			       store->images[i].name);
		tell_of(config, HOST_KEY_IMAGES, name, &err, tell);
	}
	for (size_t i = 0; i < store->volume_count; i++)
		if (look_at_root(store->volumes[i], &err) < 0)
			tell_of(config, HOST_KEY_VOLUMES,
				"volumes: nothing below it can be shown until "
				"this is mended",
				&err, tell);
}
