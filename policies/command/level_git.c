/*
 * git: its subcommand decides, and some of their options.
 */
#include "common/cleanup.h"
#include "policies/command/call.h"

static const char changes[] = "it changes the repository";

static struct command_level level_reads(const struct command_call *call)
{
	if (call_has_option(call, "", "output output-directory"))
		return level_medium("it writes a file");
	if (call_has_option(call, "",
			    "ext-diff open-files-in-pager "
			    "upload-pack exec"))
		return level_high("it can run a program");
	return level_low();
}

static struct command_level level_grep(const struct command_call *call)
{
	return call_has_option(call, "O", "open-files-in-pager")
		       ? level_high("it can run a program")
		       : level_low();
}

static bool has_odd_refspec(const struct command_call *call)
{
	for (size_t i = 1; i < call->count; i++) {
		struct bytes text = call->words[i].text;

		if (!word_is_clear(&call->words[i]) ||
		    (text.len > 0 &&
		     (text.data[0] == '+' || text.data[0] == ':')))
			return true;
	}
	return call->more_words;
}

static struct command_level level_push(const struct command_call *call)
{
	if (call_has_option(call, "fd",
			    "force force-with-lease "
			    "force-if-includes delete mirror prune"))
		return level_high("it rewrites or deletes branches upstream");
	if (call_has_option(call, "", "receive-pack exec"))
		return level_high("it can run a program");
	return has_odd_refspec(call)
		       ? level_high("it could rewrite or delete branches "
				    "upstream")
		       : level_medium("it changes the repository upstream");
}

static struct command_level level_fetch(const struct command_call *call)
{
	if (call_is_unclear(call) ||
	    call_has_option(call, "uc", "upload-pack config template"))
		return level_high("it can run a program");
	for (size_t i = 1; i < call->count; i++)
		if (bytes_find_bytes(call->words[i].text, bytes_str("::"), 0) >=
		    0)
			return level_high("it can run a program");
	return level_medium(changes);
}

static struct command_level level_reset(const struct command_call *call)
{
	return call_has_option(call, "", "hard merge keep")
		       ? level_high("it throws changes away")
		       : level_medium(changes);
}

static struct command_level level_clean(const struct command_call *call)
{
	return call_has_option(call, "n", "dry-run") &&
			       !call_is_unclear(call) &&
			       !call_has_option(call, "f", "force")
		       ? level_low()
		       : level_high("it removes files");
}

static struct command_level level_rebase(const struct command_call *call)
{
	return call_has_option(call, "xi", "exec interactive")
		       ? level_high("it can run commands")
		       : level_medium(changes);
}

static struct command_level level_branch(const struct command_call *call)
{
	if (call_has_option(call, "D", "delete force"))
		return level_high("it deletes a branch");
	for (size_t i = 1; i < call->count; i++)
		if (!word_is_one_of(&call->words[i],
				    "-a -r -v -vv --list --all --remotes "
				    "--show-current --verbose -l --merged "
				    "--no-merged"))
			return level_medium(changes);
	return level_low();
}

/* Those whose first word says whether they only show something. */
static struct command_level level_shows(const struct command_call *call)
{
	const struct shell_word *word = call->words + 1;

	if (call_is_unclear(call))
		return level_high("its words are not all known");
	/* An option may stand before it. */
	for (size_t i = 1;
	     i < call->count && (i == 1 || word_may_be_option(word - 1));
	     i++, word++)
		if (word_is_one_of(word, "delete expire drop clear foreach run "
					 "add-url set-url"))
			return level_high("it removes something, runs commands "
					  "or changes where things go");
	if (call->count == 1)
		return word_is(&call->words[0], "stash") ? level_medium(changes)
							 : level_low();
	return word_is_one_of(&call->words[1],
			      "list show -l --list -v get-url status -n "
			      "--verbose exists log")
		       ? level_low()
		       : level_medium(changes);
}

static struct command_level level_config(const struct command_call *call)
{
	static const char *const safe[] = {
		"user.",	 "color.",
		"advice.",	 "init.defaultbranch",
		"push.default",	 "pull.rebase",
		"core.autocrlf", "core.quotepath"};
	const struct shell_word *key = call_operand(call, 0);

	if (!call_is_unclear(call) &&
	    call_has_option(call, "l", "list get get-all get-regexp"))
		return level_low();
	if (!key || !word_is_clear(key) ||
	    call_has_option(call, "f", "file blob edit rename-section"))
		return level_high("it can set what git runs");
	if (call->count == 2 && bytes_find(key->text, '.', 0) > 0)
		return level_low();
	for (size_t i = 0; i < ARRAY_SIZE(safe); i++)
		if (bytes_starts_with(key->text, bytes_str(safe[i])))
			return level_medium(changes);
	return level_high("it can set what git runs");
}

static struct command_level level_high_git(const struct command_call *call)
{
	(void)call;
	return level_high("it rewrites history, runs commands or talks to "
			  "others");
}

static const struct {
	const char *names;
	struct command_level (*of)(const struct command_call *call);
} subcommands[] = {
	{"status log show diff rev-parse ls-files ls-tree cat-file blame "
	 "annotate describe shortlog rev-list merge-base name-rev "
	 "count-objects var version help whatchanged show-ref for-each-ref "
	 "check-ignore check-attr check-mailmap cherry range-diff ls-remote "
	 "verify-commit verify-tag diff-tree diff-index diff-files",
	 level_reads},
	{"grep", level_grep},
	{"push", level_push},
	{"fetch pull clone", level_fetch},
	{"reset", level_reset},
	{"clean", level_clean},
	{"rebase", level_rebase},
	{"branch", level_branch},
	{"stash tag remote worktree reflog notes submodule bisect",
	 level_shows},
	{"config", level_config},
	{"filter-branch filter-repo difftool mergetool send-email daemon "
	 "instaweb credential shell archive update-ref fast-import "
	 "fast-export svn p4 cvsserver http-backend upload-pack receive-pack "
	 "upload-archive gc prune for-each-repo maintenance hook remote-ext "
	 "remote-fd",
	 level_high_git},
};

/* Behind the options before the subcommand; 0: one of them is not known. */
static size_t find_subcommand(const struct command_call *call)
{
	size_t at = 1;

	while (at < call->count) {
		const struct shell_word *word = &call->words[at];

		if (word_is_one_of(word, "-C --git-dir --work-tree") &&
		    at + 1 < call->count && word_is_single(word + 1))
			at += 2;
		else if (word_is_one_of(word,
					"--no-pager -p --paginate -P "
					"--no-optional-locks --version --help "
					"--literal-pathspecs") ||
			 (word_is_clear(word) &&
			  (bytes_starts_with(word->text,
					     bytes_str("--git-dir=")) ||
			   bytes_starts_with(word->text,
					     bytes_str("--work-tree=")))))
			at++;
		else
			return word_may_be_option(word) ? 0 : at;
	}
	return at;
}

bool level_of_git(const struct command_call *call, struct command_level *level)
{
	struct command_call inner;
	size_t at;

	if (!bytes_is(call_name(call), "git"))
		return false;
	*level = level_high("an option before git's command could run a "
			    "program");
	at = find_subcommand(call);
	if (at == 0)
		return true;
	*level = call->more_words
			 ? level_ambiguous("git's command is not known")
			 : level_low();
	if (at >= call->count)
		return true;
	inner = call_from(call, at);
	*level = level_ambiguous("git's command is not known");
	if (!word_is_clear(&inner.words[0]))
		return true;
	*level = level_medium(changes);
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (text_is_one_of(inner.words[0].text, subcommands[i].names))
			*level = subcommands[i].of(&inner);
	return true;
}
