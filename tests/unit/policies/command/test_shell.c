#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "policies/command/shell.h"

#define HOME "/home/u"

/* What is unclear in a word: % any text, * and ? as they are. */
static void add_word(struct buf *out, const struct shell_word *word)
{
	for (size_t i = 0; i < word->shape.len; i++) {
		uint8_t c = word->shape.data[i];

		if (c == SHELL_ANYTHING)
			c = '%';
		else if (c == SHELL_STAR)
			c = '*';
		else if (c == SHELL_ONE)
			c = '?';
		else if (c == ' ' || c == '\n')
			c = '_';
		(void)buf_add_byte(out, c);
	}
}

static void add_redirect(struct buf *out, const struct shell_redirect *redirect)
{
	static const char *const signs[REDIRECT_KIND_MAX] = {
		[REDIRECT_IN] = "<",	       [REDIRECT_OUT] = ">",
		[REDIRECT_APPEND] = ">>",      [REDIRECT_READ_WRITE] = "<>",
		[REDIRECT_COPY] = "&",	       [REDIRECT_HEREDOC] = "<<",
		[REDIRECT_HERESTRING] = "<<<",
	};

	(void)buf_add_format(out, " %d%s", redirect->fd, signs[redirect->kind]);
	add_word(out, &redirect->target);
}

static void add_command(struct buf *out, const struct shell_command *command)
{
	static const char *const after[OPERATOR_MAX] = {
		[OPERATOR_END] = "",	       [OPERATOR_SEQUENCE] = " ; ",
		[OPERATOR_AND] = " && ",       [OPERATOR_OR] = " || ",
		[OPERATOR_PIPE] = " | ",       [OPERATOR_PIPE_BOTH] = " |& ",
		[OPERATOR_BACKGROUND] = " & ",
	};

	(void)buf_add_byte(out, (uint8_t)"LSGOFCP"[command->place]);
	if (command->reads_pipe)
		(void)buf_add_byte(out, 'i');
	(void)buf_add_byte(out, ':');
	for (size_t i = 0; i < command->assignment_count; i++) {
		(void)buf_add_byte(out, ' ');
		add_word(out, &command->assignments[i]);
	}
	for (size_t i = 0; i < command->word_count; i++) {
		(void)buf_add_byte(out, i ? ' ' : '.');
		add_word(out, &command->words[i]);
	}
	for (size_t i = 0; i < command->redirect_count; i++)
		add_redirect(out, &command->redirects[i]);
	(void)buf_add_str(out, command->after || !command->next
				       ? after[command->after]
				       : " , ");
}

struct row {
	const char *line, *read;
};

static void check(const struct row *rows, size_t count, bool is_ambiguous)
{
	for (size_t i = 0; i < count; i++) {
		auto_type(arena_release) struct arena arena;
		auto_type(buf_release) struct buf out;
		struct shell_line line;

		arena_init(&arena, SHELL_ARENA_MAX);
		buf_init(&out, 65536);
		shell_parse(bytes_str(rows[i].line), bytes_str(HOME), &arena,
			    &line);
		for (struct shell_command *command = line.first; command;
		     command = command->next)
			add_command(&out, command);
		if (!!line.ambiguous != is_ambiguous ||
		    (rows[i].read && strcmp(buf_str(&out), rows[i].read) != 0))
			fail_msg("%s\n -> %s (%s at %zu)\n not %s",
				 rows[i].line, buf_str(&out),
				 line.ambiguous ? line.ambiguous : "clear",
				 line.ambiguous_at, rows[i].read);
	}
}

static void words_are_read_as_shells_read_them(void **state)
{
	static const struct row rows[] = {
		{"", ""},
		{"  \n # nothing\n", ""},
		{"ls", "L:.ls"},
		{"ls -l  /tmp\t x", "L:.ls -l /tmp x"},
		{"'a b' \"c d\" e\\ f", "L:.a_b c_d e_f"},
		{"a'b'\"c\"d", "L:.abcd"},
		{"''", "L:."},
		{"a '' b", "L:.a  b"},
		{"r\\m -r\\f x", "L:.rm -rf x"},
		{"\"a\\$b\\`\\\"\\\\\\n\"", "L:.a$b`\"\\\\n"},
		{"echo 'it'\\''s'", "L:.echo it's"},
		{"echo a\\\n  b", "L:.echo a b"},
		{"ec\\\nho a", "L:.echo a"},
		{"echo \"a\\\nb\"", "L:.echo ab"},
		{"echo a#b #c", "L:.echo a#b"},
		{"echo $'a\\nb\\x41\\102'", "L:.echo a_bAB"},
		{"echo $", "L:.echo $"},
		{"echo a$ $%", "L:.echo a$ $%"},
		{"echo $x \"$x\" ${x} $1 $@ $? $$", "L:.echo % % % % % % %"},
		{"echo a$x/b", "L:.echo a%/b"},
		{"echo ${x:-y} ${x%.c} ${#x} ${x[0]} ${x[@]}",
		 "L:.echo % % % % %"},
		{"echo $HOME ${HOME}/x ~ ~/y", "L:.echo /home/u /home/u/x "
					       "/home/u /home/u/y"},
		{"echo ~root/x \"~\" a~ '~/x'", "L:.echo %root/x ~ a~ ~/x"},
		{"HOME=/x; echo ~ $HOME", "L: HOME=/x ; L:.echo % %"},
		{"ls *.c ?x [ab] '*' \\?", "L:.ls *.c ?x ? * ?"},
		{"ls {a,b}/c x{1..3} {} {a} '{a,b}'",
		 "L:.ls % x% {} {a} {a,b}"},
		{"git show HEAD@{1} HEAD~1 HEAD^", "L:.git show HEAD@{1} "
						   "HEAD~1 HEAD^"},
		{"echo $((1 + 2)) $((x * (y+1)))", "L:.echo % %"},
		{"echo \xc3\xbc", "L:.echo \xc3\xbc"},
	};

	(void)state;
	check(rows, ARRAY_SIZE(rows), false);
}

