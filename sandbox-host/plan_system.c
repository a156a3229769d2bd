/* The system's directories, and what is private in place of the host's. */
#include "sandbox-host/plan_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

#define TOP_LEVEL_MAX 256
#define WAY_MODE      0555

/* With a `read` list: what programs need to run at all. */
static const char *const base[] = {"usr",   "bin",   "sbin",   "lib",
				   "lib32", "lib64", "libx32", "etc",
				   "opt",   "nix",   "gnu"};

/* Never brought in as a whole: ours, private, other people's, or full of
 * sockets. */
static const char *const skipped[] = {"proc",	    "sys",  "dev",  "run",
				      "tmp",	    "home", "root", "boot",
				      "lost+found", "old"};

static bool is_listed(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static int add_top_level(struct plan *plan, int dir, const char *name,
			 struct err *err)
{
	struct stat st;
	const char *path;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_system(err, "root: /%s", name);
	if (!S_ISLNK(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	path = plan_format(plan, err, "/%s", name);
	if (!path)
		return -1;
	if (S_ISLNK(st.st_mode))
		return plan_copy_link(plan, dir, name, path, err);
	/* What its own mode keeps the command out of is not worth a mount. */
	if (faccessat(dir, name, X_OK, 0) < 0)
		return 0;
	return plan_add(plan,
			(struct plan_step){.kind = PLAN_BIND,
					   .flags = PLAN_TOP,
					   .source = path,
					   .target = path},
			err);
}

static int add_host_root(struct plan *plan, bool has_read, struct err *err)
{
	DIR *root = opendir("/");
	struct dirent *entry;
	size_t count = 0;
	int rc = 0;

	if (!root)
		return err_system(err, "root: list /");
	while (rc == 0 && (entry = readdir(root))) {
		bool is_wanted =
			has_read ? is_listed(base, ARRAY_SIZE(base),
					     entry->d_name)
				 : !is_listed(skipped, ARRAY_SIZE(skipped),
					      entry->d_name);

		if (entry->d_name[0] == '.' || !is_wanted)
			continue;
		if (count++ == TOP_LEVEL_MAX)
			rc = err_set(err, ERR_TOO_LARGE,
				     "root: / has too many directories");
		else
			rc = add_top_level(plan, dirfd(root), entry->d_name,
					   err);
	}
	(void)closedir(root);
	return rc;
}

static int add_tmpfs(struct plan *plan, const char *target, unsigned mode,
		     struct err *err)
{
	return plan_add(plan,
			(struct plan_step){.kind = PLAN_TMPFS,
					   .target = target,
					   .mode = mode},
			err);
}

/* Does path stand in what the host's root brought, and keep others out? */
static bool is_closed(const struct plan *plan, const char *path)
{
	const struct plan_step *step = plan_covering(plan, path);
	struct stat st;

	return step && step->kind == PLAN_BIND && step->flags == PLAN_TOP &&
	       stat(path, &st) == 0 && !(st.st_mode & S_IXOTH);
}

int plan_way(struct plan *plan, const char *target, struct err *err)
{
	const char *above;

	if (!plan->identity.is_privileged || plan->image)
		return 0;
	for (const char *at = strchr(target + 1, '/'); at;
	     at = strchr(at + 1, '/')) {
		above = plan_format(plan, err, "%.*s", (int)(at - target),
				    target);
		if (!above)
			return -1;
		if (is_closed(plan, above))
			return add_tmpfs(plan, above, WAY_MODE, err);
	}
	return 0;
}

/* A directory of /var that is not for us to see: a link to what stands in
 * for it, as most hosts have it, or an empty one. */
static int add_private(struct plan *plan, const char *path, const char *link,
		       unsigned mode, struct err *err)
{
	struct stat st;

	if (!plan_is_bound(plan, path))
		return plan_add(plan,
				(struct plan_step){.kind = PLAN_LINK,
						   .source = link,
						   .target = path},
				err);
	if (lstat(path, &st) < 0 || S_ISLNK(st.st_mode))
		return 0;
	return add_tmpfs(plan, path, mode, err);
}

int plan_own_dirs(struct plan *plan, struct err *err)
{
	static const struct plan_step dirs[] = {
		{.kind = PLAN_DIR, .target = "/run", .mode = 0755},
		{.kind = PLAN_DIR, .target = "/sys", .mode = 0555},
		{.kind = PLAN_DIR, .target = "/proc", .mode = 0555},
		{.kind = PLAN_PROC, .target = "/proc"},
		{.kind = PLAN_TMPFS, .target = "/tmp", .mode = 01777},
	};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (plan_add(plan, dirs[i], err) < 0)
			return -1;
	return 0;
}

int plan_empty_home(struct plan *plan, struct err *err)
{
	if (!plan->home)
		return 0;
	return plan_way(plan, plan->home, err) < 0
		       ? -1
		       : add_tmpfs(plan, plan->home, 0700, err);
}

/* The home: the host's, read-only, or an empty one that ends with us. A
 * privileged caller's is not for a user of its own to read. */
int plan_home(struct plan *plan, const struct sandbox_spec *spec,
	      struct err *err)
{
	const struct plan_step *covering;

	if (!plan->home || plan->image)
		return 0;
	if (spec->has_read || plan->identity.is_privileged)
		return plan_empty_home(plan, err);
	covering = plan_covering(plan, plan->home);
	if (covering && covering->kind == PLAN_BIND)
		return 0;
	return plan_add(plan,
			(struct plan_step){.kind = PLAN_BIND,
					   .source = plan->home,
					   .target = plan->home},
			err);
}

int plan_system(struct plan *plan, const struct sandbox_spec *spec,
		struct err *err)
{
	if (spec->root.path)
		return plan_image(plan, spec, err);
	if (add_host_root(plan, spec->has_read, err) < 0 ||
	    plan_own_dirs(plan, err) < 0)
		return -1;
	if (add_private(plan, "/var/tmp", "/tmp", 01777, err) < 0)
		return -1;
	return add_private(plan, "/var/run", "/run", 0755, err);
}

int plan_devices(struct plan *plan, const struct sandbox_spec *spec,
		 struct err *err)
{
	static const char *const nodes[] = {"/dev/null",    "/dev/zero",
					    "/dev/full",    "/dev/random",
					    "/dev/urandom", "/dev/tty"};
	static const char *const links[][2] = {
		{"/dev/fd", "/proc/self/fd"},
		{"/dev/stdin", "/proc/self/fd/0"},
		{"/dev/stdout", "/proc/self/fd/1"},
		{"/dev/stderr", "/proc/self/fd/2"},
		{"/dev/ptmx", "pts/ptmx"},
	};
	struct plan_step step = {
		.kind = PLAN_DIR, .target = "/dev", .mode = 0755};

	(void)spec;
	if (plan_add(plan, step, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		step = (struct plan_step){.kind = PLAN_BIND,
					  .flags = PLAN_WRITE | PLAN_DEVICE,
					  .source = nodes[i],
					  .target = nodes[i]};
		if (plan_add(plan, step, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		step = (struct plan_step){.kind = PLAN_LINK,
					  .source = links[i][1],
					  .target = links[i][0]};
		if (plan_add(plan, step, err) < 0)
			return -1;
	}
	step = (struct plan_step){.kind = PLAN_DEVPTS, .target = "/dev/pts"};
	if (plan_add(plan, step, err) < 0)
		return -1;
	return add_tmpfs(plan, "/dev/shm", 01777, err);
}
