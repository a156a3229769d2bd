/*
 * Fingerprints of the session's own secrets, for the rules that let no
 * secret out: had from the vault through the courier, and again as long as
 * the session lives, since secrets are rotated.
 */
#include "common/log.h"
#include "gateway/edge/conn.h"
#include "gateway/edge/placeholders.h"
#include "policies/inspect/prints.h"
#include "policies/inspect/secrets.h"

#define PRINTS_TIMEOUT_MS 10000
#define PRINTS_KEPT_MS	  60000

static bool denies_secrets(const struct policy_rule *rule)
{
	return (rule->body && rule->body->deny_secrets) ||
	       (rule->websocket && rule->websocket->deny_secrets);
}

static bool has_such_a_rule(const struct policy *policy)
{
	for (size_t i = 0; i < policy->rule_count; i++)
		if (denies_secrets(&policy->rules[i]))
			return true;
	for (size_t i = 0; i < policy->repo_count; i++)
		if (policy->repos[i].checks.deny_secrets)
			return true;
	return false;
}

/* The guardrail's rules look for the session's secrets as its own do. */
bool own_secrets_are_wanted(const struct edge *edge)
{
	const struct policy *policy = edge->law ? edge->law->policy : NULL;

	if (!policy || policy->credential_count == 0)
		return false;
	return has_such_a_rule(policy) ||
	       (policy->guardrail && has_such_a_rule(policy->guardrail));
}

static void on_prints(struct rpc_outcome *outcome, void *owner)
{
	const struct msg_prints *message = outcome->message;
	struct edge *edge = owner;
	struct secret_prints *prints;
	struct err err;

	edge->own.is_asking = false;
	if (outcome->err) {
		log_warn("own secrets: %s", outcome->err->text);
		edge->own.is_stale = true;
		return;
	}
	prints = prints_read(message->prints, &err);
	if (!prints) {
		log_error("own secrets: %s", err.text);
		edge->own.is_stale = true;
		return;
	}
	prints_free(edge->own.prints);
	edge->own.prints = prints;
	edge->own.had_ms = io_loop_now_ms(edge->keeper->loop);
	/* The policy was changed meanwhile: this may be of the one before. */
	if (edge->own.is_stale)
		own_secrets_refresh(edge);
}

static bool are_fresh(const struct edge *edge)
{
	uint64_t now = io_loop_now_ms(edge->keeper->loop);

	return edge->own.prints && !edge->own.is_stale &&
	       now - edge->own.had_ms < PRINTS_KEPT_MS;
}

void own_secrets_refresh(struct edge *edge)
{
	struct keeper_peer *courier =
		keeper_peer_of(edge->keeper, ROLE_COURIER);
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_PRINTS_GET,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &msg_prints_schema,
		.timeout_ms = PRINTS_TIMEOUT_MS,
		.on_outcome = on_prints,
		.owner = edge,
	};
	struct err err;

	if (!own_secrets_are_wanted(edge) || !courier || edge->own.is_asking ||
	    are_fresh(edge))
		return;
	edge->own.is_asking = rpc_ask(courier->rpc, &call, NULL, &err) == 0;
	if (edge->own.is_asking)
		edge->own.is_stale = false;
}

void own_secrets_renew(struct edge *edge)
{
	edge->own.is_stale = true;
	own_secrets_refresh(edge);
}

struct secret_scan *own_secrets_scan(struct conn *conn)
{
	const struct edge *edge = conn->edge;
	const struct secret_look look = {
		.prints = edge->own.prints,
		/* Worthless elsewhere, as the session's lease is. */
		.exempt = conn->law->placeholders->texts,
		.exempt_count = conn->law->placeholders->texts_count,
		.exempt_digest = edge->lease_hash,
	};
	struct secret_scan *scan;
	struct err err;

	if (!edge->own.prints && own_secrets_are_wanted(edge)) {
		conn_refuse(conn, CONSTRAINT_internal,
			    "the session's own secrets are not known yet");
		return NULL;
	}
	scan = secret_scan_open(&look, &err);
	if (!scan)
		conn_refuse(conn, CONSTRAINT_internal, "%s", err.text);
	return scan;
}
