#include "tests/unit/gateway/vault/fixture.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gateway/vault/store.h"

#define CANARY "ghp_CanaryCanaryCanaryCanaryCanary123456"

static void open_store(struct fixture *fixture, struct vault_store *store)
{
	const struct seal_source source = source_of(fixture);

	if (vault_store_open(store, &source, &fixture->err) < 0)
		fail_msg("%s", fixture->err.text);
}

static void put(struct fixture *fixture, struct vault_store *store,
		const char *name, const char *value, uint64_t now_ms)
{
	if (vault_store_put(store, bytes_str(name), bytes_str(value), now_ms,
			    &fixture->err) < 0)
		fail_msg("%s", fixture->err.text);
}

/* The value of name is text; NULL: there is none. */
static void assert_value(struct fixture *fixture, struct vault_store *store,
			 const char *name, const char *text)
{
	struct secret value;
	int got;

	secret_init(&value);
	got = vault_store_get(store, bytes_str(name), &value, &fixture->err);
	assert_int_equal(got, text ? 0 : -1);
	if (text)
		assert_true(bytes_is(secret_view(&value), text));
	else
		assert_int_equal(fixture->err.code, ERR_MISSING);
	secret_release(&value);
}

static void store_keeps_replaces_and_removes(void **state)
{
	struct fixture *fixture = *state;
	struct vault_store store;

	open_store(fixture, &store);
	assert_value(fixture, &store, "github", NULL);
	put(fixture, &store, "github", "one", 1);
	put(fixture, &store, "npm", "two", 2);
	assert_value(fixture, &store, "github", "one");
	put(fixture, &store, "github", "three", 3);
	vault_store_close(&store);

	open_store(fixture, &store);
	assert_value(fixture, &store, "github", "three");
	assert_value(fixture, &store, "npm", "two");
	assert_int_equal(
		vault_store_remove(&store, bytes_str("github"), &fixture->err),
		0);
	assert_value(fixture, &store, "github", NULL);
	assert_value(fixture, &store, "npm", "two");
	assert_int_equal(
		vault_store_remove(&store, bytes_str("github"), &fixture->err),
		-1);
	assert_int_equal(fixture->err.code, ERR_MISSING);
	vault_store_close(&store);
}

