/*
 * Messages of the agent that serves the files of one sandbox from inside
 * (sandbox-host/agent): see messages.h. A channel serves one asker: at most
 * one walk, one file that is read and one that is written at a time.
 *
 * The agent runs where the sandbox's commands run and is as little to be
 * believed as they are: whoever asks holds each answer against what was
 * asked (file_*_check).
 */
#ifndef SANDBOX_HOST_FLOW_MESSAGES_FILES_H
#define SANDBOX_HOST_FLOW_MESSAGES_FILES_H

#include "sandbox-host/flow/sandbox_spec.h"

#define FILE_PIECE_MAX	  (60 * 1024) /* bytes of a file in one message */
#define FILE_PAGE_MAX	  64	      /* entries in one answer */
#define FILE_DEPTH_MAX	  64	      /* of a walk */
#define FILE_OWNER_MAX	  64
#define FILE_PATTERN_MAX  1024
#define FILE_MODE_MAX	  512		     /* of permissions that are set */
#define FILE_TEXT_MAX	  (1024 * 1024)	     /* to replace, and to replace by */
#define FILE_REPLACED_MAX (64 * 1024 * 1024) /* the whole file meanwhile */

/* What a path names. Bytes but NUL; absolute, or below the workspace. */
struct file_ref {
	struct bytes path;
};
extern const struct wire_schema file_ref_schema;

enum file_type {
	FILE_REGULAR,
	FILE_DIRECTORY,
	FILE_SYMLINK,
	FILE_OTHER,
	FILE_TYPE_MAX
};

struct file_entry {
	struct bytes path; /* of a walk: below its directory; else empty */
	uint8_t type;	   /* enum file_type */
	uint64_t size;
	uint32_t mode;	    /* permission bits */
	struct bytes owner; /* a name, or a number */
	struct bytes group;
	uint64_t modified_ms; /* wall clock */
	uint64_t created_ms;
	struct bytes target; /* of a symbolic link */
};
extern const struct wire_schema file_entry_schema;

struct file_walk {
	struct bytes path;
	uint32_t depth;	      /* 1: what is in the directory itself; 0: all */
	bool is_for_files;    /* regular ones alone */
	struct bytes pattern; /* for base names; empty: all */
};
extern const struct wire_schema file_walk_schema;

struct file_page {
	const struct file_entry *entries; /* directories before their own */
	size_t entries_count; /* may be none though there are more */
	bool more;	      /* ask again */
};
extern const struct wire_schema file_page_schema;

struct file_span {
	uint64_t offset;
	uint32_t len; /* <= FILE_PIECE_MAX */
};
extern const struct wire_schema file_span_schema;

struct file_piece {
	struct bytes bytes; /* of a span: shorter only at the end */
};
extern const struct wire_schema file_piece_schema;

/* Who may what. What is not there stays as it is, or is what a new file
 * has. */
struct file_access {
	struct bytes path;
	bool has_mode;
	uint32_t mode;	    /* < FILE_MODE_MAX */
	struct bytes owner; /* a name or a number inside; or empty */
	struct bytes group;
};
extern const struct wire_schema file_access_schema;

struct file_pair {
	struct bytes from; /* of a link: what it says */
	struct bytes to;
};
extern const struct wire_schema file_pair_schema;

struct file_remove {
	struct bytes path;
	bool is_directory; /* and all below it */
};
extern const struct wire_schema file_remove_schema;

struct file_replace {
	struct bytes path;
	struct bytes old; /* not empty */
	struct bytes new;
};
extern const struct wire_schema file_replace_schema;

struct file_count {
	uint64_t count;
};
extern const struct wire_schema file_count_schema;

/* Encode and seal; a descriptor, or -1. And the reverse (request_release()
 * the memory). */
int file_replace_seal(const struct file_replace *replace, struct err *err);
int file_replace_open(int fd, struct request_memory *memory,
		      struct file_replace *replace, struct err *err);

/* Is it a path below a directory, by names alone: none of them empty, "." or
 * "..", no NUL? */
bool file_path_is_below(struct bytes path);

/* Does an answer (untrusted, decoded) fit what was asked? NULL, or why not
 * (static). Sizes and times are held below 2^53, as JSON's readers want. */
const char *file_entry_check(const struct file_entry *entry);
const char *file_page_check(const struct file_page *page,
			    const struct file_walk *walk);
const char *file_piece_check(const struct file_piece *piece,
			     const struct file_span *span);

#endif
