#include "policies/command/unwrap.h"

#include "common/buf.h"
#include "common/cleanup.h"

struct wrapper {
	const char *names;
	const char *letters; /* options without a value */
	const char *values;  /* with one */
	const char *longs;
	const char *long_values;
	unsigned operands;	/* before the command */
	bool takes_assignments; /* before the command */
	bool adds_words;
};

static const struct wrapper wrappers[] = {
	{"env", "i0v", "uC", "ignore-environment null debug", "unset chdir", 0,
	 true, false},
	{"nice", "0123456789", "n", "", "adjustment", 0, false, false},
	{"ionice", "t", "cn", "ignore", "class classdata", 0, false, false},
	{"timeout", "v", "ks", "foreground preserve-status verbose",
	 "kill-after signal", 1, false, false},
	{"nohup chronic fakeroot builtin doas", "", "", "", "", 0, false,
	 false},
	{"setsid", "cfw", "", "ctty fork wait", "", 0, false, false},
	{"stdbuf", "", "ioe", "", "input output error", 0, false, false},
	{"time", "pv", "f", "portability verbose", "format", 0, false, false},
	{"command", "p", "", "", "", 0, false, false},
	{"exec", "cl", "a", "", "", 0, false, false},
	{"flock", "sexnuoFv", "wE",
	 "shared exclusive nonblock unlock close no-fork verbose",
	 "wait timeout conflict-exit-code", 1, false, false},
	{"taskset", "c", "", "cpu-list", "", 1, false, false},
	{"chrt", "bfiorRv", "TPD", "batch fifo idle other rr verbose",
	 "sched-runtime sched-period sched-deadline", 1, false, false},
	/* An architecture may stand before the options, or be a name of it. */
	{"setarch linux32 linux64 uname26 i386 i486 i586 i686 x86_64 aarch64 "
	 "armv7l armv8l ppc64le s390x riscv64",
	 "RLXZBF3STIv", "", "addr-no-randomize", "", 0, false, false},
	{"unbuffer torsocks torify proxychains proxychains4 dbus-launch "
	 "dbus-run-session xvfb-run catchsegv eatmydata prlimit systemd-cat "
	 "systemd-inhibit nocache fakeroot-sysv fakeroot-tcp fakeroot-ng "
	 "tini dumb-init catatonit cttyhack",
	 "", "", "", "", 0, false, false},
	{"ccache sccache distcc", "szcCVhpvx", "MFkod",
	 "show-stats zero-stats clear cleanup show-config version help",
	 "max-size max-files get-config set-config", 0, false, false},
	{"gosu su-exec setuidgid", "", "", "", "", 1, false, false},
	{"choom", "", "np", "", "adjust pid", 0, false, false},
	{"faketime", "", "", "", "", 1, false, false},
	{"busybox toybox", "", "", "", "", 0, false, false},
	{"sudo", "AbEHnPSk", "ugphCTRrtD",
	 "preserve-env non-interactive set-home", "user group host chdir", 0,
	 true, false},
	{"xargs", "0rtx", "adEILnPs",
	 "null no-run-if-empty verbose exit open-tty",
	 "arg-file delimiter max-args max-procs max-lines max-chars eof", 0,
	 false, true},
};

/* `poetry -C DIR run CMD`: options stand on both sides of the verb. */
static const struct runner {
	const char *verb;
	struct wrapper options;
} runners[] = {
	{"run",
	 {"uv", "qvn", "p",
	  "quiet verbose no-cache offline native-tls no-config no-progress "
	  "no-python-downloads frozen locked no-sync isolated active "
	  "no-project no-default-groups all-extras all-groups all-packages "
	  "dev no-dev only-dev exact no-env-file managed-python "
	  "no-managed-python",
	  "directory project cache-dir config-file color with with-editable "
	  "with-requirements extra no-extra group no-group only-group package "
	  "python env-file index default-index index-url extra-index-url "
	  "find-links allow-insecure-host python-preference",
	  0, false, false}},
	{"run",
	 {"poetry", "qvn", "CP",
	  "quiet verbose no-interaction ansi no-ansi no-cache no-plugins",
	  "directory project", 0, false, false}},
	{"run",
	 {"pipenv rye pdm hatch", "qv", "pe", "quiet verbose",
	  "project pyproject env venv", 0, false, false}},
	{"run",
	 {"conda mamba micromamba", "v", "np",
	  "no-capture-output live-stream verbose", "name prefix cwd", 0, false,
	  false}},
	{"exec",
	 {"bundle", "", "", "keep-file-descriptors", "gemfile", 0, false,
	  false}},
	{"exec",
	 {"pnpm yarn", "rws", "CF", "recursive workspace-root silent parallel",
	  "dir filter cwd", 0, false, false}},
	{"exec x", {"mise", "qv", "C", "quiet verbose", "cd", 0, false, false}},
	{"exec",
	 {"pyenv rbenv nodenv goenv asdf", "", "", "", "", 0, false, false}},
	{"exec", {"direnv", "", "", "", "", 1, false, false}},
	{"run",
	 {"rustup", "qv", "", "quiet verbose install", "", 1, false, false}},
};

