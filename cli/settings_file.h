/*
 * A settings file of sandbox-runtime, read and told about.
 */
#ifndef CLI_SETTINGS_FILE_H
#define CLI_SETTINGS_FILE_H

#include "common/buf.h"

/* The text of path ("-": stdin; NULL: what srt does without a file), into an
 * initialised buffer. 0, or -1: notes say why. */
int settings_file_load(const char *path, struct buf *text, struct buf *notes);
/* Append the policy that the text of path stands for to policy, and lines for
 * people to notes, both initialised: what is stricter here, or what is wrong.
 * Relative paths begin in the current directory. words: the command
 * (NULL-ended), or NULL when it is not known. 0, or -1. */
int settings_file_read(const char *path, struct bytes text, char *const *words,
		       struct buf *policy, struct buf *notes);
/* The same for a line of a control channel: settings_follow(). */
int settings_file_follow(struct bytes first, struct bytes line,
			 char *const *words, struct buf *policy,
			 struct buf *notes);

#endif
