#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/dialer/address.h"

static void address_reads_literals_in_one_spelling(void **state)
{
	static const struct {
		const char *text;
		const char *written; /* NULL: not an address */
	} rows[] = {
		{"192.0.2.1", "192.0.2.1"},
		{"2001:db8::1", "2001:db8::1"},
		{"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
		{"::ffff:10.0.0.1", "::ffff:10.0.0.1"},
		{"0x7f.1", NULL},
		{"0177.0.0.1", NULL},
		{"127.1", NULL},
		{"2130706433", NULL},
		{"127.0.0.1 x", NULL},
		{" 127.0.0.1", NULL},
		{"127.0.0.1:80", NULL},
		{"[::1]", NULL},
		{"fe80::1%eth0", NULL},
		{"", NULL},
		{"example.com", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[ADDRESS_TEXT_SIZE];
		union address address;
		bool parsed = address_parse(bytes_str(rows[i].text), &address);

		if (parsed != (rows[i].written != NULL))
			fail_msg("%s", rows[i].text);
		if (!parsed)
			continue;
		address_format(&address, text);
		assert_string_equal(text, rows[i].written);
	}
	assert_false(address_parse(bytes_from("127.0.0.1\0x", 11),
				   &(union address){0}));
}

static void address_compares_without_the_port(void **state)
{
	union address a, b;

	(void)state;
	assert_true(address_parse(bytes_str("192.0.2.1"), &a));
	assert_true(address_parse(bytes_str("192.0.2.1"), &b));
	address_set_port(&b, 443);
	assert_true(address_equal(&a, &b));
	assert_true(address_parse(bytes_str("192.0.2.2"), &b));
	assert_false(address_equal(&a, &b));
	assert_true(address_parse(bytes_str("::ffff:192.0.2.1"), &b));
	assert_false(address_equal(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address_reads_literals_in_one_spelling),
		cmocka_unit_test(address_compares_without_the_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
