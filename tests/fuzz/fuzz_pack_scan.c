/*
 * A pack's entries, whole and in single bytes: the answer is the same, and
 * what is whole holds no more than it may.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/packcheck/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OBJECTS_MAX 1000

static int play(struct bytes pack, size_t step, uint64_t *inflated)
{
	struct pack_scan *scan = pack_scan_new(OBJECTS_MAX);
	struct err err = {0};
	int status = 0;

	assert(scan);
	for (size_t at = 0; at < pack.len && status == 0; at += step)
		status = pack_scan_feed(scan, bytes_slice(pack, at, at + step),
					&err);
	assert(status == 0 || err.code == ERR_INVALID ||
	       err.code == ERR_TOO_LARGE);
	*inflated = pack_scan_inflated(scan);
	if (status == 0 && pack_scan_is_whole(scan))
		status = 1;
	pack_scan_free(scan);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes pack = bytes_from(data, size);
	uint64_t whole, single;
	int status = play(pack, size ? size : 1, &whole);

	assert(status == play(pack, 1, &single));
	if (status == 1)
		assert(whole == single && (whole <= SCAN_INFLATED_FREE ||
					   whole / SCAN_RATIO_MAX <= size));
	return 0;
}
