#include "gateway/dialer/address.h"

#include <arpa/inet.h>
#include <string.h>

bool address_parse(struct bytes text, union address *address)
{
	char copy[ADDRESS_TEXT_SIZE];

	*address = (union address){0};
	if (text.len == 0 || text.len >= sizeof(copy) ||
	    bytes_find(text, '\0', 0) >= 0)
		return false;
	memcpy(copy, text.data, text.len);
	copy[text.len] = '\0';
	if (inet_pton(AF_INET, copy, &address->v4.sin_addr) == 1) {
		address->v4.sin_family = AF_INET;
		return true;
	}
	if (inet_pton(AF_INET6, copy, &address->v6.sin6_addr) == 1) {
		address->v6.sin6_family = AF_INET6;
		return true;
	}
	return false;
}

static const void *address_bytes(const union address *address)
{
	if (address->any.sa_family == AF_INET)
		return &address->v4.sin_addr;
	return &address->v6.sin6_addr;
}

void address_format(const union address *address, char out[ADDRESS_TEXT_SIZE])
{
	if (!inet_ntop(address->any.sa_family, address_bytes(address), out,
		       ADDRESS_TEXT_SIZE))
		out[0] = '\0';
}

void address_set_port(union address *address, uint16_t port)
{
	if (address->any.sa_family == AF_INET)
		address->v4.sin_port = htons(port);
	else
		address->v6.sin6_port = htons(port);
}

socklen_t address_len(const union address *address)
{
	return address->any.sa_family == AF_INET ? sizeof(address->v4)
						 : sizeof(address->v6);
}

bool address_equal(const union address *a, const union address *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	return memcmp(address_bytes(a), address_bytes(b),
		      a->any.sa_family == AF_INET
			      ? sizeof(struct in_addr)
			      : sizeof(struct in6_addr)) == 0;
}
