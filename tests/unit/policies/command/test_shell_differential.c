/*
 * Lines that this reads, as bash and dash run them: the same commands with
 * the same words, in the same order. Nothing of a line is a program: all its
 * commands are functions that print their words.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "policies/command/shell.h"

#define OUT_MAX	   (1024 * 1024)
#define PIECES_MAX 10
#define MADE	   600

static const char prelude[] =
	"q() { printf 'q\\0'; [ $# -eq 0 ] || printf '%s\\0' \"$@\"; "
	"printf '\\n\\0'; }\n"
	"z() { printf 'z\\0'; [ $# -eq 0 ] || printf '%s\\0' \"$@\"; "
	"printf '\\n\\0'; }\n";

/* What a shell prints for the line; false: it says that it is wrong. */
static bool run(const char *shell, const char *line, struct buf *out)
{
	auto_free char *code = NULL;
	char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, NULL, NULL};
	char *envp[] = {(char[]){"PATH=/nowhere"}, (char[]){"HOME=/home/u"},
			(char[]){"LC_ALL=C.UTF-8"}, NULL};
	posix_spawn_file_actions_t actions;
	int pipes[2], status;
	ssize_t got;
	pid_t pid;

	assert_true(asprintf(&code, "%s%s", prelude, line) > 0);
	argv[2] = code;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	(void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
	(void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
	(void)posix_spawn_file_actions_addclose(&actions, pipes[0]);
	assert_int_equal(posix_spawn(&pid, shell, &actions, NULL, argv, envp),
			 0);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(pipes[1]);
	buf_clear(out);
	do {
		uint8_t *room = buf_reserve(out, 4096);

		assert_non_null(room);
		got = read(pipes[0], room, 4096);
		if (got > 0)
			buf_commit(out, (size_t)got);
	} while (got > 0);
	(void)close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The same from what is read here; false: it is not to be compared. */
static bool expect(const struct shell_line *line, struct buf *out)
{
	buf_clear(out);
	if (line->ambiguous)
		return false;
	for (const struct shell_command *command = line->first; command;
	     command = command->next) {
		if (command->word_count == 0 || command->assignment_count > 0 ||
		    command->redirect_count > 0 ||
		    (!bytes_is(command->words[0].text, "q") &&
		     !bytes_is(command->words[0].text, "z")))
			return false;
		for (size_t i = 0; i < command->word_count; i++) {
			if (command->words[i].flags & SHELL_UNCLEAR)
				return false;
			(void)buf_add(out, command->words[i].text);
			(void)buf_add_byte(out, 0);
		}
		(void)buf_add(out, bytes_from("\n", 2));
	}
	return true;
}

static bool compare(const char *text, bool in_dash)
{
	static const char *const shells[] = {"/bin/bash", "/bin/dash"};
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf ours;
	auto_type(buf_release) struct buf theirs;
	struct shell_line line;
	bool compared = false;

	arena_init(&arena, SHELL_ARENA_MAX);
	buf_init(&ours, OUT_MAX);
	buf_init(&theirs, OUT_MAX);
	shell_parse(bytes_str(text), bytes_str("/home/u"), &arena, &line);
	if (!expect(&line, &ours))
		return false;
	for (size_t i = 0; i < (in_dash ? 2 : 1); i++) {
		if (!run(shells[i], text, &theirs))
			continue;
		compared = true;
		if (!bytes_equal(buf_view(&ours), buf_view(&theirs)))
			fail_msg("%s: %s", shells[i], text);
	}
	return compared;
}

static void written_lines_are_read_as_shells_do(void **state)
{
	static const struct {
		const char *line;
		bool in_dash;
	} rows[] = {
		{"q", true},
		{"q a b  c", true},
		{"q 'a b' \"c d\" e\\ f g'h'\"i\"j", true},
		{"q '' \"\" a''b", true},
		{"q a\\\nb c \\\n d", true},
		{"q \"a\\\nb\"", true},
		{"q 'a\\\nb'", true},
		{"q \"a\\b\\\\c\\\"d\\$e\\`f\"", true},
		{"q a#b #c\nz", true},
		{"q a;z b", true},
		{"q a&&z b&&(q c;z d)", true},
		{"{ q a; z b; }", true},
		{"( q a; (z b) )", true},
		{"if q a; then z b; fi", true},
		{"if q a\nthen z b\nfi", true},
		{"case a in a) q b;; esac", true},
		{"q ~ ~/x a~ '~' \\~ \"~\"/x", true},
		{"q $HOME \"$HOME/x\" ${HOME}y '$HOME'", true},
		{"q \\$x \\\\ \\' \\\" \\; \\& \\| \\( \\)", true},
		{"q '$(z)' '`z`' \\$\\(z\\)", true},
		{"q {} {a} a}b {a b}", true},
		{"q x=1 a=b=c", true},
		{"q '*' \\* \"?\" '[a]'", true},
		{"q if then fi { } ! time", true},
		{"q $ a$ $% \"$\" \"a$\"", true},
		{"q a\tb\t'\t'", true},
		{"q \xc3\xbc\xe2\x82\xac", true},
		{"q - -- -n -e \\\\n", true},
		{"'q' a; \"z\" b; \\q c", true},
		{"q\\\n a", true},
		{"q $'a\\nb' $'\\x41' $'\\101\\t' $'a b'", false},
		{"q \"it's\" 'say \"x\"'", true},
		{"q a;\n\n# nothing\n\nz b\n", true},
		{"q a&& \n z b", true},
		{"q @ % ^ + = : , . / _", true},
		{"q !a a!", true},
		{"q \"a'b'c\" 'a\"b\"c'", true},
	};
	size_t compared = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (compare(rows[i].line, rows[i].in_dash))
			compared++;
		else
			print_message("not compared: %s\n", rows[i].line);
	assert_int_equal(compared, ARRAY_SIZE(rows));
}

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525U + 1013904223U;
	return *seed >> 8;
}

static void lines_made_by_chance_are_read_as_shells_do(void **state)
{
	static const char *const pieces[] = {
		"q",   "z",	" ",	 "  ",	  "'",	  "\"",	  "\\",
		";",   "\n",	"&&",	 "(",	  ")",	  "{ ",	  "; }",
		"#",   "a",	"b c",	 "$",	  "''",	  "\"\"", "\\\n",
		"~",   "'a b'", "\"c\"", "q x",	  "; z ", " q ",  "\t",
		"\\'", "\\\"",	"=",	 "$HOME", "-",	  "*"};
	uint32_t seed = 20;
	size_t compared = 0;

	(void)state;
	for (size_t i = 0; i < MADE; i++) {
		auto_type(buf_release) struct buf line;
		size_t count = 2 + next(&seed) % PIECES_MAX;

		buf_init(&line, 4096);
		(void)buf_add_str(&line, "q ");
		for (size_t j = 0; j < count; j++)
			(void)buf_add_str(
				&line,
				pieces[next(&seed) % ARRAY_SIZE(pieces)]);
		/* $'...' is bash's alone. */
		compared +=
			compare(buf_str(&line), !strstr(buf_str(&line), "$'"));
	}
	print_message("%zu of %d compared\n", compared, MADE);
	assert_in_range(compared, MADE / 10, MADE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_lines_are_read_as_shells_do),
		cmocka_unit_test(lines_made_by_chance_are_read_as_shells_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
