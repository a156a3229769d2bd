/* What found no room has no hh.tbl then. */
#define HASH_NONFATAL_OOM 1

#include "gateway/vault/supply.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "gateway/vault/retire.h"

/* The cases of uthash's function fall through on purpose. */
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"

static uint64_t now_of(const struct vault *vault)
{
	return io_loop_now_ms(vault->keeper->loop);
}

/* ---- the table ---- */

static struct supply *find(const struct vault *vault, const char *key)
{
	struct supply *supply;

	HASH_FIND_STR(vault->supplies, key, supply);
	return supply;
}

static void forget(struct supply *supply)
{
	HASH_DEL(supply->vault->supplies, supply);
	secret_release(&supply->value);
	free(supply);
}

static bool is_idle(const struct supply *supply, uint64_t now_ms)
{
	return !supply->is_asked && supply->expires_ms <= now_ms;
}

/* Those that hold nothing of worth any more make room. */
static bool make_room(struct vault *vault)
{
	uint64_t now_ms = now_of(vault);
	struct supply *supply, *next;

	if (HASH_COUNT(vault->supplies) < SUPPLIES_MAX)
		return true;
	HASH_ITER (hh, vault->supplies, supply, next)
		if (is_idle(supply, now_ms))
			forget(supply);
	return HASH_COUNT(vault->supplies) < SUPPLIES_MAX;
}

static int fill(struct supply *supply, const struct supply_wanted *wanted,
		struct err *err)
{
	if (supply->source->kind == SOURCE_GITHUB_APP)
		return app_fill(supply, wanted, err);
	(void)snprintf(supply->key, sizeof(supply->key), "%.*s",
		       BYTES_ARGS(supply->source->name));
	return 0;
}

/* The one that is wanted; made when it is new. NULL with *err. */
static struct supply *take(struct vault *vault,
			   const struct config_source *source,
			   const struct supply_wanted *wanted, struct err *err)
{
	auto_free struct supply *supply = calloc(1, sizeof(*supply));
	struct supply *known;

	if (!supply || !make_room(vault)) {
		(void)err_set(err, ERR_TOO_LARGE, "too many tokens are held");
		return NULL;
	}
	supply->vault = vault;
	supply->source = source;
	secret_init(&supply->value);
	if (fill(supply, wanted, err) < 0)
		return NULL;
	known = find(vault, supply->key);
	if (known)
		return known;
	HASH_ADD_STR(vault->supplies, key, supply);
	if (!supply->hh.tbl) {
		(void)err_system(err, "hold a token");
		return NULL;
	}
	return take_ptr(&supply);
}

const struct supply *supply_known(const struct vault *vault,
				  const struct supply_wanted *wanted)
{
	const struct config_source *source =
		gateway_config_source(&vault->keeper->config, wanted->name);
	struct supply supply = {.source = source};
	const struct supply *known;
	struct err err;

	if (!source || fill(&supply, wanted, &err) < 0)
		return NULL;
	known = find(vault, supply.key);
	return known && known->value.len > 0 ? known : NULL;
}

/* ---- who waits ---- */

/* Those who came before this call, or before the change alone; an answer may
 * bring new ones. */
static void answer_some(struct supply *supply, bool early_only,
			const struct secret *value, const struct err *err)
{
	struct supply_waiter *waiters = supply->waiters, *waiter, *next;

	supply->waiters = NULL;
	DL_FOREACH_SAFE(waiters, waiter, next)
	{
		DL_DELETE(waiters, waiter);
		if (early_only && !waiter->was_before) {
			DL_APPEND(supply->waiters, waiter);
			continue;
		}
		supply->vault->waiter_count--;
		waiter->fn(value, err, waiter->owner);
		free(waiter);
	}
}

static void wait_for(struct supply *supply, supply_fn *fn, void *owner)
{
	struct supply_waiter *waiter = NULL;
	const struct err err = {.code = ERR_TOO_LARGE,
				.text = "too many wait for tokens"};

	if (supply->vault->waiter_count < SUPPLY_WAITERS_MAX)
		waiter = calloc(1, sizeof(*waiter));
	if (!waiter) {
		fn(NULL, &err, owner);
		return;
	}
	waiter->fn = fn;
	waiter->owner = owner;
	DL_APPEND(supply->waiters, waiter);
	supply->vault->waiter_count++;
}

/* ---- what came ---- */

/* Is it a token that its endpoint would take? */
static bool is_live_token(const struct supply *supply)
{
	return supply->source->kind == SOURCE_GITHUB_APP &&
	       supply->value.len > 0 &&
	       now_of(supply->vault) < supply->expires_ms;
}

