#include "policies/host_range.h"

#include <arpa/inet.h>
#include <string.h>

#define PREFIX_DIGITS 3
#define BITS_V6	      128
#define BITS_V4	      32
#define BITS_MAPPED   (BITS_V6 - BITS_V4) /* of ::ffff:0:0/96 */

/* All as IPv6: IPv4 is below ::ffff:0:0/96. */
struct range {
	uint8_t address[16];
	unsigned prefix;
};

static bool is_v4(const struct range *range)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return range->prefix >= BITS_MAPPED &&
	       memcmp(range->address, mapped, sizeof(mapped)) == 0;
}

static bool read_address(struct bytes text, struct range *range, unsigned *bits)
{
	char in[INET6_ADDRSTRLEN];

	if (text.len == 0 || text.len >= sizeof(in) ||
	    bytes_find(text, 0, 0) >= 0)
		return false;
	memcpy(in, text.data, text.len);
	in[text.len] = '\0';
	*bits = BITS_V6;
	if (inet_pton(AF_INET6, in, range->address) == 1)
		return true;
	*bits = BITS_V4;
	memset(range->address, 0, sizeof(range->address));
	range->address[10] = range->address[11] = 0xff;
	return inet_pton(AF_INET, in, range->address + 12) == 1;
}

/* An address is a range of itself. */
static bool read_range(struct bytes text, struct range *range, unsigned *bits)
{
	struct bytes address;
	uint64_t prefix;
	bool has_prefix = bytes_split(&text, '/', &address);

	if (!read_address(address, range, bits))
		return false;
	prefix = *bits;
	if (has_prefix &&
	    (bytes_to_u64(text, PREFIX_DIGITS, &prefix) || prefix > *bits))
		return false;
	range->prefix = (unsigned)prefix + (BITS_V6 - *bits);
	return true;
}

static bool has_bits_after(const struct range *range)
{
	for (unsigned bit = range->prefix; bit < BITS_V6; bit++)
		if (range->address[bit / 8] & (0x80 >> bit % 8))
			return true;
	return false;
}

bool host_is_range(struct bytes pattern)
{
	return pattern.len > 0 && bytes_find(pattern, '/', 0) >= 0;
}

int host_range_pattern(struct arena *arena, struct bytes text,
		       struct bytes *pattern, struct err *err)
{
	char address[INET6_ADDRSTRLEN];
	struct range range;
	unsigned bits;
	char *out;

	if (memmem(text.data, text.len, "://", 3))
		return err_set(err, ERR_INVALID,
			       "\"%.*s\" is a URL: write its host alone",
			       BYTES_ARGS(text));
	if (!host_is_range(text) || !read_range(text, &range, &bits))
		return err_set(err, ERR_INVALID,
			       "\"%.*s\" is not a range like 10.2.0.0/16",
			       BYTES_ARGS(text));
	if (has_bits_after(&range))
		return err_set(err, ERR_INVALID,
			       "the bits after the prefix must be zero");
	if (!inet_ntop(bits == BITS_V4 ? AF_INET : AF_INET6,
		       range.address + (bits == BITS_V4 ? 12 : 0), address,
		       sizeof(address)))
		return err_set(err, ERR_TOO_LARGE, "no room for a range");
	out = arena_format(arena, "%s/%u", address,
			   range.prefix - (BITS_V6 - bits));
	if (!out)
		return err_set(err, ERR_TOO_LARGE, "no memory for a range");
	*pattern = bytes_str(out);
	return 0;
}

int host_range_ends(struct bytes range, uint8_t first[16], uint8_t last[16])
{
	struct range read;
	unsigned bits;

	if (!read_range(range, &read, &bits) || has_bits_after(&read))
		return -1;
	memcpy(first, read.address, sizeof(read.address));
	for (unsigned bit = read.prefix; bit < BITS_V6; bit++)
		read.address[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	memcpy(last, read.address, sizeof(read.address));
	return 0;
}

bool host_range_covers(struct bytes range, struct bytes inner)
{
	struct range outer, other;
	unsigned bits;

	if (!read_range(range, &outer, &bits) ||
	    !read_range(inner, &other, &bits) || outer.prefix > other.prefix ||
	    is_v4(&outer) != is_v4(&other))
		return false;
	for (unsigned bit = 0; bit < outer.prefix; bit++)
		if ((outer.address[bit / 8] ^ other.address[bit / 8]) &
		    (0x80 >> bit % 8))
			return false;
	return true;
}
