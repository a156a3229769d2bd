#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>

#include "common/cleanup.h"
#include "sandbox-host/store/store.h"
#include "sandbox-host/store/tar.h"
#include "tests/unit/sandbox-host/scratch.h"

static int setup(void **state)
{
	(void)state;
	scratch_make();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove();
	return 0;
}

/* A tar with one empty file. */
static int make_tar(const char *name)
{
	char header[TAR_BLOCK] = {0};
	unsigned sum = 8 * ' ';
	int fd = memfd_create("tar", MFD_CLOEXEC);

	(void)snprintf(header, 100, "%s", name);
	header[156] = '0';
	for (size_t i = 0; i < sizeof(header); i++)
		sum += (uint8_t)header[i];
	(void)snprintf(header + 148, 8, "%06o", sum);
	assert_int_equal(write(fd, header, sizeof(header)), sizeof(header));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int unpack(const char *into, uint64_t entries, struct err *err)
{
	struct store_budget budget = {.bytes = 1000, .entries = entries};
	uint8_t digest[DIGEST_LEN];
	auto_fd int tar = make_tar("a/b/c/d/file");
	auto_fd int dir = -1;
	int rc;

	scratch_dir(into);
	dir = open(scratch_path(into), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = unpack_tar(tar, dir, &budget, digest, err);
	if (rc == 0)
		assert_int_equal(budget.entries, 0);
	return rc;
}

static void directories_without_an_entry_are_counted(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(unpack("enough", 5, &err), 0);
	assert_int_equal(access(scratch_path("enough/a/b/c/d/file"), F_OK), 0);
	for (uint64_t entries = 0; entries < 5; entries++) {
		char name[] = {'n', (char)('0' + entries), '\0'};

		assert_int_equal(unpack(name, entries, &err), -1);
		assert_string_equal(err.text, "it has too many entries");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			directories_without_an_entry_are_counted, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
