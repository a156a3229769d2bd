/*
 * The lists of a policy, its autonomy, and what becomes of a finding.
 */
#include "common/cleanup.h"
#include "policies/command/judge_parts.h"

enum match { MATCH_NO, MATCH_MAYBE, MATCH_YES };

const char *command_risk_name(enum command_risk risk)
{
	static const char *const names[RISK_MAX] = {
		[RISK_LOW] = "low",
		[RISK_MEDIUM] = "medium",
		[RISK_HIGH] = "high",
	};

	return names[risk];
}

/* ---- entries ---- */

static bool is_any(const struct command_entry *entry)
{
	return bytes_is(entry->words[0], "*");
}

/* "v*-rc" within one word. */
static bool word_fits(struct bytes pattern, struct bytes text)
{
	ptrdiff_t star = bytes_find(pattern, '*', 0);
	struct bytes head, tail;

	if (star < 0)
		return bytes_equal(pattern, text);
	head = bytes_slice(pattern, 0, (size_t)star);
	tail = bytes_slice(pattern, (size_t)star + 1, pattern.len);
	if (!bytes_starts_with(text, head))
		return false;
	text = bytes_slice(text, head.len, text.len);
	for (size_t from = 0; from <= text.len; from++)
		if (word_fits(tail, bytes_slice(text, from, text.len)))
			return true;
	return false;
}

/* Is it the program that the entry names? */
static bool names_it(const struct command_entry *entry,
		     const struct command_call *call, bool is_allow)
{
	struct bytes wanted = entry->words[0];

	if (bytes_find(wanted, '/', 0) >= 0)
		return bytes_equal(wanted, call->words[0].text);
	if (!bytes_equal(wanted, call_name(call)))
		return false;
	/* ./git is another program, and may be called so to pass. */
	return !is_allow || call_is_system(call);
}

/* The words of an allow entry stand first, in their order. */
static enum match match_allow(const struct command_entry *entry,
			      const struct command_call *call)
{
	if (!names_it(entry, call, true) || call->count < entry->word_count)
		return MATCH_NO;
	for (size_t i = 1; i < entry->word_count; i++)
		if (!word_is_clear(&call->words[i]) ||
		    !word_fits(entry->words[i], call->words[i].text))
			return MATCH_NO;
	return MATCH_YES;
}

/* Those of a deny entry stand anywhere, in their order: options may stand
 * between them. */
static enum match match_deny(const struct command_entry *entry,
			     const struct command_call *call)
{
	bool is_sure = true;
	size_t found = 1;

	if (!names_it(entry, call, false))
		return MATCH_NO;
	for (size_t i = 1; i < call->count && found < entry->word_count; i++) {
		if (!word_is_clear(&call->words[i])) {
			is_sure = false;
			found++;
		} else if (word_fits(entry->words[found],
				     call->words[i].text)) {
			found++;
		}
	}
	if (found < entry->word_count)
		return call->more_words || call_is_unclear(call) ? MATCH_MAYBE
								 : MATCH_NO;
	return is_sure ? MATCH_YES : MATCH_MAYBE;
}

static const struct command_entry *
find_entry(const struct command_entries *entries,
	   const struct command_call *call,
	   enum match (*match)(const struct command_entry *entry,
			       const struct command_call *call),
	   enum match wanted)
{
	for (size_t i = 0; i < entries->count; i++)
		if (!is_any(&entries->items[i]) &&
		    match(&entries->items[i], call) == wanted)
			return &entries->items[i];
	return NULL;
}

static bool has_any(const struct command_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		if (is_any(&entries->items[i]))
			return true;
	return false;
}

/* ---- findings ---- */

static void add_trace(struct judge *judge, const struct finding *finding,
		      struct bytes command, enum verdict_kind kind,
		      const char *rule)
{
	static const char *const words[VERDICT_KIND_MAX] = {
		[VERDICT_DENY] = "deny",
		[VERDICT_ALLOW] = "allow",
		[VERDICT_ASK] = "ask",
	};

	if (judge->trace)
		(void)buf_add_format(judge->trace, "%.*s: %s%s%s: %s by %s\n",
				     BYTES_ARGS(command),
				     command_risk_name(finding->level.risk),
				     finding->level.why ? ", " : "",
				     finding->level.why ? finding->level.why
							: "",
				     words[kind], rule);
}

static unsigned weight(enum verdict_kind kind, enum command_risk risk)
{
	static const unsigned kinds[VERDICT_KIND_MAX] = {
		[VERDICT_ALLOW] = 0,
		[VERDICT_ASK] = 1,
		[VERDICT_DENY] = 2,
	};

	return kinds[kind] * RISK_MAX + risk;
}

/* The text of a part, on one line and not too long. */
static struct bytes part_of(struct judge *judge, size_t at, size_t end)
{
	struct bytes part = bytes_slice(judge->text, at, end);
	char *copy;

	while (part.len > 0 && part.data[part.len - 1] == ' ')
		part.len--;
	if (part.len > COMMAND_REASON_MAX / 4)
		part.len = COMMAND_REASON_MAX / 4;
	copy = arena_str(judge->arena, part);
	for (size_t i = 0; copy && i < part.len; i++)
		if ((uint8_t)copy[i] < ' ' || copy[i] == 0x7f)
			copy[i] = ' ';
	return bytes_str(copy);
}

