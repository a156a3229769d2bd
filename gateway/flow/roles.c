#include "gateway/flow/roles.h"

#include <assert.h>

const char *role_executable(enum role role)
{
	static const char *const files[] = {
#define X(role, file) file,
		ROLES(X)
#undef X
	};

	assert(role < ROLE_MAX);
	return files[role];
}

const char *role_name(enum role role)
{
	return role_executable(role) + sizeof("sallyport-") - 1;
}
