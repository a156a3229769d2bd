#include "tests/unit/gateway/vault/fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "gateway/vault/rotate.h"

#define SECRETS	      5
#define MOMENTS_MAX   400
#define MOMENTS_LEAST 8

/*
 * Everything that this process and the libraries in it write to a disk comes
 * by these: the nth of them is the process's last.
 */
static unsigned moments_left; /* 0: for ever */

static void moment(void)
{
	if (moments_left > 0 && --moments_left == 0)
		(void)raise(SIGKILL);
}

/* This one takes so many writes, and no more. */
static int broken_fd = -1;
static unsigned broken_spares;

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
	moment();
	if (fd == broken_fd && broken_spares-- == 0) {
		broken_spares = 0;
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, data, len, at);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	return pwrite64(fd, data, len, at);
}

int fsync(int fd)
{
	moment();
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	moment();
	return (int)syscall(SYS_fdatasync, fd);
}

int ftruncate64(int fd, off64_t len)
{
	moment();
	return (int)syscall(SYS_ftruncate, fd, len);
}

int ftruncate(int fd, off_t len)
{
	return ftruncate64(fd, len);
}

static void open_store(struct fixture *fixture, struct vault_store *store)
{
	const struct seal_source source = source_of(fixture);

	if (vault_store_open(store, &source, &fixture->err) < 0)
		fail_msg("%s", fixture->err.text);
}

static void name_of(unsigned i, char name[16])
{
	(void)snprintf(name, 16, "secret-%u", i);
}

static void fill(struct fixture *fixture)
{
	struct vault_store store;
	char name[16];

	open_store(fixture, &store);
	for (unsigned i = 0; i < SECRETS; i++) {
		name_of(i, name);
		assert_int_equal(vault_store_put(&store, bytes_str(name),
						 bytes_str(name), 1,
						 &fixture->err),
				 0);
	}
	vault_store_close(&store);
}

static void assert_all_there(struct fixture *fixture, struct vault_store *store)
{
	struct secret value;
	char name[16];

	secret_init(&value);
	for (unsigned i = 0; i < SECRETS; i++) {
		name_of(i, name);
		if (vault_store_get(store, bytes_str(name), &value,
				    &fixture->err) < 0)
			fail_msg("%s: %s", name, fixture->err.text);
		assert_true(bytes_is(secret_view(&value), name));
	}
	secret_release(&value);
}

/* The key that stands in a file, 0 bytes of it when there is none. */
static size_t read_key(const struct fixture *fixture, const char *file,
		       uint8_t key[SEAL_KEY_LEN])
{
	auto_fd int fd = openat(fixture->directory, file, O_RDONLY | O_CLOEXEC);
	ssize_t len = read(fd, key, SEAL_KEY_LEN);

	assert_true(len >= 0);
	return (size_t)len;
}

static void a_new_key_opens_all_and_the_old_one_nothing(void **state)
{
	struct fixture *fixture = *state;
	uint8_t old[SEAL_KEY_LEN], new[SEAL_KEY_LEN], next[SEAL_KEY_LEN];
	struct vault_store store;
	const struct seal_source source = source_of(fixture);

	fill(fixture);
	assert_int_equal(read_key(fixture, "vault.key", old), SEAL_KEY_LEN);
	open_store(fixture, &store);
	assert_int_equal(vault_key_rotate(&store, &fixture->err), 0);
	assert_all_there(fixture, &store);
	assert_int_equal(read_key(fixture, "vault.key", new), SEAL_KEY_LEN);
	assert_memory_not_equal(old, new, SEAL_KEY_LEN);
	assert_int_equal(read_key(fixture, "vault.key.next", next), 0);
	/* What is put afterwards is the new key's too. */
	assert_int_equal(vault_store_put(&store, bytes_str("secret-0"),
					 bytes_str("secret-0"), 2,
					 &fixture->err),
			 0);
	vault_store_close(&store);
	open_store(fixture, &store);
	assert_all_there(fixture, &store);
	vault_store_close(&store);
	write_file(fixture, "vault.key", old, sizeof(old), 0600);
	assert_int_equal(vault_store_open(&store, &source, &fixture->err), -1);
	assert_int_equal(fixture->err.code, ERR_INVALID);
}

/* True when the rotation came to its end before that moment. */
static bool rotate_killed_at(struct fixture *fixture, unsigned at)
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct vault_store store;

		open_store(fixture, &store);
		moments_left = at;
		if (vault_key_rotate(&store, &fixture->err) < 0)
			_exit(3);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		assert_int_equal(WTERMSIG(status), SIGKILL);
	else
		assert_int_equal(status, 0);
	return !WIFSIGNALED(status);
}

static void killed_at_any_moment_the_vault_opens_again(void **state)
{
	struct fixture *fixture = *state;
	uint8_t key[SEAL_KEY_LEN];
	struct vault_store store;
	unsigned at = 1;

	fill(fixture);
	for (; !rotate_killed_at(fixture, at); at++) {
		assert_true(at < MOMENTS_MAX);
		open_store(fixture, &store);
		assert_all_there(fixture, &store);
		/* Nothing is left of a change, whichever way it went. */
		assert_int_equal(read_key(fixture, "vault.key.next", key), 0);
		vault_store_close(&store);
	}
	assert_true(at > MOMENTS_LEAST);
	open_store(fixture, &store);
	assert_all_there(fixture, &store);
	vault_store_close(&store);
}

