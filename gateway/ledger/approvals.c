#include "gateway/ledger/approvals.h"

#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"

#define ANSWER_ARENA_MAX (256 * 1024)
#define WORDS_MAX	 1024

static void refuse(struct rpc_ticket ticket, const struct err *err)
{
	enum constraint constraint = err->code == ERR_TOO_LARGE
					     ? CONSTRAINT_approval_pending
					     : CONSTRAINT_internal;

	rpc_refuse(ticket, (uint16_t)constraint, "%s", err->text);
}

/* ---- the record ---- */

static void record(struct approvals *approvals, const struct proposal *proposal,
		   enum constraint constraint, const char *verb)
{
	auto_type(buf_release) struct buf words;
	struct record row = {
		.kind = RECORD_APPROVAL,
		.allowed = constraint == CONSTRAINT_none,
		.constraint = (uint16_t)constraint,
		.session = proposal->session,
		.rule = proposal->rule,
		.host = proposal->host,
		.port = proposal->port,
		.method = proposal->method,
		.path = bytes_slice(proposal->path, 0, WORDS_MAX),
		.credential = proposal->credential,
		.approval = proposal->id,
	};
	const struct msg_records records = {&row, 1};

	buf_init(&words, WORDS_MAX);
	/* What is too long to be said whole stands in host and path. */
	if (buf_add_str(&words, verb) == 0 &&
	    proposal_add_words(&words, proposal) < 0)
		log_debug("proposal %.*s has a long path",
			  BYTES_ARGS(proposal->id));
	row.detail = buf_view(&words);
	batch_add(approvals->batch, &records, NULL, NULL);
}

static void record_decision(struct approvals *approvals,
			    const struct proposal *proposal)
{
	char verb[96];

	(void)snprintf(verb, sizeof(verb),
		       "%s%s by uid %u: ", proposal_state_name(proposal->state),
		       proposal->state != PROPOSAL_APPROVED ? ""
		       : proposal->scope == GRANT_ONCE	    ? " once"
		       : proposal->scope == GRANT_SESSION   ? " for the session"
							    : " for a time",
		       proposal->decided_by);
	record(approvals, proposal,
	       proposal->state == PROPOSAL_APPROVED
		       ? CONSTRAINT_none
		       : CONSTRAINT_approval_denied,
	       verb);
}

/* ---- edges ---- */

static void ask(struct approvals *approvals, struct rpc_ticket ticket,
		const struct proposal *question, bool take)
{
	auto_type(arena_release) struct arena arena;
	const struct proposal_ask asked = {question, take, clock_wall_ms()};
	struct proposal found;
	bool is_new;
	struct err err;

	arena_init(&arena, ANSWER_ARENA_MAX);
	if (proposals_ask(approvals->store, &asked, &arena, &found, &is_new,
			  &err) < 0) {
		refuse(ticket, &err);
		return;
	}
	if (is_new)
		record(approvals, &found, CONSTRAINT_approval_pending, "");
	rpc_reply(ticket, &proposal_schema, &found, -1);
}

/* What runs inside is none of an edge's business. */
static void ask_of_edge(struct approvals *approvals,
			const struct keeper_peer *peer,
			struct rpc_ticket ticket,
			const struct proposal *question, bool take)
{
	struct proposal own = *question;

	own.session = bytes_str(peer->session);
	if (proposal_is_command(&own))
		rpc_refuse(ticket, CONSTRAINT_internal,
			   "an edge asks about no commands");
	else
		ask(approvals, ticket, &own, take);
}

void approvals_take(struct approvals *approvals, const struct keeper_peer *peer,
		    struct rpc_ticket ticket, const struct proposal *question)
{
	ask_of_edge(approvals, peer, ticket, question, true);
}

void approvals_ask(struct approvals *approvals, const struct keeper_peer *peer,
		   struct rpc_ticket ticket, const struct proposal *question)
{
	ask_of_edge(approvals, peer, ticket, question, false);
}

