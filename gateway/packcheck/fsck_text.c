#include "common/cleanup.h"
#include "gateway/packcheck/fsck.h"

#define TIME_DIGITS_MAX 18
#define ZONE_LEN	5

/* The value of the line that begins so, cut from the text with its LF. */
static bool take_line(struct bytes *text, const char *word, struct bytes *value)
{
	struct bytes rest = *text, line;

	if (!bytes_starts_with(rest, bytes_str(word)) ||
	    !bytes_split(&rest, '\n', &line))
		return false;
	*value = bytes_slice(line, strlen(word), line.len);
	*text = rest;
	return true;
}

static const char *check_id(struct bytes hex)
{
	git_oid oid;

	if (hex.len != GIT_OID_HEXSZ)
		return "an id that is none";
	for (size_t i = 0; i < hex.len; i++)
		if (!((hex.data[i] >= '0' && hex.data[i] <= '9') ||
		      (hex.data[i] >= 'a' && hex.data[i] <= 'f')))
			return "an id that is none";
	if (git_oid_fromstrn(&oid, (const char *)hex.data, hex.len) < 0)
		return "an id that is none";
	return git_oid_is_zero(&oid) ? "an id of nothing" : NULL;
}

static bool is_digits(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
	return text.len > 0;
}

/* "1700000000 +0100" */
static bool is_time(struct bytes text)
{
	struct bytes seconds;

	if (!bytes_split(&text, ' ', &seconds) || !is_digits(seconds) ||
	    seconds.len > TIME_DIGITS_MAX ||
	    (seconds.data[0] == '0' && seconds.len > 1))
		return false;
	return text.len == ZONE_LEN &&
	       (text.data[0] == '+' || text.data[0] == '-') &&
	       is_digits(bytes_slice(text, 1, text.len));
}

/* "Name <mail> time" */
static const char *check_person(struct bytes line)
{
	struct bytes name, mail;

	if (!bytes_split(&line, '<', &name) || name.len < 2 ||
	    name.data[name.len - 1] != ' ' || bytes_find(name, '>', 0) >= 0)
		return "a person without a name";
	if (!bytes_split(&line, '>', &mail) || bytes_find(mail, '<', 0) >= 0)
		return "a person without an address";
	if (line.len == 0 || line.data[0] != ' ' ||
	    !is_time(bytes_slice(line, 1, line.len)))
		return "a time that is none";
	return NULL;
}

/* The lines before the message. */
static struct bytes head_of(struct bytes content)
{
	ptrdiff_t end = bytes_find_bytes(content, bytes_str("\n\n"), 0);

	return end < 0 ? content : bytes_slice(content, 0, (size_t)end + 1);
}

/* Where a commit says twice who it is of, git shows the last of them and
 * others show the first. */
static const char *check_rest(struct bytes head)
{
	static const char *const words[] = {"tree ", "parent ", "author ",
					    "committer "};
	struct bytes line;
	bool more = true;

	while (more) {
		more = bytes_split(&head, '\n', &line);
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			if (bytes_starts_with(line, bytes_str(words[i])))
				return "a line of its head is there twice";
	}
	return NULL;
}

const char *fsck_commit(struct bytes content)
{
	struct bytes head = head_of(content), value;
	const char *fault;

	if (bytes_find(head, '\0', 0) >= 0)
		return "a NUL in its head";
	if (!take_line(&head, "tree ", &value))
		return "it names no tree";
	fault = check_id(value);
	while (!fault && take_line(&head, "parent ", &value))
		fault = check_id(value);
	if (fault)
		return fault;
	if (!take_line(&head, "author ", &value))
		return "it names no author";
	fault = check_person(value);
	if (fault)
		return fault;
	if (!take_line(&head, "committer ", &value))
		return "it names no committer";
	fault = check_person(value);
	return fault ? fault : check_rest(head);
}

const char *fsck_tag(struct bytes content)
{
	struct bytes head = head_of(content), value;
	const char *fault;

	if (bytes_find(head, '\0', 0) >= 0)
		return "a NUL in its head";
	if (!take_line(&head, "object ", &value))
		return "it names no object";
	fault = check_id(value);
	if (fault)
		return fault;
	if (!take_line(&head, "type ", &value) ||
	    !(bytes_is(value, "commit") || bytes_is(value, "tree") ||
	      bytes_is(value, "blob") || bytes_is(value, "tag")))
		return "it names no type";
	if (!take_line(&head, "tag ", &value) || value.len == 0)
		return "it has no name";
	/* Old ones have none, and nothing else in its place. */
	if (head.len == 0)
		return NULL;
	return take_line(&head, "tagger ", &value) ? check_person(value)
						   : "it names no tagger";
}