static const struct wrapper *find_wrapper(struct bytes name)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++)
		if (text_is_one_of(name, wrappers[i].names))
			return &wrappers[i];
	return NULL;
}

/* ---- options ---- */

/* How many words an option takes; 0: it is not known. */
static size_t option_size(const struct wrapper *wrapper, struct bytes text)
{
	struct bytes name = bytes_slice(text, 2, text.len);
	struct bytes head;
	bool has_value;

	if (bytes_starts_with(text, bytes_str("--"))) {
		has_value = bytes_split(&name, '=', &head);
		if (text_is_one_of(head, wrapper->long_values))
			return has_value ? 1 : 2;
		return !has_value && text_is_one_of(head, wrapper->longs);
	}
	for (size_t i = 1; i < text.len; i++) {
		if (strchr(wrapper->values, text.data[i]))
			return i + 1 < text.len ? 1 : 2;
		if (!strchr(wrapper->letters, text.data[i]))
			return 0;
	}
	return 1;
}

/* Where the command stands; count: there is none; 0: not known. */
static size_t skip_options(const struct command_call *call,
			   const struct wrapper *wrapper)
{
	size_t at = 1;

	while (at < call->count) {
		const struct shell_word *word = &call->words[at];
		size_t size;

		if (word_is(word, "--"))
			return at + 1;
		if (!word_is_clear(word))
			return word_may_be_option(word) ? 0 : at;
		if (word->text.len < 2 || word->text.data[0] != '-')
			return word_is(word, "-") ? at + 1 : at;
		size = option_size(wrapper, word->text);
		if (size == 0)
			return 0;
		at += size;
	}
	return at < call->count ? at : call->count;
}

static bool is_assignment(const struct shell_word *word)
{
	ptrdiff_t equals = bytes_find(word->text, '=', 0);

	return equals > 0 && word->shape.len > 0 &&
	       word->shape.data[0] != SHELL_ANYTHING;
}

/* ---- xargs -I, find ---- */

/* Words with the mark in them get what is read or found in its place. is_path:
 * the mark alone stands for a path, which is no option. */
static bool mark_replaced(struct command_call *inner, struct bytes mark,
			  bool is_path, struct arena *arena)
{
	static const uint8_t path[] = {'.', '/', SHELL_ANYTHING};
	static const uint8_t anything[] = {SHELL_ANYTHING};
	struct shell_word *words =
		arena_array(arena, inner->count, sizeof(*words));

	if (!words)
		return false;
	for (size_t i = 0; i < inner->count; i++) {
		words[i] = inner->words[i];
		if (bytes_find_bytes(words[i].text, mark, 0) < 0)
			continue;
		words[i].flags |= SHELL_EXPANDS;
		words[i].shape = is_path && words[i].text.len == mark.len
					 ? bytes_from(path, sizeof(path))
					 : bytes_from(anything, 1);
	}
	inner->words = words;
	return true;
}

/* What -I and its like say of the words behind a command. */
struct marking {
	struct bytes mark; /* of the last -I; empty: there is none */
	bool counts;	   /* -n or -L, which may take back an -I */
};

/* One word of options, "-0I" or "-Ix", and the word behind it. */
static void read_marking(const struct wrapper *wrapper, struct bytes text,
			 struct bytes next, struct marking *marking)
{
	if (bytes_starts_with(text, bytes_str("--"))) {
		marking->counts |= bytes_starts_with(text, bytes_str("--max"));
		return;
	}
	for (size_t i = 1; i < text.len; i++) {
		uint8_t letter = text.data[i];

		marking->counts |= letter == 'n' || letter == 'L';
		if (letter == 'I')
			marking->mark =
				i + 1 < text.len
					? bytes_slice(text, i + 1, text.len)
					: next;
		if (strchr(wrapper->values, letter))
			return;
	}
}

