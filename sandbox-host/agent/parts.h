/*
 * What the parts of the agent do for each other. Functions that take a path
 * follow it as the kernel does; they return 0, or -1 with errno.
 */
#ifndef SANDBOX_HOST_AGENT_PARTS_H
#define SANDBOX_HOST_AGENT_PARTS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "common/rpc.h"
#include "sandbox-host/flow/messages.h"
#include "sandbox-host/guard.h"

/* A file that is being written: nobody sees it before it is whole. */
struct writing {
	int fd;			  /* -1: there is none */
	char target[PATH_MAX];	  /* links followed */
	char temporary[PATH_MAX]; /* empty: it has no name yet */
	bool is_in_place;	  /* a mount, or a directory that may not be
				     written: the file itself is */
	bool exists;
	uint64_t size; /* so far */
};

struct walker;

struct agent {
	struct io_loop *loop;
	const struct plan *plan;
	struct guard guard;
	int reading; /* -1 */
	struct writing writing;
	struct walker *walker; /* NULL */
};

/* What was tried at a path, for why it failed: "read of". */
enum attempt {
	ATTEMPT_READ,
	ATTEMPT_WRITE,
	ATTEMPT_REMOVE,
	ATTEMPT_MOVE,
	ATTEMPT_MAKE,
	ATTEMPT_LINK,
	ATTEMPT_ACCESS
};

/* ---- why.c ---- */

/* Refuse for errno: with the policy's reason, where it has one. */
void agent_refuse(struct agent *agent, struct rpc_ticket ticket,
		  enum attempt attempt, const char *path);

/* What the reporter would refuse, were it able to look (notify_know()): names
 * that the policy hides or protects and that no mount covers. */
int agent_may(const struct agent *agent, enum attempt attempt,
	      const char *path);
/* The same of a directory that is moved. */
int agent_may_move(const struct agent *agent, const char *from, const char *to);
/* The same of removing what is at a real path. */
bool agent_may_remove(const struct agent *agent, const char *real);

/* ---- path.c ---- */

/* A terminated copy without trailing slashes. */
int path_copy(struct bytes path, char out[PATH_MAX]);
/* The directory above; "." when there is none. */
void path_parent(const char *path, char out[PATH_MAX]);
/* What path names once links at its end are followed; it need not exist. */
int path_follow(const char *path, char out[PATH_MAX]);
/* Make a directory and those above it; one that is there is good. */
int path_make(const char *path);
/* Make those above path. */
int path_make_parents(const char *path);
/* Remove a directory and all below it; never through a link. What may not be
 * removed stays, and path becomes its: EACCES. */
int path_remove_tree(const struct agent *agent, char path[PATH_MAX]);

/* ---- owner.c ---- */

/* "node", or its number. out[FILE_OWNER_MAX + 1]. */
void owner_name(uid_t uid, char *out);
void owner_group(gid_t gid, char *out);
/* Are owner and group, names or numbers of the inside, those of the one user
 * that a file can have? 0, or -1: to be refused, before anything is done. */
int owner_check(const struct file_access *access);
void owner_refuse(struct rpc_ticket ticket);
/* What chown() is told, once they are. */
void owner_of(const struct file_access *access, uid_t *uid, gid_t *gid);

/* ---- entry.c ---- */

/* What stands in an entry, as terminated copies. */
struct entry_text {
	char owner[FILE_OWNER_MAX + 1], group[FILE_OWNER_MAX + 1];
	char target[PATH_MAX];
};
/* Describe what is at path, below directory (or AT_FDCWD), without following
 * it. entry borrows from text. */
int entry_read(int directory, const char *path, struct entry_text *text,
	       struct file_entry *entry);
/* The same of an open file. */
int entry_read_open(int fd, struct entry_text *text, struct file_entry *entry);

/* ---- write.c ---- */

/* Begin to write what path names. */
int writing_begin(struct writing *writing, const char *path);
int writing_add(struct writing *writing, struct bytes bytes);
/* Put it in its place; may_replace false: EEXIST when something is there. */
int writing_commit(struct writing *writing, bool may_replace);
/* Nothing of it stays. */
void writing_drop(struct writing *writing);
int write_set_access(int fd, const struct file_access *access);

/* ---- the answers; owner is the agent ---- */

rpc_answer_fn answer_show, answer_open, answer_read; /* read.c */
rpc_answer_fn answer_create, answer_write, answer_commit;
rpc_answer_fn answer_walk, answer_walk_on; /* walk.c */
rpc_answer_fn answer_remove, answer_move, answer_mkdir, answer_link,
	answer_set_access; /* change.c */
rpc_answer_fn answer_replace;

void agent_reply_empty(struct rpc_ticket ticket);
void walker_free(struct walker *walker);

#endif
