#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/daemon/answers.h"
#include "sandbox-host/daemon/answers_store.h"
#include "sandbox-host/daemon/daemon.h"
#include "sandbox-host/daemon/images.h"
#include "sandbox-host/daemon/isolate.h"
#include "sandbox-host/daemon/pool.h"
#include "sandbox-host/daemon/ready.h"
#include "sandbox-host/daemon/snapshots.h"

#define PERMIT_RATE	     HOST_ASKS_MAX
#define PERMITS_NOT_THE_APIS 7 /* the last ones */
#define RELOAD_RATE	     20

static struct daemon *daemon_of(void *owner)
{
	return ((struct asker *)owner)->daemon;
}

static void reply_sandbox(struct rpc_ticket ticket, const struct entry *entry)
{
	rpc_reply(ticket, &host_sandbox_schema, &entry->sandbox, -1);
}

static void refuse_memory(struct rpc_ticket ticket)
{
	rpc_refuse(ticket, HOST_REFUSED_FULL, "no memory");
}

static void refuse_state(struct rpc_ticket ticket, const struct entry *entry)
{
	rpc_refuse(ticket, HOST_REFUSED_STATE, "the sandbox is %s",
		   host_state_name((enum host_state)entry->sandbox.state));
}

struct entry *answers_find(void *owner, struct bytes id,
			   struct rpc_ticket ticket)
{
	struct entry *entry = entry_find(daemon_of(owner), id);

	if (entry && !entry->is_pooled)
		return entry;
	rpc_refuse(ticket, HOST_REFUSED_MISSING, "there is no sandbox %.*s",
		   BYTES_ARGS(id));
	return NULL;
}

/* The same, where its state allows it. */
static struct entry *find_for(void *owner, struct bytes id,
			      enum state_request request,
			      struct rpc_ticket ticket)
{
	struct entry *entry = answers_find(owner, id, ticket);

	if (!entry)
		return NULL;
	if (!state_accepts((enum host_state)entry->sandbox.state, request)) {
		refuse_state(ticket, entry);
		return NULL;
	}
	/* One that is given its files has none yet. */
	if (!entry->rpc && !(request == STATE_KILL && entry->request >= 0)) {
		rpc_refuse(ticket, HOST_REFUSED_UNREACHABLE,
			   "its supervisor does not answer");
		return NULL;
	}
	return entry;
}

/* ---- passing a request on ---- */

/* One that a supervisor is asked, for the asker who waits. */
struct errand {
	struct daemon *daemon;
	struct rpc_ticket ticket;
	char id[HOST_ID_MAX + 1];
	bool wants_sandbox; /* the answer is what the sandbox is then */
	const struct wire_schema *reply;
};

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct errand *errand = owner;
	const struct entry *entry =
		entry_find(errand->daemon, bytes_str(errand->id));

	if (outcome->refusal)
		rpc_refuse(errand->ticket, outcome->refusal->code, "%.*s",
			   BYTES_ARGS(outcome->refusal->detail));
	else if (outcome->err && entry &&
		 (entry->sandbox.state == HOST_STOPPING ||
		  state_is_over((enum host_state)entry->sandbox.state)))
		/* Its end came before its supervisor got to the request. */
		refuse_state(errand->ticket, entry);
	else if (outcome->err)
		rpc_refuse(errand->ticket, HOST_REFUSED_UNREACHABLE, "%s",
			   outcome->err->text);
	else if (errand->wants_sandbox && entry)
		reply_sandbox(errand->ticket, entry);
	else
		rpc_reply(errand->ticket, errand->reply, outcome->message,
			  outcome->fd);
	free(errand);
}

