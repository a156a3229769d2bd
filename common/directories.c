#include "common/directories.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int directories_make(const char *path, mode_t mode, struct err *err)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	if (len == 0 || len >= sizeof(part))
		return err_set(err, ERR_INVALID, "make directory '%s'", path);
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, path[i] ? 0755 : mode) < 0 && errno != EEXIST)
			return err_system(err, "make directory %s", part);
	}
	return 0;
}

int directories_check_variable(const char *name, struct err *err)
{
	const char *value = getenv(name);

	if (!value || !value[0] || value[0] == '/')
		return 0;
	return err_set(err, ERR_INVALID, "%s: %s is no absolute path", name,
		       value);
}
