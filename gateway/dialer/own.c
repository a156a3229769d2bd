#include "gateway/dialer/own.h"

#include <unistd.h>

#include "common/cleanup.h"

/* From its own addresses the kernel reaches them, and from there alone: the
 * route to one begins at it, or at loopback. */
bool address_is_own(const union address *address)
{
	union address to = *address, from = {0};
	socklen_t len = sizeof(from);
	auto_fd int fd =
		socket(address->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return true;
	/* A port must be named; none is sent to. */
	address_set_port(&to, 9);
	if (connect(fd, &to.any, address_len(&to)) < 0)
		return false;
	if (getsockname(fd, &from.any, &len) < 0)
		return true;
	return address_equal(&from, address) ||
	       address_class_of(&from.any) & ADDRESS_LOOPBACK;
}

bool address_may_be_dialled(const struct scope *scope,
			    const union address *address)
{
	return scope_allows_address(scope, &address->any) &&
	       (scope_allows_own_address(scope, &address->any) ||
		!address_is_own(address));
}