/* call: what is asked, with its reply's schema. */
static void pass_on(struct entry *entry, struct rpc_ticket ticket,
		    const struct rpc_call *wanted, bool wants_sandbox)
{
	struct errand *errand = calloc(1, sizeof(*errand));
	struct rpc_call call = *wanted;
	struct err err;

	if (!errand) {
		refuse_memory(ticket);
		return;
	}
	*errand = (struct errand){
		.daemon = entry->daemon,
		.ticket = ticket,
		.wants_sandbox = wants_sandbox,
		.reply = call.reply_schema,
	};
	memcpy(errand->id, entry->id, sizeof(errand->id));
	call.fd = -1;
	call.timeout_ms = SUPERVISOR_TIMEOUT_MS;
	call.on_outcome = on_outcome;
	call.owner = errand;
	if (rpc_ask(entry->rpc, &call, NULL, &err) == 0)
		return;
	rpc_refuse(ticket, HOST_REFUSED_UNREACHABLE, "%s", err.text);
	free(errand);
}

/* ---- create, list, show ---- */

/* What nobody from outside may say, whatever the API's process passes on. */
static bool names_directories(const struct sandbox_request *request)
{
	return request->workspace.len > 0 || request->home.len > 0 ||
	       request->policy_path.len > 0;
}

static bool names_another(const struct sandbox_request *request)
{
	for (size_t i = 0; i < request->metadata_count; i++)
		if (isolate_is_key(request->metadata[i].name))
			return true;
	return false;
}

static int check(const struct asker *asker,
		 const struct sandbox_request *request,
		 struct rpc_ticket ticket)
{
	const struct daemon *daemon = asker->daemon;

	if (request->is_isolated || request->mode || request->is_offline ||
	    names_another(request))
		rpc_refuse(ticket, HOST_REFUSED_FORBIDDEN,
			   "what stands beside another is not asked for so");
	else if (asker == daemon->api.asker && names_directories(request))
		rpc_refuse(ticket, HOST_REFUSED_FORBIDDEN,
			   "no directory of the host is named from outside");
	else if (daemon->is_draining)
		rpc_refuse(ticket, HOST_REFUSED_UNREACHABLE,
			   "the daemon is about to end");
	else if (daemon->live_count - ready_count(daemon) >=
		 daemon->config.sandboxes_max)
		rpc_refuse(ticket, HOST_REFUSED_FULL,
			   "there are %zu sandboxes already: limits.sandboxes",
			   daemon->live_count - ready_count(daemon));
	else if (request->expires_ms != 0 &&
		 request->expires_ms <= clock_wall_ms())
		rpc_refuse(ticket, HOST_REFUSED_INVALID,
			   "its end would be in the past");
	else
		return 0;
	return -1;
}

static void answer_create(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct asker *asker = owner;
	struct request_memory memory;
	struct sandbox_request request;
	struct spawn_for who = {.uid = asker->uid};
	struct entry *entry = NULL;
	struct err err;

	(void)message;
	if (sandbox_request_open(*fd, &memory, &request, &err) < 0) {
		rpc_refuse(ticket, HOST_REFUSED_INVALID, "%s", err.text);
		return;
	}
	who.is_bounded = asker == asker->daemon->api.asker &&
			 !serve_api_knows(asker->daemon, request.policy);
	if (check(asker, &request, ticket) == 0) {
		if (pool_take(asker->daemon, ticket, *fd, &request, &who) ||
		    ready_take(asker->daemon, ticket, *fd, &request, &who)) {
			request_release(&memory);
			return;
		}
		entry = spawn(asker->daemon, *fd, &request, &who, &err);
		if (!entry)
			rpc_refuse(ticket,
				   err.code == ERR_INVALID
					   ? HOST_REFUSED_INVALID
					   : HOST_REFUSED,
				   "%s", err.text);
	}
	if (entry && entry_wait(entry, ticket, false) < 0)
		refuse_memory(ticket);
	if (entry)
		ready_want(entry, &request, &who);
	request_release(&memory);
}

