/*
 * Mounts, by descriptor: every path is opened with openat2 and may hold no
 * symbolic link, so nothing that changes under us can lead a mount astray.
 * Called in the new mount namespace; errors name what was to be mounted.
 */
#ifndef SANDBOX_HOST_MOUNTS_H
#define SANDBOX_HOST_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

/* Where the host's root stands until mounts_detach(). */
#define MOUNTS_OLD "/old"

/* Make "/" a new tmpfs with the host's root at MOUNTS_OLD. 0, or -1. */
int mounts_enter_root(struct err *err);
/* Where the root of an image stands until mounts_detach(). */
#define MOUNTS_IMAGE "/.image"

/* Take MOUNTS_OLD or MOUNTS_IMAGE away. 0, or -1. */
int mounts_detach(const char *path, struct err *err);

/* O_PATH descriptor of a path without links; -1: errno. */
int mounts_open(const char *path);
/* Make a directory and those above it. 0, or -1. */
int mounts_make_dir(const char *path, mode_t mode, struct err *err);
/* Make an empty file, and the directories above it. 0, or -1. */
int mounts_make_file(const char *path, mode_t mode, struct err *err);

/* A detached copy of the mounts at path (links refused), or of those of an
 * open descriptor. -1. */
int mounts_clone(const char *path, struct err *err);
int mounts_clone_fd(int fd, const char *path, struct err *err);
/* Set MOUNT_ATTR_* on all mounts of a detached tree. 0, or -1. */
int mounts_restrict(int tree, uint64_t attributes, const char *path,
		    struct err *err);
/* Id-map a detached tree by a user namespace. 0, or -1. */
int mounts_idmap(int tree, int user_namespace, const char *path,
		 struct err *err);
/* Attach a detached tree at target, which is made if it does not exist. */
int mounts_attach(int tree, const char *target, struct err *err);
int mounts_attach_fd(int tree, int target, const char *path, struct err *err);

/* size_max 0: the kernel's default. */
int mounts_tmpfs(const char *target, mode_t mode, uint64_t size_max,
		 struct err *err);
int mounts_proc(const char *target, struct err *err);
int mounts_devpts(const char *target, struct err *err);
/* Make the one mount at path read-only. */
int mounts_seal(const char *path, struct err *err);

#endif
