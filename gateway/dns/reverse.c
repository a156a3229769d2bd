#include "gateway/dns/reverse.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#define IPV4_PARTS   4
#define IPV6_NIBBLES 32

static bool drop_suffix(struct bytes *name, const char *suffix)
{
	struct bytes tail = bytes_str(suffix);

	if (!bytes_ends_with(*name, tail))
		return false;
	*name = bytes_slice(*name, 0, name->len - tail.len);
	return true;
}

static bool take_ipv4(struct bytes name, struct sockaddr_in *address)
{
	uint8_t parts[IPV4_PARTS];

	for (size_t i = IPV4_PARTS; i > 0; i--) {
		struct bytes part;
		uint64_t value;
		bool has_more = bytes_split(&name, '.', &part);

		if (has_more != (i > 1) || bytes_to_u64(part, 3, &value) ||
		    value > UINT8_MAX)
			return false;
		parts[i - 1] = (uint8_t)value;
	}
	address->sin_family = AF_INET;
	memcpy(&address->sin_addr, parts, sizeof(parts));
	return true;
}

static bool take_ipv6(struct bytes name, struct sockaddr_in6 *address)
{
	char digits[IPV6_NIBBLES];

	if (name.len != 2 * IPV6_NIBBLES - 1)
		return false;
	for (size_t i = 0; i < IPV6_NIBBLES; i++) {
		if (i > 0 && name.data[2 * i - 1] != '.')
			return false;
		digits[IPV6_NIBBLES - 1 - i] = (char)name.data[2 * i];
	}
	address->sin6_family = AF_INET6;
	return bytes_from_hex(bytes_from(digits, sizeof(digits)),
			      address->sin6_addr.s6_addr) == 0;
}

bool dns_reverse_address(struct bytes name, struct sockaddr_storage *address)
{
	void *any = address;

	*address = (struct sockaddr_storage){0};
	if (drop_suffix(&name, ".in-addr.arpa"))
		return take_ipv4(name, any);
	if (drop_suffix(&name, ".ip6.arpa"))
		return take_ipv6(name, any);
	return false;
}