static void answer_isolate(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	const struct host_isolate *wanted = message;
	const struct sandbox_request request = {0};
	struct asker *asker = owner;
	struct entry *entry = find_for(owner, wanted->id, STATE_USE, ticket);

	(void)fd;
	if (!entry)
		return;
	if (asker != asker->daemon->api.asker)
		rpc_refuse(ticket, HOST_REFUSED_FORBIDDEN,
			   "isolated sessions are the API's");
	else if (wanted->mode == REQUEST_MODE_POLICY)
		rpc_refuse(ticket, HOST_REFUSED_INVALID, "there is no mode");
	else if (isolate_is(entry))
		rpc_refuse(ticket, HOST_REFUSED_UNSUPPORTED,
			   "an isolated session has none of its own");
	else if (check(asker, &request, ticket) == 0)
		isolate_begin(entry, wanted, ticket);
}

static bool has_pair(const struct host_sandbox *sandbox,
		     const struct text_pair *pair)
{
	bool is_any = pair->value.len == 0 && isolate_is_key(pair->name);

	for (size_t i = 0; i < sandbox->metadata_count; i++)
		if (bytes_equal(sandbox->metadata[i].name, pair->name) &&
		    (is_any ||
		     bytes_equal(sandbox->metadata[i].value, pair->value)))
			return true;
	return false;
}

static bool matches(const struct host_sandbox *sandbox,
		    const struct host_query *query)
{
	if (query->states && !(query->states & (1u << sandbox->state)))
		return false;
	for (size_t i = 0; i < query->metadata_count; i++)
		if (!has_pair(sandbox, &query->metadata[i]))
			return false;
	return true;
}

/* An answer that does not fit becomes one that does. */
static bool fits(const struct host_list *list)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, WIRE_MESSAGE_MAX - 64);
	return wire_encode(&host_list_schema, list, &out, NULL) == 0;
}

/* Whoever asks from outside sees the sandboxes that it made, unless it asks
 * for those beside them. */
static bool is_shown(const struct asker *asker, const struct entry *entry,
		     const struct host_query *query)
{
	if (entry->is_pooled)
		return false;
	if (asker != asker->daemon->api.asker || !isolate_is(entry))
		return true;
	for (size_t i = 0; i < query->metadata_count; i++)
		if (bytes_is(query->metadata[i].name, ISOLATED_OF_KEY))
			return true;
	return false;
}

static void answer_list(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct host_query *query = message;
	struct host_sandbox sandboxes[HOST_LIST_MAX];
	struct host_list list = {.sandboxes = sandboxes};
	const struct entry *entry;
	size_t limit =
		query->limit < HOST_LIST_MAX ? query->limit : HOST_LIST_MAX;

	(void)fd;
	for (entry = daemon_of(owner)->entries; entry; entry = entry->next) {
		if (!is_shown(owner, entry, query) ||
		    !matches(&entry->sandbox, query))
			continue;
		if (list.total++ >= query->skip && list.sandboxes_count < limit)
			sandboxes[list.sandboxes_count++] = entry->sandbox;
	}
	while (list.sandboxes_count > 1 && !fits(&list))
		list.sandboxes_count--;
	rpc_reply(ticket, &host_list_schema, &list, -1);
}

static void answer_show(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct host_ref *ref = message;
	const struct entry *entry = answers_find(owner, ref->id, ticket);

	(void)fd;
	if (entry)
		reply_sandbox(ticket, entry);
}

/* ---- life ---- */

static void answer_kill(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct host_ref *ref = message;
	struct entry *entry = find_for(owner, ref->id, STATE_KILL, ticket);
	const struct supervisor_end end = {.reason = bytes_str("killed")};
	struct err err;

	(void)fd;
	if (!entry)
		return;
	if (entry_wait(entry, ticket, true) < 0) {
		refuse_memory(ticket);
		return;
	}
	/* Said twice it hears it once. */
	if (entry->request >= 0)
		snapshots_break_off(entry->daemon, entry);
	else if (rpc_tell(entry->rpc, MSG_SUPERVISOR_END,
			  &supervisor_end_schema, &end, -1, &err) < 0)
		keep_kill(entry);
	if (entry->sandbox.state != HOST_STOPPING)
		entry_become(entry, HOST_STOPPING, "killed", "");
}

static void pass_on_empty(struct entry *entry, struct rpc_ticket ticket,
			  uint16_t type)
{
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = type,
		.schema = &wire_empty_schema,
		.message = &empty,
		.reply_schema = &wire_empty_schema,
	};

	pass_on(entry, ticket, &call, true);
}