/* Of the options before `until`. */
static struct marking find_marking(const struct command_call *call,
				   const struct wrapper *wrapper, size_t until)
{
	struct marking marking = {.counts = false};

	for (size_t i = 1; i < until;) {
		struct bytes text = call->words[i].text;
		size_t size = option_size(wrapper, text);
		struct bytes next = i + 1 < until ? call->words[i + 1].text
						  : bytes_from(NULL, 0);

		read_marking(wrapper, text, next, &marking);
		i += size ? size : 1;
	}
	return marking;
}

static void unwrap_options(const struct command_call *call,
			   const struct wrapper *wrapper, struct arena *arena,
			   struct unwrapped *out)
{
	size_t at = skip_options(call, wrapper);
	struct marking marking = {.counts = false};
	struct command_call inner;

	if (at == 0) {
		out->ambiguous = "an option before the command is not known";
		return;
	}
	at += wrapper->operands;
	out->assignments = call->words + at;
	while (wrapper->takes_assignments && at < call->count &&
	       is_assignment(&call->words[at])) {
		out->assignment_count++;
		at++;
	}
	if (at >= call->count) {
		out->assignment_count = 0;
		if (call->more_words)
			out->ambiguous = "the command that it runs is not "
					 "known";
		return;
	}
	for (size_t i = 1; i < at; i++)
		if (!word_is_single(&call->words[i]))
			out->ambiguous = "what stands before the command could "
					 "be more words";
	inner = call_from(call, at);
	inner.more_words |= wrapper->adds_words;
	if (wrapper->adds_words) {
		marking = find_marking(call, wrapper, at);
		inner.reads_pipe = true;
	}
	if (marking.mark.len > 0) {
		inner.more_words = marking.counts;
		if (!mark_replaced(&inner, marking.mark, false, arena))
			out->ambiguous = "the line is too long";
	}
	out->calls[out->call_count++] = inner;
}

/* ---- poetry run ---- */

/* Could one of its words, from there on, be the verb? */
static bool may_have_verb(const struct command_call *call, size_t from,
			  const char *verb)
{
	for (size_t i = from; i < call->count; i++)
		if (!word_is_clear(&call->words[i]) ||
		    word_is_one_of(&call->words[i], verb))
			return true;
	return call->more_words;
}

static void unwrap_runner(const struct command_call *call,
			  const struct runner *runner, struct arena *arena,
			  struct unwrapped *out)
{
	size_t at = skip_options(call, &runner->options);
	struct command_call inner;

	if (at > 0 && at < call->count &&
	    word_is_one_of(&call->words[at], runner->verb)) {
		inner = call_from(call, at);
		unwrap_options(&inner, &runner->options, arena, out);
	} else if ((at == 0 && may_have_verb(call, 1, runner->verb)) ||
		   (at == call->count && call->more_words) ||
		   (at < call->count && !word_is_clear(&call->words[at]))) {
		out->ambiguous = "what it runs is not known";
	}
}

/* npx -c LINE, npm exec -c LINE: before the package's name. */
static void unwrap_npm(const struct command_call *call, struct unwrapped *out)
{
	size_t at = bytes_is(call_name(call), "npm") ? 2 : 1;

	if (at == 2 &&
	    (call->count < 2 || !word_is_one_of(&call->words[1], "exec x")))
		return;
	for (; at < call->count && word_may_be_option(&call->words[at]); at++) {
		const struct shell_word *word = &call->words[at];

		if (word_is(word, "--"))
			return;
		if (!word_is_clear(word) ||
		    bytes_starts_with(word->text, bytes_str("-c")) ||
		    bytes_starts_with(word->text, bytes_str("--c"))) {
			out->ambiguous = "the code to run is not known";
			return;
		}
		at += word_is_one_of(word, "-p --package -w --workspace");
	}
}

/* ---- find ---- */

/* A "+" ends what find runs behind "{}" alone: else it is a word of it. */
static bool ends_action(const struct command_call *call, size_t at)
{
	return word_is(&call->words[at], ";") ||
	       (word_is(&call->words[at], "+") &&
		word_is(&call->words[at - 1], "{}"));
}

