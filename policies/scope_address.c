#include <netinet/in.h>

#include "policies/scope.h"

#define ADDRESS_LEN   16
#define MAPPED_PREFIX 96 /* of ::ffff:0:0/96 */
/* Everything outside 2000::/3 that has no entry of its own: RFC 4291 2.4. */
#define GLOBAL_PREFIX 3
#define WHOLE_PREFIX  128

static const uint8_t mapped[] = {[10] = 0xff, [11] = 0xff};

struct address {
	uint8_t bytes[ADDRESS_LEN]; /* IPv4 as ::ffff:a.b.c.d */
};

/* IANA's special-purpose registries (RFC 6890) and cloud metadata. */
struct range4 {
	uint8_t address[4];
	uint8_t prefix;
	uint8_t classes;
};

static const struct range4 ranges4[] = {
	{{0, 0, 0, 0}, 8, ADDRESS_SPECIAL},
	{{10, 0, 0, 0}, 8, ADDRESS_PRIVATE},
	{{100, 64, 0, 0}, 10, ADDRESS_PRIVATE},
	{{100, 100, 100, 200}, 32, ADDRESS_METADATA}, /* Alibaba */
	{{127, 0, 0, 0}, 8, ADDRESS_LOOPBACK},
	{{168, 63, 129, 16}, 32, ADDRESS_METADATA}, /* Azure */
	{{169, 254, 0, 0}, 16, ADDRESS_LINK_LOCAL},
	{{169, 254, 169, 254}, 32, ADDRESS_METADATA},
	{{169, 254, 170, 2}, 32, ADDRESS_METADATA},  /* ECS tasks */
	{{169, 254, 170, 23}, 32, ADDRESS_METADATA}, /* EKS pods */
	{{172, 16, 0, 0}, 12, ADDRESS_PRIVATE},
	{{192, 0, 0, 0}, 24, ADDRESS_SPECIAL},
	{{192, 0, 0, 192}, 32, ADDRESS_METADATA}, /* Oracle */
	{{192, 0, 2, 0}, 24, ADDRESS_SPECIAL},
	{{192, 88, 99, 0}, 24, ADDRESS_SPECIAL},
	{{192, 168, 0, 0}, 16, ADDRESS_PRIVATE},
	{{198, 18, 0, 0}, 15, ADDRESS_SPECIAL},
	{{198, 51, 100, 0}, 24, ADDRESS_SPECIAL},
	{{203, 0, 113, 0}, 24, ADDRESS_SPECIAL},
	{{224, 0, 0, 0}, 4, ADDRESS_SPECIAL},
	{{240, 0, 0, 0}, 4, ADDRESS_SPECIAL},
};

struct range6 {
	uint8_t address[ADDRESS_LEN];
	uint8_t prefix;
	uint8_t classes;
};

static const struct range6 ranges6[] = {
	{{[15] = 1}, 128, ADDRESS_LOOPBACK},
	/* NAT64 of one's own: what is behind it nobody can tell. */
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, ADDRESS_SPECIAL},
	{{0x20, 0x01, 0x00, 0x00}, 23, ADDRESS_SPECIAL}, /* and Teredo */
	{{0x20, 0x01, 0x0d, 0xb8}, 32, ADDRESS_SPECIAL},
	{{0x3f, 0xff, 0x00, 0x00}, 20, ADDRESS_SPECIAL},
	{{0xfc, 0x00}, 7, ADDRESS_PRIVATE},
	{{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54}, 128, ADDRESS_METADATA},
	{{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x00, 0x23}, 128, ADDRESS_METADATA},
	{{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54}, 128, ADDRESS_METADATA},
	{{0xfe, 0x80}, 10, ADDRESS_LINK_LOCAL},
	{{0xfe, 0xc0}, 10, ADDRESS_PRIVATE},
	{{0xff, 0x00}, 8, ADDRESS_SPECIAL},
};

static bool has_prefix(const uint8_t *address, const uint8_t *range,
		       unsigned prefix)
{
	size_t whole = prefix / 8;
	uint8_t mask = (uint8_t)(0xff00 >> prefix % 8);

	if (memcmp(address, range, whole) != 0)
		return false;
	return prefix % 8 == 0 || ((address[whole] ^ range[whole]) & mask) == 0;
}

static bool is_ipv4(const struct address *address)
{
	return has_prefix(address->bytes, mapped, MAPPED_PREFIX);
}

