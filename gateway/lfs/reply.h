/*
 * What an LFS server answers to a batch (untrusted): for each object that
 * was asked for the actions that bring it there, an error, or nothing to do.
 * An action is a URL and header fields, often with a short-lived credential
 * in either: neither goes to the sandbox. Who asked gets URLs of the
 * gateway's own instead (gateway/lfs/permits.h).
 *
 *	lfs_reply_parse(body, &batch, ...);	then for each action:
 *	href = ...				permits_add(); or answer->why
 *	lfs_reply_write(&reply, &out);
 */
#ifndef GATEWAY_LFS_REPLY_H
#define GATEWAY_LFS_REPLY_H

#include "common/fields.h"
#include "gateway/flow/target.h"
#include "gateway/lfs/request.h"

#define LFS_REPLY_BYTES_MAX  (2 * 1024 * 1024)
#define LFS_HREF_MAX	     8192
#define LFS_HEADERS_MAX	     16
#define LFS_HEADER_BYTES_MAX 8192
/* No permission lives longer, whatever the server says. */
#define LFS_PERMIT_MS	   (60 * 60 * 1000)
#define LFS_ACTIONS_MAX	   2
#define LFS_ERROR_TEXT_MAX 512
#define LFS_MESSAGE_MAX	   2048

enum lfs_action_kind { LFS_ACT_DOWNLOAD, LFS_ACT_UPLOAD, LFS_ACT_VERIFY };

struct lfs_action {
	enum lfs_action_kind kind;
	struct target target;
	struct bytes path;    /* with query, as it goes out */
	struct fields fields; /* Host, framing and hop-by-hop ones dropped */
	uint64_t life_ms;     /* 1 to LFS_PERMIT_MS */
	struct bytes href;    /* the caller's: what the client gets */
};

struct lfs_answer {
	const struct lfs_object *object;
	bool is_there; /* the server spoke of it */
	struct lfs_action actions[LFS_ACTIONS_MAX];
	size_t action_count;
	/* Not 0: no action, and this instead. */
	unsigned error;
	struct bytes why;
};

struct lfs_reply {
	struct lfs_answer *answers;
	size_t count;
};

/* Parse. wall_ms: now. Everything lives in arena. What is wrong with one
 * object is its own error; with the whole: -1 with *err. */
int lfs_reply_parse(struct bytes body, const struct lfs_batch *batch,
		    uint64_t wall_ms, struct arena *arena,
		    struct lfs_reply *reply, struct err *err);
/* Append the answer for the client. 0/-1. */
int lfs_reply_write(const struct lfs_reply *reply, struct buf *out);

/* Parse an href: https://host[:port]/path[?query] and nothing else. path
 * lives in arena. 0, or -1 with *err. */
int lfs_href_parse(struct bytes href, struct arena *arena,
		   struct target *target, struct bytes *path, struct err *err);

/* Append {"message": text, "request_id": id}; text is cut to what is
 * shown. 0/-1. */
int lfs_message_write(struct bytes text, struct bytes request_id,
		      struct buf *out);
/* What a server says went wrong: its "message", in arena, printable; empty
 * when it says none. */
struct bytes lfs_message_of(struct bytes body, struct arena *arena);
/* The same JSON object again, written by us. 0, or -1 when it is none. */
int lfs_copy(struct bytes body, struct buf *out);

#endif
