#include "sandbox-host/session/changes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox-host/overlay.h"
#include "sandbox-host/session/dirs.h"

#define ID_MAX 64
#define ID_CHARS                                                               \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

static int make_dirs(char *path, struct err *err)
{
	for (char *at = path + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return err_system(err, "make %s", path);
		*at = '/';
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_system(err, "make %s", path);
	return 0;
}

int changes_root(char out[PATH_MAX], struct err *err)
{
	char state[PATH_MAX];
	int len = session_state_dir(state, sizeof(state));

	if (len == 0)
		len = snprintf(out, PATH_MAX, "%s/changes", state);
	if (len < 0 || len >= PATH_MAX || out[0] != '/')
		return err_set(err, ERR_INVALID,
			       "the state directory is no absolute path");
	return make_dirs(out, err);
}

int changes_path(const char *id, char out[PATH_MAX], struct err *err)
{
	char root[PATH_MAX];
	int len;

	if (!id[0] || id[0] == '.' || strlen(id) > ID_MAX ||
	    id[strspn(id, ID_CHARS)])
		return err_set(err, ERR_INVALID, "'%.64s' is no id", id);
	if (changes_root(root, err) < 0)
		return -1;
	len = snprintf(out, PATH_MAX, "%s/%s", root, id);
	return len < 0 || len >= PATH_MAX
		       ? err_set(err, ERR_TOO_LARGE, "a path is too long")
		       : 0;
}

static enum overlay_answer
count(void *owner, const struct overlay_change *change, struct err *err)
{
	size_t *found = owner;

	(void)change;
	(void)err;
	++*found;
	return OVERLAY_GO_ON;
}

int changes_settle(const char *dir, size_t *found, struct err *err)
{
	struct overlay *overlay;

	*err = (struct err){0};
	*found = 0;
	overlay = overlay_open(dir, OVERLAY_OWN, err);
	if (overlay && overlay_each(overlay, count, found, err) == 0 &&
	    *found == 0)
		(void)overlay_discard(overlay, err);
	/* What never began has no record. */
	if (!overlay && err->code == ERR_MISSING) {
		*err = (struct err){0};
		overlay = overlay_open(dir, OVERLAY_DROP, err);
		if (overlay)
			(void)overlay_discard(overlay, err);
	}
	overlay_close(overlay);
	return err->code && err->code != ERR_MISSING ? -1 : 0;
}