static void set_ipv4(struct address *address, const uint8_t ipv4[4])
{
	memcpy(address->bytes, mapped, sizeof(mapped));
	memcpy(address->bytes + sizeof(mapped), ipv4, 4);
}

/* The IPv4 address inside a 6to4 (RFC 3056) or NAT64 (RFC 6052) one. */
static struct address unwrap(struct address address)
{
	static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};
	static const uint8_t six_to_four[2] = {0x20, 0x02};
	uint8_t inside[4];

	if (has_prefix(address.bytes, nat64, 96))
		memcpy(inside, address.bytes + 12, sizeof(inside));
	else if (has_prefix(address.bytes, six_to_four, 16))
		memcpy(inside, address.bytes + 2, sizeof(inside));
	else
		return address;
	set_ipv4(&address, inside);
	return address;
}

static bool address_from(const struct sockaddr *from, struct address *address)
{
	if (from->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)from;

		set_ipv4(address, (const uint8_t *)&in->sin_addr);
		return true;
	}
	if (from->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)from;

		memcpy(address->bytes, &in6->sin6_addr, ADDRESS_LEN);
		return true;
	}
	return false;
}

/* The classes of an unwrapped address; *special: how long the prefix of
 * the special range is that it lies in. */
static unsigned classify(const struct address *address, unsigned *special)
{
	unsigned classes = 0;

	*special = 0;
	if (is_ipv4(address)) {
		const uint8_t *ipv4 = address->bytes + sizeof(mapped);

		for (size_t i = 0; i < sizeof(ranges4) / sizeof(ranges4[0]);
		     i++) {
			const struct range4 *range = &ranges4[i];

			if (!has_prefix(ipv4, range->address, range->prefix))
				continue;
			classes |= range->classes;
			if (range->classes & ADDRESS_SPECIAL)
				*special = range->prefix + MAPPED_PREFIX;
		}
		return classes;
	}
	for (size_t i = 0; i < sizeof(ranges6) / sizeof(ranges6[0]); i++) {
		const struct range6 *range = &ranges6[i];

		if (!has_prefix(address->bytes, range->address, range->prefix))
			continue;
		classes |= range->classes;
		if (range->classes & ADDRESS_SPECIAL)
			*special = range->prefix;
	}
	if (!classes && address->bytes[0] >> 5 != 1) {
		*special = GLOBAL_PREFIX;
		return ADDRESS_SPECIAL;
	}
	return classes;
}

unsigned address_class_of(const struct sockaddr *from)
{
	struct address address;
	unsigned special;

	if (!address_from(from, &address))
		return ADDRESS_SPECIAL;
	address = unwrap(address);
	return classify(&address, &special);
}

/* Is it in a range that is at least that narrow? */
static bool in_ranges(const struct address *address,
		      const struct scope_range *ranges, size_t count,
		      unsigned prefix_min)
{
	for (size_t i = 0; i < count; i++)
		if (ranges[i].address.len == ADDRESS_LEN &&
		    ranges[i].prefix <= 128 && ranges[i].prefix >= prefix_min &&
		    has_prefix(address->bytes, ranges[i].address.data,
			       ranges[i].prefix))
			return true;
	return false;
}

bool scope_allows_address(const struct scope *scope,
			  const struct sockaddr *from)
{
	struct address raw;
	struct address address;
	unsigned classes;
	unsigned special;

	if (!address_from(from, &raw))
		return false;
	address = unwrap(raw);
	classes = classify(&address, &special);
	/* An exception that holds a special address and is no wider than its
	 * range lies within it: it names that range and no other. */
	if (in_ranges(&address, scope->allow, scope->allow_count, special))
		return true;
	if (classes & (scope->deny_classes | ADDRESS_SPECIAL))
		return false;
	return !in_ranges(&address, scope->deny, scope->deny_count, 0) &&
	       !in_ranges(&raw, scope->deny, scope->deny_count, 0);
}

bool scope_allows_own_address(const struct scope *scope,
			      const struct sockaddr *from)
{
	struct address address;
	unsigned special;

	if (!(scope->deny_classes & ADDRESS_LOOPBACK))
		return true;
	if (!address_from(from, &address))
		return false;
	address = unwrap(address);
	return classify(&address, &special) & ADDRESS_LOOPBACK ||
	       in_ranges(&address, scope->allow, scope->allow_count,
			 WHOLE_PREFIX);
}
