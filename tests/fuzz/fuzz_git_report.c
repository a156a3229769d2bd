/*
 * Upstream's answers: its report on a push, and the packs of ancestry.
 * Properties: the answer does not depend on the split; counts fit the
 * updates; a pack is never longer than what carried it.
 */
#include <assert.h>

#include "gateway/git/ancestry.h"
#include "gateway/git/report.h"

#define UPDATES	 3
#define PACK_MAX (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct heard {
	enum report_outcome outcomes[UPDATES];
	enum report_outcome unpack;
	size_t ok_count, ng_count;
	bool is_whole, is_broken;
};

static struct heard hear(const struct push *push, struct bytes input,
			 size_t step)
{
	struct report_reader reader;
	struct heard heard = {0};
	struct arena arena;

	arena_init(&arena, 65536);
	assert(report_reader_init(&reader, push, &arena) == 0);
	for (size_t at = 0; at < input.len; at += step)
		report_reader_feed(&reader, bytes_slice(input, at, at + step));
	for (size_t i = 0; i < UPDATES; i++)
		heard.outcomes[i] = reader.outcomes[i];
	heard.unpack = reader.unpack;
	heard.ok_count = reader.ok_count;
	heard.ng_count = reader.ng_count;
	heard.is_whole = reader.is_whole;
	heard.is_broken = reader.is_broken;
	assert(reader.first_reason.len <= 200);
	report_reader_release(&reader);
	arena_release(&arena);
	return heard;
}

static void fuzz_report(struct bytes input, bool has_side_band)
{
	struct push_update updates[UPDATES] = {
		{.ref = BYTES_LITERAL("refs/heads/a")},
		{.ref = BYTES_LITERAL("refs/heads/b")},
		{.ref = BYTES_LITERAL("refs/heads/c")},
	};
	const struct push push = {.updates = updates,
				  .update_count = UPDATES,
				  .report = REPORT_STATUS_V2,
				  .has_side_band = has_side_band};
	const struct heard whole = hear(&push, input, input.len + 1);
	const struct heard split = hear(&push, input, 1);

	assert(whole.is_broken == split.is_broken);
	assert(whole.is_whole == split.is_whole);
	assert(whole.unpack == split.unpack);
	assert(whole.ok_count + whole.ng_count <= UPDATES);
	assert(whole.ok_count == split.ok_count);
	assert(whole.ng_count == split.ng_count);
	for (size_t i = 0; i < UPDATES; i++)
		assert(whole.outcomes[i] == split.outcomes[i]);
}

static int read_pack(struct bytes input, size_t step, struct buf *pack)
{
	struct ancestry_reader reader;
	int status = 0;

	buf_init(pack, PACK_MAX);
	ancestry_reader_init(&reader);
	for (size_t at = 0; at < input.len && status == 0; at += step)
		status = ancestry_reader_feed(
			&reader, bytes_slice(input, at, at + step), pack, NULL);
	if (status == 0)
		status = ancestry_reader_end(&reader, NULL);
	assert(reader.pack_bytes <= input.len);
	ancestry_reader_release(&reader);
	return status;
}

static void fuzz_pack(struct bytes input)
{
	struct buf whole, split;

	assert(read_pack(input, input.len + 1, &whole) ==
	       read_pack(input, 1, &split));
	assert(bytes_equal(buf_view(&whole), buf_view(&split)));
	assert(buf_len(&whole) <= input.len);
	buf_release(&whole);
	buf_release(&split);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input;

	if (size == 0)
		return 0;
	input = bytes_from(data + 1, size - 1);
	if (data[0] % 3 == 2)
		fuzz_pack(input);
	else
		fuzz_report(input, data[0] % 3 == 1);
	return 0;
}
