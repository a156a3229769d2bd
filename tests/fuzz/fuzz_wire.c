/*
 * wire_decode() on any bytes. What it accepts must lie within its bounds and
 * encode to the same bytes again; the memory it takes is bounded by what
 * really arrived.
 */
#include <assert.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/wire.h"

struct leaf {
	struct bytes text;
	uint16_t number;
};
static const struct wire_field leaf_fields[] = {
	WIRE_TEXT(struct leaf, text, 64),
	WIRE_U16(struct leaf, number),
};
static const struct wire_schema leaf_schema =
	WIRE_SCHEMA("leaf", struct leaf, leaf_fields);

struct branch {
	bool flag;
	struct leaf *leaves;
	size_t leaves_count;
};
static const struct wire_field branch_fields[] = {
	WIRE_BOOL(struct branch, flag),
	WIRE_LIST(struct branch, leaves, 1000, &leaf_schema),
};
static const struct wire_schema branch_schema =
	WIRE_SCHEMA("branch", struct branch, branch_fields);

struct tree {
	uint8_t kind;
	uint32_t small;
	uint64_t large;
	struct bytes raw;
	struct branch *branches;
	size_t branches_count;
};
static const struct wire_field tree_fields[] = {
	WIRE_ENUM(struct tree, kind, 5),
	WIRE_FIELD(struct tree, small, WIRE_KIND_U32, 1000),
	WIRE_U64(struct tree, large),
	WIRE_BYTES(struct tree, raw, 300),
	WIRE_LIST(struct tree, branches, 100000, &branch_schema),
};
static const struct wire_schema tree_schema =
	WIRE_SCHEMA("tree", struct tree, tree_fields);

static void check_view(struct bytes view, size_t max, struct bytes all)
{
	assert(view.len <= max);
	assert(view.data >= all.data &&
	       view.data + view.len <= all.data + all.len);
}

static void check_tree(const struct tree *tree, struct bytes all)
{
	assert(tree->kind < 5 && tree->small < 1000);
	check_view(tree->raw, 300, all);
	assert(tree->branches_count <= 100000);
	for (size_t i = 0; i < tree->branches_count; i++) {
		const struct branch *branch = &tree->branches[i];

		assert(branch->leaves_count <= 1000);
		for (size_t k = 0; k < branch->leaves_count; k++) {
			check_view(branch->leaves[k].text, 64, all);
			assert(wire_is_text(branch->leaves[k].text));
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf again;
	struct bytes all = bytes_from(data, size);
	struct tree tree;
	struct err err = {0};
	int decoded;

	arena_init(&arena, 1 << 24);
	buf_init(&again, size);
	decoded = wire_decode(&tree_schema, all, &arena, &tree, &err);
	assert(arena.used <= 16 * size + 64);
	if (decoded < 0) {
		assert(err.code == ERR_INVALID || err.code == ERR_TOO_LARGE);
		return 0;
	}
	check_tree(&tree, all);
	if (wire_encode(&tree_schema, &tree, &again, &err) < 0)
		abort();
	assert(bytes_equal(buf_view(&again), all));
	return 0;
}
