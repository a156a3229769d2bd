/*
 * audit.export of gateway.yaml: files that every row is appended to once it is
 * stored. Nothing waits for them: rows are read again from the store, some at
 * a time, and while a file cannot be written they stay there and follow later.
 * What has become of an export that fails, or works again, is on record.
 *
 *	rows stored --> [path opened by the warden] --> export_file --> told
 *
 * How far a file got is kept beside the rows as well, for files that were
 * moved away (log rotation): in the new one the next row follows. That is
 * stored now and then: after a crash that comes with a rotation, up to
 * EXPORT_CHECK_MS of rows are in both files; never in none. Nothing is synced
 * to disk: after a crash of the machine rows that its file system had not
 * written yet may be missing in a file that was moved away or is new. The
 * record has them.
 */
#ifndef GATEWAY_LEDGER_EXPORT_H
#define GATEWAY_LEDGER_EXPORT_H

#include "gateway/keeper/keeper.h"
#include "gateway/ledger/batch.h"
#include "gateway/ledger/export_file.h"

/* New rows are written at most this often... */
#define EXPORT_EVERY_MS 20
/* ...so many times STORE_ROWS_MAX of them at once. */
#define EXPORT_WRITES_MAX 8
/* Is the path still that file? Asked before rows are written. */
#define EXPORT_CHECK_MS 10000
/* Once it failed it is tried again so often. */
#define EXPORT_RETRY_MS 5000
#define EXPORT_ASK_MS	5000

struct exports;

struct export
{
	struct exports *exports;
	char path[CONFIG_EXPORT_PATH_MAX + 1];
	struct export_file file;
	uint64_t due_ms;   /* not before */
	uint64_t check_ms; /* whether the path is still that file, then */
	uint64_t saved;	   /* file.told as it is stored */
	uint32_t ask;	   /* id of the question to the warden */
	bool is_asking;
	bool has_failed; /* and that is on record */
};

struct exports {
	struct keeper *keeper;
	struct store *store;
	struct batch *batch;
	struct io_timer *timer;
	uint64_t due_ms; /* of the timer; 0: it is not set */
	struct export items[CONFIG_EXPORTS_MAX];
	size_t count;
};

/* Make the table where it is not there yet. 0, or -1. */
int exports_prepare(struct store *store, struct err *err);
/* Begin with those of keeper->config, or go on with those of another one.
 * keeper, store and batch outlive it. 0, or -1. */
int exports_start(struct exports *exports, struct err *err);
/* Rows were stored. */
void exports_wake(struct exports *exports);
/* Write what was stored, without waiting for anybody, and store how far each
 * got. */
void exports_finish(struct exports *exports);

#endif
