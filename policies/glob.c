#include "policies/glob.h"

#include <ctype.h>
#include <string.h>

#include "common/cleanup.h"

/* A token below 256 is a character. */
enum token {
	TOKEN_ANY = 256, /* ?: one character but '/' */
	TOKEN_STAR,	 /* as many as there are */
	TOKEN_DIRS,	 /* components, each with its '/' */
	TOKEN_IN_DIRS,	 /* within one of them */
	TOKEN_TAIL,	 /* one character, whichever */
	TOKEN_REST,	 /* all that is left */
	TOKEN_SET	 /* + number of the set */
};

#define WORD_BITS 64
#define WORDS	  (GLOB_TOKENS_MAX / WORD_BITS + 1)

/* ---- reading ---- */

struct reading {
	struct glob *glob;
	struct bytes text;
	size_t at;
	enum glob_flavour flavour;
	struct glob_fault *fault;
};

static int refuse(const struct reading *reading, size_t at, const char *why)
{
	*reading->fault = (struct glob_fault){at, why};
	return -1;
}

static int put(struct reading *reading, unsigned token)
{
	struct glob *glob = reading->glob;

	/* Two states may follow. */
	if (glob->count + 2 >= GLOB_TOKENS_MAX)
		return refuse(reading, reading->at, "the pattern is too long");
	glob->tokens[glob->count++] = (uint16_t)token;
	return 0;
}

static int peek(const struct reading *reading, size_t ahead)
{
	size_t at = reading->at + ahead;

	return at < reading->text.len ? reading->text.data[at] : -1;
}

static bool is_component_start(const struct reading *reading)
{
	return reading->at == 0 || reading->text.data[reading->at - 1] == '/';
}

static int read_stars(struct reading *reading)
{
	size_t start = reading->at;
	bool is_component = is_component_start(reading);
	size_t count = 0;
	int after;

	while (peek(reading, count) == '*')
		count++;
	after = peek(reading, count);
	reading->at += count;
	if (count == 1)
		return put(reading, TOKEN_STAR);
	/* git takes more than two for two. */
	if (count > 2 && reading->flavour == GLOB_POLICY)
		is_component = false;
	if (is_component && after == '/') {
		reading->at++;
		return put(reading, TOKEN_DIRS) < 0
			       ? -1
			       : put(reading, TOKEN_IN_DIRS);
	}
	if (is_component && after < 0)
		return put(reading, TOKEN_TAIL) < 0 ? -1
						    : put(reading, TOKEN_REST);
	if (reading->flavour == GLOB_POLICY)
		return refuse(reading, start,
			      "\"**\" stands for directories, as a component "
			      "of its own");
	return put(reading, TOKEN_STAR);
}

static void set_add(uint8_t *set, unsigned c)
{
	set[c / 8] = (uint8_t)(set[c / 8] | 1u << c % 8);
}

static bool set_has(const uint8_t *set, unsigned c)
{
	return set[c / 8] >> c % 8 & 1;
}

static int is_word_blank(int c)
{
	return c == ' ' || c == '\t';
}

/* The characters of "[:name:]", ASCII alone. */
static int add_class(uint8_t *set, struct bytes name)
{
	static const struct {
		const char *name;
		int (*is)(int c);
	} classes[] = {{"alnum", isalnum},	 {"alpha", isalpha},
		       {"blank", is_word_blank}, {"cntrl", iscntrl},
		       {"digit", isdigit},	 {"graph", isgraph},
		       {"lower", islower},	 {"print", isprint},
		       {"punct", ispunct},	 {"space", isspace},
		       {"upper", isupper},	 {"xdigit", isxdigit}};

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (!bytes_is(name, classes[i].name))
			continue;
		for (int c = 0; c < 128; c++)
			if (classes[i].is(c))
				set_add(set, (unsigned)c);
		return 0;
	}
	return -1;
}

/* "[:name:]" at the place; 0: there is none; -1: no such class. */
static int read_class(struct reading *reading, uint8_t *set)
{
	struct bytes rest =
		bytes_slice(reading->text, reading->at + 2, reading->text.len);
	ptrdiff_t end = bytes_find(rest, ']', 0);

	if (peek(reading, 0) != '[' || peek(reading, 1) != ':' || end < 1 ||
	    rest.data[end - 1] != ':')
		return 0;
	if (add_class(set, bytes_slice(rest, 0, (size_t)end - 1)) < 0)
		return refuse(reading, reading->at,
			      "there is no such class of characters");
	reading->at += (size_t)end + 3;
	return 1;
}

