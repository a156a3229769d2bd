#include "gateway/ledger/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"

/* ---- how far, beside the rows ---- */

int exports_prepare(struct store *store, struct err *err)
{
	static const char table[] = "CREATE TABLE IF NOT EXISTS export ("
				    " path TEXT PRIMARY KEY,"
				    " sequence INTEGER NOT NULL) STRICT;";

	if (sqlite3_exec(store->db, table, NULL, NULL, NULL))
		return store_fail(store, err, "make the table of exports");
	return 0;
}

/* 0: nothing is known of that path. */
static uint64_t load(struct store *store, const char *path)
{
	sqlite3_stmt *statement = NULL;
	uint64_t sequence = 0;

	if (sqlite3_prepare_v2(store->db,
			       "SELECT sequence FROM export WHERE path = ?1",
			       -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC) ==
		    SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		sequence = (uint64_t)sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return sequence;
}

static void save(struct export *export)
{
	static const char sql[] =
		"INSERT OR REPLACE INTO export VALUES (?1,?2)";
	struct store *store = export->exports->store;
	sqlite3_stmt *statement = NULL;

	if (export->saved == export->file.told)
		return;
	if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) ==
		    SQLITE_OK &&
	    sqlite3_bind_text(statement, 1, export->path, -1, SQLITE_STATIC) ==
		    SQLITE_OK &&
	    sqlite3_bind_int64(statement, 2, (int64_t)export->file.told) ==
		    SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_DONE)
		export->saved = export->file.told;
	else
		log_warn("how far %s got is not stored: %s", export->path,
			 sqlite3_errmsg(store->db));
	(void)sqlite3_finalize(statement);
}

/* ---- what becomes of it ---- */

static void record(struct export *export, bool is_good, const char *text)
{
	char detail[CONFIG_EXPORT_PATH_MAX + 512];
	struct record record = {
		.kind = RECORD_PROCESS,
		.allowed = is_good,
		.constraint = is_good ? CONSTRAINT_none
				      : CONSTRAINT_audit_unavailable,
		.host = bytes_str("ledger"),
	};
	const struct msg_records records = {&record, 1};

	(void)snprintf(detail, sizeof(detail), "audit.export %s: %s",
		       export->path, text);
	record.detail = bytes_str(detail);
	if (is_good)
		log_info("%s", detail);
	else
		log_error("%s", detail);
	batch_add(export->exports->batch, &records, NULL, NULL);
}

static uint64_t now(const struct export *export)
{
	return io_loop_now_ms(export->exports->keeper->loop);
}

static void fail(struct export *export, const char *why)
{
	export_file_close(&export->file);
	save(export);
	export->due_ms = now(export) + EXPORT_RETRY_MS;
	if (!export->has_failed)
		record(export, false, why);
	export->has_failed = true;
}

static void worked(struct export *export)
{
	if (export->has_failed)
		record(export, true, "it goes on");
	export->has_failed = false;
}

/* Rows may be older than audit.retain before they could be written. */
static void skip_removed(struct export *export)
{
	uint64_t first = export->exports->store->anchor.sequence;
	char text[128];

	if (export->file.told >= first)
		return;
	/* Of a new one they were never meant to be there. */
	if (export->file.told > 0) {
		(void)snprintf(text, sizeof(text),
			       "rows %" PRIu64 " to %" PRIu64
			       " were removed before it had them",
			       export->file.told + 1, first);
		record(export, false, text);
	}
	export->file.told = first;
}

/* ---- writing ---- */

/* Look at them in ms, or sooner if that is due already. */
static void set_timer(struct exports *exports, unsigned ms)
{
	uint64_t at = io_loop_now_ms(exports->keeper->loop) + ms;

	if (exports->due_ms && exports->due_ms <= at)
		return;
	exports->due_ms = at;
	io_timer_set(exports->timer, ms);
}

static void take_file(struct export *export, int fd)
{
	struct err err;

	export->check_ms = now(export) + EXPORT_CHECK_MS;
	if (export_file_is(&export->file, fd)) {
		(void)close(fd);
		save(export);
	} else if (export_file_open(&export->file, export->exports->store, fd,
				    &err) < 0) {
		fail(export, err.text);
	}
}

static void on_opened(struct rpc_outcome *outcome, void *owner)
{
	struct export *export = owner;
	char why[256];

	export->is_asking = false;
	if (outcome->err) {
		(void)snprintf(
			why, sizeof(why), "%.*s",
			BYTES_ARGS(outcome->refusal
					   ? outcome->refusal->detail
					   : bytes_str(outcome->err->text)));
		fail(export, why);
	} else if (outcome->fd < 0) {
		fail(export, "the warden opened nothing");
	} else {
		take_file(export, take_fd(&outcome->fd));
	}
	exports_wake(export->exports);
}

