/*
 * First bytes of a connection, in pieces: the first input byte says how
 * large they are. However they are cut, the answer is the same, and a name
 * is canonical.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/listen/accept.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(struct hello *hello, struct bytes input, size_t step)
{
	enum hello_kind kind = HELLO_MORE;

	hello_init(hello);
	for (size_t len = step; len < input.len && kind == HELLO_MORE;
	     len += step)
		kind = hello_look(hello, bytes_slice(input, 0, len));
	if (kind == HELLO_MORE)
		(void)hello_look(hello, input);
}

static void check(const struct hello *hello)
{
	const struct wanted wanted = {"a.test", HOST_NAME, 443, true};
	char again[HOST_NAME_MAX_LEN + 1];
	struct target target;
	enum constraint constraint;

	assert(hello->kind == HELLO_TLS || hello->name[0] == '\0');
	assert((hello->kind == HELLO_INVALID) == (hello->reason != NULL));
	if (hello->name[0] != '\0') {
		assert(host_canonical(bytes_str(hello->name), again) ==
		       HOST_NAME);
		assert(strcmp(again, hello->name) == 0);
	}
	if (hello->kind == HELLO_MORE)
		return;
	constraint = target_from(&wanted, hello, &target);
	assert(strcmp(target.host, "a.test") == 0);
	if (constraint == CONSTRAINT_none && hello->name[0] != '\0')
		assert(strcmp(hello->name, "a.test") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input = bytes_from(data, size);
	struct hello pieces, whole;

	if (size == 0)
		return 0;
	input = bytes_slice(input, 1, size);
	look(&pieces, input, 1 + (size_t)data[0]);
	look(&whole, input, input.len + 1);
	assert(pieces.kind == whole.kind);
	assert(strcmp(pieces.name, whole.name) == 0);
	check(&whole);
	hello_release(&pieces);
	hello_release(&whole);
	return 0;
}
