/* A sandbox that is built before anybody asks for it. It is what its request
 * says but for what is each one's own, which comes with whoever takes it. Its
 * end is set when it is made: nobody need be there to remove it. */
#include "sandbox-host/supervisor/ahead.h"

#include "common/cleanup.h"
#include "gateway/flow/messages.h"

#define KIND_MAX REQUEST_BYTES_MAX

int ahead_check(struct supervisor *supervisor, struct err *err)
{
	const struct policy_filesystem *files = &supervisor->policy->filesystem;

	if (!supervisor->options.is_ahead || supervisor->options.is_pooled)
		return 0;
	if (files->hide.count || files->ignore_files.count ||
	    !bounds_are_kept(supervisor))
		return err_set(
			err, ERR_UNSUPPORTED,
			"this policy is about files of the host, as they "
			"are when a sandbox begins: none is built "
			"ahead");
	return 0;
}

/* The daemon compared them as well. */
static bool is_of_our_kind(const struct supervisor *supervisor)
{
	auto_type(buf_release) struct buf ours;
	auto_type(buf_release) struct buf theirs;
	struct err err;

	buf_init(&ours, KIND_MAX);
	buf_init(&theirs, KIND_MAX);
	return sandbox_request_kind(&supervisor->request, &ours, &err) == 0 &&
	       sandbox_request_kind(&supervisor->taken, &theirs, &err) == 0 &&
	       bytes_equal(buf_view(&ours), buf_view(&theirs));
}

void ahead_on_terms(void *owner)
{
	struct supervisor *supervisor = owner;

	if (supervisor->options.is_ahead)
		life_end(supervisor, HOST_TERMINATED, "killed",
			 "the gateway's configuration was changed before "
			 "anybody took it");
}

static void refuse(struct supervisor *supervisor, enum host_refusal code,
		   const char *why)
{
	rpc_refuse(supervisor->taker, (uint16_t)code, "%s", why);
	supervisor->taker = (struct rpc_ticket){0};
	request_release(&supervisor->taken_memory);
}

/* What was borrowed from the first request stays where it is. */
static void take(struct supervisor *supervisor)
{
	const struct wire_empty empty = {0};
	struct err err;

	supervisor->request = supervisor->taken;
	supervisor->options.is_ahead = false;
	life_begin_anew(supervisor, supervisor->request.expires_ms);
	if (exec_entrypoint(supervisor, &err) < 0) {
		rpc_refuse(supervisor->taker, HOST_REFUSED, "%s", err.text);
		life_end(supervisor, HOST_FAILED, "not_built", err.text);
		return;
	}
	rpc_reply(supervisor->taker, &wire_empty_schema, &empty, -1);
	supervisor->taker = (struct rpc_ticket){0};
}

/* Its session began when it was built: under what holds still? */
static void on_terms(struct rpc_outcome *outcome, void *owner)
{
	const struct msg_session_terms *terms = outcome->message;
	struct supervisor *supervisor = owner;
	const char *ours = json_text(supervisor->session.json, "terms");

	if (supervisor->state != HOST_RUNNING)
		refuse(supervisor, HOST_REFUSED_STATE, "the sandbox ends");
	else if (outcome->err)
		refuse(supervisor, HOST_REFUSED_UNREACHABLE,
		       outcome->err->text);
	else if (!ours[0] || !bytes_is(terms->text, ours))
		refuse(supervisor, HOST_REFUSED_STATE,
		       "the gateway's configuration is another now");
	else
		take(supervisor);
}

void ahead_answer(struct rpc_ticket ticket, const void *message, int *fd,
		  void *owner)
{
	struct supervisor *supervisor = owner;
	struct err err;

	(void)message;
	if (supervisor->state != HOST_RUNNING ||
	    !supervisor->options.is_ahead || supervisor->taker.rpc) {
		rpc_refuse(ticket, HOST_REFUSED_STATE,
			   "nobody can take this sandbox");
		return;
	}
	if (sandbox_request_open(*fd, &supervisor->taken_memory,
				 &supervisor->taken, &err) < 0) {
		rpc_refuse(ticket, HOST_REFUSED_INVALID, "%s", err.text);
		return;
	}
	supervisor->taker = ticket;
	if (!is_of_our_kind(supervisor))
		refuse(supervisor, HOST_REFUSED_INVALID,
		       "the sandbox was built for another request");
	else if (attachment_ask_terms(&supervisor->attachment, on_terms,
				      supervisor, &err) < 0)
		refuse(supervisor, HOST_REFUSED_UNREACHABLE, err.text);
}
