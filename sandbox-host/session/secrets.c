#include "sandbox-host/session/secrets.h"

#include <stdio.h>

#include "common/cleanup.h"
#include "sandbox-host/session/spec.h"
#include "sandbox-host/shown.h"

/* Of what nobody can tell where it is nobody can tell that it is hidden. */
static bool shows(const struct sandbox *sandbox, const char *path,
		  char why[SESSION_SECRET_MAX])
{
	char name[PATH_MAX];

	if (path && path[0] == '/' && session_find_name(path, name) &&
	    !sandbox_shows(sandbox, name))
		return false;
	(void)snprintf(why, SESSION_SECRET_MAX,
		       "a secret of the gateway stands in a file that can be "
		       "read inside by now: %.300s",
		       path ? path : "");
	return true;
}

bool session_shows_secret(const struct sandbox *sandbox,
			  const struct msg_session_terms *terms,
			  char why[SESSION_SECRET_MAX])
{
	for (size_t i = 0; i < terms->secret_files_count; i++) {
		auto_free char *path = bytes_dup(terms->secret_files[i].path);

		if (shows(sandbox, path, why))
			return true;
	}
	return false;
}
