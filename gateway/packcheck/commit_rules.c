#include "gateway/packcheck/commit_rules.h"

#include "policies/commit_encoding.h"
#include "policies/pattern.h"

#define ARENA_MAX ((size_t)4 << 20)

/* ---- reading ---- */

static int read_pattern(struct commit_rules *rules, struct bytes text,
			const struct pattern **pattern, struct err *err)
{
	struct pattern_fault fault;

	*pattern = NULL;
	if (text.len == 0)
		return 0;
	*pattern = pattern_new(&rules->arena, text, &fault);
	if (*pattern)
		return 0;
	return err_set(err, ERR_INVALID,
		       "check the push: what commits must be like is not "
		       "known: %s",
		       fault.why);
}

int commit_rules_read(struct commit_rules *rules,
		      const struct msg_pack_commits *told, size_t count,
		      struct err *err)
{
	if (count > COMMIT_RULES_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "check the push: too many rules for commits");
	if (count > 0)
		arena_init(&rules->arena, ARENA_MAX);
	rules->set_count = count;
	for (size_t i = 0; i < count; i++) {
		const struct msg_pack_commits *from = &told[i];

		rules->sets[i].count_max = from->count_max;
		if (read_pattern(rules, from->author, &rules->sets[i].author,
				 err) < 0 ||
		    read_pattern(rules, from->committer,
				 &rules->sets[i].committer, err) < 0 ||
		    read_pattern(rules, from->subject, &rules->sets[i].subject,
				 err) < 0 ||
		    read_pattern(rules, from->message, &rules->sets[i].message,
				 err) < 0)
			return -1;
	}
	return 0;
}

void commit_rules_release(struct commit_rules *rules)
{
	if (rules->set_count > 0)
		arena_release(&rules->arena);
	*rules = (struct commit_rules){0};
}

/* ---- a commit's parts ---- */

struct parts {
	struct bytes author, committer, subject, message;
	/* What stands here is not what git shows. */
	bool is_shown_otherwise;
};

/* "Name <address>" of "Name <address> 1700000000 +0000". */
static struct bytes person_of(struct bytes line)
{
	size_t end = line.len;

	while (end > 0 && line.data[end - 1] != '>')
		end--;
	return bytes_slice(line, 0, end);
}

static bool cut_word(struct bytes *line, const char *word)
{
	struct bytes start = bytes_str(word);

	if (!bytes_starts_with(*line, start))
		return false;
	*line = bytes_slice(*line, start.len, line->len);
	return true;
}

/* Header lines to the first empty one, then the message. What is there
 * twice is its first: fsck takes no commit with two. */
static struct parts parts_of(struct bytes content)
{
	struct parts parts = {0};
	struct bytes rest = content, line;

	while (bytes_split(&rest, '\n', &line) && line.len > 0) {
		if (!parts.author.data && cut_word(&line, "author "))
			parts.author = person_of(line);
		else if (!parts.committer.data && cut_word(&line, "committer "))
			parts.committer = person_of(line);
		else if (cut_word(&line, "encoding "))
			parts.is_shown_otherwise |=
				!commit_encoding_is_plain(line);
	}
	/* git's message ends there. */
	parts.is_shown_otherwise |= bytes_find(rest, '\0', 0) >= 0;
	while (rest.len > 0 && rest.data[rest.len - 1] == '\n')
		rest.len--;
	parts.message = rest;
	(void)bytes_split(&rest, '\n', &parts.subject);
	return parts;
}

/* ---- looking ---- */

static void ask(const struct pattern *pattern, const char *what,
		struct bytes value, const git_oid *oid, struct finding *finding)
{
	char name[FINDING_NAME_MAX], id[FINDING_ID_LEN + 1];

	if (!pattern)
		return;
	switch (pattern_ask(pattern, value)) {
	case PATTERN_MATCHES:
		return;
	case PATTERN_UNSURE:
		finding_set(finding, CONSTRAINT_push_commit_not_allowed,
			    "the %s of commit %s is no UTF-8, or too long",
			    what, finding_id(oid, id));
		return;
	case PATTERN_DIFFERS:
		break;
	}
	finding_set(
		finding, CONSTRAINT_push_commit_not_allowed,
		"commit %s has the %s \"%s\"; it must match %.*s",
		finding_id(oid, id), what,
		finding_name(bytes_slice(value, 0, FINDING_NAME_MAX / 2), name),
		BYTES_ARGS(bytes_slice(pattern_text(pattern), 0,
				       FINDING_NAME_MAX / 2)));
}

static bool asks_for_text(const struct commit_rules *rules)
{
	for (size_t i = 0; i < rules->set_count; i++)
		if (rules->sets[i].author || rules->sets[i].committer ||
		    rules->sets[i].subject || rules->sets[i].message)
			return true;
	return false;
}

void commit_rules_look(struct commit_rules *rules, const git_oid *oid,
		       struct bytes content, struct finding *finding)
{
	const struct parts parts = parts_of(content);
	char id[FINDING_ID_LEN + 1];

	rules->seen++;
	if (parts.is_shown_otherwise && asks_for_text(rules))
		finding_set(finding, CONSTRAINT_push_commit_not_allowed,
			    "commit %s has a NUL in its message, or an "
			    "encoding in which ASCII is not ASCII",
			    finding_id(oid, id));
	for (size_t i = 0; i < rules->set_count; i++) {
		uint64_t max = rules->sets[i].count_max;

		ask(rules->sets[i].author, "author", parts.author, oid,
		    finding);
		ask(rules->sets[i].committer, "committer", parts.committer, oid,
		    finding);
		ask(rules->sets[i].subject, "subject", parts.subject, oid,
		    finding);
		ask(rules->sets[i].message, "message", parts.message, oid,
		    finding);
		if (max > 0 && rules->seen > max)
			finding_set(finding, CONSTRAINT_push_too_large,
				    "more than %llu commits; git fetch "
				    "first, so that only new ones are sent",
				    (unsigned long long)max);
	}
}
