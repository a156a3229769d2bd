#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "policies/command/spell.h"

#define WORDS_MAX 4

static const struct {
	const char *words[WORDS_MAX + 1];
	const char *cwd, *text;
} cases[] = {
	{{"rm", "-r", "x"}, "", "rm -r x"},
	{{"rm", "my files"}, "", "rm 'my files'"},
	{{"echo", ""}, "", "echo ''"},
	{{"echo", "it's"}, "", "echo 'it'\\''s'"},
	{{"echo", "$HOME", "#", "~"}, "", "echo '$HOME' '#' '~'"},
	{{"sh", "-c", "ls; id"}, "", "sh -c 'ls; id'"},
	{{"a\nb", "\x1b[2J"}, "", "$'a\\x0ab' $'\\x1b[2J'"},
	{{"a\n'\\"}, "", "$'a\\x0a\\'\\\\'"},
	{{"gr\xc3\xb6\xc3\x9f"
	  "er"},
	 "",
	 "'gr\xc3\xb6\xc3\x9f"
	 "er'"},
	{{"\xff"}, "", "$'\\xff'"},
	/* right-to-left override, zero width space */
	{{"a\xe2\x80\xae"
	  "b"},
	 "",
	 "$'a\\xe2\\x80\\xaeb'"},
	{{"a\xe2\x80\x8b"}, "", "$'a\\xe2\\x80\\x8b'"},
	{{"ls"}, "/tmp", "ls # in /tmp"},
	{{"ls", "# in /tmp"}, "", "ls '# in /tmp'"},
	{{"ls"}, "/a b", "ls # in '/a b'"},
};

static size_t count_of(const char *const *words)
{
	size_t count = 0;

	while (words[count])
		count++;
	return count;
}

static void words_are_spelled_so_that_they_can_be_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_type(buf_release) struct buf out;

		buf_init(&out, 256);
		assert_int_equal(command_spell(cases[i].words,
					       count_of(cases[i].words),
					       bytes_str(cases[i].cwd), &out),
				 0);
		assert_string_equal(buf_str(&out), cases[i].text);
	}
}

/* What bash makes of a text: its words, each ended by a NUL. */
static size_t read_by_bash(const char *text, char *out, size_t size)
{
	char script[512];
	const char *const words[] = {"bash", "-c", script, NULL};
	size_t len = 0;
	ssize_t got;
	int ends[2], status;
	pid_t pid;

	(void)snprintf(script, sizeof(script), "printf '%%s\\0' %s", text);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)execv("/bin/bash", (char *const *)(uintptr_t)words);
		_exit(127);
	}
	(void)close(ends[1]);
	while ((got = read(ends[0], out + len, size - len)) > 0)
		len += (size_t)got;
	(void)close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return len;
}

static void a_shell_reads_the_same_words(void **state)
{
	char got[512], wanted[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = 0, got_len;

		for (size_t j = 0; cases[i].words[j]; j++) {
			size_t more = strlen(cases[i].words[j]) + 1;

			memcpy(wanted + len, cases[i].words[j], more);
			len += more;
		}
		got_len = read_by_bash(cases[i].text, got, sizeof(got));
		assert_int_equal(got_len, len);
		assert_memory_equal(got, wanted, len);
	}
}

static void what_has_no_room_is_no_text(void **state)
{
	static const char *const words[] = {"rm", "it's", "\x01"};
	auto_type(buf_release) struct buf out;
	size_t whole;

	(void)state;
	buf_init(&out, 256);
	assert_int_equal(command_spell(words, 3, bytes_str("/x"), &out), 0);
	whole = buf_len(&out);
	for (size_t room = 1; room < whole; room++) {
		auto_type(buf_release) struct buf small;

		buf_init(&small, room);
		assert_int_equal(
			command_spell(words, 3, bytes_str("/x"), &small), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_spelled_so_that_they_can_be_read),
		cmocka_unit_test(a_shell_reads_the_same_words),
		cmocka_unit_test(what_has_no_room_is_no_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