/* One character of a set, an escape undone. -1: the text ends. */
static int read_member(struct reading *reading)
{
	int c = peek(reading, 0);

	if (c == '\\') {
		reading->at++;
		c = peek(reading, 0);
	}
	reading->at += c >= 0;
	return c;
}

/* A character or a range; 0, or -1 when the text ends. */
static int read_range(struct reading *reading, uint8_t *set)
{
	int first = read_member(reading);
	int last = first;

	if (first < 0)
		return -1;
	if (peek(reading, 0) == '-' && peek(reading, 1) >= 0 &&
	    peek(reading, 1) != ']') {
		reading->at++;
		last = read_member(reading);
		if (last < 0)
			return -1;
	}
	for (int c = first; c <= last; c++)
		set_add(set, (unsigned)c);
	return 0;
}

static int read_set(struct reading *reading)
{
	struct glob *glob = reading->glob;
	size_t start = reading->at++;
	bool is_negated = peek(reading, 0) == '!' || peek(reading, 0) == '^';
	uint8_t *set = glob->sets[glob->set_count];

	if (glob->set_count == GLOB_SETS_MAX)
		return refuse(reading, start, "too many sets of characters");
	memset(set, 0, GLOB_SET_BYTES);
	reading->at += is_negated;
	for (bool is_first = true; is_first || peek(reading, 0) != ']';
	     is_first = false) {
		int rc = read_class(reading, set);

		if (rc < 0)
			return -1;
		if (rc == 0 && read_range(reading, set) < 0)
			return refuse(reading, start, "\"[\" without \"]\"");
	}
	reading->at++;
	for (size_t i = 0; is_negated && i < GLOB_SET_BYTES; i++)
		set[i] = (uint8_t)~set[i];
	set['/' / 8] = (uint8_t)(set['/' / 8] & ~(1u << '/' % 8));
	return put(reading, (unsigned)TOKEN_SET + glob->set_count++);
}

int glob_parse(struct glob *glob, struct bytes text, enum glob_flavour flavour,
	       struct glob_fault *fault)
{
	struct reading reading = {glob, text, 0, flavour, fault};
	int rc = 0;

	glob->count = 0;
	glob->set_count = 0;
	while (rc == 0 && reading.at < text.len) {
		int c = peek(&reading, 0);

		if (c == '*') {
			rc = read_stars(&reading);
		} else if (c == '[') {
			rc = read_set(&reading);
		} else if (c == '?') {
			reading.at++;
			rc = put(&reading, TOKEN_ANY);
		} else {
			c = read_member(&reading);
			rc = c < 0 ? refuse(&reading, text.len - 1,
					    "nothing after \"\\\"")
				   : put(&reading, (unsigned)c);
		}
	}
	return rc;
}

/* ---- matching ---- */

/* Which tokens may come next; bit count: the end. */
struct states {
	uint64_t words[WORDS];
};

/* With those that it lets through without a character. */
static void enter(const struct glob *glob, struct states *states, size_t at)
{
	for (;;) {
		unsigned token;

		states->words[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
		if (at == glob->count)
			return;
		token = glob->tokens[at];
		if (token == TOKEN_DIRS)
			at += 2;
		else if (token == TOKEN_STAR || token == TOKEN_REST)
			at++;
		else
			return;
	}
}

/* Where one token leads with a character. */
static void advance(const struct glob *glob, struct states *next, size_t at,
		    unsigned c)
{
	unsigned token = glob->tokens[at];

	if (token == TOKEN_STAR) {
		if (c != '/')
			enter(glob, next, at);
	} else if (token == TOKEN_ANY) {
		if (c != '/')
			enter(glob, next, at + 1);
	} else if (token == TOKEN_DIRS) {
		if (c != '/')
			enter(glob, next, at + 1);
	} else if (token == TOKEN_IN_DIRS) {
		enter(glob, next, c == '/' ? at - 1 : at);
	} else if (token == TOKEN_TAIL) {
		enter(glob, next, at + 1);
	} else if (token == TOKEN_REST) {
		enter(glob, next, at);
	} else if (token >= TOKEN_SET
			   ? set_has(glob->sets[token - TOKEN_SET], c)
			   : token == c) {
		enter(glob, next, at + 1);
	}
}

static void step(const struct glob *glob, struct states *now, unsigned c)
{
	size_t words = glob->count / WORD_BITS + 1;
	struct states next = {{0}};

	for (size_t word = 0; word < words; word++) {
		uint64_t left = now->words[word];

		for (; left; left &= left - 1) {
			size_t at = word * WORD_BITS +
				    (size_t)__builtin_ctzll(left);

			if (at < glob->count)
				advance(glob, &next, at, c);
		}
	}
	*now = next;
}

static void run(const struct glob *glob, struct bytes path,
		struct states *states)
{
	*states = (struct states){{0}};
	enter(glob, states, 0);
	for (size_t i = 0; i < path.len; i++)
		step(glob, states, path.data[i]);
}

bool glob_matches(const struct glob *glob, struct bytes path)
{
	struct states end;

	run(glob, path, &end);
	return end.words[glob->count / WORD_BITS] >> glob->count % WORD_BITS &
	       1;
}

/* What can be matched from a state is the same wherever it was reached. */
bool glob_keeps(const struct glob *glob, const struct bytes *from,
		const struct bytes *to)
{
	struct states before = {{0}}, after = {{0}};

	if (from) {
		run(glob, *from, &before);
		step(glob, &before, '/');
	}
	if (to) {
		run(glob, *to, &after);
		step(glob, &after, '/');
	}
	for (size_t i = 0; i < WORDS; i++)
		if (before.words[i] & ~after.words[i])
			return false;
	return true;
}

/* ---- escapes ---- */

bool glob_is_one(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '\\')
			i++;
		else if (strchr("*?[{}", text.data[i]))
			return true;
	}
	return false;
}

