/*
 * A workspace that is a git worktree: its repository is elsewhere, and git
 * writes there. Whoever wrote the workspace's files chose what its .git
 * says, so it counts only if the repository says the same.
 */
#include "sandbox-host/plan_parts.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

/* The one line of a small file, without prefix and line feed. False: it is
 * no such file. */
static bool read_line(const char *path, const char *prefix, char out[PATH_MAX])
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
					    O_NONBLOCK | O_NOCTTY);
	char text[PATH_MAX];
	size_t skip = strlen(prefix);
	struct stat st;
	ssize_t len;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	len = read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false;
	text[len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (strncmp(text, prefix, skip) != 0 || !text[skip])
		return false;
	memcpy(out, text + skip, strlen(text + skip) + 1);
	return true;
}

/* Where the path that stands in dir/file leads; NULL: nowhere, *closed then
 * what keeps us from it, or NULL. */
static const char *follow(struct plan *plan, const char *dir, const char *file,
			  const char *prefix, const char **closed)
{
	char text[PATH_MAX];
	struct plan_end end;
	struct err err;
	const char *path = plan_format(plan, &err, "%s/%s", dir, file);

	*closed = NULL;
	if (!path || !read_line(path, prefix, text))
		return NULL;
	path = text[0] == '/' ? plan_format(plan, &err, "%s", text)
			      : plan_format(plan, &err, "%s/%s", dir, text);
	if (!path || plan_follow(plan, path, &end, &err) < 0)
		return NULL;
	*closed = end.closed;
	return end.exists ? end.path : NULL;
}

const char *plan_git_file(struct plan *plan, const char *dir,
			  const char **closed)
{
	return follow(plan, dir, ".git", "gitdir: ", closed);
}

static bool is_ours(const struct plan *plan, const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == plan->identity.uid;
}

int plan_worktree(struct plan *plan, struct err *err)
{
	const char *file = plan_format(plan, err, "%s/.git", plan->workspace);
	const char *own, *back, *common, *trees, *closed;

	if (!file)
		return -1;
	own = plan_git_file(plan, plan->workspace, &closed);
	if (!own || plan_is_within(own, plan->workspace))
		return 0;
	back = follow(plan, own, "gitdir", "", &closed);
	common = follow(plan, own, "commondir", "", &closed);
	trees = common ? plan_format(plan, err, "%s/worktrees", common) : NULL;
	if (back && trees && !strcmp(back, file) &&
	    plan_is_within(own, trees) && is_ours(plan, common) &&
	    !plan_is_within(plan->workspace, common)) {
		plan->repository = common;
		return 0;
	}
	plan_note(plan, "the workspace's .git names a directory outside of it "
			"that does not name it back: git will not work");
	return 0;
}