/* To rest, or to go on. NULL: answered; while a snapshot is made of it that is
 * done afterwards. */
static struct entry *find_unless_wished(void *owner, struct bytes id,
					bool rests, struct rpc_ticket ticket)
{
	struct entry *entry = entry_find(daemon_of(owner), id);

	if (entry && !entry->is_pooled &&
	    entry->sandbox.state != HOST_STOPPING &&
	    snapshots_wish(entry, rests)) {
		reply_sandbox(ticket, entry);
		return NULL;
	}
	return find_for(owner, id, rests ? STATE_PAUSE : STATE_RESUME, ticket);
}

static void answer_pause(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct host_ref *ref = message;
	struct entry *entry = find_unless_wished(owner, ref->id, true, ticket);

	(void)fd;
	if (entry)
		pass_on_empty(entry, ticket, MSG_SUPERVISOR_PAUSE);
}

static void answer_resume(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct host_ref *ref = message;
	struct entry *entry = find_unless_wished(owner, ref->id, false, ticket);

	(void)fd;
	if (entry)
		pass_on_empty(entry, ticket, MSG_SUPERVISOR_RESUME);
}

static void answer_renew(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct host_renew *renew = message;
	struct entry *entry = find_for(owner, renew->id, STATE_RENEW, ticket);
	const struct rpc_call call = {
		.type = MSG_SUPERVISOR_RENEW,
		.schema = &host_renew_schema,
		.message = renew,
		.reply_schema = &wire_empty_schema,
	};

	(void)fd;
	if (entry)
		pass_on(entry, ticket, &call, true);
}

/* ---- the inside ---- */

static void answer_channel(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	const struct host_channel *wanted = message;
	bool is_look = wanted->kind == HOST_CHANNEL_BACKGROUND ||
		       wanted->kind == HOST_CHANNEL_SESSION ||
		       wanted->kind == HOST_CHANNEL_RESIDENT;
	struct entry *entry = find_for(
		owner, wanted->id, is_look ? STATE_LOOK : STATE_USE, ticket);
	const struct rpc_call call = {
		.type = MSG_SUPERVISOR_CHANNEL,
		.schema = &host_channel_schema,
		.message = wanted,
		.reply_schema = &wire_empty_schema,
	};

	(void)fd;
	if (entry)
		pass_on(entry, ticket, &call, false);
}

static void answer_connect(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	const struct host_port *wanted = message;
	struct entry *entry = find_for(owner, wanted->id, STATE_USE, ticket);
	const struct rpc_call call = {
		.type = MSG_SUPERVISOR_CONNECT,
		.schema = &host_port_schema,
		.message = wanted,
		.reply_schema = &wire_empty_schema,
	};

	(void)fd;
	if (entry)
		pass_on(entry, ticket, &call, false);
}

static void answer_port(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct host_port *wanted = message;
	struct entry *entry = find_for(owner, wanted->id, STATE_USE, ticket);
	const struct rpc_call call = {
		.type = MSG_SUPERVISOR_PORT,
		.schema = &host_port_schema,
		.message = wanted,
		.reply_schema = &host_address_schema,
	};

	(void)fd;
	if (entry)
		pass_on(entry, ticket, &call, false);
}

static void answer_metrics(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	const struct host_ref *ref = message;
	struct entry *entry = find_for(owner, ref->id, STATE_USE, ticket);
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_SUPERVISOR_METRICS,
		.schema = &wire_empty_schema,
		.message = &empty,
		.reply_schema = &host_metrics_schema,
	};

	(void)fd;
	if (entry)
		pass_on(entry, ticket, &call, false);
}

/* ---- events, logs, status ---- */

static void answer_events(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct host_after *after = message;

	(void)fd;
	if (answers_find(owner, after->id, ticket))
		follow_add(daemon_of(owner), ticket, after, false);
}

