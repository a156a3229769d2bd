#include "policies/text.h"

#include "policy_of.h"

#define TREE_MAX (64 * 1024 * 1024)

/* Parse; what was told is in *told. */
static struct text_node *parse(struct bytes text, struct arena *arena,
			       struct buf *told, size_t *count)
{
	struct policy_errors errors = {.out = told, .file = "x.yaml"};
	struct text_source source = {text, "x.yaml", &errors};
	struct text_node *root;

	buf_init(told, TOLD_MAX);
	arena_init(arena, TREE_MAX);
	root = text_parse(&source, arena);
	*count = errors.count;
	return root;
}

static void text_parse_gives_a_tree_with_places(void **state)
{
	static const char text[] = "a: 1\n"
				   "b: [x, \"0443\"]\n"
				   "c:\n"
				   "  - d: e\n";
	struct arena arena;
	struct buf told;
	size_t count;
	struct text_node *root = parse(bytes_str(text), &arena, &told, &count);
	struct text_node *b;
	struct text_node *d;

	(void)state;
	assert_non_null(root);
	assert_int_equal(count, 0);
	assert_int_equal(root->kind, TEXT_MAP);
	assert_int_equal(root->count, 3);
	assert_true(bytes_is(root->first->value, "1"));
	assert_true(root->first->is_plain);
	b = text_child(root, "b");
	assert_int_equal(b->kind, TEXT_LIST);
	assert_int_equal(b->key_at, 5);
	assert_int_equal(b->count, 2);
	assert_true(bytes_is(b->first->next->value, "0443"));
	assert_false(b->first->next->is_plain);
	d = text_child(text_child(root, "c")->first, "d");
	assert_int_equal(text[d->at], 'e');
	assert_null(text_child(root, "d"));
	assert_null(text_child(d, "d"));
	arena_release(&arena);
	buf_release(&told);
}