static void unwrap_find(const struct command_call *call, struct arena *arena,
			struct unwrapped *out)
{
	for (size_t i = 1; i < call->count; i++) {
		struct command_call inner;
		size_t from = i + 1;

		if (!word_is_one_of(&call->words[i],
				    "-exec -execdir -ok -okdir"))
			continue;
		while (++i < call->count && !ends_action(call, i))
			;
		if (i == from || i >= call->count ||
		    out->call_count == UNWRAP_MAX) {
			out->ambiguous = "find runs what is not known";
			return;
		}
		out->runs_anywhere |= word_is_one_of(&call->words[from - 1],
						     "-execdir -okdir");
		inner = call_from(call, from);
		inner.count = i - from;
		if (!mark_replaced(&inner, bytes_str("{}"), true, arena))
			out->ambiguous = "the line is too long";
		out->calls[out->call_count++] = inner;
	}
}

/* ---- shells and eval ---- */

static void take_line(struct unwrapped *out, const struct shell_word *word)
{
	if (!word_is_clear(word)) {
		out->ambiguous = "the code to run is not known";
		return;
	}
	out->line = word->text;
	out->line_at = word->at;
	out->has_line = true;
}

/* sh -c LINE; another shell's options are not looked at further. */
static void unwrap_shell(const struct command_call *call, struct unwrapped *out)
{
	bool has_code = false;

	for (size_t i = 1; i < call->count; i++) {
		const struct shell_word *word = &call->words[i];
		struct bytes text = word->text;

		if (word_is_clear(word) && text.len > 1 &&
		    text.data[0] == '+') {
			out->ambiguous = "an option of the shell is not known";
			return;
		}
		if (!word_is_clear(word) || text.len < 2 ||
		    text.data[0] != '-') {
			if (has_code)
				take_line(out, word);
			return;
		}
		if (word_is_one_of(word, "--login --norc --noprofile --posix "
					 "--version --help"))
			continue;
		for (size_t c = 1; c < text.len; c++) {
			bool is_last = c + 1 == text.len;

			/* The word behind -oc is o's, and no code. */
			if (!strchr("ceuxlvo", text.data[c]) ||
			    (text.data[c] == 'o' && !is_last)) {
				out->ambiguous = "an option of the shell is "
						 "not known";
				return;
			}
			has_code |= text.data[c] == 'c';
		}
		if (text.data[text.len - 1] == 'o' &&
		    (++i >= call->count ||
		     !word_is_one_of(&call->words[i],
				     "pipefail errexit nounset xtrace"))) {
			out->ambiguous = "an option of the shell is not known";
			return;
		}
	}
	if (has_code || call->more_words)
		out->ambiguous = "the code to run is not known";
}

/* eval joins its words by blanks. */
static void unwrap_eval(const struct command_call *call, struct arena *arena,
			struct unwrapped *out)
{
	auto_type(buf_release) struct buf line = {0};
	bool has_room = true;

	if (call_is_unclear(call)) {
		out->ambiguous = "the code to run is not known";
		return;
	}
	buf_init(&line, SHELL_LINE_MAX);
	for (size_t i = 1; i < call->count; i++)
		has_room &= (i == 1 || buf_add_byte(&line, ' ') == 0) &&
			    buf_add(&line, call->words[i].text) == 0;
	out->line = arena_copy(arena, buf_view(&line));
	out->line_at = call->words[0].at;
	out->has_line = true;
	if (!has_room || out->line.len != buf_len(&line))
		out->ambiguous = "the code to run is too long";
}

void command_unwrap(const struct command_call *call, struct arena *arena,
		    struct unwrapped *out)
{
	struct bytes name = call_name(call);
	const struct wrapper *wrapper = find_wrapper(name);

	*out = (struct unwrapped){0};
	if (bytes_is(name, "command") && call->count > 1 &&
	    word_is_one_of(&call->words[1], "-v -V -pv"))
		return;
	if (wrapper)
		unwrap_options(call, wrapper, arena, out);
	else if (bytes_is(name, "find"))
		unwrap_find(call, arena, out);
	else if (text_is_one_of(name, "sh bash dash ash"))
		unwrap_shell(call, out);
	else if (bytes_is(name, "eval"))
		unwrap_eval(call, arena, out);
	else if (bytes_is(name, "trap") && call->count > 1)
		take_line(out, &call->words[1]);
	else if (text_is_one_of(name, "npx npm"))
		unwrap_npm(call, out);
	for (size_t i = 0; i < ARRAY_SIZE(runners); i++)
		if (text_is_one_of(name, runners[i].options.names))
			unwrap_runner(call, &runners[i], arena, out);
}
