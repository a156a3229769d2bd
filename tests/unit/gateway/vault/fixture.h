/*
 * A directory for a vault, removed at the end.
 */
#ifndef TESTS_VAULT_FIXTURE_H
#define TESTS_VAULT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "gateway/vault/seal.h"

struct fixture {
	char path[64];
	int directory;
	struct err err;
};

static inline int fixture_setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	(void)snprintf(fixture->path, sizeof(fixture->path),
		       "/tmp/sallyport-vault-XXXXXX");
	assert_non_null(mkdtemp(fixture->path));
	fixture->directory =
		open(fixture->path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	assert_true(fixture->directory >= 0);
	*state = fixture;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	static const char *const files[] = {
		"vault.db",
		"vault.db-wal",
		"vault.key",
		"other.key",
		"sallyport-vault-key",
		"vault.key.next",
		"sallyport-vault-key.previous",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		(void)unlinkat(fixture->directory, files[i], 0);
	(void)close(fixture->directory);
	assert_int_equal(rmdir(fixture->path), 0);
	free(fixture);
	return 0;
}

static inline struct seal_source source_of(const struct fixture *fixture)
{
	return (struct seal_source){
		.directory = fixture->directory,
		.uid = (uid_t)-1,
		.may_make = true,
	};
}

static inline void write_file(const struct fixture *fixture, const char *name,
			      const void *data, size_t len, mode_t mode)
{
	auto_fd int fd = openat(fixture->directory, name,
				O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	assert_int_equal(fchmod(fd, mode), 0);
}

#endif
