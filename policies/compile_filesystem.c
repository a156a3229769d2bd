#include <limits.h>

#include "common/cleanup.h"
#include "policies/compile.h"
#include "policies/glob.h"

struct filesystem_nodes {
	const struct text_node *workspace, *read, *write, *hide, *protect,
		*ignore_files;
};

struct workspace_nodes {
	const struct text_node *path, *mode;
};

/* Where it leads is the sandbox's to find out; here only what it may look
 * like. */
static bool path_item(struct reader *reader, const struct text_node *node,
		      void *item)
{
	static const char *const starts[] = {"/", "./", "../", "~/", "**/"};
	static const char *const wholes[] = {".", "..", "~"};
	struct bytes path;
	bool fits = false;

	if (!reader_word(reader, node, &path))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		fits |= bytes_starts_with(path, bytes_str(starts[i]));
	for (size_t i = 0; i < ARRAY_SIZE(wholes); i++)
		fits |= bytes_is(path, wholes[i]);
	if (!fits)
		return reader_error(reader, node,
				    "a path starts with \"/\", \"~/\", \"./\" "
				    "or \"**/\"");
	memcpy(item, &path, sizeof(path));
	return true;
}

/* A path that may stand for many. What could not be enforced is an error
 * here, not when a sandbox starts. */
static bool glob_item(struct reader *reader, const struct text_node *node,
		      void *item)
{
	struct glob_fault fault;
	struct bytes path, rest, component;
	bool more = true;

	if (!path_item(reader, node, &path))
		return false;
	if (glob_check(path, &fault) < 0)
		return reader_error(reader, node, "%s", fault.why);
	for (rest = path; more;) {
		more = bytes_split(&rest, '/', &component);
		if (bytes_is(component, ".."))
			return reader_error(reader, node,
					    "no \"..\" in such a path");
	}
	memcpy(item, &path, sizeof(path));
	return true;
}

static bool name_item(struct reader *reader, const struct text_node *node,
		      void *item)
{
	struct bytes name;

	if (!reader_word(reader, node, &name))
		return false;
	if (name.len == 0 || name.len > NAME_MAX ||
	    bytes_find(name, '/', 0) >= 0 || bytes_is(name, ".") ||
	    bytes_is(name, ".."))
		return reader_error(reader, node,
				    "the name of a file, without a path");
	memcpy(item, &name, sizeof(name));
	return true;
}

static void read_workspace(struct compile *compile,
			   const struct text_node *node,
			   struct policy_filesystem *filesystem)
{
	static const struct reader_field fields[] = {
		{"path", reader_keep, offsetof(struct workspace_nodes, path)},
		{"mode", reader_keep, offsetof(struct workspace_nodes, mode)},
	};
	static const struct choice choices[] = {
		{"write", WORKSPACE_WRITE},
		{"read", WORKSPACE_READ},
		{"overlay", WORKSPACE_OVERLAY},
	};
	struct workspace_nodes nodes = {NULL, NULL};
	int mode = WORKSPACE_WRITE;

	if (!reader_map(&compile->reader, node, fields, ARRAY_SIZE(fields),
			&nodes))
		return;
	if (nodes.path)
		(void)path_item(&compile->reader, nodes.path,
				&filesystem->workspace);
	if (nodes.mode)
		(void)reader_choice(&compile->reader, nodes.mode, choices,
				    ARRAY_SIZE(choices), &mode);
	filesystem->workspace_mode = (enum policy_workspace_mode)mode;
}

static void read_list(struct compile *compile, const struct text_node *node,
		      reader_item_fn *item, struct policy_strings *list)
{
	if (node)
		(void)reader_strings(&compile->reader, node, item, list);
}

void compile_filesystem(struct compile *compile, const struct text_node *node)
{
	static const struct reader_field fields[] = {
		{"workspace", reader_keep,
		 offsetof(struct filesystem_nodes, workspace)},
		{"read", reader_keep, offsetof(struct filesystem_nodes, read)},
		{"write", reader_keep,
		 offsetof(struct filesystem_nodes, write)},
		{"hide", reader_keep, offsetof(struct filesystem_nodes, hide)},
		{"protect", reader_keep,
		 offsetof(struct filesystem_nodes, protect)},
		{"ignore-files", reader_keep,
		 offsetof(struct filesystem_nodes, ignore_files)},
	};
	static const struct bytes here = BYTES_LITERAL(".");
	struct policy_filesystem *filesystem = &compile->policy->filesystem;
	struct filesystem_nodes nodes = {NULL, NULL, NULL, NULL, NULL, NULL};

	filesystem->workspace = here;
	if (!node || !reader_map(&compile->reader, node, fields,
				 ARRAY_SIZE(fields), &nodes))
		return;
	if (nodes.workspace)
		read_workspace(compile, nodes.workspace, filesystem);
	filesystem->has_read = nodes.read != NULL;
	read_list(compile, nodes.read, path_item, &filesystem->read);
	read_list(compile, nodes.write, path_item, &filesystem->write);
	read_list(compile, nodes.hide, glob_item, &filesystem->hide);
	read_list(compile, nodes.protect, glob_item, &filesystem->protect);
	read_list(compile, nodes.ignore_files, name_item,
		  &filesystem->ignore_files);
}
