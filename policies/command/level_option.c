/*
 * Programs that run others when one of their options says so.
 */
#include "common/cleanup.h"
#include "policies/command/call.h"

static const char runs[] = "an option of it runs a program";

static const struct runs_by_option {
	const char *names;
	const char *letters, *longs; /* the options that do */
	enum command_risk risk;	     /* without one */
	const char *why;
} rows[] = {
	{"split", "", "filter", RISK_MEDIUM, "it writes files"},
	{"install", "", "strip-program", RISK_MEDIUM, "it writes files"},
	{"zip", "T", "unzip-command test", RISK_MEDIUM, "it writes files"},
	{"sdiff diff3", "", "diff-program", RISK_MEDIUM, "it may write a file"},
	{"man", "PH", "pager html preconv", RISK_MEDIUM, "it runs a pager"},
	{"fd fdfind", "xX", "exec exec-batch", RISK_LOW, NULL},
	{"ag ack", "", "pager", RISK_LOW, NULL},
	{"cargo", "", "config", RISK_MEDIUM,
	 "it builds, and runs what the project says"},
	{"aria2c", "",
	 "on-bt-download-complete on-download-complete on-download-error "
	 "on-download-pause on-download-start on-download-stop",
	 RISK_MEDIUM, "it reaches the network"},
};

static bool starts_with_one_of(struct bytes text, const char *const *starts)
{
	for (; *starts; starts++)
		if (bytes_starts_with(text, bytes_str(*starts)))
			return true;
	return false;
}

/* Does a word begin so? */
static bool has_word(const struct command_call *call, const char *const *starts)
{
	for (size_t i = 1; i < call->count; i++)
		if (starts_with_one_of(call->words[i].text, starts))
			return true;
	return false;
}

static struct command_level level_wget(const struct command_call *call)
{
	/* -e use_askpass=CMD */
	static const char *const starts[] = {"-e", "--e", "--use-a", NULL};

	return has_word(call, starts) ? level_high(runs)
				      : level_medium("it reaches the network");
}

static struct command_level level_pager(const struct command_call *call)
{
	static const char *const starts[] = {"+", NULL};

	return has_word(call, starts) ? level_high(runs)
				      : level_medium("a pager can run commands "
						     "that are typed");
}

static struct command_level level_builds(void)
{
	return level_medium("it builds, and runs what the project says");
}

/* Makefiles that are read from elsewhere, code and shells of the line. */
static struct command_level level_make(const struct command_call *call)
{
	static const char *const starts[] = {
		"-f-",	  "--file=-",  "--makefile=-", "-E",
		"--eval", "-f/dev/",   "--file=/dev/", "--makefile=/dev/",
		"SHELL",  ".SHELLFLA", "MAKEFLAGS",    NULL};
	static const char *const files[] = {"-", "/dev/", NULL};

	if (has_word(call, starts))
		return level_high("it runs code of its words, or what it "
				  "reads");
	for (size_t i = 1; i < call->count; i++) {
		struct bytes text = call->words[i].text;

		/* X=$(shell ...) */
		if (word_is_clear(&call->words[i]) &&
		    bytes_find(text, '$', 0) >= 0)
			return level_high("it runs code of its words");
		if (i + 1 < call->count && text.len > 1 &&
		    text.data[0] == '-' &&
		    (text.data[text.len - 1] == 'f' ||
		     text_is_one_of(text, "--file --makefile")) &&
		    starts_with_one_of(call->words[i + 1].text, files))
			return level_high("it runs what it reads");
	}
	return level_builds();
}

/* cmake -E env CMD */
static struct command_level level_cmake(const struct command_call *call)
{
	return call->count > 2 && word_is(&call->words[1], "-E") &&
			       (!word_is_clear(&call->words[2]) ||
				word_is_one_of(&call->words[2],
					       "env time chdir"))
		       ? level_high(runs)
		       : level_builds();
}

static struct command_level level_compiler(const struct command_call *call)
{
	static const char *const starts[] = {"-wrapper", "-exec",   "--exec",
					     "-toolexe", "--toole", "-vettool",
					     "--vettoo", NULL};

	return has_word(call, starts) ? level_high(runs) : level_builds();
}

bool level_of_option(const struct command_call *call,
		     struct command_level *level)
{
	static const struct {
		const char *names;
		struct command_level (*of)(const struct command_call *call);
	} own[] = {
		{"wget", level_wget},
		{"less more most pager", level_pager},
		{"make gmake", level_make},
		{"cmake", level_cmake},
		{"gcc g++ cc c++ clang clang++ go", level_compiler},
	};
	struct bytes name = call_name(call);

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (text_is_one_of(name, own[i].names)) {
			*level = own[i].of(call);
			return true;
		}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!text_is_one_of(name, rows[i].names))
			continue;
		*level = call_has_option(call, rows[i].letters, rows[i].longs)
				 ? level_high(runs)
				 : (struct command_level){rows[i].risk,
							  rows[i].why, false};
		return true;
	}
	return false;
}