static void text_parse_refuses_what_policies_do_not_need(void **state)
{
	static const struct {
		const char *text;
		const char *told;
	} rows[] = {
		{"", "x.yaml:1:1: the text is empty\n\n^\n"},
		{"# only\n", "x.yaml:1:1: the text is empty\n# only\n^\n"},
		{"a: &x 1\n", "x.yaml:1:7: anchors are not accepted: a value "
			      "that begins with & needs quotes\n"},
		{"a: *x\n", "x.yaml:1:5: aliases are not accepted: a value "
			    "that begins with * needs quotes\n"},
		{"a: !!int 1\n", "x.yaml:1:10: tags are not accepted: a value "
				 "that begins with ! needs quotes\n"},
		{"a: ! 1\n", "tags are not accepted: a value that begins with "
			     "! needs quotes\n"},
		{"a: &x [1]\n", "anchors are not accepted: a value that begins "
				"with & needs quotes\n"},
		{"&x a: 1\n", "anchors are not accepted: a value that begins "
			      "with & needs quotes\n"},
		{"a: 1\na: 2\n",
		 "x.yaml:2:1: \"a\" stands here twice\na: 2\n^\n"},
		{"{a: 1, 'a': 2}", "\"a\" stands here twice\n"},
		{"a: 1\n---\nb: 2\n", "x.yaml:2:1: a second document\n"},
		{"%YAML 1.1\n---\na: 1\n", "directives are not accepted\n"},
		{"%TAG ! x:\n---\na: 1\n", "directives are not accepted\n"},
		{"? [a]\n: b\n", "a key must be a word\n"},
		{"? {a: 1}\n: b\n", "a key must be a word\n"},
		{"a: \"x\\0y\"\n", "x.yaml:1:5: the value holds control "
				   "character 0x00\n"},
		{"a: \"\\e[31m\"\n", "control character 0x1b\n"},
		{"\"a\\nb\": 1\n", "control character 0x0a\n"},
		{"a: \x01\n", "x.yaml:1:4: control character 0x01\na: ?\n"
			      "   ^\n"},
		{"a: \x7f\n", "control character 0x7f\n"},
		{"a: \xff\n", "x.yaml:1:4: this is not UTF-8\na: ?\n   ^\n"},
		{"a: \xed\xa0\x80\n", "this is not UTF-8\n"},
		{"a: \xc0\xaf\n", "this is not UTF-8\n"},
		{"a: 'x''''x'\n", "write this in double quotes"},
		{"a: [1, 2\nb: 3\n", "x.yaml:3:1: "},
		{"a: \"x\n", "x.yaml:1:5: "},
		{"\ta: 1\n", "x.yaml:1:1: "},
		{"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
		 "x.yaml:1:17: more than 16 levels deep\n"},
		/* columns count characters, carets stand under them */
		{"\xc3\xbc: [\xc3\xbc, *x]\n",
		 "x.yaml:1:9: aliases are not accepted: a value that begins "
		 "with * needs quotes\n"
		 "\xc3\xbc: [\xc3\xbc, *x]\n        ^\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena arena;
		struct buf told;
		size_t count;

		assert_null(
			parse(bytes_str(rows[i].text), &arena, &told, &count));
		print_message("%s", buf_str(&told));
		assert_int_equal(count, 1);
		assert_non_null(strstr(buf_str(&told), rows[i].told));
		arena_release(&arena);
		buf_release(&told);
	}
}

static void text_parse_takes_what_looks_alike(void **state)
{
	static const char *const rows[] = {
		"a: '&x 1'\n",
		"a: ''\n",
		"a: ''''\n",
		"a: 'it''s it''s it''s it''s it''s it''s it''s'\n",
		"a: '*x'\n",
		"a: '!!int 1'\n",
		"a: 1\nb: 2\n",
		"---\na: 1\n...\n",
		"a: >-\n  x\n  y\n",
		"a: \xc3\xbc\n",
		"{a: 1}\r\n",
		"[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]",
		/* Two literals: \xbf would go on into the 'a'. */
		("\xef\xbb\xbf"
		 "a: 1\n"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct arena arena;
		struct buf told;
		size_t count;

		print_message("%s", rows[i]);
		assert_non_null(
			parse(bytes_str(rows[i]), &arena, &told, &count));
		assert_int_equal(count, 0);
		arena_release(&arena);
		buf_release(&told);
	}
}

static void text_parse_refuses_a_nul(void **state)
{
	struct arena arena;
	struct buf told;
	size_t count;

	(void)state;
	assert_null(parse(bytes_from("a: 1\0\n", 6), &arena, &told, &count));
	assert_non_null(
		strstr(buf_str(&told), "x.yaml:1:5: control character 0x00"));
	arena_release(&arena);
	buf_release(&told);
}

static void text_parse_keeps_to_its_bounds(void **state)
{
	struct arena arena;
	struct buf told;
	struct buf text;
	size_t count;

	(void)state;
	buf_init(&text, 2 * POLICY_TEXT_MAX);
	for (int i = 0; i <= TEXT_KEYS_MAX; i++)
		buf_add_format(&text, "k%d: 1\n", i);
	assert_null(parse(buf_view(&text), &arena, &told, &count));
	assert_non_null(
		strstr(buf_str(&told), "x.yaml:1001:1: more than 1000 keys"));
	arena_release(&arena);
	buf_release(&told);

	buf_clear(&text);
	while (buf_len(&text) <= POLICY_TEXT_MAX)
		buf_add_str(&text, "# the quick brown fox\n");
	assert_null(parse(buf_view(&text), &arena, &told, &count));
	assert_non_null(strstr(buf_str(&told), "larger than 1048576 bytes"));
	arena_release(&arena);
	buf_release(&told);
	buf_release(&text);
}

static void text_error_shows_a_part_of_a_long_line(void **state)
{
	static char text[1000];
	struct policy_errors errors = {.file = "x.yaml"};
	struct text_source source = {bytes_from(text, sizeof(text)), "x.yaml",
				     &errors};
	struct buf told;
	const char *caret;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[500] = 'B';
	buf_init(&told, 4096);
	errors.out = &told;
	text_error(&source, 500, "a \"%s\"", "\x1b[2J");
	assert_non_null(
		strstr(buf_str(&told), "x.yaml:1:501: a \"?[2J\"\naaa"));
	assert_true(buf_len(&told) < 250);
	caret = strchr(buf_str(&told), '^');
	assert_non_null(caret);
	assert_int_equal(
		strchr(buf_str(&told), 'B') - strchr(buf_str(&told), '\n'),
		strrchr(buf_str(&told), '^') - strstr(buf_str(&told), "\n "));
	buf_release(&told);
}

static void text_error_tells_fifty_and_counts_all(void **state)
{
	struct policy_errors errors = {.file = "x.yaml"};
	struct text_source source = {bytes_str("a"), "x.yaml", &errors};
	struct buf told;
	size_t lines = 0;

	(void)state;
	buf_init(&told, TOLD_MAX);
	errors.out = &told;
	for (int i = 0; i < 70; i++)
		text_error(&source, 0, "no");
	assert_int_equal(errors.count, 70);
	for (const char *at = buf_str(&told); (at = strstr(at, ":1:1: no"));
	     at++)
		lines++;
	assert_int_equal(lines, POLICY_ERRORS_MAX);
	assert_non_null(strstr(buf_str(&told), "there are more errors"));
	buf_release(&told);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_parse_gives_a_tree_with_places),
		cmocka_unit_test(text_parse_refuses_what_policies_do_not_need),
		cmocka_unit_test(text_parse_takes_what_looks_alike),
		cmocka_unit_test(text_parse_refuses_a_nul),
		cmocka_unit_test(text_parse_keeps_to_its_bounds),
		cmocka_unit_test(text_error_shows_a_part_of_a_long_line),
		cmocka_unit_test(text_error_tells_fifty_and_counts_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
