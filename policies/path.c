#include "policies/path.h"

#include "common/cleanup.h"
#include "common/utf8.h"

#define ESCAPE_LEN 3 /* %2F */

static const char ambiguous[] = "the path can be read in two ways: ";

static int hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* RFC 3986 2.3. */
static bool is_unreserved(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
	       c == '~';
}

/* May stand in a path without an escape (RFC 3986 3.3, less ';'). */
static bool is_plain(uint8_t c)
{
	return is_unreserved(c) || (c && strchr("/!$&'()*+,=:@", c));
}

/* The byte that the escape at the start of text means; -1: no escape. */
static int escape_value(struct bytes text)
{
	int high;
	int low;

	if (text.len < ESCAPE_LEN || text.data[0] != '%')
		return -1;
	high = hex_value(text.data[1]);
	low = hex_value(text.data[2]);
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static size_t put_escape(uint8_t *out, uint8_t c)
{
	static const char digits[] = "0123456789ABCDEF";

	out[0] = '%';
	out[1] = (uint8_t)digits[c >> 4];
	out[2] = (uint8_t)digits[c & 15];
	return ESCAPE_LEN;
}

/* One byte or escape at the start of in: its canonical form to out[3], of
 * *len bytes. How many bytes of in it took; 0: refused. */
static size_t step(struct bytes in, uint8_t *out, size_t *len, struct err *err)
{
	uint8_t c = in.data[0];
	int value;

	if (c < 0x21 || c > 0x7e || strchr("\\;?#", c)) {
		err_set(err, ERR_INVALID, "%sbyte 0x%02x", ambiguous, c);
		return 0;
	}
	if (c != '%') {
		*len = is_plain(c) ? 1 : put_escape(out, c);
		if (*len == 1)
			out[0] = c;
		return 1;
	}
	value = escape_value(in);
	if (value < 0x20 || value == '/' || value == '\\' || value == 0x7f) {
		err_set(err, ERR_INVALID, "%sescape \"%.*s\"", ambiguous,
			BYTES_ARGS(bytes_slice(in, 0, ESCAPE_LEN)));
		return 0;
	}
	*len = is_unreserved((uint8_t)value) ? 1
					     : put_escape(out, (uint8_t)value);
	if (*len == 1)
		out[0] = (uint8_t)value;
	return ESCAPE_LEN;
}

/* What an upstream that decodes once, or twice, would see. */
static int check_decoded(struct arena *arena, struct bytes path,
			 struct err *err)
{
	uint8_t *decoded = arena_alloc(arena, path.len);
	size_t len = 0;

	if (!decoded)
		return err_set(err, ERR_TOO_LARGE, "no memory for a path");
	for (size_t at = 0; at < path.len; len++) {
		struct bytes rest = bytes_slice(path, at, path.len);
		int value = escape_value(rest);

		if (value == '%' && rest.len >= ESCAPE_LEN + 2 &&
		    hex_value(rest.data[ESCAPE_LEN]) >= 0 &&
		    hex_value(rest.data[ESCAPE_LEN + 1]) >= 0)
			return err_set(err, ERR_INVALID, "%sescaped twice",
				       ambiguous);
		decoded[len] = value < 0 ? path.data[at] : (uint8_t)value;
		at += value < 0 ? 1 : ESCAPE_LEN;
	}
	if (utf8_valid_len(bytes_from(decoded, len)) != len)
		return err_set(err, ERR_INVALID, "%snot UTF-8", ambiguous);
	return 0;
}

/* "." or ".." with parameters, a query or a fragment behind it, or blanks, to
 * whoever decodes it before it is split: "..;" is ".." to some servers. */
static bool hides_dots(struct bytes segment)
{
	static const char *const ends[] = {"%3B", "%3F", "%23"};
	static const struct bytes blank = BYTES_LITERAL("%20");
	size_t dots = 0;

	while (dots < segment.len && segment.data[dots] == '.')
		dots++;
	if (dots == 0 || dots > 2)
		return false;
	segment = bytes_slice(segment, dots, segment.len);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (bytes_starts_with(segment, bytes_str(ends[i])))
			return true;
	if (segment.len == 0)
		return false;
	while (bytes_starts_with(segment, blank))
		segment = bytes_slice(segment, blank.len, segment.len);
	return segment.len == 0;
}

/* Drop "." segments of data[len] in place and refuse what else is not a
 * plain segment. The new length; 0: refused. */
static size_t resolve(uint8_t *data, size_t len, struct err *err)
{
	struct bytes rest = bytes_from(data + 1, len - 1);
	struct bytes segment;
	size_t end = 1;
	bool more = true;

	while (more) {
		more = bytes_split(&rest, '/', &segment);
		if (bytes_is(segment, "..") || (more && segment.len == 0) ||
		    hides_dots(segment)) {
			err_set(err, ERR_INVALID, "%s\"%s\"", ambiguous,
				segment.len ? ".." : "//");
			return 0;
		}
		if (bytes_is(segment, "."))
			continue;
		memmove(data + end, segment.data, segment.len);
		end += segment.len;
		if (more)
			data[end++] = '/';
	}
	return end;
}

/* npm and its kin ask for a scoped package as "/@scope%2fname", below
 * whatever prefix the registry has, and registries serve "/@scope/name" alike:
 * that escaped slash, the first escape of the path, becomes a plain one, so
 * that what is decided on is what is sent. Its offset, or 0. */
static size_t scoped_slash(struct bytes path)
{
	ptrdiff_t at = bytes_find(path, '%', 0);
	ptrdiff_t start = at;

	while (start > 0 && is_unreserved(path.data[start - 1]))
		start--;
	if (at - start < 1 || start < 2 || path.data[start - 1] != '@' ||
	    path.data[start - 2] != '/')
		return 0;
	return escape_value(bytes_slice(path, (size_t)at, path.len)) == '/'
		       ? (size_t)at
		       : 0;
}

int path_normalise(struct arena *arena, struct bytes path, struct bytes *out,
		   struct err *err)
{
	size_t slash = scoped_slash(path);
	size_t len = 0;
	uint8_t *data;

	if (path.len == 0 || path.data[0] != '/')
		return err_set(err, ERR_INVALID, "the path has no leading '/'");
	if (path.len > PATH_MAX_LEN)
		return err_set(err, ERR_INVALID, "the path is too long");
	data = arena_alloc(arena, path.len * ESCAPE_LEN);
	if (!data)
		return err_set(err, ERR_TOO_LARGE, "no memory for a path");
	for (size_t at = 0; at < path.len;) {
		struct bytes rest = bytes_slice(path, at, path.len);
		size_t put = 1;
		size_t took = ESCAPE_LEN;

		if (slash && at == slash)
			data[len] = '/';
		else
			took = step(rest, data + len, &put, err);
		if (took == 0)
			return -1;
		at += took;
		len += put;
	}
	len = resolve(data, len, err);
	if (len == 0)
		return -1;
	if (len > PATH_MAX_LEN)
		return err_set(err, ERR_INVALID, "the path is too long");
	*out = bytes_from(data, len);
	return check_decoded(arena, *out, err);
}

/* Where a star may be taken up again: the glob after it, and the text that
 * it has not swallowed yet. */
struct star {
	bool is_set;
	size_t glob;
	size_t path;
};

/* What did not match is given to a star. False: no star can take it. */
static bool retry(struct bytes path, struct star *one, struct star *two)
{
	if (one->is_set) {
		/* With no text left a later start cannot do better. */
		if (one->path == path.len)
			return false;
		if (path.data[one->path] != '/') {
			one->path++;
			return true;
		}
		/* It stopped at a '/'; so would it from any later start of
		 * "**" within the same segment. */
		one->is_set = false;
		if (!two->is_set)
			return false;
		two->path = (size_t)bytes_find(path, '/', two->path) + 1;
		return true;
	}
	if (!two->is_set || two->path == path.len)
		return false;
	two->path++;
	return true;
}

static uint8_t lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

enum strictness { EXACT, NOCASE, LOOSE };

/* What stands at text[at], and how many bytes it takes. */
static uint8_t read_at(struct bytes text, size_t at, enum strictness how,
		       size_t *len)
{
	int value = how == LOOSE ? escape_value(bytes_slice(text, at, text.len))
				 : -1;

	*len = value < 0 ? 1 : ESCAPE_LEN;
	return value < 0 ? text.data[at] : (uint8_t)value;
}

/* Go on in both where they are the same. */
static bool step_both(struct bytes glob, size_t *g, struct bytes path,
		      size_t *p, enum strictness how)
{
	size_t glob_len, path_len;
	uint8_t a, b;

	if (*g == glob.len || *p == path.len)
		return false;
	a = read_at(glob, *g, how, &glob_len);
	b = read_at(path, *p, how, &path_len);
	if (a != b && (how == EXACT || lower(a) != lower(b)))
		return false;
	*g += glob_len;
	*p += path_len;
	return true;
}

static bool matches(struct bytes glob, struct bytes path, enum strictness how)
{
	struct star one = {false, 0, 0};
	struct star two = {false, 0, 0};
	size_t g = 0;
	size_t p = 0;

	while (g < glob.len || p < path.len) {
		if (g < glob.len && glob.data[g] == '*') {
			size_t from = g;

			while (g < glob.len && glob.data[g] == '*')
				g++;
			one = (struct star){g - from == 1, g, p};
			if (g - from > 1)
				two = (struct star){true, g, p};
			continue;
		}
		if (step_both(glob, &g, path, &p, how))
			continue;
		if (!retry(path, &one, &two))
			return false;
		g = one.is_set ? one.glob : two.glob;
		p = one.is_set ? one.path : two.path;
	}
	return true;
}

bool path_matches(struct bytes glob, struct bytes path)
{
	return matches(glob, path, EXACT);
}

bool path_matches_nocase(struct bytes glob, struct bytes path)
{
	return matches(glob, path, NOCASE);
}

bool path_matches_loosely(struct bytes glob, struct bytes path)
{
	return matches(glob, path, LOOSE);
}