static void operators_and_places_are_told_apart(void **state)
{
	static const struct row rows[] = {
		{"a;b", "L:.a ; L:.b"},
		{"a; b;", "L:.a ; L:.b ; "},
		{"a\nb\n", "L:.a ; L:.b ; "},
		{"a && b || c", "L:.a && L:.b || L:.c"},
		{"a | b |& c", "L:.a | Li:.b |& Li:.c"},
		{"a & b &", "L:.a & L:.b & "},
		{"a|b;c", "L:.a | Li:.b ; L:.c"},
		{"a |\n b &&\n c", "L:.a | Li:.b && L:.c"},
		{"! a | b", "L:.a | Li:.b"},
		{"time -p a", "L:.a"},
		{"(a; b) | c", "S:.a ; S:.b | Li:.c"},
		{"a | (b; c)", "L:.a | Si:.b ; Si:.c"},
		{"{ a; b; } | { c; }", "G:.a ; G:.b | Gi:.c ; "},
		{"a `b c` d", "C:.b c , L:.a % d"},
		{"a $(b $(c) d) e", "C:.c , C:.b % d , L:.a % e"},
		{"a \"$(b | c)\"", "C:.b | Ci:.c , L:.a %"},
		{"a `b \\`c\\` d`", "C:.c , C:.b % d , L:.a %"},
		{"a <(b) >(c)", "P:.b , Pi:.c , L:.a % %"},
		{"a ${x:-$(b)}", "C:.b , L:.a %"},
		{"a $(( 2 + 1 )) $(b)", "C:.b , L:.a % %"},
		{"$(a) b", "C:.a , L:.% b"},
		{"x=1 y=$(b) c", "C:.b , L: x=1 y=%.c"},
		{"x=1", "L: x=1"},
		{"x+=1 y=a:~/b", "L: x+=1 y=a:/home/u/b"},
		{"x=(a b $(c))", "C:.c , L: x="},
		{"echo x=1", "L:.echo x=1"},
		{"if a; then b; elif c; then d; else e; fi",
		 "G:.a ; G:.b ; G:.c ; G:.d ; G:.e ; "},
		{"while a; do b; done < f", "Oi:.a ; Oi:.b ; Li: 0<f"},
		{"while read x; do sh; done < f",
		 "Oi:.read x ; Oi:.sh ; Li: 0<f"},
		{"a | while b; do c; done", "L:.a | Oi:.b ; Oi:.c ; "},
		{"for x in a b*; do c $x; done", "L: x= , O:.c % ; "},
		{"for x; do c; done", "L: x= , O:.c ; "},
		{"for ((i=0; i<3; i++)); do c; done", "L: i= , O:.c ; "},
		{"until a\ndo b\ndone", "O:.a ; O:.b ; "},
		{"case $x in a|b) c;; (d) e;; *) f; esac",
		 "G:.c , G:.e , G:.f ; "},
		{"case x in esac", ""},
		{"f() { a; }; f", "F:.a ; L:.f"},
		{"function f { a; }", "F:.a ; "},
		{"f () ( a )\nf", "F:.a ; L:.f"},
		{"[[ -f x ]] && a", "L:.a"},
		{"[ a = b ] || c", "L:.[ a = b ] || L:.c"},
		{"((i++)); a", "L:.a"},
		{"echo if then fi", "L:.echo if then fi"},
		{"\\if x", "L:.if x"},
	};

	(void)state;
	check(rows, ARRAY_SIZE(rows), false);
}

