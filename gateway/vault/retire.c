#include "gateway/vault/retire.h"

#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"

struct retired {
	/* As much of a supply as revoking wants: whose, and the token. */
	struct supply supply;
	uint64_t due_ms;
	struct retired *next, *prev;
};

static void drop(struct vault *vault, struct retired *retired)
{
	DL_DELETE(vault->retired, retired);
	vault->retired_count--;
	secret_release(&retired->supply.value);
	free(retired);
}

static void revoke_first(struct vault *vault)
{
	supply_revoke(&vault->retired->supply);
	drop(vault, vault->retired);
}

/* They are in the order in which they came. */
static void on_due(void *owner)
{
	struct vault *vault = owner;
	uint64_t now_ms = io_loop_now_ms(vault->keeper->loop);

	if (vault->is_stopping) {
		log_warn("%zu tokens, or more, may not be revoked: they live "
			 "to their end",
			 vault->revoking);
		io_loop_stop(vault->keeper->loop);
	}
	while (vault->retired && vault->retired->due_ms <= now_ms)
		revoke_first(vault);
	if (vault->retired)
		io_timer_set(vault->retire, vault->retired->due_ms - now_ms);
}

static bool has_timer(struct vault *vault)
{
	if (!vault->retire)
		vault->retire =
			io_timer_new(vault->keeper->loop, on_due, vault);
	return vault->retire != NULL;
}

static int add(const struct supply *supply, struct err *err)
{
	struct vault *vault = supply->vault;
	auto_free struct retired *retired = calloc(1, sizeof(*retired));

	if (!retired || !has_timer(vault))
		return err_set(err, ERR_SYSTEM, "no memory");
	retired->supply.vault = vault;
	retired->supply.source = supply->source;
	memcpy(retired->supply.repository, supply->repository,
	       sizeof(retired->supply.repository));
	secret_init(&retired->supply.value);
	if (secret_set(&retired->supply.value, secret_view(&supply->value),
		       err) < 0)
		return -1;
	retired->due_ms = io_loop_now_ms(vault->keeper->loop) + RETIRE_AFTER_MS;
	if (!vault->retired)
		io_timer_set(vault->retire, RETIRE_AFTER_MS);
	DL_APPEND(vault->retired, retired);
	retired = NULL;
	vault->retired_count++;
	return 0;
}

void retire_token(const struct supply *supply)
{
	struct err err;

	if (supply->vault->retired_count == RETIRED_MAX)
		revoke_first(supply->vault);
	if (add(supply, &err) < 0)
		log_warn("a token of %.*s lives to its end: %s",
			 BYTES_ARGS(supply->source->name), err.text);
}

static bool revoke_next(struct vault *vault)
{
	if (!vault->retired)
		return supply_revoke_next(vault);
	revoke_first(vault);
	return true;
}

static void go_on_stopping(struct vault *vault)
{
	while (vault->revoking < REVOKE_AT_ONCE && revoke_next(vault))
		;
	/* What is bought just now is revoked as well, or its refresh token
	 * kept: the one before it may be worth nothing any more. */
	if (vault->revoking == 0 && !supply_is_bought(vault))
		io_loop_stop(vault->keeper->loop);
}

void retire_bought(struct vault *vault)
{
	if (vault->is_stopping)
		go_on_stopping(vault);
}

void retire_stop(struct vault *vault)
{
	vault->is_stopping = true;
	if (has_timer(vault))
		io_timer_set(vault->retire, VAULT_STOP_MS);
	go_on_stopping(vault);
	if (!vault->retire)
		io_loop_stop(vault->keeper->loop);
}

void retire_ended(struct vault *vault)
{
	vault->revoking--;
	if (vault->is_stopping)
		go_on_stopping(vault);
}

void retire_release(struct vault *vault)
{
	while (vault->retired)
		drop(vault, vault->retired);
	io_timer_free(vault->retire);
	vault->retire = NULL;
}
