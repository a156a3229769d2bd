/*
 * sallyport-vault: vault.h says what it is.
 */
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/openssl_words.h"
#include "gateway/vault/lent.h"
#include "gateway/vault/retire.h"
#include "gateway/vault/signing.h"
#include "gateway/vault/supply.h"

#define SYNC_EVERY_MS 60000

static void on_sync(void *owner)
{
	struct vault *vault = owner;
	struct err err;

	former_expire(&vault->former, clock_wall_ms());
	if (vault_store_sync(&vault->store, &err) < 0)
		log_warn("when secrets were used is not written: %s", err.text);
	io_timer_set(vault->sync, SYNC_EVERY_MS);
}

static int prepare(struct keeper *keeper, struct confine_spec *confine,
		   struct err *err)
{
	struct vault *vault = keeper->owner;
	const struct seal_source source = {
		.directory = keeper->state_fd,
		.credentials = getenv("CREDENTIALS_DIRECTORY"),
		.uid = confine->uid ? confine->uid : (uid_t)-1,
	};

	/* Before the key is read, so that no core ever holds it. */
	secret_protect_process();
	vault->keeper = keeper;
	if (gateway_config_buys(&keeper->config) && app_begin(err) < 0)
		return -1;
	return vault_store_open(&vault->store, &source, err);
}

static int start(struct keeper *keeper, struct err *err)
{
	struct vault *vault = keeper->owner;

	vault->sync = io_timer_new(keeper->loop, on_sync, vault);
	if (!vault->sync)
		return err_set(err, ERR_SYSTEM, "start: no memory");
	io_timer_set(vault->sync, SYNC_EVERY_MS);
	return 0;
}

static int on_config(struct keeper *keeper, const struct gateway_config *before,
		     struct err *err)
{
	(void)before;
	(void)err;
	supply_reload(keeper->owner);
	return 0;
}

static void on_session_close(struct keeper *keeper, struct session *session,
			     struct bytes reason)
{
	(void)reason;
	lent_session_end(keeper->owner, session);
	supply_session_end(keeper->owner, session);
	signing_close(session);
}

static void on_session_open(struct keeper *keeper, struct session *session)
{
	signing_open(keeper->owner, session);
}

/* Sessions are told of before the first channel: what is lent to others is of
 * a gateway that is gone. */
static void on_peer(struct keeper *keeper, struct keeper_peer *peer)
{
	if (peer->role == ROLE_COURIER)
		lent_sweep(keeper->owner);
}

static void on_drain(struct keeper *keeper)
{
	retire_stop(keeper->owner);
}

int main(void)
{
	const struct keeper_service services[] = {
		{ROLE_COURIER, vault_courier_permits,
		 vault_courier_permit_count},
		{ROLE_CONTROL, vault_control_permits,
		 vault_control_permit_count},
	};
	/* What SQLite does with the two files that it holds open; memory that
	 * is locked for a secret. */
	static const char *const syscalls[] = {
		"pread64",    "pwrite64", "fsync",     "fdatasync", "fstat",
		"newfstatat", "lseek",	  "ftruncate", "mlock",	    NULL,
	};
	const struct keeper_spec spec = {
		.role = ROLE_VAULT,
		.services = services,
		.service_count = ARRAY_SIZE(services),
		.prepare = prepare,
		.syscalls = syscalls,
		.start = start,
		.on_session_open = on_session_open,
		.on_session_close = on_session_close,
		.on_peer = on_peer,
		.on_config = on_config,
		.on_drain = on_drain,
	};
	static struct vault vault;
	int code;

	openssl_words_wait();
	code = keeper_main(&spec, &vault);
	signing_release(&vault);
	supply_release(&vault);
	former_release(&vault.former);
	vault_store_close(&vault.store);
	return code;
}