static void killed_while_it_recovers_it_opens_again(void **state)
{
	struct fixture *fixture = *state;
	uint8_t old[SEAL_KEY_LEN], new[SEAL_KEY_LEN];
	struct vault_store store;
	unsigned at = 1;
	int status = 0;

	fill(fixture);
	assert_int_equal(read_key(fixture, "vault.key", old), SEAL_KEY_LEN);
	open_store(fixture, &store);
	assert_int_equal(vault_key_rotate(&store, &fixture->err), 0);
	vault_store_close(&store);
	assert_int_equal(read_key(fixture, "vault.key", new), SEAL_KEY_LEN);
	do {
		pid_t pid;

		/* As a kill after the transaction leaves them. */
		write_file(fixture, "vault.key", old, sizeof(old), 0600);
		write_file(fixture, "vault.key.next", new, sizeof(new), 0600);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			moments_left = at;
			open_store(fixture, &store);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		open_store(fixture, &store);
		assert_all_there(fixture, &store);
		vault_store_close(&store);
	} while (WIFSIGNALED(status) && ++at < MOMENTS_MAX);
	assert_int_equal(status, 0);
	assert_true(at > 3);
}

/* Else the key that holds would stand nowhere, until the next one does. */
static void no_key_follows_one_that_stands_in_one_file_alone(void **state)
{
	struct fixture *fixture = *state;
	struct vault_store store;

	fill(fixture);
	open_store(fixture, &store);
	broken_fd = store.files.key;
	broken_spares = 1;
	assert_int_equal(vault_key_rotate(&store, &fixture->err), 0);
	assert_int_equal(vault_key_rotate(&store, &fixture->err), -1);
	assert_all_there(fixture, &store);
	broken_fd = -1;
	vault_store_close(&store);
	open_store(fixture, &store);
	assert_all_there(fixture, &store);
	assert_int_equal(vault_key_rotate(&store, &fixture->err), 0);
	vault_store_close(&store);
	open_store(fixture, &store);
	assert_all_there(fixture, &store);
	vault_store_close(&store);
}

static void an_altered_secret_keeps_the_old_key(void **state)
{
	struct fixture *fixture = *state;
	uint8_t before[SEAL_KEY_LEN], after[SEAL_KEY_LEN];
	struct vault_store store;

	fill(fixture);
	assert_int_equal(read_key(fixture, "vault.key", before), SEAL_KEY_LEN);
	open_store(fixture, &store);
	assert_int_equal(sqlite3_exec(store.db,
				      "UPDATE secret SET version = 99"
				      " WHERE name = 'secret-3'",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(vault_key_rotate(&store, &fixture->err), -1);
	assert_non_null(strstr(fixture->err.text, "secret-3"));
	assert_int_equal(sqlite3_exec(store.db,
				      "UPDATE secret SET version = 5"
				      " WHERE name = 'secret-3'",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_all_there(fixture, &store);
	vault_store_close(&store);
	assert_int_equal(read_key(fixture, "vault.key", after), SEAL_KEY_LEN);
	assert_memory_equal(before, after, SEAL_KEY_LEN);
	open_store(fixture, &store);
	assert_all_there(fixture, &store);
	assert_int_equal(vault_key_rotate(&store, &fixture->err), 0);
	vault_store_close(&store);
}

static void the_operators_own_key_changes_with_the_one_before(void **state)
{
	static const uint8_t first[] = "0123456789abcdef0123456789abcdef";
	static const uint8_t second[] = "fedcba9876543210fedcba9876543210";
	struct fixture *fixture = *state;
	struct seal_source source = source_of(fixture);
	struct vault_store store;

	source.credentials = fixture->path;
	write_file(fixture, "sallyport-vault-key", first, 32, 0400);
	assert_int_equal(vault_store_open(&store, &source, &fixture->err), 0);
	assert_int_equal(vault_store_put(&store, bytes_str("a"),
					 bytes_str("value"), 1, &fixture->err),
			 0);
	assert_int_equal(vault_key_rotate(&store, &fixture->err), -1);
	assert_int_equal(fixture->err.code, ERR_UNSUPPORTED);
	vault_store_close(&store);

	(void)unlinkat(fixture->directory, "sallyport-vault-key", 0);
	write_file(fixture, "sallyport-vault-key", second, 32, 0400);
	assert_int_equal(vault_store_open(&store, &source, &fixture->err), -1);
	write_file(fixture, "sallyport-vault-key.previous", first, 32, 0400);
	assert_int_equal(vault_store_open(&store, &source, &fixture->err), 0);
	vault_store_close(&store);
	/* From then on without the one before. */
	(void)unlinkat(fixture->directory, "sallyport-vault-key.previous", 0);
	assert_int_equal(vault_store_open(&store, &source, &fixture->err), 0);
	assert_true(vault_store_has(&store, bytes_str("a")));
	vault_store_close(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(test)                                                                \
	cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)
		T(a_new_key_opens_all_and_the_old_one_nothing),
		T(killed_at_any_moment_the_vault_opens_again),
		T(killed_while_it_recovers_it_opens_again),
		T(no_key_follows_one_that_stands_in_one_file_alone),
		T(an_altered_secret_keeps_the_old_key),
		T(the_operators_own_key_changes_with_the_one_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
