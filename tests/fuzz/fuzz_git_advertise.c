/*
 * Upstream's advertisements. The first byte says which: receive-pack's,
 * upload-pack's, or a client's fetch request in v0 or v2. Properties: the
 * answer does not depend on the split; output stays in its bound; no name
 * that may not be written comes out; what came out is taken again and comes
 * out the same.
 */
#include <assert.h>

#include "gateway/git/advertise.h"
#include "gateway/git/fetch.h"
#include "tests/unit/gateway/git/repo_fixture.h"

#define OUT_MAX (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int rewrite(struct bytes input, size_t step, struct git_refs *refs,
		   struct buf *out)
{
	const struct policy_repo repo =
		fixture_repo(VERB_CREATE | VERB_FAST_FORWARD);
	struct advertise adv;
	int status = 0;

	git_refs_init(refs);
	buf_init(out, OUT_MAX);
	advertise_init(&adv, &repo, refs, ADVERTISE_NO_THIN);
	for (size_t at = 0; at < input.len && status == 0; at += step) {
		struct bytes piece = bytes_slice(input, at, at + step);
		size_t before = buf_len(out);

		status = advertise_feed(&adv, piece, out, NULL);
		assert(buf_len(out) - before <= ADVERTISE_OUT_MAX(piece.len));
	}
	if (status == 0)
		status = advertise_end(&adv, NULL);
	advertise_release(&adv);
	return status;
}

static void fuzz_receive_pack(struct bytes input)
{
	struct buf whole, split, again;
	struct git_refs a, b, c;

	if (rewrite(input, input.len + 1, &a, &whole) == 0) {
		assert(rewrite(input, 1, &b, &split) == 0);
		assert(bytes_equal(buf_view(&whole), buf_view(&split)));
		assert(a.count == b.count && a.advertised == b.advertised);
		assert(rewrite(buf_view(&whole), 7, &c, &again) == 0);
		assert(bytes_equal(buf_view(&whole), buf_view(&again)));
		for (size_t i = 0; i < a.count; i++)
			assert(bytes_is(a.items[i].name,
					"refs/heads/agent/42"));
		git_refs_release(&b);
		git_refs_release(&c);
		buf_release(&split);
		buf_release(&again);
	}
	git_refs_release(&a);
	buf_release(&whole);
}

static int rewrite_offer(struct bytes input, size_t step, struct buf *out)
{
	struct fetch_advertise adv;
	int status = 0;

	buf_init(out, OUT_MAX);
	fetch_advertise_init(&adv);
	for (size_t at = 0; at < input.len && status == 0; at += step)
		status = fetch_advertise_feed(
			&adv, bytes_slice(input, at, at + step), out, NULL);
	if (status == 0)
		status = fetch_advertise_end(&adv, NULL);
	fetch_advertise_release(&adv);
	return status;
}

static int rewrite_request(struct bytes input, int version, size_t step,
			   struct buf *out)
{
	struct fetch_request fetch;
	int status = 0;

	buf_init(out, OUT_MAX);
	fetch_request_init(&fetch, version);
	for (size_t at = 0; at < input.len && status == 0; at += step)
		status = fetch_request_feed(
			&fetch, bytes_slice(input, at, at + step), out);
	if (status == 0)
		status = fetch_request_end(&fetch);
	assert((status < 0) == (fetch.verdict.constraint != CONSTRAINT_none));
	fetch_request_release(&fetch);
	return status;
}

/* kind 0: an offer; 2 or 1: a request of v2 or v0. */
static int rewrite_reading(struct bytes input, int kind, size_t step,
			   struct buf *out)
{
	if (kind == 0)
		return rewrite_offer(input, step, out);
	return rewrite_request(input, kind == 2 ? 2 : 0, step, out);
}

static void fuzz_reading(struct bytes input, int kind)
{
	struct buf whole, split, again;

	if (rewrite_reading(input, kind, input.len + 1, &whole) == 0) {
		assert(rewrite_reading(input, kind, 1, &split) == 0);
		assert(bytes_equal(buf_view(&whole), buf_view(&split)));
		assert(rewrite_reading(buf_view(&whole), kind, 7, &again) == 0);
		assert(bytes_equal(buf_view(&whole), buf_view(&again)));
		buf_release(&split);
		buf_release(&again);
	}
	buf_release(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input;

	if (size == 0)
		return 0;
	input = bytes_from(data + 1, size - 1);
	if (data[0] % 4 == 3)
		fuzz_receive_pack(input);
	else
		fuzz_reading(input, data[0] % 4);
	return 0;
}
