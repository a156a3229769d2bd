/* A sandbox that was asked for from outside of the host: its policy, if it
 * is the asker's own, brings in no more of the host than is there anyway. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "sandbox-host/plan_parts.h"
#include "sandbox-host/supervisor/ahead.h"
#include "sandbox-host/supervisor/parts.h"

#define SHOWN_PATH_MAX 200

/* What is there whatever `read` says (plan_system.c); none of it is private
 * or full of sockets. */
static const char *const shared[] = {"/usr", "/opt", "/nix", "/gnu"};
static const char *const whole[] = {"/bin",   "/sbin",	 "/lib", "/lib32",
				    "/lib64", "/libx32", "/etc"};

static bool is_shared(const char *path)
{
	char real[PATH_MAX];

	if (path[0] != '/' || !realpath(path, real))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		if (!strcmp(real, whole[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(shared); i++)
		if (plan_is_within(real, shared[i]))
			return true;
	return false;
}

/* Which it has anyway, and which no path may lead out of (plan_trees.c). */
static bool is_in_workspace(struct bytes path)
{
	return bytes_is(path, ".") || bytes_starts_with(path, bytes_str("./"));
}

static int refuse(const char *list, struct bytes path, struct err *err)
{
	return err_set(err, ERR_DENIED,
		       "filesystem.%s: %.*s: a policy that comes with a "
		       "request of the HTTP API brings in nothing of the host; "
		       "volumes do, and the policies of host.yaml",
		       list, BYTES_ARGS(bytes_slice(path, 0, SHOWN_PATH_MAX)));
}

static bool may_read(struct supervisor *supervisor, struct bytes path)
{
	const char *text = arena_str(&supervisor->arena, path);

	return text && is_shared(text);
}

static int check(struct supervisor *supervisor, struct err *err)
{
	const struct policy_filesystem *files = &supervisor->policy->filesystem;

	for (size_t i = 0; i < files->write.count; i++)
		if (!is_in_workspace(files->write.items[i]))
			return refuse("write", files->write.items[i], err);
	for (size_t i = 0; i < files->read.count; i++)
		if (!is_in_workspace(files->read.items[i]) &&
		    !may_read(supervisor, files->read.items[i]))
			return refuse("read", files->read.items[i], err);
	return 0;
}

int bounds_check(struct supervisor *supervisor, struct err *err)
{
	return supervisor->options.is_bounded ? check(supervisor, err) : 0;
}

bool bounds_are_kept(struct supervisor *supervisor)
{
	struct err err;

	return check(supervisor, &err) == 0;
}
