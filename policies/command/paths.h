/*
 * Words of a command line as paths, beside what the policy hides and where
 * it lets one read and write: by their names, and by what those lead to that
 * are links in the workspace, where somebody can tell. The sandbox enforces all
 * of this whatever is said here.
 */
#ifndef POLICIES_COMMAND_PATHS_H
#define POLICIES_COMMAND_PATHS_H

#include "common/arena.h"
#include "policies/command/shell.h"
#include "policies/policy.h"

#define PATHS_CWD_MAX  16
#define PATHS_WORK_MAX 100000000 /* steps of matching for one line */
/* Links that are followed for one line: each may take the kernel some ms. */
#define PATHS_LINKS_MAX 64

enum path_answer {
	PATH_FINE,
	PATH_UNCLEAR, /* it could be one that is hidden or outside */
	PATH_HIDDEN,
	PATH_OUTSIDE,
	PATH_ANSWER_MAX
};

/* What an absolute path of the workspace leads to once its links are followed,
 * in arena, or path, which has none; empty: it is not known. In a bounded time
 * for PATHS_LINKS_MAX that have some. path is untrusted. */
typedef struct bytes path_real_fn(struct arena *arena, struct bytes path);

struct path_places {
	const struct policy *policy;
	struct bytes home;	/* absolute; empty: not known */
	struct bytes workspace; /* absolute */
	/* Where relative paths begin: more than one after a `cd`. */
	struct bytes cwd[PATHS_CWD_MAX];
	size_t cwd_count; /* 0: it is not known */
	struct arena *arena;
	path_real_fn *real;		  /* NULL: nobody can tell */
	const struct path_hidden *hidden; /* `hide`; NULL: not made yet */
	size_t work;
	size_t links;
};

/* A word behind a command's name, an option with a value too. */
enum path_answer path_of_word(struct path_places *places,
			      const struct shell_word *word);
/* The target of a redirection. */
enum path_answer path_of_target(struct path_places *places,
				const struct shell_word *word, bool is_write);
/* A directory that the line changes to; it may come before or after what it
 * is about, so all are kept. */
void path_change(struct path_places *places, const struct shell_word *word);

/* The absolute form of shape from cwd, "." and ".." resolved, in arena. False:
 * it is not known, or there is no memory. */
bool path_absolute(struct arena *arena, struct bytes cwd, struct bytes shape,
		   struct bytes *absolute);

#endif