void glob_unescape(struct bytes text, char *out)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '\\' && i + 1 < text.len)
			i++;
		*out++ = (char)text.data[i];
	}
	*out = '\0';
}

void glob_escape(struct bytes text, char *out)
{
	for (size_t i = 0; i < text.len; i++) {
		if (strchr("*?[]{},\\", text.data[i]))
			*out++ = '\\';
		*out++ = (char)text.data[i];
	}
	*out = '\0';
}

/* ---- braces ---- */

struct expanding {
	int (*on_text)(void *owner, struct bytes text);
	void *owner;
	struct glob_fault *fault;
	size_t count;
};

/* The first c1 or c2 of this level from `from`; text.len: none. */
static size_t find_level(struct bytes text, size_t from, char c1, char c2)
{
	unsigned depth = 0;

	for (size_t i = from; i < text.len; i++) {
		char c = (char)text.data[i];

		if (c == '\\') {
			i++;
		} else if (depth == 0 && (c == c1 || c == c2)) {
			return i;
		} else if (c == '{') {
			depth++;
		} else if (c == '}') {
			if (depth == 0)
				return text.len;
			depth--;
		}
	}
	return text.len;
}

static int expand(struct expanding *expanding, struct bytes text)
{
	size_t open = find_level(text, 0, '{', '}');
	size_t at = open + 1;

	if (open == text.len) {
		if (expanding->count++ == GLOB_EXPANSIONS_MAX) {
			*expanding->fault = (struct glob_fault){
				0, "its braces stand for too many patterns"};
			return -1;
		}
		return expanding->on_text(expanding->owner, text);
	}
	if (text.data[open] == '}' ||
	    find_level(text, at, '}', '}') == text.len) {
		*expanding->fault =
			(struct glob_fault){open, "a brace without the other"};
		return -1;
	}
	for (bool more = true; more;) {
		size_t end = find_level(text, at, ',', '}');
		size_t close = find_level(text, at, '}', '}');
		char whole[GLOB_TEXT_MAX];
		size_t len = open;
		int rc;

		memcpy(whole, text.data, open);
		memcpy(whole + len, text.data + at, end - at);
		len += end - at;
		memcpy(whole + len, text.data + close + 1,
		       text.len - close - 1);
		len += text.len - close - 1;
		rc = expand(expanding, bytes_from(whole, len));
		if (rc)
			return rc;
		more = end != close;
		at = end + 1;
	}
	return 0;
}

int glob_expand(struct bytes text,
		int (*on_text)(void *owner, struct bytes text), void *owner,
		struct glob_fault *fault)
{
	struct expanding expanding = {on_text, owner, fault, 0};

	size_t braces = 0;

	for (size_t i = 0; i < text.len; i++)
		braces += text.data[i] == '{';
	if (text.len >= GLOB_TEXT_MAX || braces > GLOB_EXPANSIONS_MAX) {
		*fault = (struct glob_fault){0, "the pattern is too long"};
		return -1;
	}
	return expand(&expanding, text);
}

static int check_one(void *owner, struct bytes text)
{
	struct glob glob;

	return glob_parse(&glob, text, GLOB_POLICY, owner);
}

int glob_check(struct bytes text, struct glob_fault *fault)
{
	return glob_expand(text, check_one, fault, fault);
}
