#include "gateway/dns/names.h"

#include <arpa/inet.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <utlist.h>

#define FIRST_HOST 0xc6120002u /* 198.18.0.2 */
#define RANGE_IPV4 0xc6120000u /* 198.18.0.0/15 */
#define MASK_IPV4  0xfffe0000u
#define ROOM_FIRST 64
#define IPV6_TAIL  12 /* where the IPv4 address stands in an IPv6 one */

struct given {
	struct bytes name; /* in text, but for one that is looked for */
	size_t index;
	uint64_t used_ms;
	struct given *prev, *next; /* by use: the head's is longest ago */
	uint8_t text[];		   /* and a NUL */
};

/* The tree finds by name (names are the sandbox's choice, so no hash), the
 * array by address. */
struct names {
	void *tree;
	struct given **items;
	size_t count, room;
	struct given *by_use;
};

/* fd00::/64 */
static const uint8_t range_ipv6[8] = {0xfd};

static int compare(const void *a, const void *b)
{
	struct bytes first = ((const struct given *)a)->name;
	struct bytes second = ((const struct given *)b)->name;

	if (first.len != second.len)
		return first.len < second.len ? -1 : 1;
	return first.len ? memcmp(first.data, second.data, first.len) : 0;
}

static struct given *given_new(struct bytes name)
{
	struct given *entry = calloc(1, sizeof(*entry) + name.len + 1);

	if (!entry)
		return NULL;
	if (name.len)
		memcpy(entry->text, name.data, name.len);
	entry->name = bytes_from(entry->text, name.len);
	return entry;
}

struct names *names_new(void)
{
	return calloc(1, sizeof(struct names));
}

static void leave_node(void *node)
{
	(void)node; /* entries are freed through the array */
}

void names_free(struct names *names)
{
	if (!names)
		return;
	tdestroy(names->tree, leave_node);
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	free(names);
}

static struct given *find(const struct names *names, struct bytes name)
{
	const struct given wanted = {.name = name};
	struct given **node = tfind(&wanted, &names->tree, compare);

	return node ? *node : NULL;
}

static void use(struct names *names, struct given *entry, uint64_t now_ms)
{
	DL_DELETE(names->by_use, entry);
	DL_APPEND(names->by_use, entry);
	entry->used_ms = now_ms;
}

static int make_room(struct names *names)
{
	size_t room = names->room ? 2 * names->room : ROOM_FIRST;
	struct given **items;

	if (names->count < names->room)
		return 0;
	items = realloc(names->items, room * sizeof(struct given *));
	if (!items)
		return -1;
	names->items = items;
	names->room = room;
	return 0;
}

/* The index for another name: a new one, or that of a name at rest. -1 when
 * there is none. */
static ptrdiff_t take_index(struct names *names, uint64_t now_ms)
{
	struct given *oldest = names->by_use;
	size_t index;

	if (names->count < NAMES_MAX)
		return make_room(names) ? -1 : (ptrdiff_t)names->count++;
	if (now_ms - oldest->used_ms < NAMES_REST_MS)
		return -1;
	index = oldest->index;
	(void)tdelete(oldest, &names->tree, compare);
	DL_DELETE(names->by_use, oldest);
	free(oldest);
	return (ptrdiff_t)index;
}

static struct given *add(struct names *names, struct bytes name,
			 uint64_t now_ms)
{
	struct given *entry = given_new(name);
	ptrdiff_t index;

	if (!entry || !tsearch(entry, &names->tree, compare)) {
		free(entry);
		return NULL;
	}
	index = take_index(names, now_ms);
	if (index < 0) {
		(void)tdelete(entry, &names->tree, compare);
		free(entry);
		return NULL;
	}
	entry->index = (size_t)index;
	entry->used_ms = now_ms;
	names->items[index] = entry;
	DL_APPEND(names->by_use, entry);
	return entry;
}

int names_address(struct names *names, struct bytes name, uint64_t now_ms,
		  struct in_addr *ipv4, struct in6_addr *ipv6)
{
	struct given *entry = find(names, name);

	if (entry)
		use(names, entry, now_ms);
	else
		entry = add(names, name, now_ms);
	if (!entry)
		return -1;
	ipv4->s_addr = htonl(FIRST_HOST + (uint32_t)entry->index);
	*ipv6 = (struct in6_addr){0};
	memcpy(ipv6->s6_addr, range_ipv6, sizeof(range_ipv6));
	memcpy(ipv6->s6_addr + IPV6_TAIL, &ipv4->s_addr, sizeof(ipv4->s_addr));
	return 0;
}

/* The IPv4 address that stands for a synthetic one; false when it is not. */
static bool to_host(const struct sockaddr *address, uint32_t *host)
{
	const void *any = address;
	const struct sockaddr_in *ipv4 = any;
	const struct sockaddr_in6 *ipv6 = any;
	const uint8_t *bytes = ipv6->sin6_addr.s6_addr;
	uint32_t network_order;

	if (address->sa_family == AF_INET) {
		network_order = ipv4->sin_addr.s_addr;
	} else if (address->sa_family == AF_INET6) {
		memcpy(&network_order, bytes + IPV6_TAIL,
		       sizeof(network_order));
		if (!IN6_IS_ADDR_V4MAPPED(&ipv6->sin6_addr) &&
		    (memcmp(bytes, range_ipv6, sizeof(range_ipv6)) != 0 ||
		     bytes[8] || bytes[9] || bytes[10] || bytes[11]))
			return false;
	} else {
		return false;
	}
	*host = ntohl(network_order);
	return (*host & MASK_IPV4) == RANGE_IPV4;
}

struct bytes names_behind(struct names *names, const struct sockaddr *address,
			  uint64_t now_ms)
{
	uint32_t host;

	if (!to_host(address, &host) || host < FIRST_HOST ||
	    host - FIRST_HOST >= names->count)
		return bytes_from(NULL, 0);
	use(names, names->items[host - FIRST_HOST], now_ms);
	return names->items[host - FIRST_HOST]->name;
}

bool names_has(const struct names *names, struct bytes name)
{
	return find(names, name) != NULL;
}

bool names_is_synthetic(const struct sockaddr *address)
{
	const void *any = address;
	const struct sockaddr_in6 *ipv6 = any;
	uint32_t host;

	if (address->sa_family == AF_INET6 &&
	    !memcmp(ipv6->sin6_addr.s6_addr, range_ipv6, sizeof(range_ipv6)))
		return true;
	return to_host(address, &host);
}

size_t names_count(const struct names *names)
{
	return names->count;
}
