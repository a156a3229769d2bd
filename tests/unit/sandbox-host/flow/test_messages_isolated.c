#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/flow/messages_isolated.h"

static int take(const struct change_item *items, size_t count, uint64_t *total)
{
	const struct changes_list list = {items, count, count + 7};
	struct request_memory memory;
	struct changes_list taken;
	struct err err;
	auto_fd int fd = changes_list_seal(&list, &err);

	if (fd < 0 || changes_list_open(fd, &memory, &taken, &err) < 0)
		return -1;
	assert_int_equal(taken.items_count, count);
	*total = taken.total;
	for (size_t i = 0; i < count; i++)
		assert_true(bytes_equal(taken.items[i].path, items[i].path) &&
			    taken.items[i].kind == items[i].kind &&
			    taken.items[i].type == items[i].type &&
			    taken.items[i].size == items[i].size);
	request_release(&memory);
	return 0;
}

static void changes_arrive_as_they_were_told(void **state)
{
	const struct change_item items[] = {
		{bytes_str("a/\xff\n"), CHANGE_ADDED, CHANGE_FILE, 1ull << 40},
		{bytes_str("b"), CHANGE_CHANGED, CHANGE_DIRECTORY, 0},
		{bytes_str("c"), CHANGE_DELETED, CHANGE_LINK, 0},
	};
	uint64_t total = 0;

	(void)state;
	assert_int_equal(take(items, ARRAY_SIZE(items), &total), 0);
	assert_int_equal(total, ARRAY_SIZE(items) + 7);
	assert_int_equal(take(NULL, 0, &total), 0);
}

static void kinds_that_there_are_not_are_refused(void **state)
{
	const struct change_item kind = {.kind = CHANGE_KIND_MAX};
	const struct change_item type = {.type = CHANGE_TYPE_MAX};
	uint64_t total;

	(void)state;
	assert_int_equal(take(&kind, 1, &total), -1);
	assert_int_equal(take(&type, 1, &total), -1);
}

static void what_is_sealed_and_no_list_is_refused(void **state)
{
	struct request_memory memory;
	struct changes_list taken;
	struct err err;
	auto_fd int fd =
		wire_memfd_seal("x", bytes_str("\xff\xff\xff\xff"), &err);

	(void)state;
	assert_int_equal(changes_list_open(fd, &memory, &taken, &err), -1);
	assert_int_equal(memory.mapping.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_arrive_as_they_were_told),
		cmocka_unit_test(kinds_that_there_are_not_are_refused),
		cmocka_unit_test(what_is_sealed_and_no_list_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
