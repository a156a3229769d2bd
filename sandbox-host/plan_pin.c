/*
 * Directories that a command must not move away, and links that it must not
 * replace. What is hidden or protected there is a mount, which a move takes
 * along; but the next sandbox would look for it at its place, find nothing,
 * and show what has another name by then.
 */
#include "sandbox-host/plan_parts.h"

#include <string.h>
#include <sys/stat.h>

static bool is_pinned(const struct plan *plan, const char *path)
{
	/* The last ones are the likely ones. */
	for (size_t i = plan->step_count; i-- > 0;)
		if ((plan->steps[i].kind == PLAN_PIN ||
		     plan->steps[i].kind == PLAN_PROTECT) &&
		    !strcmp(plan->steps[i].target, path))
			return true;
	return false;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int plan_pin_above(struct plan *plan, const char *path, struct err *err)
{
	const struct plan_step *mount = plan_covering(plan, path);
	size_t start = mount ? strlen(mount->target) : 0;

	for (size_t i = start + 1; i < strlen(path); i++) {
		const char *above;

		if (path[i] != '/')
			continue;
		above = plan_format(plan, err, "%.*s", (int)i, path);
		if (!above)
			return -1;
		if (!is_directory(above) || plan_is_hidden(plan, above))
			break;
		if (!is_pinned(plan, above) &&
		    plan_add(plan,
			     (struct plan_step){.kind = PLAN_PIN,
						.target = above},
			     err) < 0)
			return -1;
	}
	return 0;
}

/* The mount holds; the guard says why. */
int plan_hold_link(struct plan *plan, const char *path, struct err *err)
{
	const char *copy;

	if (!plan_is_here(plan, path) || is_pinned(plan, path) ||
	    plan_is_hidden(plan, path))
		return 0;
	copy = plan_format(plan, err, "%s", path);
	if (!copy || plan_pin_above(plan, copy, err) < 0 ||
	    plan_add(plan, (struct plan_step){.kind = PLAN_PIN, .target = copy},
		     err) < 0)
		return -1;
	return plan_add(plan,
			(struct plan_step){.kind = PLAN_GUARD, .target = copy},
			err);
}
