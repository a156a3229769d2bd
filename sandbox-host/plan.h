/*
 * The plan: everything that will be done for one sandbox, as a list that
 * can be printed and tested without doing it. Made from a spec by looking
 * at the host's file system (names only), executed by steps.c.
 *
 * All of it lives in the plan's arena. Paths are absolute and real: no
 * component of a source or target is a symbolic link, and the executor
 * refuses one that became a link meanwhile.
 */
#ifndef SANDBOX_HOST_PLAN_H
#define SANDBOX_HOST_PLAN_H

#include <stdio.h>
#include <sys/types.h>

#include "common/arena.h"
#include "sandbox-host/base.h"
#include "sandbox-host/ignore.h"
#include "sandbox-host/sandbox.h"

#define PLAN_STEPS_MAX 16384
#define PLAN_TREES_MAX 64 /* sources that a privileged caller opens */
#define PLAN_NOTES_MAX 32

/* X(NAME, who does it, how it is printed) */
#define PLAN_KINDS(X)                                                          \
	X(NAMESPACES, CALLER, "namespaces")                                    \
	X(ADDRESS, FIRST, "address")                                           \
	X(LISTEN, FIRST, "listen")                                             \
	X(FIREWALL, FIRST, "firewall")                                         \
	X(MAP, CALLER, "map")                                                  \
	X(CGROUP, CALLER, "limits")                                            \
	X(TREE, CALLER, "tree")                                                \
	X(HOSTNAME, INIT, "hostname")                                          \
	X(ROOT, INIT, "root")                                                  \
	X(DIR, INIT, "dir")                                                    \
	X(LINK, INIT, "link")                                                  \
	X(FILE, INIT, "file")                                                  \
	X(TRUSTSTORE, INIT, "truststore")                                      \
	X(TMPFS, INIT, "tmpfs")                                                \
	X(IMAGE, INIT, "image")                                                \
	X(BIND, INIT, "bind")                                                  \
	X(PROC, INIT, "proc")                                                  \
	X(DEVPTS, INIT, "devpts")                                              \
	X(SEAL, INIT, "seal")                                                  \
	X(HIDE, INIT, "hide")                                                  \
	X(PIN, INIT, "pin")                                                    \
	X(PROTECT, INIT, "protect")                                            \
	X(DETACH, INIT, "detach")                                              \
	X(GUARD, CALLER, "guard")                                              \
	X(VEIL, CALLER, "veil")                                                \
	X(SOCKET, CALLER, "socket")                                            \
	X(CAPABILITIES, COMMAND, "capabilities")                               \
	X(LANDLOCK, COMMAND, "landlock")                                       \
	X(SECCOMP, COMMAND, "seccomp")                                         \
	X(EXEC, COMMAND, "exec")

enum plan_kind {
#define X(name, stage, text) PLAN_##name,
	PLAN_KINDS(X)
#undef X
		PLAN_KIND_MAX
};

/* PLAN_BY_FIRST: by init, the same for every sandbox (network.h). */
enum plan_stage {
	PLAN_BY_FIRST,
	PLAN_BY_CALLER,
	PLAN_BY_INIT,
	PLAN_BY_COMMAND
};

enum plan_flags {		   /* bits */
		  PLAN_WRITE = 1,  /* bind, landlock: writable */
		  PLAN_INSIDE = 2, /* bind: the source is already inside */
		  PLAN_OPENED =
			  4, /* bind: the caller opened the source (.tree) */
		  PLAN_IDMAP = 8,    /* tree: id-mapped to the session's user */
		  PLAN_DEVICE = 16,  /* bind: device nodes stay usable */
		  PLAN_OVERLAY = 32, /* bind: the source under layers of ours;
				       their tree is .tree + 1 */
		  PLAN_GLOB = 64,    /* guard, veil: the target is a glob */
		  PLAN_OWNER = 128,  /* tree: id-mapped from its own owner */
		  PLAN_GIT = 256,   /* pin: a repository's, all of it is done */
		  PLAN_TOP = 512,   /* bind: of the host's /, that nobody named:
				       left out where it is gone by then */
		  PLAN_OTHER = 1024 /* hide: another name of what is hidden */
};

struct plan_step {
	enum plan_kind kind;
	unsigned flags;
	const char *source; /* bind, file, link, tree: where from; or NULL */
	const char *target;
	/* file, truststore: what to write (after the source) */
	struct bytes content;
	unsigned mode; /* dir, file, tmpfs */
	unsigned tree; /* bind with PLAN_OPENED: which tree */
};

/* Who the command runs as. */
struct plan_identity {
	bool is_privileged; /* root: a host uid of its own, id-mapped mounts */
	uid_t uid;	    /* inside */
	gid_t gid;
};

struct way;

struct plan {
	struct arena arena;
	struct plan_step *steps;
	size_t step_count, step_size;
	struct plan_identity identity;
	const char *workspace, *cwd, *home; /* real; home may be NULL */
	/* The git directory that the workspace is a worktree of, or NULL. */
	const char *repository;
	struct ignore
		*ignore;    /* what ignore files hide; NULL: none asked for */
	bool watches_reads; /* names that are hidden may appear */
	struct way *way;    /* plan_follow()'s room, once it has some */
	const char *layers; /* of the overlay; real, or NULL: there is none */
	const char *image;  /* the root of its own; real, or NULL */
	const char *image_layers; /* real */
	size_t tree_count;
	const char *notes[PLAN_NOTES_MAX];
	size_t note_count;
};

/* Make the plan for spec. 0, or -1 with plan empty. plan_release() it. */
int sandbox_plan(const struct sandbox_spec *spec, struct plan *plan,
		 struct err *err);
/* The steps with which the plan of every sandbox of that base begins, and who
 * it is. 0, or -1 with plan empty. plan_release() it. */
int sandbox_plan_base(const struct base *base, struct plan *plan,
		      struct err *err);
void plan_release(struct plan *plan);
/* One line a step: "bind /usr read-only". */
void sandbox_plan_print(const struct plan *plan, FILE *out);

enum plan_stage plan_stage_of(enum plan_kind kind);

/* Is any part of path "." or ".."? */
bool plan_has_dots(const char *path);

#endif
