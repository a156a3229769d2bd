/*
 * What a program inside must not write, since somebody outside would run it
 * later: hooks, shell start-up files, settings of editors and agents. What
 * exists becomes a read-only mount; names that do not exist yet are guarded
 * by the reporter (notify.h).
 */
#include "sandbox-host/plan_parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "sandbox-host/pattern.h"
#include "sandbox-host/walk.h"

#define NESTED_DEPTH_MAX   4
#define NESTED_ENTRIES_MAX 20000

static const char *const names[] = {
	".bashrc",
	".bash_profile",
	".bash_login",
	".bash_logout",
	".bash_aliases",
	".profile",
	".zshrc",
	".zshenv",
	".zprofile",
	".zlogin",
	".zlogout",
	".kshrc",
	".cshrc",
	".tcshrc",
	".login",
	".inputrc",
	".config/fish",
	".gitconfig",
	".config/git",
	".vimrc",
	".exrc",
	".nvimrc",
	".config/nvim",
	".emacs",
	".emacs.d",
	".gdbinit",
	".lldbinit",
	".envrc",
	".direnv",
	".vscode",
	".idea",
	".zed",
	".fleet",
	".devcontainer",
	".claude",
	".cursor",
	".codex",
	".gemini",
	".windsurf",
	".continue",
	".mcp.json",
	".cursorrules",
	".windsurfrules",
	".aider.conf.yml",
	".config/autostart",
	".config/systemd",
	".local/bin",
	".pam_environment",
	".ssh",
	".xprofile",
	".xinitrc",
	".xsession",
	".xsessionrc",
};

/* commondir: git takes config and hooks from where it points. */
static const char *const git_names[] = {"hooks", "config", "config.worktree",
					"commondir"};

static int add_path(struct plan *plan, enum plan_kind kind, const char *path,
		    struct err *err)
{
	return plan_add(plan, (struct plan_step){.kind = kind, .target = path},
			err);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int add_protect(struct plan *plan, const char *path, struct err *err)
{
	return plan_pin_above(plan, path, err) < 0
		       ? -1
		       : add_path(plan, PLAN_PROTECT, path, err);
}

static bool is_open_to_it(const struct plan *plan, const char *path)
{
	return plan_is_writable(plan, path) && !plan_is_hidden(plan, path);
}

/* Protect one absolute name, and what it leads to, if it could be written. */
static int protect(struct plan *plan, const char *path, struct err *err)
{
	struct plan_end end;
	bool is_open = is_open_to_it(plan, path);

	if (is_open && add_path(plan, PLAN_GUARD, path, err) < 0)
		return -1;
	if (plan_follow(plan, path, &end, err) < 0)
		return -1;
	if (end.closed)
		return plan_refuse_closed(plan, end.closed, err);
	if (strcmp(end.path, path) != 0) {
		is_open = is_open_to_it(plan, end.path);
		if (is_open && add_path(plan, PLAN_GUARD, end.path, err) < 0)
			return -1;
	}
	return is_open && end.exists ? add_protect(plan, end.path, err) : 0;
}

static int protect_in(struct plan *plan, const char *tree, const char *name,
		      struct err *err)
{
	const char *path = plan_format(plan, err, "%s/%s", tree, name);

