#include "gateway/packcheck/tree.h"

#define MODE_TREE    0040000u
#define MODE_FILE    0100644u
#define MODE_PROGRAM 0100755u
#define MODE_GROUP   0100664u /* of git's first years */
#define MODE_SYMLINK 0120000u
#define MODE_COMMIT  0160000u
#define MODE_LEN_MAX 6

bool tree_entry_is_tree(const struct tree_entry *entry)
{
	return entry->mode == MODE_TREE;
}

bool tree_entry_is_link(const struct tree_entry *entry)
{
	return entry->mode == MODE_SYMLINK || entry->mode == MODE_COMMIT;
}

/* The byte at `at` of the name as git orders it. */
static int order_at(const struct tree_entry *entry, size_t at)
{
	if (at < entry->name.len)
		return entry->name.data[at];
	return at == entry->name.len && tree_entry_is_tree(entry) ? '/' : 0;
}

int tree_entry_compare(const struct tree_entry *a, const struct tree_entry *b)
{
	size_t len = a->name.len < b->name.len ? a->name.len : b->name.len;
	int order = memcmp(a->name.data, b->name.data, len);

	if (order != 0)
		return order;
	order = order_at(a, len) - order_at(b, len);
	if (order != 0 || a->name.len == b->name.len)
		return order;
	return a->name.len < b->name.len ? -1 : 1;
}

void tree_begin(struct tree_reader *reader, struct bytes tree)
{
	*reader = (struct tree_reader){.rest = tree};
}

static int broken(struct tree_reader *reader, const char *fault)
{
	reader->fault = fault;
	return -1;
}

static int read_mode(struct tree_reader *reader, struct bytes text,
		     uint32_t *mode)
{
	if (text.len == 0 || text.len > MODE_LEN_MAX)
		return broken(reader, "a mode that is none");
	if (text.data[0] == '0')
		return broken(reader, "a mode with a zero before it");
	*mode = 0;
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] < '0' || text.data[i] > '7')
			return broken(reader, "a mode that is no number");
		*mode = *mode << 3 | (uint32_t)(text.data[i] - '0');
	}
	switch (*mode) {
	case MODE_TREE:
	case MODE_FILE:
	case MODE_PROGRAM:
	case MODE_GROUP:
	case MODE_SYMLINK:
	case MODE_COMMIT:
		return 0;
	default:
		return broken(reader, "a mode that is none of git's");
	}
}

static int check_name(struct tree_reader *reader, struct bytes name)
{
	if (name.len == 0)
		return broken(reader, "an entry without a name");
	if (name.len > TREE_NAME_MAX)
		return broken(reader, "a name that is too long");
	if (bytes_find(name, '/', 0) >= 0)
		return broken(reader, "a name with a slash in it");
	return 0;
}

/* One name as a file and as a tree: between them there may stand others
 * ("a", "a-b", "a/"), all of which begin with it. */
static int check_twins(struct tree_reader *reader,
		       const struct tree_entry *entry)
{
	while (reader->file_count > 0 &&
	       !bytes_starts_with(entry->name,
				  reader->files[reader->file_count - 1]))
		reader->file_count--;
	if (!tree_entry_is_tree(entry)) {
		if (reader->file_count == TREE_ALIKE_MAX)
			return broken(reader, "names that are too much alike");
		reader->files[reader->file_count++] = entry->name;
		return 0;
	}
	for (size_t i = 0; i < reader->file_count; i++)
		if (bytes_equal(reader->files[i], entry->name))
			return broken(reader, "a name that is there twice");
	return 0;
}

static int check_order(struct tree_reader *reader,
		       const struct tree_entry *entry)
{
	const struct tree_entry *last = &reader->last;

	if (last->mode != 0) {
		int order = tree_entry_compare(last, entry);

		if (order == 0 || bytes_equal(last->name, entry->name))
			return broken(reader, "a name that is there twice");
		if (order > 0)
			return broken(reader, "entries out of order");
	}
	reader->last = *entry;
	return check_twins(reader, entry);
}

int tree_next(struct tree_reader *reader, struct tree_entry *entry)
{
	struct bytes rest = reader->rest, mode, name;

	if (reader->fault)
		return -1;
	if (rest.len == 0)
		return 0;
	if (!bytes_split(&rest, ' ', &mode) ||
	    !bytes_split(&rest, '\0', &name) || rest.len < GIT_OID_RAWSZ)
		return broken(reader, "an entry that is cut short");
	entry->name = name;
	if (read_mode(reader, mode, &entry->mode) < 0 ||
	    check_name(reader, name) < 0 || check_order(reader, entry) < 0)
		return -1;
	memcpy(entry->oid.id, rest.data, GIT_OID_RAWSZ);
	reader->rest = bytes_slice(rest, GIT_OID_RAWSZ, rest.len);
	return 1;
}
