#include "policies/inspect/json.h"

#include "common/digest.h"
#include "policies/inspect/inspection.h"

/* jansson would open /dev/urandom, which no edge may. */
static void seed_hash(void)
{
	static bool is_seeded;
	size_t seed;

	if (is_seeded)
		return;
	random_bytes(&seed, sizeof(seed));
	json_object_seed(seed | 1);
	is_seeded = true;
}

/* The levels of arrays and objects; text need not be valid. */
static size_t levels(struct bytes text)
{
	size_t depth = 0;
	size_t most = 0;
	bool is_string = false;

	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (c == '"')
			is_string = !is_string;
		else if (is_string)
			i += c == '\\';
		else if (c == '[' || c == '{')
			depth++;
		else if ((c == ']' || c == '}') && depth > 0)
			depth--;
		if (depth > most)
			most = depth;
	}
	return most;
}

json_t *json_read(struct bytes text)
{
	if (text.len == 0 || levels(text) > INSPECT_JSON_DEPTH_MAX)
		return NULL;
	seed_hash();
	return json_loadb((const char *)text.data, text.len,
			  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
}