	return path ? protect(plan, path, err) : -1;
}

/* Those above names that do not exist yet as well. */
static int pin_parents(struct plan *plan, const char *tree, struct err *err)
{
	static const char *const parents[] = {".config", ".local"};

	for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
		const char *path =
			plan_format(plan, err, "%s/%s", tree, parents[i]);

		if (!path)
			return -1;
		if (is_directory(path) && plan_is_writable(plan, path) &&
		    add_path(plan, PLAN_PIN, path, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_protected_git(const struct plan *plan, const char *git)
{
	for (size_t i = plan->step_count; i-- > 0;)
		if ((plan->steps[i].flags & PLAN_GIT) &&
		    !strcmp(plan->steps[i].target, git))
			return true;
	return false;
}

/* Hooks and settings of the repository whose directory is git: once, however
 * many lead there: each time is more mounts, and the kernel bounds them. */
static int protect_git(struct plan *plan, const char *git, struct err *err)
{
	const struct plan_step pin = {
		.kind = PLAN_PIN, .flags = PLAN_GIT, .target = git};

	if (!is_directory(git) || !plan_is_writable(plan, git) ||
	    plan_is_hidden(plan, git) || is_protected_git(plan, git))
		return 0;
	if (plan_pin_above(plan, git, err) < 0 || plan_add(plan, pin, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(git_names); i++)
		if (protect_in(plan, git, git_names[i], err) < 0)
			return -1;
	return 0;
}

/* dir/.git: a directory, a link to one, or a file that names one. Link and
 * file may not lead elsewhere tomorrow. */
static int protect_git_of(struct plan *plan, const char *dir, struct err *err)
{
	const char *git = plan_format(plan, err, "%s/.git", dir);
	const char *closed;
	struct plan_end end;
	struct stat st;

	if (!git)
		return -1;
	if (lstat(git, &st) < 0 || S_ISDIR(st.st_mode))
		return protect_git(plan, git, err);
	if (S_ISLNK(st.st_mode)) {
		if (plan_follow(plan, git, &end, err) < 0)
			return -1;
		return end.closed ? plan_refuse_closed(plan, end.closed, err)
				  : protect_git(plan, end.path, err);
	}
	if (protect(plan, git, err) < 0)
		return -1;
	git = plan_git_file(plan, dir, &closed);
	if (closed)
		return plan_refuse_closed(plan, closed, err);
	return git ? protect_git(plan, git, err) : 0;
}

struct search {
	struct plan *plan;
	const char *root;
};

static enum walk_answer on_nested(void *owner, const struct walk_entry *entry,
				  struct err *err)
{
	const struct search *search = owner;
	const char *dir;

	if (strcmp(entry->name, ".git") != 0)
		return entry->is_directory &&
				       strcmp(entry->name, "node_modules") != 0
			       ? WALK_INTO
			       : WALK_SKIP;
	if (!strcmp(entry->path, search->root))
		return WALK_SKIP;
	dir = plan_format(search->plan, err, "%.*s",
			  (int)(entry->name - entry->path) - 1, entry->path);
	if (!dir || protect_git_of(search->plan, dir, err) < 0)
		return WALK_FAIL;
	return WALK_SKIP;
}

static int on_closed(void *owner, const char *path, struct err *err)
{
	return plan_refuse_closed(owner, path, err);
}

static int on_nested_closed(void *owner, const char *path, struct err *err)
{
	const struct search *search = owner;

	return plan_refuse_closed(search->plan, path, err);
}

/* Not by HEAD alone: a command may remove that for a while, but nothing that
 * is protected. */
static int is_git(struct plan *plan, const char *dir, bool *found,
		  struct err *err)
{
	const char *path = plan_format(plan, err, "%s/HEAD", dir);
	struct stat st;

	*found = path && lstat(path, &st) == 0;
	for (size_t i = 0; path && !*found && i < ARRAY_SIZE(git_names); i++) {
		path = plan_format(plan, err, "%s/%s", dir, git_names[i]);
		*found = path && lstat(path, &st) == 0;
	}
	return path ? 0 : -1;
}

/* A submodule's or a worktree's directory has what a .git has. */
static enum walk_answer on_module(void *owner, const struct walk_entry *entry,
				  struct err *err)
{
	static const char *const skipped[] = {"objects", "refs", "logs",
					      "hooks"};
	struct plan *plan = owner;
	const char *git;
	bool found;

	if (!entry->is_directory)
		return WALK_SKIP;
	for (size_t i = 0; i < ARRAY_SIZE(skipped); i++)
		if (!strcmp(entry->name, skipped[i]))
			return WALK_SKIP;
	git = plan_format(plan, err, "%s", entry->path);
	if (!git || is_git(plan, git, &found, err) < 0 ||
	    (found && protect_git(plan, git, err) < 0))
		return WALK_FAIL;
	return WALK_INTO;
}

/* What is below git/name: the directories of submodules or worktrees. */
static int protect_modules(struct plan *plan, const char *git, const char *name,
			   bool *is_cut, struct err *err)
{
	struct walk walk = {.entries_max = NESTED_ENTRIES_MAX,
			    .depth_max = NESTED_DEPTH_MAX,
			    .on_entry = on_module,
			    .on_closed = on_closed,
			    .owner = plan};
	const char *path = plan_format(plan, err, "%s/%s", git, name);

	if (!path)
		return -1;
	if (!is_directory(path) || !plan_is_writable(plan, path) ||
	    plan_is_hidden(plan, path))
		return 0;
	if (add_path(plan, PLAN_PIN, path, err) < 0 ||
	    walk_tree(&walk, path, err) < 0)
		return -1;
	*is_cut = *is_cut || walk.entries_max == 0;
	return 0;
}

static int protect_repository(struct plan *plan, const char *git, bool *is_cut,
			      struct err *err)
{
	if (protect_git(plan, git, err) < 0 ||
	    protect_modules(plan, git, "modules", is_cut, err) < 0)
		return -1;
	return protect_modules(plan, git, "worktrees", is_cut, err);
}

static int protect_nested(struct plan *plan, const char *git, struct err *err)
{
	struct search search = {plan, git};
	struct walk walk = {.entries_max = NESTED_ENTRIES_MAX,
			    .depth_max = NESTED_DEPTH_MAX,
			    .on_entry = on_nested,
			    .on_closed = on_nested_closed,
			    .owner = &search};
	bool is_cut = false;

	if (walk_tree(&walk, plan->workspace, err) < 0 ||
	    protect_repository(plan, git, &is_cut, err) < 0 ||
	    (plan->repository &&
	     protect_repository(plan, plan->repository, &is_cut, err) < 0))
		return -1;
	/* The depth cuts every tree of some size; only the count is news. */
	if (is_cut || walk.entries_max == 0)
		plan_note(plan, "the workspace is large: repositories deep "
				"inside it have no protected hooks");
	return 0;
}

static int protect_tree(struct plan *plan, const char *tree, struct err *err)
{
	if (pin_parents(plan, tree, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (protect_in(plan, tree, names[i], err) < 0)
			return -1;
	return protect_git_of(plan, tree, err);
}

static int on_path(void *owner, const char *path, struct err *err)
{
	struct plan *plan = owner;
	const char *copy = plan_format(plan, err, "%s", path);

	return copy ? protect(plan, copy, err) : -1;
}

/* One entry of the policy's list. A glob also guards what it would match. */
static int protect_named(struct plan *plan, const char *path, bool is_glob,
			 struct err *err)
{
	struct plan_step guard = {
		.kind = PLAN_GUARD, .flags = PLAN_GLOB, .target = path};
	struct pattern *pattern;
	const char *at;
	int rc;

	if (!is_glob)
		return protect(plan, path, err);
	pattern = malloc(sizeof(*pattern));
	if (!pattern)
		return err_set(err, ERR_TOO_LARGE, "protect: no memory");
	rc = plan_follow_glob(plan, path, pattern, &at, err);
	if (rc == 0)
		rc = pattern_expand(pattern, on_path, on_closed, plan, err);
	free(pattern);
	if (rc < 0 || plan_add(plan, guard, err) < 0)
		return -1;
	if (!strcmp(at, path))
		return 0;
	guard.target = at;
	return plan_add(plan, guard, err);
}

/* The next sandbox reads them: they say what it may not. */
static int protect_ignore_files(struct plan *plan,
				const struct sandbox_spec *spec,
				struct err *err)
{
	for (size_t i = 0; i < spec->ignore_files.count; i++) {
		const char *name = spec->ignore_files.items[i];
		char escaped[2 * NAME_MAX + 1];
		const char *glob;

		glob_escape(bytes_str(name), escaped);
		glob = plan_format(plan, err, "**/%s", escaped);
		if (!glob || plan_each(plan, glob, protect_named, err) < 0)
			return -1;
	}
	return 0;
}

int plan_protections(struct plan *plan, const struct sandbox_spec *spec,
		     struct err *err)
{
	size_t count = plan->step_count;
	const char *git = plan_format(plan, err, "%s/.git", plan->workspace);

	if (!git)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const struct plan_step step = plan->steps[i];

		if (step.kind == PLAN_BIND && (step.flags & PLAN_WRITE) &&
		    !(step.flags & PLAN_DEVICE) &&
		    protect_tree(plan, step.target, err) < 0)
			return -1;
	}
	if (spec->workspace_mode != SANDBOX_READ &&
	    protect_nested(plan, git, err) < 0)
		return -1;
	for (size_t i = 0; i < spec->protect.count; i++) {
		if (plan_each(plan, spec->protect.items[i], protect_named,
			      err) < 0)
			return -1;
	}
	return protect_ignore_files(plan, spec, err);
}