static void redirections_and_here_documents_are_read(void **state)
{
	static const struct row rows[] = {
		{"a > b", "L:.a 1>b"},
		{"a >b 2>&1 <c", "Li:.a 1>b 2&1 0<c"},
		{">b a", "L:.a 1>b"},
		{"> b", "L: 1>b"},
		{"a 2>>b", "L:.a 2>>b"},
		{"a >| b", "L:.a 1>b"},
		{"a &> b", "L:.a -1>b"},
		{"a &>> b", "L:.a -1>>b"},
		{"a >& b", "L:.a -1>b"},
		{"a >&2 2>&- <&3", "Li:.a 1&2 2&- 0&3"},
		{"a <> b", "Li:.a 0<>b"},
		{"a <<< b", "Li:.a 0<<<b"},
		{"a 2 >b", "L:.a 2 1>b"},
		{"a b2>c", "L:.a b2 1>c"},
		{"a >$x", "L:.a 1>%"},
		{"{ a; } > b", "G:.a ; L: 1>b"},
		{"cat <<E\nx $(b)\nE\nc", "Li:.cat 0<<E ; C:.b , L:.c"},
		{"cat <<'E'\nx $(b)\nE\nc", "Li:.cat 0<<E ; L:.c"},
		{"cat <<-E | d\n\tx\n\tE\nc", "Li:.cat 0<<E | Li:.d ; L:.c"},
		{"cat <<A <<B\na\nA\nb `c`\nB\n", "Li:.cat 0<<A 0<<B ; C:.c"},
		{"(cat <<E\nx\nE\n)", "Si:.cat 0<<E ; "},
		{"x=$(cat <<E\n`y`\nE\n)", "Ci:.cat 0<<E ; C:.y , L: x=%"},
	};

	(void)state;
	check(rows, ARRAY_SIZE(rows), false);
}

static void what_cannot_be_told_is_ambiguous(void **state)
{
	static const struct row rows[] = {
		{"a 'b", "L:.a"},
		{"a \"b", NULL},
		{"a `b", NULL},
		{"a $(b", NULL},
		{"a $(( $(b) + 1 ))", NULL},
		{"a ${b", NULL},
		{"a \\", NULL},
		{"a )", "L:.a"},
		{"( a", NULL},
		{"{ a; ", NULL},
		{"a }; }", NULL},
		{"fi", NULL},
		{"if a; then b", NULL},
		{"a ; ; b", NULL},
		{"a & & b", NULL},
		{"a | | b", NULL},
		{"| a", NULL},
		{"a &&", NULL},
		{"a\rb", ""},
		{"a\x1b", ""},
		{"a\x7f", ""},
		{"th\\\nen", NULL},
		{"coproc a", NULL},
		{"time -f x a", NULL},
		{"[[ a && rm x ]]", NULL},
		{"[[ a > b ]]", NULL},
		{"[[ a =~ (b) ]]", NULL},
		{"((rm -rf x))", NULL},
		{"((a > 5))", NULL},
		{"$((a) | (b))", NULL},
		{"echo $[1+1]", NULL},
		{"echo $\"a\"", NULL},
		{"echo ${x@P}", NULL},
		{"echo ${ a; }", NULL},
		{"echo ${x[a]}", NULL},
		{"echo \"${x:-'}'}\"", NULL},
		{"x[1]=2", NULL},
		{"x[$(a)]=2", NULL},
		{"x=([0]=1)", NULL},
		{"echo $'a\\'b'", NULL},
		{"echo $'\\u0041'", NULL},
		{"f() a", NULL},
		{"'f'() { a; }", NULL},
		{"a (b)", NULL},
		{"a >&$x", NULL},
		{"a 2>&b", NULL},
		{"a <&b", NULL},
		{"{fd}>x", NULL},
		{"a >(", NULL},
		{"a 2>(b)", NULL},
		{"cat <<E", NULL},
		{"cat <<E\nx", NULL},
		{"cat <<$x\na\n$x\n", NULL},
		{"cat <<E\na\\\nE\nE\n", NULL},
		{"cat <<E $(b\n)\nE\n", NULL},
		{"$(cat <<E)\nE\n", NULL},
		{"x='a[$(b)]'; echo $((x))", NULL},
		{"for 1 in a; do b; done", NULL},
		{"for x in a; { b; }", NULL},
		{"case x in a) b", NULL},
		{"a 1234>b", NULL},
	};

	(void)state;
	check(rows, ARRAY_SIZE(rows), true);
}

static void nesting_and_length_are_bounded(void **state)
{
	static char deep[3 * 30 + 1], wide[2 * (SHELL_COMMANDS_MAX + 1) + 1],
		longest[SHELL_LINE_MAX + 2];
	const struct row rows[] = {{deep, NULL}, {wide, NULL}, {longest, ""}};

	(void)state;
	for (size_t i = 0; i < 30; i++)
		memcpy(deep + 3 * i, "(a;", 3);
	for (size_t i = 0; i <= SHELL_COMMANDS_MAX; i++)
		memcpy(wide + 2 * i, "a;", 2);
	memset(longest, 'a', SHELL_LINE_MAX + 1);
	check(rows, ARRAY_SIZE(rows), true);
	longest[SHELL_LINE_MAX] = 0;
	check(&(struct row){longest, NULL}, 1, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_read_as_shells_read_them),
		cmocka_unit_test(operators_and_places_are_told_apart),
		cmocka_unit_test(redirections_and_here_documents_are_read),
		cmocka_unit_test(what_cannot_be_told_is_ambiguous),
		cmocka_unit_test(nesting_and_length_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