/* Answer with the proposal, if it is of that session (NULL: of any). */
static void get(struct approvals *approvals, struct rpc_ticket ticket,
		struct bytes id, const char *session)
{
	auto_type(arena_release) struct arena arena;
	struct msg_proposal_found found = {0};
	struct proposal proposal;
	struct err err;
	int got;

	arena_init(&arena, ANSWER_ARENA_MAX);
	got = proposals_get(approvals->store, id, clock_wall_ms(), &arena,
			    &proposal, &err);
	if (got < 0) {
		refuse(ticket, &err);
		return;
	}
	if (got == 1 && (!session || bytes_is(proposal.session, session))) {
		found.proposals = &proposal;
		found.proposals_count = 1;
	}
	rpc_reply(ticket, &msg_proposal_found_schema, &found, -1);
}

void approvals_show(struct approvals *approvals, const struct keeper_peer *peer,
		    struct rpc_ticket ticket,
		    const struct msg_proposal_ref *ref)
{
	get(approvals, ticket, ref->id, peer->session);
}

/* ---- control ---- */

void approvals_take_command(struct approvals *approvals,
			    struct rpc_ticket ticket,
			    const struct proposal *question)
{
	if (proposal_is_command(question) && question->session.len > 0)
		ask(approvals, ticket, question, true);
	else
		rpc_refuse(ticket, CONSTRAINT_internal,
			   "control asks about commands of a session alone");
}

void approvals_get(struct approvals *approvals, struct rpc_ticket ticket,
		   const struct msg_proposal_ref *ref)
{
	get(approvals, ticket, ref->id, NULL);
}

void approvals_list(struct approvals *approvals, struct rpc_ticket ticket,
		    const struct msg_proposal_query *query)
{
	auto_type(arena_release) struct arena arena;
	struct msg_proposal_list list;
	struct err err;

	arena_init(&arena, ANSWER_ARENA_MAX);
	if (proposals_list(approvals->store, query, clock_wall_ms(), &arena,
			   &list, &err) < 0)
		refuse(ticket, &err);
	else
		rpc_reply(ticket, &msg_proposal_list_schema, &list, -1);
}

/* An edge that is not there reads it when it is back. */
static void tell_edge(struct approvals *approvals,
		      const struct proposal *proposal)
{
	const struct msg_proposal_ref message = {proposal->id};
	struct keeper_peer *peer;
	struct err err;

	DL_FOREACH(approvals->keeper->peers, peer)
	if (peer->role == ROLE_EDGE &&
	    bytes_is(proposal->session, peer->session) &&
	    rpc_tell(peer->rpc, MSG_PROPOSAL_DECIDED, &msg_proposal_ref_schema,
		     &message, -1, &err) < 0)
		log_warn("tell edge %s: %s", peer->session, err.text);
}

void approvals_decide(struct approvals *approvals, struct rpc_ticket ticket,
		      const struct msg_proposal_decide *decide)
{
	auto_type(arena_release) struct arena arena;
	uint64_t now_ms = clock_wall_ms();
	struct proposal proposal;
	struct msg_proposal_found found = {0};
	struct err err;
	int done = proposals_decide(approvals->store, decide, now_ms, &err);
	int got = -1;

	arena_init(&arena, ANSWER_ARENA_MAX);
	if (done >= 0)
		got = proposals_get(approvals->store, decide->id, now_ms,
				    &arena, &proposal, &err);
	if (got < 0) {
		refuse(ticket, &err);
		return;
	}
	found.has_changed = done == 1;
	found.proposals = &proposal;
	found.proposals_count = (size_t)got;
	if (done == 1) {
		record_decision(approvals, &proposal);
		tell_edge(approvals, &proposal);
	}
	rpc_reply(ticket, &msg_proposal_found_schema, &found, -1);
}

void approvals_note_ends(struct approvals *approvals,
			 const struct msg_records *records)
{
	struct err err;

	for (size_t i = 0; i < records->records_count; i++)
		if (records->records[i].kind == RECORD_SESSION_ENDED &&
		    proposals_end_session(approvals->store,
					  records->records[i].session,
					  &err) < 0)
			log_error("session %.*s keeps its grants: %s",
				  BYTES_ARGS(records->records[i].session),
				  err.text);
}
