/*
 * Landlock as kernels of every age have it: what is asked of each, by a
 * syscall(2) that answers as they do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "sandbox-host/landlock.h"
#include "sandbox-host/limits.h"
#include "sandbox-host/require.h"

long __wrap_syscall(long number, ...);

static struct {
	long abi; /* -1: this kernel has no Landlock */
	uint64_t asked[3];
	size_t asked_size;
} kernel;

long __wrap_syscall(long number, ...)
{
	const void *attr;
	size_t size;
	va_list args;

	assert_int_equal(number, SYS_landlock_create_ruleset);
	va_start(args, number);
	attr = va_arg(args, const void *);
	size = va_arg(args, size_t);
	va_end(args);
	if (kernel.abi < 0) {
		errno = ENOSYS;
		return -1;
	}
	if (!attr)
		return kernel.abi;
	memset(kernel.asked, 0, sizeof(kernel.asked));
	assert_true(size <= sizeof(kernel.asked));
	memcpy(kernel.asked, attr, size);
	kernel.asked_size = size;
	return 5;
}

static void landlock_asks_each_kernel_for_what_it_knows(void **state)
{
	static const struct {
		long abi;
		int ruleset;
		uint64_t files;
		uint64_t scopes;
		size_t size;
	} rows[] = {
		{-1, -2, 0, 0, 0},	{1, -2, 0, 0, 0},
		{2, 5, 0x3fff, 0, 8},	{3, 5, 0x7fff, 0, 8},
		{4, 5, 0x7fff, 0, 8},	{5, 5, 0xffff, 0, 8},
		{6, 5, 0xffff, 3, 24},	{7, 5, 0xffff, 3, 24},
		{99, 5, 0xffff, 3, 24},
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(&kernel, 0, sizeof(kernel));
		kernel.abi = rows[i].abi;
		assert_int_equal(landlock_begin(&err), rows[i].ruleset);
		assert_int_equal(kernel.asked[0], rows[i].files);
		assert_int_equal(kernel.asked[2], rows[i].scopes);
		assert_int_equal(kernel.asked_size, rows[i].size);
	}
}

static void require_refuses_an_older_landlock_and_takes_a_newer(void **state)
{
	static const struct {
		long abi;
		unsigned wanted;
		const char *refusal; /* NULL: none */
	} rows[] = {
		{-1, 0, NULL},
		{-1, 1, "requires landlock-1: this kernel has no Landlock"},
		{5, 6, "requires landlock-6: this kernel has ABI 5"},
		{6, 6, NULL},
		{7, 6, NULL},
	};
	struct limits limits = {.group_count = 0};
	struct sandbox_spec spec = {.workspace_mode = SANDBOX_READ};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		kernel.abi = rows[i].abi;
		spec.require.landlock = rows[i].wanted;
		assert_int_equal(require_check(&spec, &limits, &err),
				 rows[i].refusal ? -1 : 0);
		if (rows[i].refusal)
			assert_non_null(strstr(err.text, rows[i].refusal));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(landlock_asks_each_kernel_for_what_it_knows),
		cmocka_unit_test(
			require_refuses_an_older_landlock_and_takes_a_newer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