static void replace(struct supply *supply, struct secret *value)
{
	struct vault *vault = supply->vault;

	if (supply->value.len > 0 &&
	    !bytes_equal(secret_view(&supply->value), secret_view(value))) {
		if (is_live_token(supply))
			retire_token(supply);
		former_keep(&vault->former, supply->source->name,
			    &supply->value, clock_wall_ms());
	}
	secret_release(&supply->value);
	supply->value = *value;
	secret_init(value);
}

/* ---- asking ---- */

static void ask(struct supply *supply)
{
	supply->is_asked = true;
	supply->is_refresh_other = false;
	if (source_is_bought(supply->source))
		supply_buy(supply);
	else
		supply_ask_warden(supply);
}

/* ---- the answer ---- */

/* Does nobody want it any more? Then it is gone. */
static bool end_unwanted(struct supply *supply)
{
	const struct err over = {.code = ERR_CLOSED,
				 .text = "the session is over"};

	if (supply->source->kind != SOURCE_GITHUB_APP ||
	    (!supply->vault->is_stopping && app_is_wanted(supply, NULL)))
		return false;
	if (is_live_token(supply))
		supply_revoke(supply);
	answer_some(supply, false, NULL, &over);
	forget(supply);
	return true;
}

/* Of what was bought, or read, before a change nothing is used any more. */
static void drop(struct supply *supply)
{
	if (is_live_token(supply))
		retire_token(supply);
	supply->fresh_ms = supply->expires_ms = supply->failed_ms = 0;
}

/* Whoever asked after a change has what holds since, and waits for it. */
static void begin_anew(struct supply *supply)
{
	drop(supply);
	if (supply->waiters)
		ask(supply);
}

void supply_came(struct supply *supply, struct secret *value,
		 uint64_t fresh_for_ms, uint64_t expires_in_ms)
{
	struct vault *vault = supply->vault;
	uint64_t now_ms = now_of(vault);
	bool was_stale = supply->is_stale;

	replace(supply, value);
	supply->why[0] = '\0';
	supply->is_asked = false;
	supply->is_stale = false;
	supply->fresh_ms = now_ms + fresh_for_ms;
	supply->expires_ms = now_ms + expires_in_ms;
	answer_some(supply, was_stale, &supply->value, NULL);
	if (!end_unwanted(supply) && was_stale)
		begin_anew(supply);
	retire_bought(vault);
}

void supply_failed(struct supply *supply, const char *why)
{
	struct vault *vault = supply->vault;
	uint64_t now_ms = now_of(vault);
	bool was_stale = supply->is_stale;
	struct err err;

	log_warn("secret %.*s: %s", BYTES_ARGS(supply->source->name), why);
	supply->is_asked = false;
	supply->is_stale = false;
	supply->failed_ms = now_ms + SUPPLY_FAILED_MS;
	(void)snprintf(supply->why, sizeof(supply->why), "%.*s: %s",
		       BYTES_ARGS(supply->source->name), why);
	(void)err_set(&err, ERR_SYSTEM, "%s", supply->why);
	/* What is nearly over is better than nothing. */
	if (now_ms < supply->expires_ms)
		answer_some(supply, was_stale, &supply->value, NULL);
	else
		answer_some(supply, was_stale, NULL, &err);
	if (!end_unwanted(supply) && was_stale)
		begin_anew(supply);
	retire_bought(vault);
}

/* ---- who asks ---- */

static void get_from(struct supply *supply, supply_fn *fn, void *owner)
{
	uint64_t now_ms = now_of(supply->vault);
	struct err err;

	if (now_ms < supply->fresh_ms && supply->value.len > 0) {
		fn(&supply->value, NULL, owner);
		return;
	}
	if (!supply->is_asked && now_ms < supply->failed_ms) {
		(void)err_set(&err, ERR_SYSTEM, "%s", supply->why);
		if (now_ms < supply->expires_ms)
			fn(&supply->value, NULL, owner);
		else
			fn(NULL, &err, owner);
		return;
	}
	wait_for(supply, fn, owner);
	if (!supply->is_asked)
		ask(supply);
}

static void get_stored(struct vault *vault, struct bytes name, supply_fn *fn,
		       void *owner)
{
	struct secret value;
	struct err err;

	secret_init(&value);
	if (vault_store_get(&vault->store, name, &value, &err) == 0)
		fn(&value, NULL, owner);
	else
		fn(NULL, &err, owner);
	secret_release(&value);
	vault_store_used(&vault->store, name, clock_wall_ms());
}

