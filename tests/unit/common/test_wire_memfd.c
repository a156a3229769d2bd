#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/wire.h"

static void memfd_brings_its_bytes_back_and_cannot_change(void **state)
{
	struct err err;
	auto_fd int fd = wire_memfd_seal("t", bytes_str("hello"), &err);
	struct bytes view;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(wire_memfd_map(fd, 5, &view, &err), 0);
	assert_true(bytes_is(view, "hello"));
	wire_memfd_unmap(view);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static void memfd_may_be_empty(void **state)
{
	struct err err;
	auto_fd int fd = wire_memfd_seal("t", bytes_str(""), &err);
	struct bytes view = bytes_str("x");

	(void)state;
	assert_int_equal(wire_memfd_map(fd, 5, &view, &err), 0);
	assert_int_equal(view.len, 0);
	wire_memfd_unmap(view);
}

static void memfd_larger_than_the_bound_is_refused(void **state)
{
	struct err err;
	auto_fd int fd = wire_memfd_seal("t", bytes_str("hello"), &err);
	struct bytes view;

	(void)state;
	assert_int_equal(wire_memfd_map(fd, 4, &view, &err), -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
	assert_int_equal(
		wire_memfd_seal("t", bytes_from("", WIRE_MEMFD_MAX + 1), &err),
		-1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
}

static void memfd_with_any_seal_missing_is_refused(void **state)
{
	static const int seals[] = {
		0,
		F_SEAL_SHRINK | F_SEAL_GROW,
		F_SEAL_SHRINK | F_SEAL_WRITE,
		F_SEAL_GROW | F_SEAL_WRITE,
		F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE,
	};
	struct err err;
	struct bytes view;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(seals); i++) {
		auto_fd int fd = memfd_create("t", MFD_ALLOW_SEALING);

		assert_int_equal(write(fd, "hello", 5), 5);
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals[i]), 0);
		assert_int_equal(wire_memfd_map(fd, 5, &view, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_int_equal(
			fcntl(fd, F_ADD_SEALS,
			      F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE),
			0);
		assert_int_equal(wire_memfd_map(fd, 5, &view, &err), 0);
		wire_memfd_unmap(view);
	}
}

static void memfd_that_is_none_is_refused(void **state)
{
	struct err err;
	struct bytes view;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(wire_memfd_map(ends[0], 5, &view, &err), -1);
	assert_int_equal(wire_memfd_map(-1, 5, &view, &err), -1);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memfd_brings_its_bytes_back_and_cannot_change),
		cmocka_unit_test(memfd_may_be_empty),
		cmocka_unit_test(memfd_larger_than_the_bound_is_refused),
		cmocka_unit_test(memfd_with_any_seal_missing_is_refused),
		cmocka_unit_test(memfd_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
