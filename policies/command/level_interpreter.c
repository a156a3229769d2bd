/*
 * Programs that run code. Shells whose code stands in the line are looked
 * through (unwrap.h): here only what is not.
 */
#include "common/cleanup.h"
#include "policies/command/call.h"

static const char reads_code[] = "it runs what it reads, which is not known";
static const char has_code[] = "it runs code of its options";
static const char is_odd[] = "an option of an interpreter is not known";

struct interpreter {
	const char *names; /* a digit, "3.11" may follow the last letter */
	const char *flags; /* options without values that change nothing */
	const char *values;
};

static const struct interpreter interpreters[] = {
	{"python pypy",
	 "-u -B -O -OO -I -s -S -E -b -bb -q -W -P -uB -Bu --check",
	 "-X -W --check-hash-based-pycs"},
	{"perl ruby php lua luajit tclsh wish Rscript julia guile gjs gst "
	 "scheme racket sbcl clisp erl escript elixir iex ghci runghc scala "
	 "groovy jshell swift osascript irb bun deno java kotlin",
	 "-w -W", ""},
	{"node nodejs",
	 "--test --check --no-warnings --experimental-vm-modules "
	 "--enable-source-maps --trace-warnings --trace-deprecation "
	 "--expose-gc --preserve-symlinks --throw-deprecation "
	 "--experimental-strip-types",
	 ""},
};

/* Is the name that, perhaps with a version behind it? */
static bool is_named(struct bytes name, const char *names)
{
	/* perl5.36-x86_64-linux-gnu */
	if (bytes_starts_with(name, bytes_str("perl5.")))
		name.len = strlen("perl");
	while (name.len > 1 && ((name.data[name.len - 1] >= '0' &&
				 name.data[name.len - 1] <= '9') ||
				name.data[name.len - 1] == '.'))
		name.len--;
	return text_is_one_of(name, names);
}

static struct command_level level_script(const struct shell_word *script)
{
	if (!word_is_clear(script))
		return level_high("it runs a file that is not known");
	if (bytes_is(script->text, "-") ||
	    bytes_starts_with(script->text, bytes_str("/dev/")) ||
	    bytes_starts_with(script->text, bytes_str("/proc/")))
		return level_high(reads_code);
	return level_medium("it runs a script");
}

static struct command_level level_run(const struct command_call *call,
				      const struct interpreter *of)
{
	/* Modules that run code of their words, or what they read. */
	static const char coders[] = "timeit code pdb asyncio doctest trace "
				     "profile cProfile runpy";
	bool is_python = of == &interpreters[0];

	if (call->count == 2 &&
	    word_is_one_of(&call->words[1], is_python ? "--version -V --help -h"
						      : "--version -v --help"))
		return level_low();
	for (size_t i = 1; i < call->count; i++) {
		const struct shell_word *word = &call->words[i];

		if (word_is_one_of(word, of->flags))
			continue;
		if (*of->values && word_is_one_of(word, of->values) &&
		    i + 1 < call->count && word_is_single(word + 1)) {
			i++;
			continue;
		}
		if (is_python && word_is(word, "-m") && i + 1 < call->count)
			return word_is_clear(&call->words[i + 1]) &&
					       !word_is_one_of(
						       &call->words[i + 1],
						       coders)
				       ? level_medium("it runs a module")
				       : level_high(reads_code);
		if (word_is_one_of(word, "eval repl"))
			return level_high(has_code);
		if (!word_is(word, "-") && word_may_be_option(word))
			return level_high(word_is_clear(word) ? has_code
							      : is_odd);
		return level_script(word);
	}
	return call->count == 2 && word_is(&call->words[1], "--test")
		       ? level_medium("it runs the project's tests")
		       : level_high(reads_code);
}

/* Of a shell whose code does not stand in the line. */
static struct command_level level_shell(const struct command_call *call)
{
	if (call->count == 2 &&
	    word_is_one_of(&call->words[1], "--version --help"))
		return level_low();
	for (size_t i = 1; i < call->count; i++) {
		const struct shell_word *word = &call->words[i];

		if (word_is_one_of(word, "--login --norc --noprofile --posix "
					 "-e -u -x -eu -ex -eux -l -v"))
			continue;
		if (word_is(word, "-o") && i + 1 < call->count &&
		    word_is_one_of(&call->words[i + 1],
				   "pipefail errexit nounset xtrace")) {
			i++;
			continue;
		}
		if (word_may_be_option(word))
			return level_high(is_odd);
		return level_script(word);
	}
	return level_high(reads_code);
}

bool level_of_interpreter(const struct command_call *call,
			  struct command_level *level)
{
	struct bytes name = call_name(call);

	if (text_is_one_of(name, "sh bash dash ash rbash")) {
		*level = level_shell(call);
		return true;
	}
	/* Their language is another one. */
	if (text_is_one_of(
		    name, "zsh ksh mksh lksh fish csh tcsh pwsh xonsh "
			  "nu elvish yash posh mrsh oksh loksh osh ysh hush")) {
		*level = level_high("a shell whose language is not read here");
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(interpreters); i++)
		if (is_named(name, interpreters[i].names)) {
			*level = level_run(call, &interpreters[i]);
			return true;
		}
	return false;
}
