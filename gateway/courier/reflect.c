#include "gateway/courier/reflect.h"

#include <string.h>

void reflect_release(struct reflect *reflect)
{
	for (size_t i = 0; i < reflect->count; i++)
		secret_release(&reflect->needles[i]);
	secret_wipe(reflect->passed, sizeof(reflect->passed));
	*reflect = (struct reflect){0};
}

int reflect_watch(struct reflect *reflect, struct bytes needle, struct err *err)
{
	struct secret *secret = &reflect->needles[reflect->count];

	if (needle.len < REFLECT_LEAST)
		return 0;
	if (reflect->count == REFLECT_NEEDLES)
		return err_set(err, ERR_TOO_LARGE, "watch: one too many");
	secret_init(secret);
	if (secret_set(secret, bytes_slice(needle, 0, REFLECT_NEEDLE_MAX),
		       err) < 0)
		return -1;
	reflect->count++;
	return 0;
}

/* What passed last and the first bytes of data, as one: where a needle can
 * lie across both. Returns its length. */
static size_t join(const struct reflect *reflect, struct bytes data,
		   uint8_t out[2 * REFLECT_NEEDLE_MAX])
{
	struct bytes head = bytes_slice(data, 0, REFLECT_NEEDLE_MAX - 1);

	memcpy(out, reflect->passed, reflect->passed_len);
	if (head.len)
		memcpy(out + reflect->passed_len, head.data, head.len);
	return reflect->passed_len + head.len;
}

static bool holds(struct bytes data, struct bytes needle)
{
	return data.len && memmem(data.data, data.len, needle.data, needle.len);
}

/* The longest end of data that begins needle, of at least REFLECT_LEAST. */
static size_t begun(struct bytes data, struct bytes needle)
{
	size_t len = needle.len - 1 < data.len ? needle.len - 1 : data.len;

	for (; len >= REFLECT_LEAST; len--)
		if (!memcmp(data.data + data.len - len, needle.data, len))
			return len;
	return 0;
}

static void keep_passed(struct reflect *reflect, struct bytes data)
{
	size_t max = sizeof(reflect->passed);
	size_t kept = reflect->passed_len;

	if (data.len >= max) {
		memcpy(reflect->passed, data.data + data.len - max, max);
		reflect->passed_len = max;
		return;
	}
	if (kept + data.len > max) {
		memmove(reflect->passed,
			reflect->passed + kept + data.len - max,
			max - data.len);
		kept = max - data.len;
	}
	if (data.len)
		memcpy(reflect->passed + kept, data.data, data.len);
	reflect->passed_len = kept + data.len;
}

ssize_t reflect_pass(struct reflect *reflect, struct bytes data)
{
	uint8_t both[2 * REFLECT_NEEDLE_MAX];
	struct bytes across = {both, join(reflect, data, both)};
	size_t held = 0;

	for (size_t i = 0; i < reflect->count; i++) {
		struct bytes needle = secret_view(&reflect->needles[i]);
		struct bytes end =
			data.len < REFLECT_NEEDLE_MAX ? across : data;
		size_t begins;

		if (holds(across, needle) || holds(data, needle))
			return -1;
		begins = begun(end, needle);
		held = begins > held ? begins : held;
	}
	if (held > data.len)
		held = data.len;
	keep_passed(reflect, bytes_slice(data, 0, data.len - held));
	return (ssize_t)(data.len - held);
}
