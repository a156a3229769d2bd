/*
 * Tokens that the exchange buys: what they are bought with stands in the
 * store, and goes to the exchange for one question.
 */
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "gateway/vault/retire.h"

/* A token of an app is renewed so long before its end; another one, sooner
 * when it does not last. */
#define APP_MARGIN_MS	(5 * 60 * 1000)
#define OAUTH_MARGIN_MS (60 * 1000)
/* When the endpoint does not say. */
#define LIFETIME_UNKNOWN_MS (60 * 1000)
#define LIFETIME_MAX_MS	    (24ull * 3600 * 1000)
#define REVOKE_TIMEOUT_MS   EXCHANGE_TIMEOUT_MS

static void record(const struct supply *supply, const char *verb,
		   const char *why)
{
	const struct record row = {
		.kind = RECORD_SECRET_CHANGED,
		.allowed = why == NULL,
		.constraint = why ? CONSTRAINT_credential_unavailable
				  : CONSTRAINT_none,
		.host = supply->source->name,
		.method = bytes_str(verb),
		.detail = bytes_str(why ? why : supply->repository),
	};

	(void)keeper_record(supply->vault->keeper, &row);
}

static struct rpc *exchange_of(const struct vault *vault)
{
	const struct keeper_peer *peer =
		keeper_peer_of(vault->keeper, ROLE_EXCHANGE);

	return peer ? peer->rpc : NULL;
}

/* ---- the answer ---- */

static uint64_t fresh_for(const struct supply *supply, uint64_t lifetime_ms)
{
	uint64_t margin = supply->source->kind == SOURCE_GITHUB_APP
				  ? APP_MARGIN_MS
				  : OAUTH_MARGIN_MS;

	if (supply->source->kind == SOURCE_OAUTH2 && margin > lifetime_ms / 2)
		margin = lifetime_ms / 2;
	return lifetime_ms > margin ? lifetime_ms - margin : 0;
}

/* The new refresh token is on disk before anything is done with what came
 * with it: the old one may be worth nothing any more. */
static int keep_refresh(struct supply *supply, struct bytes refresh,
			struct err *err)
{
	if (refresh.len == 0 || supply->source->refresh.len == 0 ||
	    supply->is_refresh_other)
		return 0;
	return vault_store_put(&supply->vault->store, supply->source->refresh,
			       refresh, clock_wall_ms(), err);
}

static void take_token(struct supply *supply,
		       const struct msg_exchanged *exchanged)
{
	uint64_t lifetime_ms = exchanged->lifetime_ms ? exchanged->lifetime_ms
						      : LIFETIME_UNKNOWN_MS;
	struct secret token;
	struct err err;

	if (lifetime_ms > LIFETIME_MAX_MS)
		lifetime_ms = LIFETIME_MAX_MS;
	secret_init(&token);
	if (keep_refresh(supply, exchanged->refresh, &err) < 0 ||
	    secret_set(&token, exchanged->token, &err) < 0) {
		record(supply, "issue", err.text);
		supply_failed(supply, err.text);
		return;
	}
	record(supply, "issue", NULL);
	supply_came(supply, &token, fresh_for(supply, lifetime_ms),
		    lifetime_ms);
}

static void on_exchanged(struct rpc_outcome *outcome, void *owner)
{
	struct supply *supply = owner;
	struct err err;

	if (!outcome->err) {
		take_token(supply, outcome->message);
		return;
	}
	(void)err_set(&err, outcome->err->code, "%.*s",
		      BYTES_ARGS(outcome->refusal
					 ? outcome->refusal->detail
					 : bytes_str(outcome->err->text)));
	record(supply, "issue", err.text);
	supply_failed(supply, err.text);
}

/* ---- the question ---- */

static int ask_exchange(struct supply *supply, struct bytes proof,
			struct bytes refresh, struct err *err)
{
	const struct msg_exchange message = {
		.name = supply->source->name,
		.proof = proof,
		.refresh = refresh,
		.repository = bytes_str(supply->repository),
		.permissions = supply->permissions,
		.permissions_count = supply->permissions_count,
	};
	const struct rpc_call call = {
		.type = MSG_EXCHANGE,
		.schema = &msg_exchange_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &msg_exchanged_schema,
		.timeout_ms = EXCHANGE_TIMEOUT_MS + 1000,
		.on_outcome = on_exchanged,
		.owner = supply,
	};
	struct rpc *exchange = exchange_of(supply->vault);

	if (!exchange)
		return err_set(err, ERR_CLOSED,
			       "the exchange is being restarted");
	return rpc_ask(exchange, &call, NULL, err);
}

/* client is what the source's tokens are bought with. */
static int ask_with(struct supply *supply, struct secret *client,
		    struct err *err)
{
	const struct config_source *source = supply->source;
	struct secret second;
	int result = 0;

	secret_init(&second);
	if (source->kind == SOURCE_GITHUB_APP) {
		result = app_sign(source, secret_view(client), clock_wall_ms(),
				  &second, err);
		if (result == 0)
			result = ask_exchange(supply, secret_view(&second),
					      bytes_from(NULL, 0), err);
	} else {
		if (source->refresh.len > 0)
			result = vault_store_get(&supply->vault->store,
						 source->refresh, &second, err);
		if (result == 0)
			result = ask_exchange(supply, secret_view(client),
					      secret_view(&second), err);
	}
	secret_release(&second);
	return result;
}

void supply_buy(struct supply *supply)
{
	struct secret client;
	struct err err;
	int result;

	secret_init(&client);
	result = vault_store_get(&supply->vault->store, supply->source->client,
				 &client, &err);
	if (result == 0)
		result = ask_with(supply, &client, &err);
	secret_release(&client);
	if (result == 0) {
		vault_store_used(&supply->vault->store, supply->source->client,
				 clock_wall_ms());
		return;
	}
	record(supply, "issue", err.text);
	supply_failed(supply, err.text);
}

/* ---- the end of a token ---- */

struct revocation {
	struct vault *vault;
	const struct config_source *source;
};

static void on_ended(struct rpc_outcome *outcome, void *owner)
{
	auto_free struct revocation *revocation = owner;

	if (outcome->err)
		log_warn("a token of %.*s was not revoked: %.*s",
			 BYTES_ARGS(revocation->source->name),
			 BYTES_ARGS(outcome->refusal
					    ? outcome->refusal->detail
					    : bytes_str(outcome->err->text)));
	retire_ended(revocation->vault);
}

void supply_revoke(struct supply *supply)
{
	auto_free struct revocation *revocation =
		calloc(1, sizeof(*revocation));
	const struct msg_token_end message = {
		.name = supply->source->name,
		.token = secret_view(&supply->value),
	};
	const struct rpc_call call = {
		.type = MSG_TOKEN_END,
		.schema = &msg_token_end_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = REVOKE_TIMEOUT_MS,
		.on_outcome = on_ended,
		.owner = revocation,
	};
	struct rpc *exchange = exchange_of(supply->vault);
	struct err err;

	if (supply->value.len == 0)
		return;
	record(supply, "revoke", NULL);
	if (!exchange || !revocation ||
	    rpc_ask(exchange, &call, NULL, &err) < 0) {
		log_warn("a token of %.*s was not revoked",
			 BYTES_ARGS(supply->source->name));
		return;
	}
	*revocation = (struct revocation){supply->vault, supply->source};
	revocation = NULL;
	supply->vault->revoking++;
}
