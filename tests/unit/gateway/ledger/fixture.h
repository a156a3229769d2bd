/*
 * A ledger's store in a directory of its own, removed at the end.
 */
#ifndef TESTS_LEDGER_FIXTURE_H
#define TESTS_LEDGER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/ledger/store.h"

struct fixture {
	char path[64];
	int directory;
	struct store store;
	struct arena arena;
	struct err err;
};

static inline void fixture_open(struct fixture *fixture)
{
	if (store_open(&fixture->store, fixture->directory, (uid_t)-1,
		       &fixture->err) < 0)
		fail_msg("%s", fixture->err.text);
}

static inline int fixture_setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	(void)snprintf(fixture->path, sizeof(fixture->path),
		       "/tmp/sallyport-ledger-XXXXXX");
	assert_non_null(mkdtemp(fixture->path));
	fixture->directory =
		open(fixture->path, O_DIRECTORY | O_PATH | O_CLOEXEC);
	assert_true(fixture->directory >= 0);
	arena_init(&fixture->arena, 4 << 20);
	fixture_open(fixture);
	*state = fixture;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	struct fixture *fixture = *state;

	store_close(&fixture->store);
	arena_release(&fixture->arena);
	(void)unlinkat(fixture->directory, "ledger.db", 0);
	(void)unlinkat(fixture->directory, "ledger.db-wal", 0);
	(void)close(fixture->directory);
	assert_int_equal(rmdir(fixture->path), 0);
	free(fixture);
	return 0;
}

static inline void fixture_reopen(struct fixture *fixture)
{
	store_close(&fixture->store);
	fixture_open(fixture);
}

/* Run SQL beside the store's own statements, as someone who may write the
 * file would. */
static inline void fixture_sql(struct fixture *fixture, const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(fixture->store.db, sql, NULL, NULL, &why))
		fail_msg("%s: %s", sql, why);
}

static inline int add_one(struct fixture *fixture, enum record_kind kind,
			  bool allowed, const char *session, const char *detail)
{
	const struct record record = {
		.time_ms = 1763751600123,
		.kind = (uint8_t)kind,
		.allowed = allowed,
		.session = bytes_str(session),
		.detail = bytes_str(detail),
	};

	return store_add(&fixture->store, &record, 0, &fixture->err);
}

/* A request, or a connection, with its outcome: one row of session s-0. */
static inline int add_ended(struct fixture *fixture, enum record_kind kind)
{
	const struct record record = {
		.time_ms = 1763751600123,
		.kind = (uint8_t)kind,
		.allowed = true,
		.session = bytes_str("s-0"),
		.status = 200,
		.bytes_down = 5,
	};

	return store_add(&fixture->store, &record, 1763751600125,
			 &fixture->err);
}

/* count rows, one transaction: of sessions s-0, s-1, s-2 in turn, every
 * fourth denied. */
static inline void add_rows(struct fixture *fixture, size_t count)
{
	char session[16], detail[32];

	assert_int_equal(store_begin(&fixture->store, &fixture->err), 0);
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(session, sizeof(session), "s-%zu", i % 3);
		(void)snprintf(detail, sizeof(detail), "row %zu", i);
		assert_int_equal(
			add_one(fixture,
				i % 2 ? RECORD_REQUEST : RECORD_CONNECTION,
				i % 4 != 0, session, detail),
			0);
	}
	assert_int_equal(store_commit(&fixture->store, &fixture->err), 0);
}

/* Verify in steps to the end. */
static inline struct msg_ledger_verified verify_all(struct fixture *fixture)
{
	struct msg_ledger_verified verified = {0};

	do {
		if (store_verify(&fixture->store, verified.checked_to,
				 &fixture->arena, &verified, &fixture->err) < 0)
			fail_msg("%s", fixture->err.text);
	} while (!verified.is_done);
	return verified;
}

#endif