static void answer_logs(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct host_after *after = message;

	(void)fd;
	if (answers_find(owner, after->id, ticket))
		follow_add(daemon_of(owner), ticket, after, true);
}

static void answer_status(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct daemon *daemon = daemon_of(owner);
	struct host_count counts[HOST_STATE_MAX] = {0};
	const struct host_status status = {
		.counts = counts,
		.counts_count = HOST_STATE_MAX,
		.sandboxes_max = (uint32_t)daemon->config.sandboxes_max,
		.is_draining = daemon->is_draining,
	};

	(void)message;
	(void)fd;
	for (const struct entry *entry = daemon->entries; entry;
	     entry = entry->next)
		counts[entry->sandbox.state].count += !entry->is_pooled;
	rpc_reply(ticket, &host_status_schema, &status, -1);
}

const struct rpc_permit answers_permits[] = {
	{MSG_HOST_ISOLATE, &host_isolate_schema, answer_isolate, false,
	 PERMIT_RATE},
	{MSG_HOST_CREATE, &wire_empty_schema, answer_create, true, PERMIT_RATE},
	{MSG_HOST_LIST, &host_query_schema, answer_list, false, PERMIT_RATE},
	{MSG_HOST_SHOW, &host_ref_schema, answer_show, false, PERMIT_RATE},
	{MSG_HOST_METRICS, &host_ref_schema, answer_metrics, false,
	 PERMIT_RATE},
	{MSG_HOST_KILL, &host_ref_schema, answer_kill, false, PERMIT_RATE},
	{MSG_HOST_PAUSE, &host_ref_schema, answer_pause, false, PERMIT_RATE},
	{MSG_HOST_RESUME, &host_ref_schema, answer_resume, false, PERMIT_RATE},
	{MSG_HOST_RENEW, &host_renew_schema, answer_renew, false, PERMIT_RATE},
	{MSG_HOST_METADATA, &host_patch_schema, answers_metadata, false,
	 PERMIT_RATE},
	{MSG_HOST_CHANNEL, &host_channel_schema, answer_channel, false,
	 PERMIT_RATE},
	{MSG_HOST_CONNECT, &host_port_schema, answer_connect, false,
	 PERMIT_RATE},
	{MSG_HOST_EVENTS, &host_after_schema, answer_events, false,
	 PERMIT_RATE},
	{MSG_HOST_LOGS, &host_after_schema, answer_logs, false, PERMIT_RATE},
	{MSG_HOST_SNAPSHOT, &host_snapshot_request_schema, answer_snapshot,
	 false, PERMIT_RATE},
	{MSG_HOST_SNAPSHOTS, &host_page_schema, answer_snapshots, false,
	 PERMIT_RATE},
	{MSG_HOST_SNAPSHOT_SHOW, &host_ref_schema, answer_snapshot_show, false,
	 PERMIT_RATE},
	{MSG_HOST_SNAPSHOT_REMOVE, &host_ref_schema, answer_snapshot_remove,
	 false, PERMIT_RATE},
	/* What no client of the API asks for. */
	{MSG_HOST_CONFIG, &wire_empty_schema, answer_config, false,
	 RELOAD_RATE},
	{MSG_HOST_RELOAD, &wire_empty_schema, answer_reload, false,
	 RELOAD_RATE},
	{MSG_HOST_PORT, &host_port_schema, answer_port, false, PERMIT_RATE},
	{MSG_HOST_STATUS, &wire_empty_schema, answer_status, false,
	 PERMIT_RATE},
	{MSG_HOST_IMAGES, &wire_empty_schema, answer_images, false,
	 PERMIT_RATE},
	{MSG_HOST_IMAGE_PULL, &host_name_schema, answer_image_pull, false,
	 PERMIT_RATE},
	{MSG_HOST_IMAGE_REMOVE, &host_name_schema, answer_image_remove, false,
	 PERMIT_RATE},
};
const size_t answers_permit_count = ARRAY_SIZE(answers_permits);
const size_t answers_api_permit_count =
	ARRAY_SIZE(answers_permits) - PERMITS_NOT_THE_APIS;
