#include "gateway/control/route.h"

#include <stdio.h>

static bool matches(const char *pattern, struct bytes path, struct bytes *name)
{
	struct bytes left = bytes_str(pattern), wanted, got;
	bool more_left = true, more_path = true;

	*name = bytes_from(NULL, 0);
	while (more_left && more_path) {
		more_left = bytes_split(&left, '/', &wanted);
		more_path = bytes_split(&path, '/', &got);
		if (bytes_is(wanted, "{}") && got.len > 0)
			*name = got;
		else if (!bytes_equal(wanted, got))
			return false;
	}
	return !more_left && !more_path;
}

const struct route *route_find(const struct route *routes, struct bytes method,
			       struct bytes path, struct bytes *name,
			       char allow[ROUTE_ALLOW_SIZE])
{
	size_t len = 0;

	allow[0] = '\0';
	for (; routes->method; routes++) {
		int put;

		if (!matches(routes->path, path, name))
			continue;
		if (bytes_is(method, routes->method))
			return routes;
		put = snprintf(allow + len, ROUTE_ALLOW_SIZE - len, "%s%s",
			       len ? ", " : "", routes->method);
		if (put > 0 && (size_t)put < ROUTE_ALLOW_SIZE - len)
			len += (size_t)put;
	}
	return NULL;
}