static void ask_warden(struct export *export)
{
	const struct msg_export_ref message = {.path = bytes_str(export->path)};
	const struct rpc_call call = {
		.type = MSG_EXPORT_OPEN,
		.schema = &msg_export_ref_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = EXPORT_ASK_MS,
		.on_outcome = on_opened,
		.owner = export,
	};
	struct rpc *warden = export->exports->keeper->warden;
	struct err err;

	export->is_asking =
		warden && rpc_ask(warden, &call, &export->ask, &err) == 0;
	if (!export->is_asking)
		fail(export, "the warden cannot be asked");
}

/* Write some rows. True: more may follow at once. */
static bool write_some(struct export *export)
{
	struct err err;
	int more = 1;

	for (int i = 0; more > 0 && i < EXPORT_WRITES_MAX; i++)
		more = export_file_write(&export->file, export->exports->store,
					 &err);
	if (more < 0) {
		fail(export, err.text);
		return true;
	}
	worked(export);
	return more > 0;
}

static bool has_rows(const struct export *export)
{
	return export->file.told < export->exports->store->head.sequence;
}

/* In how many milliseconds it is to be looked at again; 0: when rows come. */
static unsigned step(struct export *export)
{
	uint64_t at = now(export);

	if (export->is_asking || !has_rows(export))
		return 0;
	if (at < export->due_ms)
		return (unsigned)(export->due_ms - at);
	if (export->file.fd < 0 || at >= export->check_ms) {
		ask_warden(export);
		return export->is_asking ? 0 : EXPORT_RETRY_MS;
	}
	skip_removed(export);
	return write_some(export) ? EXPORT_EVERY_MS : 0;
}

static void on_timer(void *owner)
{
	struct exports *exports = owner;
	unsigned next = 0;

	exports->due_ms = 0;
	for (size_t i = 0; i < exports->count; i++) {
		unsigned ms = step(&exports->items[i]);

		if (ms > 0 && (next == 0 || ms < next))
			next = ms;
	}
	if (next > 0)
		set_timer(exports, next);
}

void exports_wake(struct exports *exports)
{
	if (exports->count > 0)
		set_timer(exports, EXPORT_EVERY_MS);
}

/* ---- begin and end ---- */

static void stop(struct exports *exports)
{
	for (size_t i = 0; i < exports->count; i++) {
		save(&exports->items[i]);
		export_file_close(&exports->items[i].file);
	}
	exports->count = 0;
}

/* What the warden was asked for before concerns nobody any more. */
static void forget_asks(struct exports *exports)
{
	for (size_t i = 0; i < exports->count; i++)
		if (exports->items[i].is_asking)
			rpc_cancel(exports->keeper->warden,
				   exports->items[i].ask);
}

/* An export of that path had failed when the configuration changed. */
static bool had_failed(const struct export *before, size_t count,
		       const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(before[i].path, path))
			return before[i].has_failed;
	return false;
}

int exports_start(struct exports *exports, struct err *err)
{
	static struct export before[CONFIG_EXPORTS_MAX];
	const struct gateway_config *config = &exports->keeper->config;
	size_t before_count = exports->count;

	if (!exports->timer)
		exports->timer =
			io_timer_new(exports->keeper->loop, on_timer, exports);
	if (!exports->timer)
		return err_set(err, ERR_SYSTEM, "export rows: no memory");
	forget_asks(exports);
	stop(exports);
	memcpy(before, exports->items, sizeof(before));
	for (size_t i = 0; i < config->audit_exports_count; i++) {
		struct export *export = &exports->items[i];

		*export = (struct export){.exports = exports, .file.fd = -1};
		(void)snprintf(export->path, sizeof(export->path), "%.*s",
			       BYTES_ARGS(config->audit_exports[i].path));
		export->saved = load(exports->store, export->path);
		export->file.told = export->saved;
		export->has_failed =
			had_failed(before, before_count, export->path);
	}
	exports->count = config->audit_exports_count;
	exports_wake(exports);
	return 0;
}

void exports_finish(struct exports *exports)
{
	for (size_t i = 0; i < exports->count; i++) {
		struct export *export = &exports->items[i];

		if (export->file.fd >= 0 && has_rows(export))
			(void)write_some(export);
	}
	stop(exports);
}
