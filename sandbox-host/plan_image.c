/* A root of its own: what an image has at its top level, under layers that
 * take what is written. The image's directories are bound one by one into our
 * root, which stays ours. */
#include "sandbox-host/plan_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/mounts.h"

#define TOP_LEVEL_MAX 256

/* Ours in every root. */
static const char *const skipped[] = {"proc", "sys", "dev",
				      "run",  "tmp", "old"};

static bool is_skipped(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(skipped); i++)
		if (!strcmp(name, skipped[i]))
			return true;
	return name[0] == '.';
}

bool plan_is_of_image(const struct plan *plan, const char *path)
{
	const struct plan_step *step =
		plan->image ? plan_covering(plan, path) : NULL;

	return step && step->kind == PLAN_BIND && (step->flags & PLAN_INSIDE) &&
	       plan_is_within(step->source, MOUNTS_IMAGE);
}

/* While the root is built a link would lead into the host's, too. */
static bool is_needed(const struct plan *plan, const char *path)
{
	return plan_is_within(plan->workspace, path) ||
	       (plan->home && plan_is_within(plan->home, path));
}

static int add_top_level(struct plan *plan, int image, const char *name,
			 bool is_writable, struct err *err)
{
	const char *target = plan_format(plan, err, "/%s", name);
	const char *source = plan_format(plan, err, MOUNTS_IMAGE "/%s", name);
	struct stat st;

	if (!target || !source)
		return -1;
	if (fstatat(image, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_system(err, "image: %s", target);
	if (S_ISLNK(st.st_mode))
		return is_needed(plan, target)
			       ? 0
			       : plan_copy_link(plan, image, name, target, err);
	if (!S_ISDIR(st.st_mode))
		return 0;
	return plan_add(
		plan,
		(struct plan_step){.kind = PLAN_BIND,
				   .flags = PLAN_INSIDE |
					    (is_writable ? PLAN_WRITE : 0),
				   .source = source,
				   .target = target},
		err);
}

static void cleanup_names(struct dirent ***names)
{
	free((void *)*names);
}

static int add_all(struct plan *plan, bool is_writable, struct err *err)
{
	__attribute__((cleanup(cleanup_names))) struct dirent **names = NULL;
	auto_fd int image = mounts_open(plan->image);
	int count =
		image < 0 ? -1 : scandir(plan->image, &names, NULL, alphasort);
	int rc = 0;

	if (count < 0)
		return err_system(err, "image %s", plan->image);
	if (count > TOP_LEVEL_MAX)
		rc = err_set(err, ERR_TOO_LARGE,
			     "image %s: too many directories", plan->image);
	for (int i = 0; i < count; i++) {
		if (rc == 0 && !is_skipped(names[i]->d_name))
			rc = add_top_level(plan, image, names[i]->d_name,
					   is_writable, err);
		free(names[i]);
	}
	return rc;
}

/* Files of the image belong to whoever unpacked it: inside they are the
 * command's. */
static int add_image(struct plan *plan, struct err *err)
{
	struct plan_step step = {.kind = PLAN_IMAGE,
				 .source = plan->image,
				 .target = MOUNTS_IMAGE,
				 .tree = (unsigned)plan->tree_count};

	if (plan->identity.is_privileged) {
		step.flags = PLAN_OPENED;
		if (plan_add_tree(plan, plan->image, PLAN_IDMAP | PLAN_OWNER,
				  err) < 0 ||
		    plan_add_tree(plan, plan->image_layers, PLAN_IDMAP, err) <
			    0)
			return -1;
	}
	return plan_add(plan, step, err);
}

static int find(struct plan *plan, const char *path, const char **real,
		struct err *err)
{
	bool failed = false;
	struct stat st;

	*real = path ? plan_real(plan, path, &failed, err) : NULL;
	if (failed)
		return -1;
	if (!*real || stat(*real, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID,
			       "image %s: there is no such directory",
			       path ? path : "");
	if (plan_is_within(plan->workspace, *real) ||
	    plan_is_within(*real, plan->workspace))
		return err_set(err, ERR_INVALID,
			       "image %s: the workspace and it are in each "
			       "other",
			       *real);
	return 0;
}

int plan_image(struct plan *plan, const struct sandbox_spec *spec,
	       struct err *err)
{
	static const struct plan_step detach = {.kind = PLAN_DETACH,
						.target = MOUNTS_IMAGE};

	if (find(plan, spec->root.path, &plan->image, err) < 0 ||
	    find(plan, spec->root.layers, &plan->image_layers, err) < 0 ||
	    add_image(plan, err) < 0 ||
	    add_all(plan, !spec->root.is_read_only, err) < 0 ||
	    plan_add(plan, detach, err) < 0 || plan_own_dirs(plan, err) < 0)
		return -1;
	return plan_empty_home(plan, err);
}
