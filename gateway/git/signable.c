#include "gateway/git/signable.h"

#include "common/cleanup.h"
#include "gateway/git/refs.h"
#include "policies/commit_encoding.h"

#define ENCODING_MAX 64
#define TIME_DIGITS  19

struct reading {
	struct bytes rest; /* headers that were not taken yet, then message */
	size_t oid_len;	   /* of the first one; 0: none yet */
	const struct policy_sign *sign;
	struct err *err;
};

/* ---- lines ---- */

/* The value of the next header if it has that name, which is taken. */
static bool take(struct reading *reading, const char *name, struct bytes *value)
{
	struct bytes rest = reading->rest, line;
	struct bytes word;

	if (!bytes_split(&rest, '\n', &line) ||
	    !bytes_split(&line, ' ', &word) || !bytes_is(word, name))
		return false;
	*value = line;
	reading->rest = rest;
	return true;
}

/* Those that go on in further lines. */
static bool take_more(struct reading *reading)
{
	struct bytes line;

	while (bytes_starts_with(reading->rest, bytes_str(" ")))
		if (!bytes_split(&reading->rest, '\n', &line))
			return false;
	return true;
}

static bool is_word(struct bytes word, size_t max)
{
	if (word.len == 0 || word.len > max)
		return false;
	for (size_t i = 0; i < word.len; i++) {
		uint8_t c = word.data[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= 'a' && c <= 'z') && !strchr("-._:", c))
			return false;
	}
	return true;
}

/* What stands where something else must: its name, if that can be shown. */
static int refuse_header(struct reading *reading, const char *wanted)
{
	struct bytes line = reading->rest, word;

	(void)bytes_split(&line, '\n', &word);
	line = word;
	(void)bytes_split(&line, ' ', &word);
	if (bytes_starts_with(word, bytes_str("gpgsig")))
		return err_set(reading->err, ERR_DENIED,
			       "it has a signature already");
	if (!is_word(word, ENCODING_MAX))
		return err_set(reading->err, ERR_DENIED,
			       "it is no commit and no tag as git writes them: "
			       "%s is missing",
			       wanted);
	return err_set(reading->err, ERR_DENIED,
		       "a header \"%.*s\" stands where %s must",
		       BYTES_ARGS(word), wanted);
}

/* ---- values ---- */

static int take_oid(struct reading *reading, const char *name,
		    struct bytes *oid)
{
	struct reading before = *reading;

	if (!take(reading, name, oid))
		return refuse_header(reading, name);
	if (git_oid_is_valid(*oid, reading->oid_len)) {
		reading->oid_len = oid->len;
		return 0;
	}
	*reading = before;
	return err_set(reading->err, ERR_DENIED,
		       "what stands in \"%s\" is no object id", name);
}

static bool is_digits(struct bytes text, size_t min, size_t max)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
	return text.len >= min && text.len <= max;
}

/* "1700000000 +0100" */
static bool is_time(struct bytes text)
{
	struct bytes seconds;

	return bytes_split(&text, ' ', &seconds) &&
	       is_digits(seconds, 1, TIME_DIGITS) && text.len == 5 &&
	       (text.data[0] == '+' || text.data[0] == '-') &&
	       is_digits(bytes_slice(text, 1, text.len), 4, 4);
}

static bool cut(struct bytes *text, struct bytes prefix)
{
	if (!bytes_starts_with(*text, prefix))
		return false;
	*text = bytes_slice(*text, prefix.len, text->len);
	return true;
}

static int take_who(struct reading *reading, const char *name)
{
	const struct policy_sign *sign = reading->sign;
	struct bytes who;

	if (!take(reading, name, &who))
		return refuse_header(reading, name);
	if (!cut(&who, sign->name) || !cut(&who, bytes_str(" <")) ||
	    !cut(&who, sign->email) || !cut(&who, bytes_str("> ")))
		return err_set(reading->err, ERR_DENIED,
			       "its %s is not %.*s <%.*s>", name,
			       BYTES_ARGS(sign->name), BYTES_ARGS(sign->email));
	if (!is_time(who))
		return err_set(reading->err, ERR_DENIED,
			       "the time in \"%s\" is none", name);
	return 0;
}

/* ---- the two ---- */

static int end_of_headers(struct reading *reading)
{
	if (cut(&reading->rest, bytes_str("\n")))
		return 0;
	return refuse_header(reading, "the message");
}

static int read_commit(struct reading *reading, struct signable *found)
{
	struct bytes value;

	if (take_oid(reading, "tree", &found->oid) < 0)
		return -1;
	while (bytes_starts_with(reading->rest, bytes_str("parent ")))
		if (take_oid(reading, "parent", &value) < 0)
			return -1;
	if (take_who(reading, "author") < 0 ||
	    take_who(reading, "committer") < 0)
		return -1;
	if (take(reading, "encoding", &value) &&
	    !commit_encoding_is_plain(value))
		return err_set(reading->err, ERR_DENIED,
			       "its encoding is not one in which ASCII is "
			       "ASCII");
	while (take(reading, "mergetag", &value))
		if (!take_more(reading))
			return err_set(reading->err, ERR_DENIED,
				       "its mergetag has no end");
	return end_of_headers(reading);
}

/* git takes what follows such a line for the tag's signature. */
static bool has_signature(struct bytes message)
{
	static const char *const begins[] = {
		"-----BEGIN PGP SIGNATURE-----",
		"-----BEGIN PGP MESSAGE-----",
		"-----BEGIN SIGNED MESSAGE-----",
		"-----BEGIN SSH SIGNATURE-----",
	};
	struct bytes line;
	bool more = true;

	while (more) {
		more = bytes_split(&message, '\n', &line);
		for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
			if (bytes_starts_with(line, bytes_str(begins[i])))
				return true;
	}
	return false;
}

static bool is_type(struct bytes type)
{
	return bytes_is(type, "commit") || bytes_is(type, "tree") ||
	       bytes_is(type, "blob") || bytes_is(type, "tag");
}

static int read_tag(struct reading *reading, struct signable *found)
{
	struct bytes type;

	if (take_oid(reading, "object", &found->oid) < 0)
		return -1;
	if (!take(reading, "type", &type))
		return refuse_header(reading, "type");
	if (!is_type(type))
		return err_set(reading->err, ERR_DENIED,
			       "its type is none of git's");
	if (!take(reading, "tag", &found->tag))
		return refuse_header(reading, "tag");
	if (found->tag.len == 0)
		return err_set(reading->err, ERR_DENIED, "it has no name");
	if (take_who(reading, "tagger") < 0 || end_of_headers(reading) < 0)
		return -1;
	if (has_signature(reading->rest))
		return err_set(reading->err, ERR_DENIED,
			       "it has a signature already");
	return 0;
}

int signable_read(struct bytes object, const struct policy_sign *sign,
		  struct signable *found, struct err *err)
{
	struct reading reading = {.rest = object, .sign = sign, .err = err};

	*found = (struct signable){0};
	if (object.len > SIGNABLE_BYTES_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "a commit or a tag has at most %d bytes",
			       SIGNABLE_BYTES_MAX);
	if (bytes_find(object, '\0', 0) >= 0)
		return err_set(err, ERR_DENIED, "it has a NUL in it");
	return bytes_starts_with(object, bytes_str("object "))
		       ? read_tag(&reading, found)
		       : read_commit(&reading, found);
}
