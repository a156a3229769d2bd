#include "gateway/edge/edge.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "gateway/decide/name_check.h"
#include "gateway/edge/approval.h"
#include "gateway/edge/internal.h"
#include "gateway/edge/recent.h"
#include "gateway/edge/script.h"

#define EXPIRY_CHECK_MS 1000
#define WARM_UP_MS	20

enum constraint edge_over(struct edge *edge)
{
	/* Not kept: a renewal may be on its way. The warden's word is. */
	if (edge->over == CONSTRAINT_none &&
	    clock_wall_ms() >= edge->expires_ms)
		return CONSTRAINT_lease_expired;
	return edge->over;
}

static int write_record(void *owner, const struct record *record)
{
	struct edge *edge = owner;
	struct record full = *record;

	full.session = bytes_str(edge->session_id);
	if (full.time_ms == 0)
		full.time_ms = clock_wall_ms();
	/* Whoever ran the command is told of a refusal before all is over. */
	if (record->kind == RECORD_RESPONSE && record->allowed)
		return keeper_record_outcome(edge->keeper, &full);
	return keeper_record(edge->keeper, &full);
}

int edge_record(struct edge *edge, const struct record *record)
{
	uint64_t now = io_loop_now_ms(edge->keeper->loop);

	if (!record->allowed && !edge->recent)
		edge->recent = calloc(1, sizeof(*edge->recent));
	if (!record->allowed && edge->recent)
		recent_add(edge->recent, record, clock_wall_ms());
	if (!denials_pass(&edge->denials, record, now))
		return 0;
	return write_record(edge, record);
}

/* ---- DNS names that the policy lets out ---- */

static struct verdict decide_name(struct bytes name, void *owner)
{
	static const uint16_t ports[] = {443, 80};
	struct edge *edge = owner;
	struct verdict verdict = {.constraint = edge_over(edge)};
	const char *fault;

	if (verdict.constraint != CONSTRAINT_none)
		return verdict;
	if (bytes_is(name, INTERNAL_HOST))
		return (struct verdict){
			.kind = VERDICT_ALLOW,
			.rule = bytes_str("sallyport"),
		};
	for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
		const struct target_facts facts = {name, ports[i]};

		verdict = decide_target(edge->law->policy, &facts, NULL);
		if (verdict.kind != VERDICT_DENY ||
		    verdict.constraint == CONSTRAINT_port_not_allowed)
			break;
	}
	/* Some other port of it is open, or the answer is still to come. */
	if (verdict.kind == VERDICT_ASK ||
	    verdict.constraint == CONSTRAINT_port_not_allowed)
		verdict.kind = VERDICT_ALLOW;
	if (verdict.kind != VERDICT_ALLOW)
		return verdict;
	fault = name_fault(edge->law->policy, name);
	if (fault)
		verdict = (struct verdict){
			.constraint = CONSTRAINT_host_not_allowed,
			.rule = verdict.rule,
			.reason = bytes_str(fault),
		};
	return verdict;
}

static unsigned weigh_name(struct bytes name, void *owner)
{
	const struct edge *edge = owner;

	return bytes_is(name, INTERNAL_HOST)
		       ? 0
		       : name_bits(edge->law->policy, name);
}

/* ---- life of the session ---- */

/* Once: who comes later is told why, and that is not cut short. */
static void end_streams(struct edge *edge, const char *why)
{
	if (edge->has_ended)
		return;
	edge->has_ended = true;
	log_info("session %s: closing %zu connections", why, edge->conn_count);
	conns_close(edge);
	script_end(edge);
	denials_flush(&edge->denials);
	upstream_pool_release(&edge->pool);
	permits_release(&edge->lfs_permits);
}

/* Every second: what is open when the session expires is closed. */
static void on_expiry_check(void *owner)
{
	struct edge *edge = owner;

	if (edge_over(edge) != CONSTRAINT_none)
		end_streams(edge, "expired");
	own_secrets_refresh(edge);
	io_timer_set(edge->expiry, EXPIRY_CHECK_MS);
}

/* git pushes to these. libcurl 7.88 (Debian 12), sending a long body over
 * HTTP/2, at times asks for more once it was told the body's end: git then
 * waits for ever. What goes on from here is HTTP/1.1 in any case. */
static void prefer_http11(struct edge *edge)
{
	struct law *law = edge->law;
	size_t count = law->policy->repo_count;
	struct bytes *names = arena_array(&law->arena, count, sizeof(*names));

	for (size_t i = 0; names && i < count; i++)
		names[i] = law->policy->repos[i].host;
	tls_server_prefer_http11(&edge->server, names, names ? count : 0);
}

