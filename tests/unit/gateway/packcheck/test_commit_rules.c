#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/packcheck/commit_rules.h"

#define HEAD                                                                   \
	"tree 1234567890123456789012345678901234567890\n"                      \
	"author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n"

struct row {
	struct bytes content;
	enum constraint constraint;
};
#define ROW(text, constraint) {BYTES_LITERAL(text), CONSTRAINT_##constraint}

static void assert_rows(const struct row *rows, size_t count,
			const struct msg_pack_commits *told)
{
	struct commit_rules rules = {0};
	const git_oid oid = {0};
	struct err err;

	assert_int_equal(commit_rules_read(&rules, told, 1, &err), 0);
	for (size_t i = 0; i < count; i++) {
		struct finding finding = {0};

		commit_rules_look(&rules, &oid, rows[i].content, &finding);
		if (finding.constraint != rows[i].constraint)
			fail_msg("row %zu: %s", i, finding.text);
	}
	commit_rules_release(&rules);
}

/* What is read is what git shows. */
static void rules_read_no_text_that_git_shows_otherwise(void **state)
{
	static const struct row rows[] = {
		ROW(HEAD "\nfeat\n", none),
		ROW(HEAD "\nwip\n", push_commit_not_allowed),
		ROW(HEAD "encoding UTF-8\n\nfeat\n", none),
		ROW(HEAD "encoding ISO-8859-1\n\nfeat\n", none),
		ROW(HEAD "\nencoding UTF-7\n", none),
		ROW(HEAD "encoding UTF-7\n\n+AHc-ip\n",
		    push_commit_not_allowed),
		ROW(HEAD "encoding utf-8\nencoding UTF-7\n\nx\n",
		    push_commit_not_allowed),
		ROW(HEAD "gpgsig x\n y\nencoding IBM037\n\nx\n",
		    push_commit_not_allowed),
		ROW(HEAD "\nfeat\0\n", push_commit_not_allowed),
	};
	static const struct msg_pack_commits told = {
		.message = BYTES_LITERAL("(?!.*wip).*")};

	(void)state;
	assert_rows(rows, ARRAY_SIZE(rows), &told);
}

static void rules_that_only_count_read_no_text(void **state)
{
	static const struct row rows[] = {
		ROW(HEAD "encoding UTF-7\n\nx\n", none),
		ROW(HEAD "\nfeat\0\n", none),
		ROW(HEAD "\nfeat\n", push_too_large),
	};
	static const struct msg_pack_commits told = {.count_max = 2};

	(void)state;
	assert_rows(rows, ARRAY_SIZE(rows), &told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_read_no_text_that_git_shows_otherwise),
		cmocka_unit_test(rules_that_only_count_read_no_text),
	};

	return cmocka_run_group_tests_name("commit_rules", tests, NULL, NULL);
}