void judge_tell(struct judge *judge, const struct finding *finding,
		enum verdict_kind kind, enum constraint constraint,
		const char *rule)
{
	struct command_verdict *verdict = judge->verdict;
	struct bytes command = part_of(judge, finding->at, finding->end);
	bool is_first = verdict->rule.len == 0;

	add_trace(judge, finding, command, kind, rule);
	if (is_first || weight(kind, finding->level.risk) >
				weight(verdict->kind, verdict->risk)) {
		verdict->kind = kind;
		verdict->constraint = constraint;
		verdict->at = finding->at;
		verdict->len = finding->end - finding->at;
		verdict->command = command;
		verdict->rule = arena_copy(judge->arena, bytes_str(rule));
		verdict->reason = bytes_str(finding->level.why);
		verdict->risk = finding->level.risk;
	}
}

static void tell_entry(struct judge *judge, const struct finding *finding,
		       enum verdict_kind kind, enum constraint constraint,
		       const struct command_entry *entry)
{
	const char *rule =
		entry ? arena_format(judge->arena, "commands.%s: %.*s",
				     kind == VERDICT_ALLOW ? "allow" : "deny",
				     BYTES_ARGS(entry->text))
		      : "commands.deny: *";

	judge_tell(judge, finding, kind, constraint, rule ? rule : "commands");
}

/* ---- the decision ---- */

static void by_autonomy(struct judge *judge, const struct finding *finding)
{
	const struct policy_commands *commands =
		&judge->facts->policy->commands;
	enum command_risk risk = finding->level.risk;
	enum verdict_kind kind = VERDICT_ALLOW;
	enum constraint constraint = CONSTRAINT_none;
	const char *rule =
		arena_format(judge->arena, "commands.autonomy: %s",
			     command_autonomy_name(commands->autonomy));

	if (commands->autonomy == AUTONOMY_READ_ONLY && risk > RISK_LOW)
		kind = VERDICT_DENY;
	else if (commands->autonomy == AUTONOMY_FULL && risk == RISK_HIGH)
		kind = VERDICT_DENY;
	else if (commands->autonomy == AUTONOMY_SUPERVISED && risk > RISK_LOW &&
		 (risk == RISK_HIGH || !has_any(&commands->allow)))
		kind = VERDICT_ASK;
	if (kind == VERDICT_DENY)
		constraint = finding->level.is_ambiguous
				     ? CONSTRAINT_command_ambiguous
				     : CONSTRAINT_command_risk;
	else if (kind == VERDICT_ASK)
		constraint = CONSTRAINT_approval_pending;
	judge_tell(judge, finding, kind, constraint,
		   rule ? rule : "commands.autonomy");
}

/* ---- denied names in what an entry lifts ---- */

/* Can it stand in a program's name? */
static bool is_of_name(uint8_t c)
{
	return (c >= '0' && c <= '9') || c >= 0x80 ||
	       ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
	       (c != '\0' && strchr("._+-@%", c));
}

/* The next text without quotes, blanks and signs, and without a directory. */
static bool next_token(struct bytes *rest, struct bytes *token)
{
	size_t from = 0, end;

	for (end = 0; end < rest->len; end++) {
		uint8_t c = rest->data[end];

		if (is_of_name(c))
			continue;
		if (end > from && c != '/')
			break;
		from = end + 1;
	}
	*token = bytes_slice(*rest, from, end);
	*rest = bytes_slice(*rest, end, rest->len);
	return token->len > 0;
}

/* Do the words of the entry stand in the call's, in their order? */
static bool is_in_words(const struct command_entry *entry,
			const struct command_call *call)
{
	size_t found = 0;

	for (size_t i = 1; i < call->count; i++) {
		struct bytes rest = call->words[i].text;
		struct bytes token;

		while (found < entry->word_count && next_token(&rest, &token))
			found += word_fits(entry->words[found], token);
	}
	return found == entry->word_count;
}

/* A call of high risk may run a program that its words name. */
static bool names_denied(const struct policy_commands *commands,
			 const struct command_call *call)
{
	for (size_t i = 0; i < commands->deny.count; i++)
		if (!is_any(&commands->deny.items[i]) &&
		    is_in_words(&commands->deny.items[i], call))
			return true;
	return false;
}

void judge_level(struct judge *judge, const struct finding *finding)
{
	const struct policy_commands *commands =
		&judge->facts->policy->commands;
	const struct command_call *call = finding->call;
	const struct command_entry *entry = NULL;
	struct finding raised = *finding;

	if (!call || call_name(call).len == 0) {
		by_autonomy(judge, finding);
		return;
	}
	entry = find_entry(&commands->deny, call, match_deny, MATCH_YES);
	if (entry) {
		tell_entry(judge, finding, VERDICT_DENY,
			   CONSTRAINT_command_not_allowed, entry);
		return;
	}
	if (find_entry(&commands->deny, call, match_deny, MATCH_MAYBE)) {
		raised.level = level_ambiguous("its words are not known, and "
					       "some are denied");
		by_autonomy(judge, &raised);
		return;
	}
	if (commands->autonomy != AUTONOMY_READ_ONLY)
		entry = find_entry(&commands->allow, call, match_allow,
				   MATCH_YES);
	if (entry && finding->level.risk == RISK_HIGH &&
	    names_denied(commands, call)) {
		raised.level = level_ambiguous("it may run a command that is "
					       "denied");
		by_autonomy(judge, &raised);
	} else if (entry) {
		tell_entry(judge, finding, VERDICT_ALLOW, CONSTRAINT_none,
			   entry);
	} else if (has_any(&commands->deny)) {
		tell_entry(judge, finding, VERDICT_DENY,
			   CONSTRAINT_command_not_allowed, NULL);
	} else {
		by_autonomy(judge, finding);
	}
}
