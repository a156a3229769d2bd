/* Ignore files: read where they are in the workspace, and what they name is
 * hidden. Their rules are those of the start. */
#include "sandbox-host/plan_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/walk.h"

#define ENTRIES_MAX 1000000
#define KINDS_MAX   32

struct search {
	struct plan *plan;
	const struct sandbox_spec *spec;
	unsigned faults; /* lines that are no pattern */
};

static bool is_closed(const char *dir)
{
	return faccessat(AT_FDCWD, dir, X_OK, AT_EACCESS) < 0;
}

/* The text of dir/name in arena; empty when there is no such file. It may
 * be no link, which could lead to a file of the host's. */
static int read_text(struct plan *plan, const char *dir, const char *name,
		     struct bytes *text, struct err *err)
{
	const char *path = plan_format(plan, err, "%s/%s", dir, name);
	auto_fd int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
						   O_NONBLOCK | O_NOCTTY)
			      : -1;
	struct stat st;
	uint8_t *data;
	ssize_t len;

	*text = bytes_from(NULL, 0);
	if (!path)
		return -1;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	/* The walk comes to that. */
	if (fd < 0 && errno == EACCES && is_closed(dir))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_system(err, "ignore file %s", path);
	if (!S_ISREG(st.st_mode) || st.st_size > IGNORE_TEXT_MAX)
		return err_set(err, ERR_INVALID,
			       "ignore file %s: no file, or a large one", path);
	data = arena_alloc(&plan->arena, IGNORE_TEXT_MAX);
	len = data ? read(fd, data, IGNORE_TEXT_MAX) : -1;
	if (len < 0)
		return err_system(err, "ignore file %s", path);
	*text = bytes_from(data, (size_t)len);
	return 0;
}

static int read_files(struct search *search, const char *dir, struct err *err)
{
	const struct sandbox_paths *names = &search->spec->ignore_files;

	for (size_t i = 0; i < names->count; i++) {
		struct bytes text;

		if (read_text(search->plan, dir, names->items[i], &text, err) <
			    0 ||
		    ignore_add(search->plan->ignore, dir, (unsigned)i, text,
			       &search->faults, err) < 0)
			return -1;
	}
	return 0;
}

static enum walk_answer on_entry(void *owner, const struct walk_entry *entry,
				 struct err *err)
{
	struct search *search = owner;

	if (ignore_hides(search->plan->ignore, entry->path,
			 entry->is_directory))
		return plan_hide_real(search->plan, entry->path,
				      ignore_is_anywhere(
					      search->plan->ignore,
					      search->plan->workspace,
					      entry->name, entry->is_directory),
				      err) < 0
			       ? WALK_FAIL
			       : WALK_SKIP;
	/* Into .git as well, or what is hidden would be moved to one. */
	if (!entry->is_directory)
		return WALK_SKIP;
	return read_files(search, entry->path, err) < 0 ? WALK_FAIL : WALK_INTO;
}

static int on_closed(void *owner, const char *path, struct err *err)
{
	const struct search *search = owner;

	return plan_refuse_closed(search->plan, path, err);
}

int plan_ignores(struct plan *plan, const struct sandbox_spec *spec,
		 struct err *err)
{
	struct search search = {plan, spec, 0};
	struct walk walk = {.entries_max = ENTRIES_MAX,
			    .depth_max = WALK_DEPTH_MAX,
			    .on_entry = on_entry,
			    .on_closed = on_closed,
			    .owner = &search};

	if (spec->ignore_files.count == 0)
		return 0;
	if (spec->ignore_files.count > KINDS_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "ignore files: more than %d names", KINDS_MAX);
	plan->ignore = arena_alloc(&plan->arena, sizeof(*plan->ignore));
	if (!plan->ignore)
		return err_set(err, ERR_TOO_LARGE, "plan: no memory");
	plan->watches_reads = true;
	if (read_files(&search, plan->workspace, err) < 0 ||
	    walk_tree(&walk, plan->workspace, err) < 0)
		return -1;
	if (walk.is_cut)
		return err_set(err, ERR_TOO_LARGE,
			       "ignore files: the workspace is too large to be "
			       "looked through");
	if (search.faults)
		plan_note(plan, "ignore files: some lines are no patterns and "
				"hide nothing");
	return 0;
}
