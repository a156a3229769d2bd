#include "sandbox-host/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/guard.h"
#include "sandbox-host/handle.h"
#include "sandbox-host/plan_parts.h"

/* Could we make a file there? Nobody else's that only its owner reads is of
 * use to our command. */
static bool is_makeable(const char *path)
{
	char above[PATH_MAX];
	int len = snprintf(above, sizeof(above), "%s", path);
	int made = -1;

	while (made < 0 && len > 0 && (size_t)len < sizeof(above)) {
		while (above[--len] != '/')
			continue;
		above[len ? len : 1] = '\0';
		made = faccessat(AT_FDCWD, above, F_OK, AT_EACCESS);
	}
	return made < 0 || faccessat(AT_FDCWD, above, W_OK, AT_EACCESS) == 0;
}

/* An ordinary user's command is that user. */
static bool is_readable(const struct plan *plan, const char *path)
{
	struct stat st;

	if (plan->identity.is_privileged)
		return true;
	if (stat(path, &st) < 0)
		return errno == EACCES ? plan_is_here(plan, path)
				       : is_makeable(path);
	/* Its owner can open it again. */
	return st.st_uid == geteuid() ||
	       faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
}

/* Could the command be the owner of what is there? Of a privileged caller's
 * sandbox it is another user, but where owners are mapped. */
static bool has_owners(const struct plan *plan, const struct plan_step *bind)
{
	if (!plan->identity.is_privileged)
		return true;
	for (size_t i = 0; bind->flags & PLAN_OPENED && i < plan->step_count;
	     i++)
		if (plan->steps[i].kind == PLAN_TREE &&
		    plan->steps[i].tree == bind->tree)
			return plan->steps[i].flags & PLAN_IDMAP;
	return false;
}

/* Is it to be seen where that mount shows it? */
static bool is_seen(const struct plan *plan, const struct guard *guard,
		    const struct plan_step *bind, const char *path)
{
	size_t skipped = strlen(bind->source);
	char at[PATH_MAX];
	int len;

	if (!plan_is_within(path, bind->source))
		return false;
	len = snprintf(at, sizeof(at), "%s%s",
		       bind->target[1] ? bind->target : "",
		       path + (skipped > 1 ? skipped : 0));
	if (len < 0 || (size_t)len >= sizeof(at))
		return true;
	return plan_covering(plan, at) == bind && has_owners(plan, bind) &&
	       !plan_is_hidden(plan, at) && !guard_veils(guard, at, false);
}

static bool shows(const struct plan *plan, const struct guard *guard,
		  const char *path)
{
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct plan_step *step = &plan->steps[i];

		if (step->kind == PLAN_BIND &&
		    !(step->flags & (PLAN_INSIDE | PLAN_DEVICE)) &&
		    is_seen(plan, guard, step, path))
			return is_readable(plan, path);
	}
	return false;
}

bool plan_shows(const struct plan *plan, const char *path)
{
	auto_free char *real = realpath(path, NULL);
	struct guard guard;
	struct err err;
	bool result;

	if (guard_open(&guard, plan, &err) < 0)
		return true;
	result = shows(plan, &guard, path) ||
		 (real && shows(plan, &guard, real));
	guard_close(&guard);
	return result;
}

bool sandbox_shows(const struct sandbox *sandbox, const char *path)
{
	return plan_shows(&sandbox->plan, path);
}
