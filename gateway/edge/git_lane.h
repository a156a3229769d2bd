/*
 * The git lane: the git endpoints of the policy's repositories. Reads go
 * through the ordinary exchange with filters around it (git_read.c); a push
 * is taken apart, decided, checked and written anew (git_push.c, git_pack.c,
 * git_send.c).
 */
#ifndef GATEWAY_EDGE_GIT_LANE_H
#define GATEWAY_EDGE_GIT_LANE_H

#include "gateway/edge/conn.h"
#include "gateway/git/advertise.h"
#include "gateway/git/ancestry.h"
#include "gateway/git/commands.h"
#include "gateway/git/fetch.h"
#include "gateway/git/report.h"
#include "gateway/git/ruling.h"
#include "gateway/http/inflate.h"

#define GIT_INFLATED_MAX (16ull * 1024 * 1024 * 1024)
#define GIT_HELD_MAX	 (6 * 1024 * 1024)
#define GIT_ARENA_MAX	 (COMMANDS_ARENA_MAX + 16 * 1024 * 1024)

/* What the lane keeps for one request. */
struct git_work {
	struct conn *conn;
	enum git_endpoint endpoint;
	const struct policy_repo *repo;
	struct bytes url_path; /* of the repository, as the client spells it */
	int version;	       /* Git-Protocol: 0, 1 or 2 */
	bool is_moved;	       /* refused: upstream has it elsewhere */
	struct inflater *inflater;
	struct filter filter_up, filter_down;

	/* reads */
	struct fetch_request fetch;
	struct fetch_advertise fetch_adv;

	/* pushes */
	struct arena arena;
	struct git_refs refs;
	struct advertise adv;
	struct commands commands;
	enum commands_result parsed;
	struct buf held; /* of the pack, arrived with the commands */
	struct ruling ruling;
	bool looks;	 /* the policy has rules for the pack's content */
	bool is_refused; /* for a reason that is not one ref's */
	struct pack_gate gate;
	int pack_fd; /* spooled; -1 */
	uint64_t pack_len;
	uint64_t spooled; /* of it and of the ancestry, in edge->spooled */
	uint64_t pack_sent;
	bool is_sent;	  /* the body's end was told to upstream */
	bool owes_report; /* upstream has the commands, and said nothing yet */
	bool is_drained;
	struct report_reader report;
	bool has_report;

	/* the proof */
	struct rpc *packcheck;
	bool has_packcheck; /* one was started, whatever became of it */
	struct packcheck_start *starting; /* or NULL */
	bool awaits_packcheck;		  /* nothing else goes on */
	uint64_t told_ahead; /* bytes of the pack that it knows of */
	struct msg_pack_check proof;
	struct msg_pack_path protect[2 * PUSH_PROTECT_MAX];
	struct msg_pack_commits commit_rules[2];
	size_t *proof_indexes;
	enum pack_result result;
	size_t result_index;
	struct msg_pack_oid *wants;
	size_t wants_count;
	enum pack_wants wants_kind;
	enum constraint against; /* PACK_REFUSED: what */
	bool has_verdict;
	bool knows_filter, has_filter;
	unsigned rounds;
	int ancestry_fd;
	struct ancestry_reader reader;
};

/* Is the request for a git endpoint of a repository of the policy? Then
 * conn->git is set up, or NULL when memory is out. */
bool git_is_ours(struct conn *conn);
void git_work_release(struct conn *conn);

/* ---- git_read.c ---- */

/* Set the filters of an endpoint. 0, or -1: refusal set. */
int git_set_filters(struct conn *conn);
/* The inflater as filter_up, when the body is encoded. 0, or -1. */
int git_set_inflater(struct conn *conn);

/* A GET or POST of the edge's own to the repository, on conn->up. 0/-1. */
int git_send_own(struct conn *conn, const char *endpoint, const char *query,
		 struct bytes body);
/* Is the answer on conn->up the one that endpoint gives? -1: refusal set. */
int git_check_answer(struct conn *conn, const char *type);

/* ---- git_moved.c ---- */

/* Does the answer on conn->up send git elsewhere? That is refused with words
 * that name where; may_follow: unless the policy names that repository too,
 * and who asked can go there. 0, or -1: refusal set. */
int git_check_moved(struct conn *conn, bool may_follow);
/* Write conn->refusal of it as git shows it. 0, or -1. */
int git_reply_moved(struct conn *conn);

/* ---- the push lane's steps ---- */

enum step git_step_commands(struct conn *conn, enum lane_event event);
enum step git_step_tips(struct conn *conn, enum lane_event event);
enum step git_step_decide(struct conn *conn, enum lane_event event);
enum step git_step_refuse(struct conn *conn, enum lane_event event);
enum step git_step_spool(struct conn *conn, enum lane_event event);
enum step git_step_prove(struct conn *conn, enum lane_event event);
enum step git_step_capabilities(struct conn *conn, enum lane_event event);
enum step git_step_ancestry(struct conn *conn, enum lane_event event);
enum step git_step_send(struct conn *conn, enum lane_event event);

/* ---- git_packcheck.c ---- */

/* Ask for one; work->packcheck is set when it is there. 0, or -1. */
int git_packcheck_start(struct conn *conn);
/* A push is about to come: have who looks at it ready. */
void git_packcheck_soon(struct conn *conn);
/* If all of a push has come, and its pack will be looked at: start who does
 * it while other things are asked. */
void git_start_ahead(struct conn *conn);
/* What was asked for is not wanted any more. */
void git_packcheck_release(struct git_work *work);

/* ---- git_content.c ---- */

/* How large a pack may be that is looked at. */
struct git_pack_bounds {
	uint64_t bytes_max, objects_max;
};
struct git_pack_bounds git_pack_bounds(const struct policy_repo *repo);
/* Put what the policy says of the content into the question (work->proof),
 * and tell packcheck what must go before it. 0, or -1: refusal set. */
int git_ask_content(struct conn *conn);
/* Where a push may hold no secret: do the names of the refs that it makes,
 * and its options, hold none? 0, or -1: refusal set. */
int git_look_at_names(struct conn *conn);

/* Deny the whole push for what stands in conn->refusal; STEP_DENY. */
enum step git_refuse_push(struct conn *conn);
/* Record every update of the push as decided. -1: it cannot be kept. */
int git_record_push(struct conn *conn);

/* The push ends: record it when what became of it was never heard. */
void git_record_unheard(struct conn *conn);

/* Reply with a whole body. 0, or -1. */
int git_reply(struct conn *conn, unsigned status, const char *type,
	      struct bytes body);

#endif
