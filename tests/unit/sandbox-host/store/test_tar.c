#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "sandbox-host/store/tar.h"

#define TEXT_MAX (64 * TAR_BLOCK)

static struct memory {
	uint8_t text[TEXT_MAX];
	size_t len, at;
	size_t step; /* bytes given at one time */
} memory;

static ssize_t read_memory(void *owner, void *out, size_t size)
{
	struct memory *from = owner;
	size_t len = from->len - from->at;

	if (len > size)
		len = size;
	if (len > from->step)
		len = from->step;
	memcpy(out, from->text + from->at, len);
	from->at += len;
	return (ssize_t)len;
}

static void clear(void)
{
	memory = (struct memory){.step = 7};
}

static void put_sum(uint8_t *header)
{
	unsigned sum = 0;

	memset(header + 148, ' ', 8);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += header[i];
	(void)snprintf((char *)header + 148, 8, "%06o", sum);
}

/* An entry with that text behind it. */
static uint8_t *put(const char *name, char type, const char *text)
{
	uint8_t *header = memory.text + memory.len;
	unsigned len = (unsigned)strlen(text) & 0xffff;

	(void)snprintf((char *)header, 100, "%s", name);
	(void)snprintf((char *)header + 100, 8, "0000644");
	(void)snprintf((char *)header + 124, 12, "%011o", len);
	(void)snprintf((char *)header + 136, 12, "%011o", 77);
	header[156] = (uint8_t)type;
	memcpy(header + 257, "ustar\0", 6);
	put_sum(header);
	memcpy(header + TAR_BLOCK, text, len);
	memory.len += TAR_BLOCK + (len + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	return header;
}

static int next(struct tar_entry *entry, struct err *err)
{
	static struct tar tar;

	if (memory.at == 0)
		tar = (struct tar){.read = read_memory, .owner = &memory};
	return tar_next(&tar, entry, err);
}

static void entries_are_told_in_order(void **state)
{
	struct tar_entry entry;
	struct err err;

	(void)state;
	clear();
	put("a/b", '0', "text");
	put("old/", '\0', "");
	(void)snprintf((char *)put("s", '2', "") + 157, 100, "/etc/passwd");
	put_sum(memory.text + memory.len - TAR_BLOCK);
	put("dev", '4', "");
	memory.len += 2 * TAR_BLOCK;
	assert_int_equal(next(&entry, &err), 1);
	assert_int_equal(entry.kind, TAR_FILE);
	assert_string_equal(entry.path, "a/b");
	assert_int_equal(entry.size, 4);
	assert_int_equal(entry.mode, 0644);
	assert_int_equal(entry.time, 77);
	assert_int_equal(next(&entry, &err), 1);
	assert_int_equal(entry.kind, TAR_DIRECTORY);
	assert_int_equal(next(&entry, &err), 1);
	assert_int_equal(entry.kind, TAR_SYMLINK);
	assert_string_equal(entry.link, "/etc/passwd");
	assert_int_equal(next(&entry, &err), 1);
	assert_int_equal(entry.kind, TAR_OTHER);
	assert_int_equal(next(&entry, &err), 0);
}

static void long_names_are_taken_in_both_ways(void **state)
{
	struct tar_entry entry;
	struct err err;

	(void)state;
	clear();
	put("x", 'x', "18 path=from-pax/\n22 linkpath=elsewhere\n10 size=3\n");
	put("short", '0', "abc");
	put("x", 'L', "from-gnu");
	put("short", '0', "");
	assert_int_equal(next(&entry, &err), 1);
	assert_string_equal(entry.path, "from-pax/");
	assert_int_equal(entry.kind, TAR_DIRECTORY);
	assert_int_equal(next(&entry, &err), 1);
	assert_string_equal(entry.path, "from-gnu");
}

static void what_is_damaged_is_refused(void **state)
{
	static const struct {
		const char *name, *text, *says;
		char type;
	} table[] = {
		{"x", "99 path=x\n", "extended header", 'x'},
		{"x", "path=x\n", "extended header", 'x'},
		{"x", "9 path=x\n\n", "extended header", 'x'},
		{"x", "8 size=x\n", "", 'x'},
		{"x", "22 GNU.sparse.major=1\n", "sparse", 'x'},
		{"x", "", "kind", 'S'},
		{"x", "", "kind", 'V'},
		{"", "", "no name", '0'},
	};
	struct tar_entry entry;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		clear();
		put(table[i].name, table[i].type, table[i].text);
		put("after", '0', "");
		assert_int_equal(next(&entry, &err), -1);
		if (!strstr(err.text, table[i].says))
			fail_msg("%zu: %s", i, err.text);
	}
	clear();
	put("x", '0', "")[0] = 'y';
	assert_int_equal(next(&entry, &err), -1);
	clear();
	put("x", '0', "text");
	memory.len -= 500;
	assert_int_equal(next(&entry, &err), 1);
	assert_int_equal(next(&entry, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_told_in_order),
		cmocka_unit_test(long_names_are_taken_in_both_ways),
		cmocka_unit_test(what_is_damaged_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
