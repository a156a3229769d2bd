/*
 * A tar from anybody: it ends, names are texts, and no content is longer than
 * what there is.
 */
#include <assert.h>
#include <string.h>

#include "sandbox-host/store/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct rest {
	const uint8_t *data;
	size_t len;
};

static ssize_t read_rest(void *owner, void *out, size_t size)
{
	struct rest *rest = owner;

	if (size > rest->len)
		size = rest->len;
	memcpy(out, rest->data, size);
	rest->data += size;
	rest->len -= size;
	return (ssize_t)size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct tar_entry entry;
	struct rest rest = {data, len};
	struct tar tar = {.read = read_rest, .owner = &rest};
	uint8_t block[TAR_BLOCK];
	size_t entries = 0;
	struct err err;

	while (tar_next(&tar, &entry, &err) == 1) {
		uint64_t content = 0;
		ssize_t got;

		assert(++entries <= len / TAR_BLOCK);
		assert(entry.path[0] && memchr(entry.path, 0, TAR_NAME_MAX) &&
		       memchr(entry.link, 0, TAR_NAME_MAX));
		assert(entry.mode <= 07777);
		while ((got = tar_content(&tar, block, sizeof(block), &err)) >
		       0)
			content += (uint64_t)got;
		assert(content <= len);
		if (got < 0)
			break;
	}
	return 0;
}
