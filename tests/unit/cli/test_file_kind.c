#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/file_kind.h"
#include "common/cleanup.h"

static void a_file_is_what_its_keys_say(void **state)
{
	static const struct {
		const char *text;
		enum file_kind kind;
	} rows[] = {
		{"version: 1\nlimits: {}\n", FILE_KIND_POLICY},
		{"network: {}\ntls: {}\n", FILE_KIND_POLICY},
		{"state: /x\nrun: /y\n", FILE_KIND_GATEWAY},
		{"secrets: {}\nlimits: {}\n", FILE_KIND_GATEWAY},
		{"run: /y\npool: {}\n", FILE_KIND_HOST},
		{"{network: {allowedDomains: []}}", FILE_KIND_SETTINGS},
		{"{version: 1, filesystem: {denyRead: []}}",
		 FILE_KIND_SETTINGS},
		{"{network: [allowedDomains], filesystem: {}}",
		 FILE_KIND_POLICY},
		/* Of several, of none, no text. */
		{"limits: {}\ntls: {}\nlisten: []\n", FILE_KIND_NONE},
		{"version: 1\nstate: /x\n", FILE_KIND_NONE},
		{"pool: {}\nstate: /x\n", FILE_KIND_NONE},
		{"- version\n", FILE_KIND_NONE},
		{"version", FILE_KIND_NONE},
		{"version: [\n", FILE_KIND_NONE},
		{"version: &a 1\n", FILE_KIND_NONE},
		{"", FILE_KIND_NONE},
		{"\xff\xfe: 1\n", FILE_KIND_NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (file_kind_of(bytes_str(rows[i].text)) != rows[i].kind)
			fail_msg("%s", rows[i].text);
}

static void a_file_of_another_kind_is_told_with_its_check(void **state)
{
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, 1024);
	file_kind_tell(bytes_str("state: /x\n"), FILE_KIND_GATEWAY, "g", &out);
	file_kind_tell(bytes_str("limits: {}\n"), FILE_KIND_POLICY, "g", &out);
	assert_int_equal(buf_len(&out), 0);
	file_kind_tell(bytes_str("pool: {}\n"), FILE_KIND_GATEWAY, "h", &out);
	assert_string_equal(buf_str(&out),
			    "h: this looks like a host.yaml: sallyport config "
			    "check --host h\n");
}

static void nothing_is_no_object(void **state)
{
	(void)state;
	assert_false(file_kind_is_object(bytes_str("")));
	assert_false(file_kind_is_object(bytes_str("  \n")));
	assert_false(file_kind_is_object(bytes_str("# {}\n")));
	assert_true(file_kind_is_object(bytes_str(" \n{}")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_no_object),
		cmocka_unit_test(a_file_is_what_its_keys_say),
		cmocka_unit_test(a_file_of_another_kind_is_told_with_its_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
