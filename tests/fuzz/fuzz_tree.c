/*
 * A tree's entries: what is read whole is in git's order, and written again
 * it is the same bytes.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/buf.h"
#include "gateway/packcheck/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BYTES_MAX (1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tree_entry entry, last = {0};
	struct tree_reader reader;
	struct buf again;
	int status;

	buf_init(&again, BYTES_MAX);
	tree_begin(&reader, bytes_from(data, size));
	while ((status = tree_next(&reader, &entry)) > 0) {
		assert(last.mode == 0 || tree_entry_compare(&last, &entry) < 0);
		assert(bytes_find(entry.name, '/', 0) < 0);
		assert(buf_add_format(&again, "%o %.*s", entry.mode,
				      BYTES_ARGS(entry.name)) == 0);
		assert(buf_add_byte(&again, 0) == 0);
		assert(buf_add(&again,
			       bytes_from(entry.oid.id, GIT_OID_RAWSZ)) == 0);
		last = entry;
	}
	assert(status < 0 ||
	       bytes_equal(buf_view(&again), bytes_from(data, size)));
	buf_release(&again);
	return 0;
}
