/*
 * Ignore files (gitignore(5)'s syntax, `.agentignore` and its like): rules
 * of files at several places in the workspace, and what they hide. A rule
 * counts for what is below the directory its file is in; of one kind of file
 * the last rule that matches decides, those of deeper files last; what is
 * below a hidden directory is hidden, whatever a rule says. What one kind of
 * file hides no other shows again.
 *
 * The files' texts are untrusted. A line that is no pattern hides nothing,
 * as in git.
 */
#ifndef SANDBOX_HOST_IGNORE_H
#define SANDBOX_HOST_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"
#include "common/err.h"
#include "policies/glob.h"

#define IGNORE_RULES_MAX 4096
#define IGNORE_TEXT_MAX	 (256 * 1024) /* of one file */

struct ignore_rule {
	char *base;    /* the directory of its file, absolute */
	unsigned kind; /* which name of file it came from */
	bool shows;    /* "!" */
	bool is_for_directories;
	bool is_anchored; /* matched against the path below base */
	struct glob glob;
};

struct ignore {
	struct ignore_rule *rules;
	size_t count, size;
};

/* Add the rules of a file's text, which is in directory base. Files above
 * come before files below. *faults is raised by the lines that are no
 * pattern. 0, or -1. */
int ignore_add(struct ignore *ignore, const char *base, unsigned kind,
	       struct bytes text, unsigned *faults, struct err *err);
void ignore_release(struct ignore *ignore);

/* Is path (absolute, real) hidden by a rule about itself? What is above it
 * was asked about before. */
bool ignore_hides(const struct ignore *ignore, const char *path,
		  bool is_directory);
/* Would a thing of that name be hidden in every directory below tree, as far as
 * the files are known that were added? */
bool ignore_is_anywhere(const struct ignore *ignore, const char *tree,
			const char *name, bool is_directory);
/* Is what is hidden below one directory hidden below the other, too? */
bool ignore_keeps(const struct ignore *ignore, const char *from,
		  const char *to);
/* Is it, or a directory above it? What exists not is taken for a file. */
bool ignore_covers(const struct ignore *ignore, const char *path,
		   bool is_directory);

#endif
