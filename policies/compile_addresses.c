#include <arpa/inet.h>

#include "common/cleanup.h"
#include "policies/compile.h"

#define PREFIX_DIGITS 3
#define MAPPED_PREFIX 96 /* of ::ffff:0:0/96 */
#define CLASSES_DEFAULT                                                        \
	(ADDRESS_PRIVATE | ADDRESS_LINK_LOCAL | ADDRESS_METADATA |             \
	 ADDRESS_LOOPBACK)

/* An entry of addresses.deny: a class or a range. */
struct deny_entry {
	unsigned class;
	struct policy_range range;
};

static bool host_bits_are_zero(const struct policy_range *range)
{
	for (unsigned bit = range->prefix; bit < 128; bit++)
		if (range->address[bit / 8] & (0x80 >> bit % 8))
			return false;
	return true;
}

static bool parse_address(struct bytes text, struct policy_range *range,
			  unsigned *prefix_max)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	char in[INET6_ADDRSTRLEN];

	if (text.len >= sizeof(in) || bytes_find(text, 0, 0) >= 0)
		return false;
	memcpy(in, text.data, text.len);
	in[text.len] = '\0';
	*prefix_max = 128;
	if (inet_pton(AF_INET6, in, range->address) == 1)
		return true;
	*prefix_max = 32;
	memcpy(range->address, mapped, sizeof(mapped));
	return inet_pton(AF_INET, in, range->address + sizeof(mapped)) == 1;
}

bool compile_range_item(struct reader *reader, const struct text_node *node,
			void *item)
{
	struct policy_range *range = item;
	struct bytes rest;
	struct bytes address;
	unsigned prefix_max;
	uint64_t prefix;
	bool has_prefix;

	if (!reader_word(reader, node, &rest))
		return false;
	has_prefix = bytes_split(&rest, '/', &address);
	if (!address.len || !parse_address(address, range, &prefix_max))
		return reader_error(reader, node,
				    "this is not an address or a range like "
				    "10.2.0.0/16");
	prefix = prefix_max;
	if (has_prefix &&
	    (bytes_to_u64(rest, PREFIX_DIGITS, &prefix) || prefix > prefix_max))
		return reader_error(reader, node,
				    "a prefix is a number from 0 to %u",
				    prefix_max);
	range->prefix = (uint8_t)(prefix + (128 - prefix_max));
	if (!host_bits_are_zero(range))
		return reader_error(reader, node,
				    "the bits after the prefix must be zero");
	return true;
}

static bool deny_item(struct reader *reader, const struct text_node *node,
		      void *item)
{
	static const struct choice choices[] = {
		{"private", ADDRESS_PRIVATE},
		{"link-local", ADDRESS_LINK_LOCAL},
		{"metadata", ADDRESS_METADATA},
		{"loopback", ADDRESS_LOOPBACK},
	};
	struct deny_entry *entry = item;
	struct bytes word;
	int class;

	if (!reader_word(reader, node, &word))
		return false;
	if (bytes_find(word, ':', 0) >= 0 || bytes_find(word, '.', 0) >= 0)
		return compile_range_item(reader, node, &entry->range);
	if (!reader_choice(reader, node, choices, ARRAY_SIZE(choices), &class))
		return false;
	entry->class = (unsigned)class;
	return true;
}

static void read_deny(struct compile *compile, const struct text_node *node)
{
	struct policy_addresses *addresses = &compile->policy->addresses;
	struct policy_range *ranges;
	void *items = NULL;
	size_t count = 0;

	if (!reader_list(&compile->reader, node, sizeof(struct deny_entry),
			 deny_item, &items, &count))
		return;
	ranges = arena_array(compile->reader.arena, count, sizeof(*ranges));
	if (!ranges) {
		text_error(&compile->reader.source, node->at, "no memory");
		return;
	}
	addresses->deny_classes = 0;
	addresses->deny = ranges;
	for (size_t i = 0; i < count; i++) {
		const struct deny_entry *entry =
			&((const struct deny_entry *)items)[i];

		addresses->deny_classes |= entry->class;
		if (!entry->class)
			ranges[addresses->deny_count++] = entry->range;
	}
}

struct address_nodes {
	const struct text_node *deny, *allow;
};

void compile_addresses(struct compile *compile, const struct text_node *node)
{
	static const struct reader_field fields[] = {
		{"deny", reader_keep, offsetof(struct address_nodes, deny)},
		{"allow", reader_keep, offsetof(struct address_nodes, allow)},
	};
	struct policy_addresses *addresses = &compile->policy->addresses;
	struct address_nodes nodes = {NULL, NULL};
	void *items = NULL;

	addresses->deny_classes = CLASSES_DEFAULT;
	if (!node || !reader_map(&compile->reader, node, fields,
				 ARRAY_SIZE(fields), &nodes))
		return;
	if (nodes.deny)
		read_deny(compile, nodes.deny);
	if (nodes.allow &&
	    reader_list(&compile->reader, nodes.allow,
			sizeof(struct policy_range), compile_range_item, &items,
			&addresses->allow_count))
		addresses->allow = items;
}
