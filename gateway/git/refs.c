#include "gateway/git/refs.h"

#include <stdlib.h>

#include "policies/decide.h"
#include "policies/ref.h"

#define REFS_SIZE_MIN 64

void git_refs_init(struct git_refs *refs)
{
	*refs = (struct git_refs){0};
	arena_init(&refs->arena, GIT_REFS_BYTES_MAX);
}

void git_refs_release(struct git_refs *refs)
{
	free(refs->items);
	free(refs->tips);
	arena_release(&refs->arena);
	git_refs_init(refs);
}

static bool has_room(struct git_refs *refs)
{
	size_t size = refs->size ? refs->size * 2 : REFS_SIZE_MIN;
	struct git_ref *items;

	if (refs->count >= GIT_REFS_MAX)
		return false;
	if (refs->count < refs->size)
		return true;
	items = realloc(refs->items, size * sizeof(*items));
	if (!items)
		return false;
	refs->items = items;
	refs->size = size;
	return true;
}

void git_refs_add(struct git_refs *refs, struct bytes name, struct bytes oid)
{
	struct git_ref ref;

	refs->is_whole = false;
	if (!has_room(refs)) {
		refs->is_partial = true;
		return;
	}
	ref.name = arena_copy(&refs->arena, name);
	ref.oid = arena_copy(&refs->arena, oid);
	if (ref.name.len != name.len || ref.oid.len != oid.len) {
		refs->is_partial = true;
		return;
	}
	refs->items[refs->count++] = ref;
}

void git_refs_add_tip(struct git_refs *refs, struct bytes oid)
{
	size_t size = refs->tip_size ? refs->tip_size * 2 : REFS_SIZE_MIN;
	struct bytes *tips = refs->tips;
	struct bytes copy;

	refs->is_whole = false;
	if (refs->tip_count == GIT_REFS_MAX)
		return;
	if (refs->tip_count == refs->tip_size) {
		tips = realloc(tips, size * sizeof(*tips));
		if (!tips)
			return;
		refs->tips = tips;
		refs->tip_size = size;
	}
	copy = arena_copy(&refs->arena, oid);
	if (copy.len == oid.len)
		tips[refs->tip_count++] = copy;
}

static int compare_names(struct bytes a, struct bytes b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = memcmp(a.data, b.data, len);

	if (order != 0)
		return order;
	return (a.len > b.len) - (a.len < b.len);
}

static int compare_refs(const void *a, const void *b)
{
	const struct git_ref *left = a, *right = b;

	return compare_names(left->name, right->name);
}

static int compare_tips(const void *a, const void *b)
{
	const struct bytes *left = a, *right = b;

	return compare_names(*left, *right);
}

static void sort_tips(struct git_refs *refs)
{
	size_t kept = 0;

	if (refs->tip_count == 0)
		return;
	qsort(refs->tips, refs->tip_count, sizeof(*refs->tips), compare_tips);
	for (size_t i = 0; i < refs->tip_count; i++)
		if (kept == 0 ||
		    !bytes_equal(refs->tips[kept - 1], refs->tips[i]))
			refs->tips[kept++] = refs->tips[i];
	refs->tip_count = kept;
}

bool git_refs_is_tip(const struct git_refs *refs, struct bytes oid)
{
	return refs->is_whole && refs->tip_count > 0 &&
	       bsearch(&oid, refs->tips, refs->tip_count, sizeof(*refs->tips),
		       compare_tips);
}

int git_refs_seal(struct git_refs *refs)
{
	sort_tips(refs);
	if (refs->count > 0)
		qsort(refs->items, refs->count, sizeof(*refs->items),
		      compare_refs);
	for (size_t i = 1; i < refs->count; i++)
		if (bytes_equal(refs->items[i - 1].name, refs->items[i].name))
			return -1;
	refs->is_whole = true;
	return 0;
}

const struct git_ref *git_refs_find(const struct git_refs *refs,
				    struct bytes name)
{
	struct git_ref key = {.name = name};

	if (!refs->is_whole || refs->count == 0 || name.len == 0)
		return NULL;
	return bsearch(&key, refs->items, refs->count, sizeof(*refs->items),
		       compare_refs);
}

bool git_ref_may_write(const struct policy_repo *repo, struct bytes ref)
{
	static const enum push_verb verbs[] = {PUSH_CREATE, PUSH_FAST_FORWARD,
					       PUSH_REWRITE, PUSH_DELETE};

	if (!ref_is_valid(ref))
		return false;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		struct push_facts facts = {.ref = ref, .verb = verbs[i]};
		bool needs_proof = false;

		if (decide_push(repo, &facts, &needs_proof).kind ==
		    VERDICT_ALLOW)
			return true;
	}
	return false;
}

bool git_oid_is_valid(struct bytes oid, size_t len)
{
	if (len == 0 ? oid.len != 40 && oid.len != 64 : oid.len != len)
		return false;
	for (size_t i = 0; i < oid.len; i++) {
		uint8_t c = oid.data[i];

		if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
			return false;
	}
	return true;
}

bool git_oid_is_zero(struct bytes oid)
{
	for (size_t i = 0; i < oid.len; i++)
		if (oid.data[i] != '0')
			return false;
	return oid.len > 0;
}
