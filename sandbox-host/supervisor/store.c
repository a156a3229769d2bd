/* What the sandbox is made from beside the workspace: an image, volumes. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox-host/plan_parts.h"
#include "sandbox-host/supervisor/parts.h"
#include "sandbox-host/tree.h"

static int no_memory(struct err *err)
{
	return err_set(err, ERR_TOO_LARGE, "no memory");
}

/* ---- image ---- */

static int set_root(struct supervisor *supervisor, struct sandbox_spec *spec,
		    struct err *err)
{
	const struct supervisor_options *options = &supervisor->options;
	const char *layers;

	if (!options->image)
		return 0;
	layers = arena_format(&supervisor->arena, "%s/%s" LAYERS_SUFFIX,
			      options->workspaces, options->id);
	if (!layers)
		return no_memory(err);
	/* One that was given files before we began is there already. */
	if (mkdir(layers, 0700) < 0 && errno != EEXIST)
		return err_system(err, "make %s", layers);
	supervisor->layers = layers;
	spec->root = (struct sandbox_root){
		.path = options->image,
		.layers = layers,
		.is_read_only = options->image_is_read_only,
	};
	return 0;
}

void store_remove_layers(struct supervisor *supervisor)
{
	if (supervisor->layers)
		(void)tree_remove(AT_FDCWD, supervisor->layers);
}

/* ---- volumes ---- */

static bool is_below(const char *path, const char *const *roots, size_t count)
{
	char real[PATH_MAX];

	for (size_t i = 0; i < count; i++)
		if (realpath(roots[i], real) && plan_is_within(path, real))
			return true;
	return false;
}

/* Does it hold, or is it in, what is ours? */
static bool meets(const char *path, const char *const *items, size_t count)
{
	char real[PATH_MAX];

	for (size_t i = 0; i < count; i++)
		if (realpath(items[i], real) &&
		    (plan_is_within(path, real) || plan_is_within(real, path)))
			return true;
	return false;
}

/* Does it hold the gateway's secrets, or the names of such as may yet come? At
 * another place these can not be held. */
static bool holds_secrets(const char *path, const struct sandbox_paths *secrets)
{
	for (size_t i = 0; i < secrets->count; i++)
		if (plan_is_within(secrets->items[i], path))
			return true;
	return meets(path, secrets->items, secrets->count);
}

/* Where path leads that is below whole, and whether it stays there. */
static int go_below(const char *whole, const char *path, char out[PATH_MAX],
		    struct err *err)
{
	char joined[2 * PATH_MAX];

	(void)snprintf(joined, sizeof(joined), "%s%s%s", whole,
		       path[0] ? "/" : "", path);
	if (!realpath(joined, out))
		return err_set(err, ERR_INVALID, "it has no %.200s", path);
	if (!plan_is_within(out, whole))
		return err_set(err, ERR_DENIED, "%.200s leads out of it", path);
	return 0;
}

static int find_source(struct supervisor *supervisor,
		       const struct sandbox_spec *spec,
		       const struct volume_request *volume, char out[PATH_MAX],
		       struct err *err)
{
	const struct supervisor_options *options = &supervisor->options;
	const char *source = arena_str(&supervisor->arena, volume->source);
	const char *path = arena_str(&supervisor->arena, volume->sub_path);
	const char *below = arena_str(&supervisor->arena, volume->below);
	char whole[PATH_MAX], shown[PATH_MAX];

	if (!source || !path || !below)
		return no_memory(err);
	/* One answer for what is not allowed and what is not there: nobody
	 * learns what the host has elsewhere. */
	if (!realpath(source, whole) ||
	    !is_below(whole, options->volumes, options->volume_count))
		return err_set(err, ERR_DENIED,
			       "volume %.200s: there is none below the roots "
			       "that host.yaml allows (`volumes`)",
			       source);
	if (go_below(whole, path, shown, err) < 0 ||
	    go_below(shown, below, out, err) < 0)
		return err_prefix(err, "volume %.200s", source);
	if (meets(out, options->private, options->private_count) ||
	    meets(out, spec->ours.items, spec->ours.count))
		return err_set(err, ERR_DENIED,
			       "volume %.200s: the service's own files are "
			       "there",
			       source);
	if (holds_secrets(out, &spec->secrets))
		return err_set(err, ERR_DENIED,
			       "volume %.200s: a secret of the gateway is "
			       "there",
			       source);
	return 0;
}

static int set_volumes(struct supervisor *supervisor, struct sandbox_spec *spec,
		       struct err *err)
{
	const struct sandbox_request *request = &supervisor->request;
	struct arena *arena = &supervisor->arena;
	struct sandbox_volume *volumes = arena_array(
		arena, request->volumes_count + 1, sizeof(*volumes));
	char source[PATH_MAX];

	if (!volumes)
		return no_memory(err);
	for (size_t i = 0; i < request->volumes_count; i++) {
		const struct volume_request *volume = &request->volumes[i];

		if (find_source(supervisor, spec, volume, source, err) < 0)
			return -1;
		volumes[i] = (struct sandbox_volume){
			.source = arena_str(arena, bytes_str(source)),
			.target = arena_str(arena, volume->target),
			.is_writable = !volume->is_read_only,
		};
		if (!volumes[i].source || !volumes[i].target)
			return no_memory(err);
	}
	spec->volumes = volumes;
	spec->volume_count = request->volumes_count;
	return 0;
}

/* Where everything belongs to one user, only this keeps it from a command. */
static int hide_secret(struct supervisor *supervisor, struct sandbox_spec *spec,
		       struct err *err)
{
	size_t count = spec->ours.count;
	const char **items;

	if (!supervisor->options.secret)
		return 0;
	items = arena_array(&supervisor->arena, count + 1, sizeof(*items));
	if (!items)
		return no_memory(err);
	for (size_t i = 0; i < count; i++)
		items[i] = spec->ours.items[i];
	items[count] = supervisor->options.secret;
	spec->ours = (struct sandbox_paths){items, count + 1};
	return 0;
}

int store_spec(struct supervisor *supervisor, struct sandbox_spec *spec,
	       struct err *err)
{
	return hide_secret(supervisor, spec, err) < 0 ||
			       set_root(supervisor, spec, err) < 0 ||
			       set_volumes(supervisor, spec, err) < 0
		       ? -1
		       : 0;
}
