/*
 * Refusals in git's own words, and reading upstream's report.
 *
 * git shows "remote: ..." for side-band 2 and "! [remote rejected] a -> b
 * (reason)" for an "ng" line, but only with status 200 (git.md). So a
 * refused push is answered with 200, application/x-git-receive-pack-result
 * and the body that report_refuse() writes, while the rest of the request
 * is drained.
 */
#ifndef GATEWAY_GIT_REPORT_H
#define GATEWAY_GIT_REPORT_H

#include "common/buf.h"
#include "common/err.h"
#include "gateway/flow/push.h"
#include "gateway/git/ruling.h"
#include "policies/decide.h"

/* Room that a report of `count` refs needs at most. */
#define REPORT_BYTES_MAX(count) (16 * 1024 + (size_t)(count) * 640)
#define REPORT_ADVICE_MAX	4096

/* What people read about a refused push: which rule, what is allowed, the
 * command to type instead. Lines end with LF. request_id may be empty. */
struct report_advice {
	const struct push *push;
	const struct ruling *ruling;
	const struct policy_repo *repo; /* NULL: none */
	struct bytes session;
	struct bytes request_id;
};
/* Append the advice, at most REPORT_ADVICE_MAX bytes. 0/-1 (out is full). */
int report_advise(const struct report_advice *advice, struct buf *out);

/* Append the whole response body of a refused push, in the kind that the
 * client offered: side-band or plain, report-status(-v2) or none. text:
 * lines for side-band 2. Every update gets `ng <ref> <reason>`. 0/-1. */
int report_refuse(const struct push *push, struct bytes text, struct buf *out);

/* Can this client hear a report at all? One that offered neither side-band
 * nor report-status only notices a status that is not 200: answer it 403
 * text/plain instead. */
bool report_is_heard(const struct push *push);

/* The same for a command list that was refused before it was understood:
 * the reason alone, as "unpack <reason>" where the client asked for a
 * report. Without side-band and report it writes an ERR packet. 0/-1. */
int report_malformed(const struct push *push, const struct verdict *verdict,
		     struct buf *out);

/* Append the body of an info/refs answer (status 200, advertisement type)
 * that refuses the whole repository: git says "remote error: text". endpoint
 * is GIT_ADVERTISE_READ or GIT_ADVERTISE_WRITE. 0/-1. */
int report_refuse_repository(enum git_endpoint endpoint, struct bytes text,
			     struct buf *out);
/* The text of a refused repository or fetch, for ERR or a 403 text/plain:
 * names the constraint, the rule and the repository the session has.
 * repo may be NULL. Lines end with LF. 0/-1. */
int report_explain(const struct verdict *verdict,
		   const struct policy_repo *repo, struct buf *out);

/* ---- upstream's report (untrusted), for the record ---- */

enum report_outcome { REPORT_UNKNOWN, REPORT_OK, REPORT_NG };

/* Reads along while the bytes pass to the client unchanged. */
struct report_reader {
	const struct push *push;
	enum report_outcome *outcomes; /* one per update */
	enum report_outcome unpack;
	size_t ok_count, ng_count;
	struct bytes first_reason; /* of the first ng; <= 200 printable bytes */
	bool is_whole;		   /* the report's own flush was seen */
	bool is_broken;		   /* not a report: stopped reading */
	struct buf outer;	   /* packet of the body, not whole yet */
	struct buf inner;	   /* packet inside side-band 1 */
	struct arena *arena;
};

/* outcomes live in arena. 0, or -1 when it is full. */
int report_reader_init(struct report_reader *reader, const struct push *push,
		       struct arena *arena);
void report_reader_release(struct report_reader *reader);
/* Never fails: what cannot be read sets is_broken. */
void report_reader_feed(struct report_reader *reader, struct bytes input);

#endif
