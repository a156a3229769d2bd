#include "cli/yaml_print.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "policies/text.h"

#define TREE_MAX (1024 * 1024)

static char *printed(const json_t *value)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(yaml_print(out, value), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void yaml_print_writes_blocks(void **state)
{
	json_t *value =
		json_pack("{s:[{s:s, s:i}, n, [], {}, [b]], s:s, s:n}", "rows",
			  "id", "s-1", "port", 443, 1, "a key", "no", "none");
	char *text = printed(value);

	(void)state;
	assert_string_equal(text, "---\n"
				  "rows:\n"
				  "  -\n"
				  "    id: \"s-1\"\n"
				  "    port: 443\n"
				  "  - null\n"
				  "  - []\n"
				  "  - {}\n"
				  "  -\n"
				  "    - true\n"
				  "\"a key\": \"no\"\n"
				  "none: null\n");
	free(text);
	json_decref(value);
}

static void what_somebody_chose_stays_one_string(void **state)
{
	static const char *const rows[] = {
		"",	"a: b",		"x\n- y",	    "\"\\",	"# no",
		"{}",	"\xe2\x80\xa8", "&a *b !",	    "\xc3\xa9", "---\n",
		"null", "\t- a\n",	"\xf0\x9f\x98\x80",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *value = json_pack("{s:s}", "text", rows[i]);
		char *text = printed(value);
		struct policy_errors errors = {.file = "printed"};
		const struct text_source source = {bytes_str(text), "printed",
						   &errors};
		auto_type(arena_release) struct arena arena;
		const struct text_node *root;

		arena_init(&arena, TREE_MAX);
		root = text_parse(&source, &arena);
		assert_non_null(root);
		assert_int_equal(root->count, 1);
		assert_true(bytes_is(text_child(root, "text")->value, rows[i]));
		free(text);
		json_decref(value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(yaml_print_writes_blocks),
		cmocka_unit_test(what_somebody_chose_stays_one_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