static void get_lent(struct vault *vault, const struct supply_wanted *wanted,
		     supply_fn *fn, void *owner)
{
	char room[LENT_KEY_MAX + 1];
	struct bytes key =
		lent_key(bytes_str(wanted->session ? wanted->session->id : ""),
			 wanted->name, room);
	struct secret value;
	struct err err;

	secret_init(&value);
	(void)err_set(&err, ERR_MISSING, "the session was lent no %.*s",
		      BYTES_ARGS(wanted->name));
	if (key.len > 0 &&
	    vault_store_get(&vault->store, key, &value, &err) == 0)
		fn(&value, NULL, owner);
	else
		fn(NULL, &err, owner);
	secret_release(&value);
}

void supply_get(struct vault *vault, const struct supply_wanted *wanted,
		supply_fn *fn, void *owner)
{
	const struct gateway_config *config = &vault->keeper->config;
	const struct config_source *source =
		gateway_config_source(config, wanted->name);
	struct supply *supply;
	struct err err;

	if (lent_is_named(wanted->name)) {
		get_lent(vault, wanted, fn, owner);
		return;
	}
	if (supply_is_material(config, wanted->name)) {
		(void)err_set(&err, ERR_DENIED,
			      "%.*s is what tokens are bought with, and goes "
			      "nowhere else",
			      BYTES_ARGS(wanted->name));
		fn(NULL, &err, owner);
		return;
	}
	if (!source) {
		get_stored(vault, wanted->name, fn, owner);
		return;
	}
	supply = take(vault, source, wanted, &err);
	if (supply)
		get_from(supply, fn, owner);
	else
		fn(NULL, &err, owner);
}

/* ---- changes ---- */

static bool is_bought_with(const struct config_source *source,
			   struct bytes name)
{
	return source_is_bought(source) && (bytes_equal(source->client, name) ||
					    bytes_equal(source->refresh, name));
}

bool supply_is_material(const struct gateway_config *config, struct bytes name)
{
	for (size_t i = 0; i < config->sources_count; i++)
		if (is_bought_with(&config->sources[i], name))
			return true;
	return false;
}

/* What is asked for just now is the old one, for who waits for it already. */
static void note_change(struct supply *supply)
{
	struct supply_waiter *waiter;

	supply->is_stale = supply->is_asked;
	DL_FOREACH(supply->waiters, waiter)
	waiter->was_before = true;
}

void supply_changed(struct vault *vault, struct bytes name)
{
	struct supply *supply, *next;

	HASH_ITER (hh, vault->supplies, supply, next) {
		if (!is_bought_with(supply->source, name))
			continue;
		drop(supply);
		note_change(supply);
		if (supply->is_asked &&
		    bytes_equal(supply->source->refresh, name))
			supply->is_refresh_other = true;
	}
}

void supply_reload(struct vault *vault)
{
	const struct gateway_config *config = &vault->keeper->config;
	struct supply *supply, *next;

	HASH_ITER (hh, vault->supplies, supply, next) {
		const struct config_source *source =
			gateway_config_source(config, supply->source->name);

		if (source)
			supply->source = source;
		if (source_is_bought(supply->source))
			continue;
		drop(supply);
		note_change(supply);
	}
}

void supply_session_end(struct vault *vault, const struct session *session)
{
	struct supply *supply, *next;

	HASH_ITER (hh, vault->supplies, supply, next) {
		if (supply->source->kind != SOURCE_GITHUB_APP ||
		    supply->is_asked || app_is_wanted(supply, session))
			continue;
		supply_revoke(supply);
		forget(supply);
	}
}

bool supply_is_bought(const struct vault *vault)
{
	const struct supply *supply;

	for (supply = vault->supplies; supply; supply = supply->hh.next)
		if (supply->is_asked && source_is_bought(supply->source))
			return true;
	return false;
}

bool supply_revoke_next(struct vault *vault)
{
	struct supply *supply, *next;

	HASH_ITER (hh, vault->supplies, supply, next) {
		if (!is_live_token(supply))
			continue;
		supply_revoke(supply);
		secret_release(&supply->value);
		supply->fresh_ms = supply->expires_ms = 0;
		return true;
	}
	return false;
}

void supply_release(struct vault *vault)
{
	struct supply *supply, *next;

	HASH_ITER (hh, vault->supplies, supply, next)
		forget(supply);
	retire_release(vault);
}
