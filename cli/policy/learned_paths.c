/*
 * Paths that differ in one segment, made one.
 */
#include <stdlib.h>

#include "cli/policy/learned.h"

/* Which segment is looked at: data of qsort_r(). */
struct place {
	unsigned segment;
};

/* A path cut at a segment: before and after it. has: it is there, with
 * something in it. */
struct cut {
	struct bytes before, segment, after;
	bool has;
};

static struct cut cut_at(struct bytes path, unsigned segment)
{
	struct cut cut = {.before = path};
	size_t from = 1;
	ptrdiff_t slash = 0;

	for (unsigned i = 0; i < segment; i++) {
		slash = bytes_find(path, '/', from);
		if (slash < 0)
			return cut;
		from = (size_t)slash + 1;
	}
	slash = bytes_find(path, '/', from);
	cut.before = bytes_slice(path, 0, from);
	cut.segment =
		bytes_slice(path, from, slash < 0 ? path.len : (size_t)slash);
	cut.after = bytes_slice(path, from + cut.segment.len, path.len);
	cut.has = cut.segment.len > 0;
	return cut;
}

static int compare(struct bytes a, struct bytes b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len ? memcmp(a.data, b.data, len) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Siblings stand beside each other; paths that are too short come first. */
static int compare_cuts(const struct cut *a, const struct cut *b)
{
	int order = a->has - b->has;

	if (order == 0)
		order = compare(a->before, b->before);
	return order ? order : compare(a->after, b->after);
}

static int by_place(const void *a, const void *b, void *owner)
{
	const struct learned_path *one = a;
	const struct learned_path *two = b;
	const struct place *place = owner;
	struct cut first = cut_at(one->text, place->segment);
	struct cut second = cut_at(two->text, place->segment);
	int order = compare_cuts(&first, &second);

	return order ? order : compare(one->text, two->text);
}

static int by_text(const void *a, const void *b)
{
	return compare(((const struct learned_path *)a)->text,
		       ((const struct learned_path *)b)->text);
}

struct generaliser {
	struct arena *arena;
	learned_free_fn *is_free;
	void *owner;
	bool has_changed;
};

/* One path for a run of siblings, written over the first. Returns how many
 * are left of them; -1: memory is out. */
static ptrdiff_t join(struct generaliser *of, struct learned_path *run,
		      size_t count, unsigned segment)
{
	struct cut cut = cut_at(run[0].text, segment);
	size_t seen = 0;
	char *text;

	if (!cut.has || count <= LEARNED_SIBLINGS_MAX)
		return (ptrdiff_t)count;
	text = arena_format(of->arena, "%.*s*%.*s", BYTES_ARGS(cut.before),
			    BYTES_ARGS(cut.after));
	if (!text)
		return -1;
	if (!of->is_free(bytes_str(text), of->owner))
		return (ptrdiff_t)count;
	for (size_t i = 0; i < count; i++)
		seen += run[i].seen;
	run[0].text = bytes_str(text);
	run[0].seen = seen;
	of->has_changed = true;
	return 1;
}

static size_t run_length(const struct learned_path *paths, size_t count,
			 unsigned segment)
{
	struct cut first = cut_at(paths[0].text, segment);
	size_t len = 1;

	while (len < count) {
		struct cut next = cut_at(paths[len].text, segment);

		if (compare_cuts(&first, &next) != 0)
			break;
		len++;
	}
	return len;
}

static ptrdiff_t join_at(struct generaliser *of, struct learned_path *paths,
			 size_t count, unsigned segment)
{
	struct place place = {segment};
	size_t kept = 0;

	qsort_r(paths, count, sizeof(*paths), by_place, &place);
	for (size_t at = 0; at < count;) {
		size_t len = run_length(paths + at, count - at, segment);
		ptrdiff_t left = join(of, paths + at, len, segment);

		if (left < 0)
			return -1;
		memmove(paths + kept, paths + at,
			(size_t)left * sizeof(*paths));
		kept += (size_t)left;
		at += len;
	}
	return (ptrdiff_t)kept;
}

ptrdiff_t learned_generalise(struct learned_path *paths, size_t count,
			     struct arena *arena, learned_free_fn *is_free,
			     void *owner)
{
	struct generaliser of = {arena, is_free, owner, true};
	ptrdiff_t left = (ptrdiff_t)count;

	/* Each round that changes something leaves fewer. */
	while (of.has_changed && left > LEARNED_SIBLINGS_MAX) {
		of.has_changed = false;
		for (unsigned i = LEARNED_SEGMENTS_MAX; i > 0 && left > 0; i--)
			left = join_at(&of, paths, (size_t)left, i - 1);
	}
	if (left > 0)
		qsort(paths, (size_t)left, sizeof(*paths), by_text);
	return left;
}
