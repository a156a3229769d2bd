/*
 * Where a path in a program's system call leads, followed from outside as
 * the kernel would follow it inside: below the sandbox's root, links and
 * all. The program and its path are untrusted.
 */
#ifndef SANDBOX_HOST_PLACE_H
#define SANDBOX_HOST_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PLACE_HANDLE 64

struct place {
	char path[PATH_MAX]; /* absolute, inside, real but for the last name */
	bool exists;
	bool is_read_only;	   /* the mount it is, or would be, on */
	bool is_handle;		   /* /proc/self/fd/N: an object, not a place */
	mode_t mode;		   /* of what exists, but for a handle */
	char handle[PLACE_HANDLE]; /* where it is found from here; "": nowhere
				    */
};

/* What is there. */
struct place_object {
	uint64_t inode;
	dev_t device;	/* as stat() tells it */
	uint64_t mount; /* as /proc/PID/mountinfo tells it */
	uint64_t born;	/* in ns of the epoch; 0: not known */
	mode_t mode;
	bool is_read_only;
};

/* Copy len bytes of a program's memory; fewer when the rest is not mapped.
 * How many, or -1. */
ssize_t place_read_memory(pid_t pid, uint64_t address, void *out, size_t len);
/* Copy a terminated string. 0, or a negative errno. */
int place_read_string(pid_t pid, uint64_t address, char out[PATH_MAX]);
/* Two of them into out[0] and out[1], most often with one look; each has its
 * result. */
void place_read_strings(pid_t pid, const uint64_t addresses[2],
			char (*out)[PATH_MAX], int results[2]);
/* A number in the status of a process or thread (proc(5)): "Tgid", or "NSpid",
 * which it has in its innermost namespace. 0: it is not known. */
pid_t place_number(pid_t pid, const char *title);

#define PLACE_MOUNTS                                                           \
	8 /* most sandboxes have two or three that are writable                \
	   */

/* What a program sees while one of its calls is judged: place_begin(), then
 * place_find() for each of the call's paths. Large, and only what is used of
 * it is ever written: keep one for each sandbox, zeroed at first. */
struct place_view {
	int root;	    /* "/" inside, O_PATH; borrowed */
	pid_t pid;	    /* the thread */
	char cwd[PATH_MAX]; /* its working directory; "": not asked yet */
	char at[PATH_MAX];  /* the way, while it is followed */
	/* Mounts that were reached from the root and are writable, by their
	 * unique numbers (0: none; kernels before 6.8 have none): a ring.
	 * Nobody changes a sandbox's mounts once it runs. A file system that
	 * the host makes read-only meanwhile is not told of; the kernel still
	 * refuses. */
	uint64_t writable[PLACE_MOUNTS];
	unsigned next_writable;
};

void place_begin(struct place_view *view, int root, pid_t pid);
/* Follow path, relative to descriptor dir (or AT_FDCWD) of the view's thread.
 * follow: the last component too. 0, or a negative errno as the call itself
 * would give it. */
int place_find(struct place *place, struct place_view *view, int dir,
	       const char *path, bool follow);
/* A descriptor of the view's thread as a handle. */
void place_of_descriptor(struct place *place, const struct place_view *view,
			 int fd);
/* Look at what exists at a place once more, also at a handle, whose place gets
 * the name that the object has, as the kernel says it: none begins with '/' but
 * that of a file. 0, or a negative errno. */
int place_look(struct place_object *object, const struct place_view *view,
	       struct place *place);

#endif
