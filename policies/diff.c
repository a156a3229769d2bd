#include "policies/diff.h"

#include "common/buf.h"
#include "common/cleanup.h"

/* One comparison: where its changes go. */
struct compare {
	struct arena *arena;
	struct policy_diff *out;
	struct policy_change **end;
	bool is_full; /* no memory, or too many */
};

static void compare_nodes(struct compare *compare, struct bytes where,
			  const struct text_node *before,
			  const struct text_node *after);

const char *policy_change_name(enum policy_change_kind kind)
{
	static const char *const names[CHANGE_MAX] = {
		[CHANGE_ADDED] = "added",
		[CHANGE_REMOVED] = "removed",
		[CHANGE_CHANGED] = "changed",
		[CHANGE_MOVED] = "moved",
	};

	return names[kind];
}

/* ---- a node in one line ---- */

static int write_node(const struct text_node *node, struct buf *out)
{
	bool is_map = node->kind == TEXT_MAP;

	if (node->kind == TEXT_SCALAR)
		return buf_add(out, node->value);
	if (buf_add_str(out, is_map ? "{" : "[") < 0)
		return -1;
	for (const struct text_node *item = node->first; item;
	     item = item->next) {
		if (item != node->first && buf_add_str(out, ", ") < 0)
			return -1;
		if (is_map &&
		    (buf_add(out, item->key) < 0 || buf_add_str(out, ": ") < 0))
			return -1;
		if (write_node(item, out) < 0)
			return -1;
	}
	return buf_add_str(out, is_map ? "}" : "]");
}

static struct bytes text_of(struct compare *compare,
			    const struct text_node *node)
{
	static const char cut[] = "...";
	auto_type(buf_release) struct buf out = {0};
	struct bytes text;

	if (!node)
		return bytes_str("");
	buf_init(&out, POLICY_DIFF_VALUE_MAX);
	if (write_node(node, &out) == 0)
		return arena_copy(compare->arena, buf_view(&out));
	text = bytes_slice(buf_view(&out), 0,
			   POLICY_DIFF_VALUE_MAX - sizeof(cut));
	return bytes_str(
		arena_format(compare->arena, "%.*s%s", BYTES_ARGS(text), cut));
}

/* ---- changes ---- */

static void tell(struct compare *compare, enum policy_change_kind kind,
		 struct bytes where, const struct text_node *before,
		 const struct text_node *after)
{
	struct policy_change *change =
		compare->out->count < POLICY_CHANGES_MAX
			? arena_alloc(compare->arena, sizeof(*change))
			: NULL;

	if (!change) {
		compare->is_full = true;
		return;
	}
	*change = (struct policy_change){
		.kind = kind,
		.where = where,
		.before = text_of(compare, before),
		.after = text_of(compare, after),
	};
	*compare->end = change;
	compare->end = &change->next;
	compare->out->count++;
}

static struct bytes below(struct compare *compare, struct bytes where,
			  struct bytes key)
{
	const char *text =
		arena_format(compare->arena, "%.*s%s%.*s", BYTES_ARGS(where),
			     where.len ? "." : "", BYTES_ARGS(key));

	return bytes_str(text);
}

/* ---- maps ---- */

static const struct text_node *with_key(const struct text_node *map,
					struct bytes key)
{
	for (const struct text_node *item = map->first; item; item = item->next)
		if (bytes_equal(item->key, key))
			return item;
	return NULL;
}

static void compare_maps(struct compare *compare, struct bytes where,
			 const struct text_node *before,
			 const struct text_node *after)
{
	const struct text_node *item, *other;

	for (item = before->first; item; item = item->next) {
		struct bytes at = below(compare, where, item->key);

		other = with_key(after, item->key);
		if (other)
			compare_nodes(compare, at, item, other);
		else
			tell(compare, CHANGE_REMOVED, at, item, NULL);
	}
	for (item = after->first; item; item = item->next)
		if (!with_key(before, item->key))
			tell(compare, CHANGE_ADDED,
			     below(compare, where, item->key), NULL, item);
}

/* ---- lists ---- */

/* What an entry is called: a scalar by itself, a map by its name, its
 * repository or its pointer; the others by their place. */
static struct bytes label_of(struct compare *compare,
			     const struct text_node *entry, size_t place)
{
	static const char *const keys[] = {"name", "repo", "pointer"};

	if (entry->kind == TEXT_SCALAR)
		return entry->value;
	for (size_t i = 0; entry->kind == TEXT_MAP && i < ARRAY_SIZE(keys);
	     i++) {
		const struct text_node *name = text_child(entry, keys[i]);

		if (name && name->kind == TEXT_SCALAR)
			return name->value;
	}
	return bytes_str(arena_format(compare->arena, "%zu", place));
}

