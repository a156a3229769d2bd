#include "policies/ref.h"

#include "policies/path.h"

#define REF_COMPONENTS_MIN 3 /* refs/heads/main */

/* git-check-ref-format(1), rules 1, 2 and 5, on one component. */
static bool component_is_valid(struct bytes component)
{
	static const struct bytes lock = BYTES_LITERAL(".lock");

	if (component.len == 0 || component.data[0] == '.')
		return false;
	return !bytes_ends_with(component, lock);
}

/* Rules 4, 5 and 10, and only printable ASCII. */
static bool byte_is_valid(uint8_t c)
{
	return c > ' ' && c < 0x7f && c != '~' && c != '^' && c != ':' &&
	       c != '?' && c != '*' && c != '[' && c != '\\';
}

static bool bytes_are_valid(struct bytes ref)
{
	for (size_t i = 0; i < ref.len; i++) {
		uint8_t c = ref.data[i];
		uint8_t next = i + 1 < ref.len ? ref.data[i + 1] : 0;

		if (!byte_is_valid(c))
			return false;
		if ((c == '.' && (next == '.' || next == 0)) ||
		    (c == '@' && next == '{'))
			return false;
	}
	return true;
}

bool ref_is_valid(struct bytes ref)
{
	struct bytes rest = ref;
	struct bytes component;
	size_t count = 0;
	bool more = true;

	if (ref.len == 0 || ref.len > REF_NAME_MAX || !bytes_are_valid(ref))
		return false;
	if (bytes_is(ref, "refs/heads/HEAD"))
		return false;
	for (; more; count++) {
		more = bytes_split(&rest, '/', &component);
		if (!component_is_valid(component))
			return false;
		if (bytes_is(component, "refs") ? count > 0 : count == 0)
			return false;
	}
	return count >= REF_COMPONENTS_MIN;
}

bool ref_matches(struct bytes pattern, struct bytes name)
{
	return path_matches(pattern, name);
}
