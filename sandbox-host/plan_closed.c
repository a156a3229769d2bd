/*
 * Directories that are closed to us and that a command could open again: one
 * before it may have closed them. What would be hidden or protected there is
 * not known, nor what links in them lead to, nor which files have other names
 * there: there is no sandbox, unless the policy hides all of it.
 */
#include "sandbox-host/plan_parts.h"

#include <sys/stat.h>

int plan_refuse_closed(const struct plan *plan, const char *path,
		       struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != plan->identity.uid || !plan_is_here(plan, path) ||
	    plan_is_hidden(plan, path))
		return 0;
	return err_set(err, ERR_DENIED,
		       "%s is closed to us: what is hidden or protected in it "
		       "can not be found: chmod u+rx it, or name it in `hide`",
		       path);
}
