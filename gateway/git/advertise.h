/*
 * The body of info/refs?service=git-receive-pack on its way from upstream
 * (untrusted) to the client, written anew line by line: capabilities cut to
 * an allow-list, names of refs that the session may not write replaced by
 * ".have" (their tips stay, so that packs stay small), everything else as
 * it was. On the way it learns the tips (struct git_refs).
 *
 * Without `out` it only learns: what the edge does with a fresh
 * advertisement before it decides a push.
 *
 *	advertise_init(&adv, repo, &refs, 0);
 *	while (chunk) advertise_feed(&adv, chunk, &out, &err);
 *	advertise_end(&adv, &err);
 *
 * Streaming: holds one pkt-line at most. Works with any split of the input.
 * An `ERR` packet of upstream's is passed on, and is_error says so.
 */
#ifndef GATEWAY_GIT_ADVERTISE_H
#define GATEWAY_GIT_ADVERTISE_H

#include "common/buf.h"
#include "common/err.h"
#include "gateway/git/refs.h"

#define ADVERTISE_LINES_MAX 1000000
/* A feed of n bytes appends at most this much to out. */
#define ADVERTISE_OUT_MAX(n) ((n) + (n) / 16 + 72 * 1024)

enum advertise_flag { /* bits */
		      /* Add "no-thin": packs are checked without their base. */
		      ADVERTISE_NO_THIN = 1
};

enum advertise_state {
	ADVERTISE_SERVICE,	 /* "# service=git-receive-pack" */
	ADVERTISE_SERVICE_FLUSH, /* 0000 after it */
	ADVERTISE_FIRST,	 /* the line with the capabilities */
	ADVERTISE_REFS,
	ADVERTISE_SHALLOW, /* after the refs: "shallow <oid>" lines only */
	ADVERTISE_DONE,	   /* the final flush was seen */
	ADVERTISE_BROKEN
};

struct advertise {
	const struct policy_repo *repo;
	struct git_refs *refs;
	unsigned flags;
	enum advertise_state state;
	struct buf line; /* the packet that is not whole yet */
	size_t lines;
	bool is_error; /* upstream sent ERR */
};

/* repo and refs are borrowed and stay the caller's. */
void advertise_init(struct advertise *adv, const struct policy_repo *repo,
		    struct git_refs *refs, unsigned flags);
void advertise_release(struct advertise *adv);

/* Take input; append to out (NULL: learn only). 0, or -1 when upstream does
 * not follow the protocol, or out is full. */
int advertise_feed(struct advertise *adv, struct bytes input, struct buf *out,
		   struct err *err);
/* The body ended. 0, or -1 when it was not whole. */
int advertise_end(const struct advertise *adv, struct err *err);

#endif
