/*
 * A settings file of sandbox-runtime, read and told about.
 */
#ifndef CLI_SETTINGS_FILE_H
#define CLI_SETTINGS_FILE_H

#include "common/buf.h"

/* Append the policy that path ("-": stdin; NULL: what srt does without a file)
 * stands for to policy, and lines for people to notes, both initialised: what
 * is stricter here, or what is wrong. Relative paths begin in the current
 * directory. 0, or -1. */
int settings_file_read(const char *path, struct buf *policy, struct buf *notes);

#endif
