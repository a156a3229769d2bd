/*
 * The parts that a plan is made of, in the order in which plan.c calls
 * them. Each appends steps; each returns 0, or -1 with err set.
 */
#ifndef SANDBOX_HOST_PLAN_PARTS_H
#define SANDBOX_HOST_PLAN_PARTS_H

#include "sandbox-host/plan.h"

/* Append a step; strings must live as long as the plan. */
int plan_add(struct plan *plan, struct plan_step step, struct err *err);
/* The same link as dir's name, at target. Where it leads is looked up inside
 * only: nothing of ours is below it. */
int plan_copy_link(struct plan *plan, int dir, const char *name,
		   const char *target, struct err *err);
/* A formatted string in the plan's arena; NULL with err set. */
const char *plan_format(struct plan *plan, struct err *err, const char *format,
			...) __attribute__((format(printf, 3, 4)));
/* Tell the user something at the start. Dropped past PLAN_NOTES_MAX. */
void plan_note(struct plan *plan, const char *text);

/* Is path tree or below it? */
bool plan_is_within(const char *path, const char *tree);
/* The mount that path would be on: the last bind or tmpfs step with the
 * longest target above it; NULL for the bare root. */
const struct plan_step *plan_covering(const struct plan *plan,
				      const char *path);
/* Is path on a bind of the host's, and may it be written there? */
bool plan_is_bound(const struct plan *plan, const char *path);
bool plan_is_writable(const struct plan *plan, const char *path);
/* Is path, or what it is in, hidden by now? */
bool plan_is_hidden(const struct plan *plan, const char *path);
/* plan_is_writable(), and is it the host's path, too? */
bool plan_is_here(const struct plan *plan, const char *path);

/* An absolute path from one of a list: '~' and relative ones resolved,
 * nothing looked up, no "." or ".." accepted. NULL with err set. */
const char *plan_path(struct plan *plan, const char *text, struct err *err);
/* Call on_entry for each thing that an entry of a list with globs stands
 * for: an absolute glob with escapes, or a plain path. 0, or -1. */
typedef int plan_on_entry(struct plan *plan, const char *path, bool is_glob,
			  struct err *err);
int plan_each(struct plan *plan, const char *text, plan_on_entry *on_entry,
	      struct err *err);
/* The real path of an existing one; NULL when it does not exist (err
 * untouched) or with err set (*failed). */
const char *plan_real(struct plan *plan, const char *path, bool *failed,
		      struct err *err);

/* Where a name leads. */
struct plan_end {
	const char *path;   /* no link on its way, as far as it exists */
	const char *closed; /* the directory that keeps us from it, or NULL */
	bool exists;
};
/* Follow an absolute path, and hold the links on its way that could be
 * written. 0, or -1. */
int plan_follow(struct plan *plan, const char *path, struct plan_end *end,
		struct err *err);
struct pattern;
/* Parse an absolute glob, *at: as it is where its base leads. The directories
 * above what it may match are pinned, as far as they are known. 0, or -1. */
int plan_follow_glob(struct plan *plan, const char *glob,
		     struct pattern *pattern, const char **at, struct err *err);
/* Fail for a directory that is closed to us, where it is one that a command
 * could open again. path has no link in it. */
int plan_refuse_closed(const struct plan *plan, const char *path,
		       struct err *err);

int plan_system(struct plan *plan, const struct sandbox_spec *spec,
		struct err *err);
/* The same, of a root of its own. */
int plan_image(struct plan *plan, const struct sandbox_spec *spec,
	       struct err *err);
/* Is path below what a root of its own brings? */
bool plan_is_of_image(const struct plan *plan, const char *path);
/* /run, /proc, /tmp and the like, which are ours in every root. */
int plan_own_dirs(struct plan *plan, struct err *err);
/* Let target be reached: of root's sandboxes the user can not walk through a
 * directory above it that is closed to others, so an empty one covers that. */
int plan_way(struct plan *plan, const char *target, struct err *err);
/* The home, where the root is the host's. */
int plan_home(struct plan *plan, const struct sandbox_spec *spec,
	      struct err *err);
/* A home that is empty and ends with the sandbox. */
int plan_empty_home(struct plan *plan, struct err *err);
/* A tree that a privileged caller opens; its number is plan->tree_count
 * before. */
int plan_add_tree(struct plan *plan, const char *path, unsigned flags,
		  struct err *err);
int plan_devices(struct plan *plan, const struct sandbox_spec *spec,
		 struct err *err);
int plan_files(struct plan *plan, const struct sandbox_spec *spec,
	       struct err *err);
/* Where the file dir/.git says that the git directory is; NULL: it is no
 * such file, or leads nowhere, *closed then the directory that keeps us from
 * it, or NULL. */
const char *plan_git_file(struct plan *plan, const char *dir,
			  const char **closed);
/* Set plan->layers, and refuse what an overlay can not show or would write
 * through. */
int plan_overlay(struct plan *plan, const struct sandbox_spec *spec,
		 struct err *err);
/* Set plan->repository. */
int plan_worktree(struct plan *plan, struct err *err);
int plan_trees(struct plan *plan, const struct sandbox_spec *spec,
	       struct err *err);
int plan_hides(struct plan *plan, const struct sandbox_spec *spec,
	       struct err *err);
/* Hide a path if it is a thing of the host's inside. is_anywhere: it would be
 * hidden in any other directory, too, so those above it may be moved. */
int plan_hide_real(struct plan *plan, const char *path, bool is_anywhere,
		   struct err *err);
/* Make mounts of the directories between what is mounted and path, as far as
 * they exist: one that is a mount can not be moved away, nor made anew with
 * another thing in it. */
int plan_pin_above(struct plan *plan, const char *path, struct err *err);
/* Make a mount of a link, and of the directories above it, so that it leads
 * where it does for the next sandbox as well. Its place has no link in it. */
int plan_hold_link(struct plan *plan, const char *path, struct err *err);
int plan_ignores(struct plan *plan, const struct sandbox_spec *spec,
		 struct err *err);
int plan_sockets(struct plan *plan, const struct sandbox_spec *spec,
		 struct err *err);
/* Cover the other names of what is hidden or protected by now. */
int plan_links(struct plan *plan, struct err *err);
int plan_protections(struct plan *plan, const struct sandbox_spec *spec,
		     struct err *err);

#endif
