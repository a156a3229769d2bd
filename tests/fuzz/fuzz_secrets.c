/*
 * Secrets in a stream: the same is found whatever the chunks are; prints
 * from damaged bytes are refused or bounded.
 */
#include <assert.h>

#include "policies/inspect/prints.h"
#include "policies/inspect/secrets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct secret_prints *own_prints(void)
{
	static struct secret_prints *prints;
	struct err err;

	if (prints)
		return prints;
	prints = prints_new();
	assert(prints);
	assert(prints_add(prints, bytes_str("own"),
			  bytes_str("0123456789abcdef!"), &err) == 0);
	return prints;
}

static void check_chunks(struct bytes text, size_t step)
{
	const struct secret_look look = {.prints = own_prints()};
	struct err err;
	struct secret_scan *scan = secret_scan_open(&look, &err);
	const char *whole;
	const char *pieces;

	assert(scan);
	(void)secret_scan_feed(scan, text);
	whole = secret_scan_end(scan);
	for (size_t i = 0; i < text.len; i += step)
		(void)secret_scan_feed(scan, bytes_slice(text, i, i + step));
	pieces = secret_scan_end(scan);
	/* Which of two is found first depends on the chunks. */
	assert((whole != NULL) == (pieces != NULL));
	secret_scan_close(scan);
}

static void check_prints(struct bytes bytes)
{
	struct err err;
	struct secret_prints *prints = prints_read(bytes, &err);
	struct prints_scan *scan;
	struct buf out;

	if (!prints)
		return;
	buf_init(&out, PRINTS_BYTES_MAX);
	assert(prints_write(prints, &out) == 0);
	assert(bytes_equal(buf_view(&out), bytes));
	buf_release(&out);
	scan = prints_scan_open(prints);
	assert(scan);
	(void)prints_scan_feed(scan, bytes);
	prints_scan_close(scan);
	prints_free(prints);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len == 0)
		return 0;
	check_chunks(bytes_from(data + 1, len - 1), data[0] % 64 + 1);
	check_prints(bytes_from(data, len));
	return 0;
}