struct entry {
	struct bytes label;
	const struct text_node *node;
	bool is_matched;
};

static struct entry *entries_of(struct compare *compare,
				const struct text_node *list)
{
	struct entry *entries =
		arena_array(compare->arena, list->count + 1, sizeof(*entries));
	size_t i = 0;

	if (!entries) {
		compare->is_full = true;
		return NULL;
	}
	for (const struct text_node *node = list->first; node;
	     node = node->next, i++)
		entries[i] = (struct entry){.label = label_of(compare, node, i),
					    .node = node};
	return entries;
}

/* The first of that label that is not matched yet; count: there is none. */
static size_t find_entry(const struct entry *entries, size_t count,
			 struct bytes label)
{
	size_t i = 0;

	while (i < count &&
	       (entries[i].is_matched || !bytes_equal(entries[i].label, label)))
		i++;
	return i;
}

/* Rules are read from top to bottom, and presets in their order. */
static bool order_counts(struct bytes where)
{
	return bytes_is(where, "network.rules") || bytes_is(where, "extends");
}

static void tell_entry(struct compare *compare, enum policy_change_kind kind,
		       struct bytes where, const struct entry *entry)
{
	bool is_added = kind == CHANGE_ADDED;
	struct bytes at = where;

	if (entry->node->kind != TEXT_SCALAR)
		at = bytes_str(arena_format(compare->arena, "%.*s[%.*s]",
					    BYTES_ARGS(where),
					    BYTES_ARGS(entry->label)));
	tell(compare, kind, at, is_added ? NULL : entry->node,
	     is_added ? entry->node : NULL);
}

/* Entries of both are compared; returns whether they stand in one order. */
static bool match_entries(struct compare *compare, struct bytes where,
			  struct entry *old, size_t old_count,
			  struct entry *new, size_t new_count)
{
	size_t reached = 0;
	bool in_order = true;

	for (size_t i = 0; i < old_count; i++) {
		size_t at = find_entry(new, new_count, old[i].label);

		if (at == new_count)
			continue;
		old[i].is_matched = true;
		new[at].is_matched = true;
		in_order = in_order && at >= reached;
		reached = at;
		compare_nodes(
			compare,
			bytes_str(arena_format(compare->arena, "%.*s[%.*s]",
					       BYTES_ARGS(where),
					       BYTES_ARGS(old[i].label))),
			old[i].node, new[at].node);
	}
	return in_order;
}

static void compare_lists(struct compare *compare, struct bytes where,
			  const struct text_node *before,
			  const struct text_node *after)
{
	struct entry *old = entries_of(compare, before);
	struct entry *new = entries_of(compare, after);

	if (!old || !new)
		return;
	if (!match_entries(compare, where, old, before->count, new,
			   after->count) &&
	    order_counts(where))
		tell(compare, CHANGE_MOVED, where, before, after);
	for (size_t i = 0; i < before->count; i++)
		if (!old[i].is_matched)
			tell_entry(compare, CHANGE_REMOVED, where, &old[i]);
	for (size_t i = 0; i < after->count; i++)
		if (!new[i].is_matched)
			tell_entry(compare, CHANGE_ADDED, where, &new[i]);
}

/* ---- all ---- */

static void compare_nodes(struct compare *compare, struct bytes where,
			  const struct text_node *before,
			  const struct text_node *after)
{
	if (compare->is_full)
		return;
	if (before->kind != after->kind)
		tell(compare, CHANGE_CHANGED, where, before, after);
	else if (before->kind == TEXT_MAP)
		compare_maps(compare, where, before, after);
	else if (before->kind == TEXT_LIST)
		compare_lists(compare, where, before, after);
	else if (!bytes_equal(before->value, after->value))
		tell(compare, CHANGE_CHANGED, where, before, after);
}

int policy_diff(struct bytes before, struct bytes after, struct arena *arena,
		struct policy_diff *out, struct err *err)
{
	struct policy_errors errors = {.file = "policy"};
	const struct text_source sources[] = {
		{before, "before", &errors},
		{after, "after", &errors},
	};
	const struct text_node *old = text_parse(&sources[0], arena);
	const struct text_node *new = text_parse(&sources[1], arena);
	struct compare compare = {
		.arena = arena, .out = out, .end = &out->first};

	*out = (struct policy_diff){0};
	if (!old || !new)
		return err_set(err, ERR_INVALID, "compare policies: not YAML");
	compare_nodes(&compare, bytes_str(""), old, new);
	if (compare.is_full)
		return err_set(err, ERR_TOO_LARGE,
			       "compare policies: they differ too much");
	return 0;
}