/* A vault whose warden was killed ends a moment after it. */
static void store_waits_for_who_has_it_and_ends(void **state)
{
	const struct timespec moment = {.tv_nsec = 300000000};
	struct fixture *fixture = *state;
	struct vault_store store;
	int ends[2], status;
	char opened;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	/* POSIX locks know a process. */
	pid = fork();
	if (pid == 0) {
		open_store(fixture, &store);
		put(fixture, &store, "github", "one", 1);
		(void)!write(ends[1], "x", 1);
		(void)nanosleep(&moment, NULL);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(read(ends[0], &opened, 1), 1);
	open_store(fixture, &store);
	assert_value(fixture, &store, "github", "one");
	vault_store_close(&store);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void store_lists_names_and_times(void **state)
{
	struct fixture *fixture = *state;
	auto_type(arena_release) struct arena arena;
	struct msg_secret_list list;
	struct vault_store store;

	arena_init(&arena, 1 << 20);
	open_store(fixture, &store);
	put(fixture, &store, "npm", "two", 20);
	put(fixture, &store, "github", "one", 10);
	put(fixture, &store, "github", "new", 30);
	vault_store_used(&store, bytes_str("github"), 40);
	vault_store_used(&store, bytes_str("github"), 50);
	for (int reopened = 0; reopened < 2; reopened++) {
		assert_int_equal(
			vault_store_list(&store, &arena, &list, &fixture->err),
			0);
		assert_int_equal(list.secrets_count, 2);
		assert_true(bytes_is(list.secrets[0].name, "github"));
		assert_int_equal(list.secrets[0].created_ms, 10);
		assert_int_equal(list.secrets[0].changed_ms, 30);
		assert_int_equal(list.secrets[0].used_ms, 50);
		assert_true(bytes_is(list.secrets[1].name, "npm"));
		assert_int_equal(list.secrets[1].used_ms, 0);
		vault_store_close(&store);
		open_store(fixture, &store);
	}
	vault_store_close(&store);
}

static void store_takes_no_more_than_it_can_list(void **state)
{
	struct fixture *fixture = *state;
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf out;
	struct msg_secret_list list;
	struct vault_store store;
	char name[SECRET_NAME_MAX + 1];

	arena_init(&arena, 1 << 20);
	buf_init(&out, WIRE_MESSAGE_MAX - 8);
	open_store(fixture, &store);
	for (int i = 0; i < VAULT_SECRETS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "%0128d", i);
		put(fixture, &store, name, "x", 1);
	}
	assert_int_equal(vault_store_put(&store, bytes_str("more"),
					 bytes_str("x"), 1, &fixture->err),
			 -1);
	assert_int_equal(fixture->err.code, ERR_TOO_LARGE);
	/* The twin: one that is there may change. */
	put(fixture, &store, name, "y", 2);
	assert_int_equal(vault_store_list(&store, &arena, &list, &fixture->err),
			 0);
	assert_int_equal(list.secrets_count, VAULT_SECRETS_MAX);
	assert_int_equal(wire_encode(&msg_secret_list_schema, &list, &out,
				     &fixture->err),
			 0);
	vault_store_close(&store);
}

static void store_knows_its_names(void **state)
{
	static const struct {
		const char *name;
		bool is_valid;
	} rows[] = {
		{"github-app", true}, {"A.b_c-9", true}, {"", false},
		{"a b", false},	      {"a/b", false},	 {"../x", false},
		{"k\xc3\xa4", false}, {"a\n", false},	 {"/key", false},
	};
	char longest[SECRET_NAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(vault_name_is_valid(bytes_str(rows[i].name)),
				 rows[i].is_valid);
	memset(longest, 'a', sizeof(longest));
	assert_true(vault_name_is_valid(bytes_from(longest, SECRET_NAME_MAX)));
	assert_false(
		vault_name_is_valid(bytes_from(longest, SECRET_NAME_MAX + 1)));
}

/* Does any file of the vault hold the text? */
static bool is_on_disk(const struct fixture *fixture, const char *text)
{
	static const char *const files[] = {"vault.db", "vault.db-wal"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		auto_fd int fd = openat(fixture->directory, files[i],
					O_RDONLY | O_CLOEXEC);
		static uint8_t content[4 << 20];
		ssize_t len = fd < 0 ? 0 : read(fd, content, sizeof(content));

		assert_true(len >= 0 && (size_t)len < sizeof(content));
		if (bytes_find_bytes(bytes_from(content, (size_t)len),
				     bytes_str(text), 0) >= 0)
			return true;
	}
	return false;
}

static void store_never_writes_a_secret_in_the_clear(void **state)
{
	struct fixture *fixture = *state;
	struct vault_store store;

	open_store(fixture, &store);
	put(fixture, &store, "github", CANARY, 1);
	put(fixture, &store, "github", CANARY "2", 2);
	assert_int_equal(
		vault_store_remove(&store, bytes_str("github"), &fixture->err),
		0);
	put(fixture, &store, "npm", CANARY, 3);
	assert_value(fixture, &store, "npm", CANARY);
	assert_false(is_on_disk(fixture, CANARY));
	/* The twin: names are there, so the search finds what is. */
	assert_true(is_on_disk(fixture, "npm"));
	vault_store_close(&store);
	assert_false(is_on_disk(fixture, CANARY));
}

static void store_refuses_another_key(void **state)
{
	struct fixture *fixture = *state;
	struct seal_source source = source_of(fixture);
	struct vault_store store;
	uint8_t other[SEAL_KEY_LEN];

	open_store(fixture, &store);
	vault_store_close(&store);
	random_bytes(other, sizeof(other));
	write_file(fixture, "vault.key", other, sizeof(other), 0600);
	assert_int_equal(vault_store_open(&store, &source, &fixture->err), -1);
	assert_non_null(strstr(fixture->err.text, "not this vault's"));
	(void)unlinkat(fixture->directory, "vault.key", 0);
	assert_int_equal(vault_store_open(&store, &source, &fixture->err), -1);
	assert_int_equal(fixture->err.code, ERR_MISSING);
}

static void store_refuses_a_value_that_was_moved_or_brought_back(void **state)
{
	static const char *const tampering[] = {
		"UPDATE secret SET sealed ="
		" (SELECT sealed FROM secret WHERE name = 'low')"
		" WHERE name = 'high'",
		"UPDATE secret SET sealed ="
		" (SELECT sealed FROM secret WHERE name = 'low'), version ="
		" (SELECT version FROM secret WHERE name = 'low')"
		" WHERE name = 'high'",
		"UPDATE secret SET version = version + 1 WHERE name = 'high'",
		"UPDATE secret SET sealed = x'00' WHERE name = 'high'",
	};

	for (size_t i = 0; i < ARRAY_SIZE(tampering); i++) {
		struct fixture *fixture;
		struct vault_store store;
		struct secret value;

		secret_init(&value);
		assert_int_equal(fixture_setup(state), 0);
		fixture = *state;
		open_store(fixture, &store);
		put(fixture, &store, "low", "a", 1);
		put(fixture, &store, "high", "b", 1);
		assert_value(fixture, &store, "high", "b");
		assert_int_equal(
			sqlite3_exec(store.db, tampering[i], NULL, NULL, NULL),
			SQLITE_OK);
		assert_int_equal(vault_store_get(&store, bytes_str("high"),
						 &value, &fixture->err),
				 -1);
		assert_int_equal(fixture->err.code, ERR_INVALID);
		assert_null(value.data);
		assert_value(fixture, &store, "low", "a");
		vault_store_close(&store);
		assert_int_equal(fixture_teardown(state), 0);
	}
}

static void store_does_not_use_a_version_twice(void **state)
{
	struct fixture *fixture = *state;
	struct vault_store store;

	open_store(fixture, &store);
	put(fixture, &store, "github", "old", 1);
	assert_int_equal(sqlite3_exec(store.db,
				      "CREATE TABLE kept AS"
				      " SELECT * FROM secret",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(
		vault_store_remove(&store, bytes_str("github"), &fixture->err),
		0);
	put(fixture, &store, "github", "new", 2);
	assert_int_equal(sqlite3_exec(store.db,
				      "UPDATE secret SET sealed ="
				      " (SELECT sealed FROM kept)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	{
		struct secret value;

		secret_init(&value);
		assert_int_equal(vault_store_get(&store, bytes_str("github"),
						 &value, &fixture->err),
				 -1);
	}
	vault_store_close(&store);
}

static void store_keeps_the_old_value_when_the_disk_is_full(void **state)
{
	struct fixture *fixture = *state;
	struct vault_store store;
	char longer[SECRET_VALUE_MAX];

	memset(longer, 'x', sizeof(longer));
	open_store(fixture, &store);
	put(fixture, &store, "github", "old", 1);
	assert_int_equal(sqlite3_exec(store.db, "PRAGMA max_page_count = 1",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(vault_store_put(&store, bytes_str("github"),
					 bytes_from(longer, sizeof(longer)), 2,
					 &fixture->err),
			 -1);
	assert_value(fixture, &store, "github", "old");
	assert_int_equal(sqlite3_exec(store.db, "PRAGMA max_page_count = 9999",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	put(fixture, &store, "github", "new", 3);
	assert_value(fixture, &store, "github", "new");
	vault_store_close(&store);
}

#define STORE_TEST(test)                                                       \
	cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(store_keeps_replaces_and_removes),
		STORE_TEST(store_waits_for_who_has_it_and_ends),
		STORE_TEST(store_lists_names_and_times),
		STORE_TEST(store_takes_no_more_than_it_can_list),
		cmocka_unit_test(store_knows_its_names),
		STORE_TEST(store_never_writes_a_secret_in_the_clear),
		STORE_TEST(store_refuses_another_key),
		cmocka_unit_test(
			store_refuses_a_value_that_was_moved_or_brought_back),
		STORE_TEST(store_does_not_use_a_version_twice),
		STORE_TEST(store_keeps_the_old_value_when_the_disk_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
