#include "gateway/dialer/resolved.h"

void resolved_add(struct resolved *resolved, const union address *address)
{
	if (resolved->count == RESOLVE_ADDRESSES_MAX)
		return;
	for (size_t i = 0; i < resolved->count; i++)
		if (address_equal(&resolved->addresses[i], address))
			return;
	resolved->addresses[resolved->count++] = *address;
}

bool resolved_is_localhost(struct bytes name)
{
	return bytes_is(name, "localhost") ||
	       bytes_ends_with(name, bytes_str(".localhost"));
}

void resolved_localhost(struct resolved *resolved)
{
	union address address;

	*resolved = (struct resolved){0};
	if (address_parse(bytes_str("::1"), &address))
		resolved_add(resolved, &address);
	if (address_parse(bytes_str("127.0.0.1"), &address))
		resolved_add(resolved, &address);
}