struct tls_server *edge_tls_server(struct edge *edge, struct err *err)
{
	if (edge->server.ctx)
		return &edge->server;
	if (tls_server_init(&edge->server, bytes_str(edge->session_id), err) <
	    0)
		return NULL;
	prefer_http11(edge);
	return &edge->server;
}

/* Once its sandbox is there; no request should wait for it. */
static void on_warm_up(void *owner)
{
	struct edge *edge = owner;
	struct err err;

	if (!tls_client_context(&edge->client, &err) ||
	    !edge_tls_server(edge, &err))
		log_error("%s", err.text);
}

/* Who may reach nothing needs TLS to be told so, if at all: then it is made. */
static int warm_up_later(struct edge *edge, struct err *err)
{
	if (edge->law->policy->rule_count + edge->law->policy->repo_count == 0)
		return 0;
	edge->warm_up = io_timer_new(edge->keeper->loop, on_warm_up, edge);
	if (!edge->warm_up)
		return err_set(err, ERR_SYSTEM, "start a timer");
	io_timer_set(edge->warm_up, WARM_UP_MS);
	return 0;
}

void edge_limit(struct edge *edge)
{
	const struct network_limits *limits =
		&edge->law->policy->network_limits;

	edge->dns.names_per_minute = limits->dns_names;
	edge->dns.wild_names_per_minute = limits->wildcard_names;
	edge->dns.wild_bits_per_minute = limits->wildcard_bits;
	edge->dns.weigh = weigh_name;
	edge->pool.response_ms = (unsigned)limits->response_ms;
	edge->pool.scope = &edge->law->scope;
	edge->conns_max = edge->keeper->config.connections_max;
	if (edge->conns_max > limits->connections)
		edge->conns_max = limits->connections;
	if (edge->server.ctx)
		prefer_http11(edge);
}

static int begin_session(struct edge *edge, const struct session_package *of,
			 struct err *err)
{
	memcpy(edge->session_id, of->id.data, of->id.len);
	log_open("edge", edge->session_id);
	edge->expires_ms = of->expires_ms;
	memcpy(edge->lease_hash, of->lease_hash.data, DIGEST_LEN);
	edge->law = law_new(of, NULL, io_loop_now_ms(edge->keeper->loop), err);
	if (!edge->law)
		return -1;
	if (denials_init(&edge->denials, edge->keeper->loop, write_record,
			 edge) < 0)
		return err_set(err, ERR_SYSTEM, "start a timer");
	if (turns_init(edge, err) < 0 || backlog_init(edge, err) < 0)
		return -1;
	edge_limit(edge);
	edge->over = CONSTRAINT_none;
	edge->expiry = io_timer_new(edge->keeper->loop, on_expiry_check, edge);
	if (!edge->expiry)
		return err_set(err, ERR_SYSTEM, "start expiry timer");
	io_timer_set(edge->expiry, EXPIRY_CHECK_MS);
	return warm_up_later(edge, err);
}

static void on_session_open(struct keeper *keeper, struct session *session)
{
	struct edge *edge = keeper->owner;
	struct err err;

	if (edge->law && !strcmp(edge->session_id, session->id)) {
		edge->expires_ms = session->package->session.expires_ms;
		edge->has_ended = edge_over(edge) != CONSTRAINT_none;
		return;
	}
	if (edge->law) {
		log_error("a second session was given to this edge");
		return;
	}
	if (begin_session(edge, &session->package->session, &err) < 0) {
		log_error("%s", err.text);
		exit(EXIT_FAILURE);
	}
	own_secrets_refresh(edge);
}

static int on_session_change(struct keeper *keeper, struct session *session,
			     struct err *err)
{
	struct edge *edge = keeper->owner;
	struct law *law;

	if (!edge->law || strcmp(edge->session_id, session->id) != 0)
		return err_set(err, ERR_INVALID, "it is not this edge's");
	law = law_new(&session->package->session, edge->law,
		      io_loop_now_ms(keeper->loop), err);
	if (!law)
		return -1;
	edge->expires_ms = session->package->session.expires_ms;
	edge_change_law(edge, law);
	return 0;
}

static void on_session_close(struct keeper *keeper, struct session *session,
			     struct bytes reason)
{
	struct edge *edge = keeper->owner;

	(void)session;
	edge->over = bytes_is(reason, "expired") ? CONSTRAINT_lease_expired
						 : CONSTRAINT_session_revoked;
	end_streams(edge, constraint_name(edge->over));
}

/* ---- clients outside ---- */

static void answer_client(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct msg_client *client = message;
	const struct keeper_peer *door = owner;

	(void)ticket;
	conn_take(door->keeper->owner, take_fd(fd), client->read);
}

