/*
 * An overlay mount in the new user namespace: reads come from a directory
 * that is never written, writes go to layers of ours (overlayfs with
 * `userxattr`, Linux 5.11; id-mapped layers, Linux 5.19).
 */
#ifndef SANDBOX_HOST_MOUNTS_OVERLAY_H
#define SANDBOX_HOST_MOUNTS_OVERLAY_H

#include "common/err.h"

/* In the layers' tree. */
#define MOUNTS_UPPER "upper"
#define MOUNTS_WORK  "work"

/* A detached overlay of two detached trees, which stay the caller's: lower
 * is shown, layers holds MOUNTS_UPPER and MOUNTS_WORK. path is for errors.
 * "/" must be our own tmpfs, still writable. -1. */
int mounts_overlay(int lower, int layers, const char *path, struct err *err);

#endif
