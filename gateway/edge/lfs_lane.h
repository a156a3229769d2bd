/*
 * Git LFS of the policy's repositories (policies/lfs.h). What is small is
 * held, decided and asked for by the edge itself: batches, locks, verify
 * (lfs_open.c, lfs_ask.c). From the answer to a batch the edge learns which
 * transfers are open (gateway/lfs/permits.h); the client gets a URL of its
 * own forge for each, and neither the server's URLs nor its header fields.
 * A transfer is then an ordinary exchange with another target
 * (lfs_transfer.c).
 *
 *	client			edge			upstream
 *	POST .../objects/batch	decided, written anew	POST (courier)
 *				learns, rewrites	200 {objects}
 *	PUT  .../transfers/ID	method, size, SHA-256	PUT https://storage/...
 */
#ifndef GATEWAY_EDGE_LFS_LANE_H
#define GATEWAY_EDGE_LFS_LANE_H

#include "gateway/edge/conn.h"

/* Of a session, whose bodies are held at one time. */
#define LFS_ASKS_MAX  32
#define LFS_ARENA_MAX ((size_t)12 * 1024 * 1024)

struct digest_stream;
struct secret_prints;
struct secret_scan;

/* What the lane keeps for one request. */
struct lfs_work {
	enum lfs_endpoint endpoint;
	const struct policy_repo *repo;
	struct lfs_path at;
	struct arena arena;
	bool is_ask;	  /* counted in edge->lfs_asks */
	struct buf body;  /* the client's, then ours */
	struct buf reply; /* upstream's */
	struct lfs_batch batch;
	/* of a transfer */
	struct target front; /* what the client thinks it speaks to */
	bool is_away;	     /* conn->errand->target is another */
	struct lfs_object object;
	struct digest_stream *digest;
	struct secret_scan *scan;
	struct secret_prints *prints; /* the edge may get others meanwhile */
	uint64_t came; /* of an object that comes without a length */
	int last; /* byte of the body, held until the digest is right; -1 */
	struct filter check;
};

/* AT_LFS. NEXT: it is not LFS; OTHER: it is, and may go on. */
enum step lfs_step_begin(struct conn *conn, enum lane_event event);
/* AT_LFS_OPEN. NEXT: a transfer, to be exchanged; OTHER: to be asked for. */
enum step lfs_step_open(struct conn *conn, enum lane_event event);
/* AT_LFS_ASK. NEXT: answered; OTHER: answered, and close. */
enum step lfs_step_ask(struct conn *conn, enum lane_event event);
void lfs_work_release(struct conn *conn);

/* A refusal where git-lfs looks for it: the "message" of its media type.
 * For problem_write()'s place. */
int lfs_problem_write(struct buf *out, const struct problem *problem);

/* ---- lfs_open.c ---- */

/* The body is whole: decide on it and write our own into work->body. 0, or
 * -1: refusal set. */
int lfs_decide_body(struct conn *conn);

/* ---- lfs_transfer.c ---- */

/* The permission that the path names, if it is for this request; else NULL:
 * refusal set. */
const struct lfs_permit *lfs_permit_of(struct conn *conn);
/* The request is the permission's from here on. 0, or -1: refusal set. */
int lfs_take_permit(struct conn *conn, const struct lfs_permit *permit);

/* ---- lfs_answer.c ---- */

/* Make of upstream's answer to a batch, in work->reply, the client's in out.
 * 0, or -1: refusal set. */
int lfs_answer_batch(struct conn *conn, struct buf *out);

#endif