static const struct rpc_permit door_permits[] = {
	{MSG_CLIENT, &msg_client_schema, answer_client, true, 0},
};
/* ---- what the ledger says ---- */

static void answer_decided(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	const struct msg_proposal_ref *ref = message;
	const struct keeper_peer *peer = owner;

	(void)ticket;
	(void)fd;
	if (ref->id.len > 0)
		approvals_wake(peer->keeper->owner, ref->id);
}

/* What was decided while no ledger was there is asked for again. */
static void on_peer(struct keeper *keeper, struct keeper_peer *peer)
{
	if (peer->role == ROLE_LEDGER)
		approvals_wake(keeper->owner, bytes_from(NULL, 0));
	if (peer->role == ROLE_COURIER)
		own_secrets_refresh(keeper->owner);
}

static const struct rpc_permit ledger_permits[] = {
	{MSG_PROPOSAL_DECIDED, &msg_proposal_ref_schema, answer_decided, false,
	 1000},
};
static const struct keeper_service services[] = {
	{ROLE_DOOR, door_permits, ARRAY_SIZE(door_permits)},
	{ROLE_LEDGER, ledger_permits, ARRAY_SIZE(ledger_permits)},
};

static int listen_tcp(struct edge *edge, int fd, struct err *err)
{
	struct io_listener *listener;

	if (edge->listener_count >= EDGE_LISTENERS_MAX) {
		(void)close(fd);
		return err_set(err, ERR_TOO_LARGE, "too many listeners");
	}
	listener = io_listen(edge->keeper->loop, fd, conn_accept, edge, err);
	if (!listener)
		return -1;
	edge->listeners[edge->listener_count++] = listener;
	return 0;
}

static void on_listener(struct keeper *keeper, enum listener_kind kind, int fd)
{
	struct edge *edge = keeper->owner;
	struct err err;
	int result;

	switch ((unsigned)kind) {
	case LISTENER_TCP:
		result = listen_tcp(edge, fd, &err);
		break;
	case LISTENER_DNS_UDP:
		result = edge_dns_udp(edge, fd, &err);
		break;
	case LISTENER_DNS_TCP:
		result = edge_dns_tcp(edge, fd, &err);
		break;
	default:
		(void)close(fd);
		result = err_set(&err, ERR_INVALID, "not a listener of mine");
		break;
	}
	if (result < 0)
		log_error("listener: %s", err.text);
}

/* ---- life of the process ---- */

static int prepare(struct keeper *keeper, struct confine_spec *confine,
		   struct err *err)
{
	struct edge *edge = keeper->owner;
	size_t seed;

	/* jansson would open /dev/urandom for it. */
	random_bytes(&seed, sizeof(seed));
	json_object_seed(seed | 1);
	confine->memory_max = EDGE_MEMORY_MAX;
	edge->keeper = keeper;
	edge->over = CONSTRAINT_internal;
	edge->conns_max = keeper->config.connections_max;
	edge->pool =
		(struct upstream_pool){.keeper = keeper,
				       .tls = &edge->client,
				       .response_ms = UPSTREAM_RESPONSE_MS};
	edge->names = names_new();
	if (!edge->names)
		return err_set(err, ERR_SYSTEM, "allocate names");
	dns_init(&edge->dns, edge->names, decide_name, edge);
	tls_leaves_init(&edge->leaves);
	return tls_client_begin(&edge->client, keeper->config.ca_bundle,
				keeper->config.tls13_only, err);
}

/* What else it says is read when a session begins. */
static int on_config(struct keeper *keeper, const struct gateway_config *before,
		     struct err *err)
{
	struct edge *edge = keeper->owner;

	if (!gateway_config_tls_differs(&keeper->config, before))
		return 0;
	if (tls_client_change(&edge->client, keeper->config.ca_bundle,
			      keeper->config.tls13_only, err) < 0)
		return -1;
	upstream_pool_distrust(&edge->pool);
	return 0;
}

/* Beside confine's base set. No socket, connect, open or exec. */
static const char *const syscalls[] = {
	"accept4",	"getsockname", "getsockopt", "shutdown", "socketpair",
	"memfd_create", "ftruncate",   "pread64",    "pwrite64", NULL,
};

const struct keeper_spec edge_spec = {
	.role = ROLE_EDGE,
	.services = services,
	.service_count = ARRAY_SIZE(services),
	.prepare = prepare,
	.syscalls = syscalls,
	.on_session_open = on_session_open,
	.on_session_change = on_session_change,
	.on_session_close = on_session_close,
	.on_peer = on_peer,
	.on_listener = on_listener,
	.on_config = on_config,
};
