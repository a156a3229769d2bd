#include "policies/command/paths.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "policies/command/meet.h"
#include "policies/glob.h"

/* Steps of matching that take as long as to look at a byte of a path. */
#define REAL_WORK 32
/* Bytes of a word in which letters of options are looked for. */
#define CLUSTER_MAX 8

/* Readable whatever `read` says, as the sandbox mounts them. */
static const char *const system_places[] = {
	"/usr",	 "/bin", "/sbin", "/lib", "/lib32",   "/lib64",	       "/etc",
	"/proc", "/dev", "/sys",  "/tmp", "/var/tmp", "/run/sallyport"};
static const char *const write_places[] = {"/tmp", "/var/tmp"};
static const char *const devices[] = {
	"/dev/null",   "/dev/zero",   "/dev/full", "/dev/stdin",
	"/dev/stdout", "/dev/stderr", "/dev/tty"};

static bool has_marks(struct bytes shape)
{
	for (size_t i = 0; i < shape.len; i++)
		if (shape.data[i] < ' ')
			return true;
	return false;
}

/* ---- absolute paths ---- */

static bool add_component(struct buf *out, struct bytes part)
{
	if (part.len == 0 || bytes_is(part, "."))
		return true;
	if (bytes_is(part, "..")) {
		while (out->end > out->start && out->data[--out->end] != '/')
			;
		return true;
	}
	/* ".*" stands for ".." in some shells. */
	if (part.data[0] == '.' && has_marks(part))
		return false;
	return buf_add_byte(out, '/') == 0 && buf_add(out, part) == 0;
}

static bool add_path(struct buf *out, struct bytes path)
{
	struct bytes part;

	while (path.len > 0) {
		(void)bytes_split(&path, '/', &part);
		if (!add_component(out, part))
			return false;
	}
	return true;
}

bool path_absolute(struct arena *arena, struct bytes cwd, struct bytes shape,
		   struct bytes *absolute)
{
	auto_type(buf_release) struct buf out;
	bool is_absolute = shape.len > 0 && shape.data[0] == '/';

	buf_init(&out, MEET_MAX);
	if ((!is_absolute && !add_path(&out, cwd)) || !add_path(&out, shape) ||
	    (buf_len(&out) == 0 && buf_add_byte(&out, '/') < 0))
		return false;
	*absolute = arena_copy(arena, buf_view(&out));
	return absolute->len > 0;
}

/* What a pattern of the policy begins at; empty: it is not known. */
static struct bytes base_of(const struct path_places *places,
			    struct bytes *pattern)
{
	if (bytes_starts_with(*pattern, bytes_str("**/")))
		return bytes_str("/");
	if (!bytes_is(*pattern, "~") &&
	    !bytes_starts_with(*pattern, bytes_str("~/")))
		return places->workspace;
	*pattern = bytes_slice(*pattern, 1, pattern->len);
	while (pattern->len > 0 && pattern->data[0] == '/')
		*pattern = bytes_slice(*pattern, 1, pattern->len);
	return places->home;
}

/* A pattern of the policy in its absolute form. */
static bool absolute_pattern(struct path_places *places, struct bytes pattern,
			     struct bytes *absolute)
{
	struct bytes base = base_of(places, &pattern);

	return base.len > 0 &&
	       path_absolute(places->arena, base, pattern, absolute);
}

/* ---- what is hidden ---- */

/* One pattern without braces. */
struct path_hidden {
	struct bytes loose; /* its ? and [...] as stars, for meet.h */
	struct bytes exact; /* as it is written */
	const struct path_hidden *next;
};

/* The end of hide: no pattern. */
static const struct path_hidden no_more;

static bool is_exactly(struct bytes pattern, struct bytes path)
{
	struct glob_fault fault;
	struct glob glob;

	return glob_parse(&glob, pattern, GLOB_POLICY, &fault) < 0 ||
	       glob_matches(&glob, path);
}

/* Is the path, or a directory that it is in, one of the pattern's? */
static enum path_answer meets(struct path_places *places,
			      const struct path_hidden *hide, struct bytes path)
{
	for (size_t end = 1; end <= path.len; end++) {
		struct bytes head = bytes_slice(path, 0, end);

		if (end < path.len && path.data[end] != '/')
			continue;
		places->work += (hide->loose.len + 1) * (end + 1);
		if (places->work > PATHS_WORK_MAX)
			return PATH_UNCLEAR;
		if (!patterns_meet(hide->loose, head))
			continue;
		if (has_marks(head))
			return PATH_UNCLEAR;
		if (is_exactly(hide->exact, head))
			return PATH_HIDDEN;
	}
	return PATH_FINE;
}

/* The "]" of the set at `at`, as glob.h reads it. */
static size_t set_end(struct bytes pattern, size_t at)
{
	size_t first = at + 1;

	if (first < pattern.len && strchr("!^", pattern.data[first]))
		first++;
	for (size_t i = first; i < pattern.len; i++) {
		struct bytes rest = bytes_slice(pattern, i, pattern.len);
		ptrdiff_t end = bytes_find_bytes(rest, bytes_str(":]"), 0);

		if (pattern.data[i] == ']' && i > first)
			return i;
		if (pattern.data[i] == '\\')
			i++;
		else if (bytes_starts_with(rest, bytes_str("[:")) && end > 0)
			i += (size_t)end + 1;
	}
	return pattern.len;
}

/* A pattern that matches all that this one does, and has stars alone. */
static struct bytes loosened(struct arena *arena, struct bytes pattern)
{
	uint8_t *out = arena_alloc(arena, pattern.len + 1);
	size_t len = 0;

	for (size_t i = 0; out && i < pattern.len; i++) {
		uint8_t c = pattern.data[i];

		if (c == '[')
			i = set_end(pattern, i);
		else if (c == '\\')
			i++;
		out[len++] = strchr("[\\?", c) ? '*' : c;
	}
	return bytes_from(out, len);
}

static int add_hidden(void *owner, struct bytes text)
{
	struct path_places *places = owner;
	struct path_hidden *hidden =
		arena_alloc(places->arena, sizeof(*hidden));
	struct bytes base = base_of(places, &text);
	struct bytes loose = loosened(places->arena, text);
	char escaped[2 * MEET_MAX + 1];

	if (!hidden || !loose.data || base.len == 0 || base.len > MEET_MAX)
		return 1;
	glob_escape(base, escaped);
	hidden->next = places->hidden;
	if (!path_absolute(places->arena, base, loose, &hidden->loose) ||
	    !path_absolute(places->arena, bytes_str(escaped), text,
			   &hidden->exact))
		return 1;
	places->hidden = hidden;
	return 0;
}

/* The absolute patterns, once. False: one of them cannot be had. */
static bool find_hidden(struct path_places *places)
{
	const struct policy_strings *hide = &places->policy->filesystem.hide;
	struct glob_fault fault;

	if (places->hidden)
		return true;
	places->hidden = &no_more;
	for (size_t i = 0; i < hide->count; i++)
		if (glob_expand(hide->items[i], add_hidden, places, &fault)) {
			places->hidden = NULL;
			return false;
		}
	return true;
}

static enum path_answer check_hidden(struct path_places *places,
				     struct bytes path)
{
	enum path_answer worst = PATH_FINE;

	if (places->policy->filesystem.hide.count == 0)
		return PATH_FINE;
	if (!find_hidden(places))
		return PATH_UNCLEAR;
	for (const struct path_hidden *hide = places->hidden; hide != &no_more;
	     hide = hide->next) {
		enum path_answer answer = meets(places, hide, path);

		if (answer > worst)
			worst = answer;
	}
	return worst;
}

/* ---- where one may read and write ---- */

static bool is_below(struct bytes path, struct bytes place)
{
	if (place.len == 1)
		return true;
	return bytes_starts_with(path, place) &&
	       (path.len == place.len || path.data[place.len] == '/');
}

/* The directory that all which a pattern stands for is in. */
static struct bytes plain_head(struct bytes path)
{
	size_t end = 0;

	if (!has_marks(path))
		return path;
	for (size_t i = 0; i < path.len && path.data[i] >= ' '; i++)
		if (path.data[i] == '/')
			end = i;
	return bytes_slice(path, 0, end ? end : 1);
}

static bool is_in_one(struct path_places *places, struct bytes path,
		      const struct policy_strings *list)
{
	struct bytes place;

	for (size_t i = 0; i < list->count; i++)
		/* What a pattern of the policy opens is for the sandbox. */
		if (!absolute_pattern(places, list->items[i], &place) ||
		    bytes_find(place, '*', 0) >= 0 || is_below(path, place))
			return true;
	return false;
}

static bool is_in(struct bytes path, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_below(path, bytes_str(list[i])))
			return true;
	return false;
}

static bool may_write(struct path_places *places, struct bytes path)
{
	const struct policy_filesystem *files = &places->policy->filesystem;

	return (files->workspace_mode == WORKSPACE_WRITE &&
		is_below(path, places->workspace)) ||
	       is_in_one(places, path, &files->write) ||
	       is_in(path, write_places, ARRAY_SIZE(write_places)) ||
	       is_in(path, devices, ARRAY_SIZE(devices)) ||
	       bytes_starts_with(path, bytes_str("/dev/fd/"));
}

static bool may_read(struct path_places *places, struct bytes path)
{
	const struct policy_filesystem *files = &places->policy->filesystem;

	return !files->has_read || is_below(path, places->workspace) ||
	       is_in_one(places, path, &files->read) ||
	       is_in_one(places, path, &files->write) ||
	       is_in(path, system_places, ARRAY_SIZE(system_places));
}

/* ---- a path in one of its spellings ---- */

static bool protects(const struct path_places *places, bool is_write)
{
	return is_write || places->policy->filesystem.has_read ||
	       places->policy->filesystem.hide.count > 0;
}

/* /proc/1/cwd/x, /proc/self/root/x: another way to any path. */
static bool is_roundabout(struct bytes path)
{
	struct bytes part;

	if (!is_below(path, bytes_str("/proc")))
		return false;
	for (size_t i = 0; bytes_split(&path, '/', &part); i++)
		if (i > 2 && (bytes_is(part, "cwd") || bytes_is(part, "root") ||
			      has_marks(part)))
			return true;
	return false;
}

static enum path_answer check_absolute(struct path_places *places,
				       struct bytes path, bool is_write,
				       bool is_place)
{
	enum path_answer answer =
		is_roundabout(path) ? PATH_UNCLEAR : check_hidden(places, path);
	struct bytes head = plain_head(path);

	if (answer != PATH_FINE || !is_place)
		return answer;
	return may_read(places, head) && (!is_write || may_write(places, head))
		       ? PATH_FINE
		       : PATH_OUTSIDE;
}

/* The same of what it leads to, if that is another place. Whoever makes links
 * makes such as take long to follow. */
static enum path_answer check_real(struct path_places *places,
				   struct bytes path, bool is_write)
{
	struct bytes real;

	if (!places->real || has_marks(path) ||
	    !is_below(path, places->workspace))
		return PATH_FINE;
	places->work += path.len * REAL_WORK;
	if (places->work > PATHS_WORK_MAX || places->links > PATHS_LINKS_MAX)
		return PATH_UNCLEAR;
	real = places->real(places->arena, path);
	if (bytes_equal(real, path))
		return PATH_FINE;
	if (++places->links > PATHS_LINKS_MAX)
		return PATH_UNCLEAR;
	return real.len == 0 ? PATH_FINE
			     : check_absolute(places, real, is_write, true);
}

static bool goes_up(struct bytes shape)
{
	struct bytes part;

	while (shape.len > 0) {
		(void)bytes_split(&shape, '/', &part);
		if (bytes_is(part, ".."))
			return true;
	}
	return false;
}

/* Behind a link ".." is where that leads to: "link/../x". */
static enum path_answer check_written(struct path_places *places,
				      struct bytes cwd, struct bytes shape,
				      bool is_write)
{
	const char *whole;

	if (!places->real || !goes_up(shape))
		return PATH_FINE;
	if (shape.data[0] == '/')
		return check_real(places, shape, is_write);
	whole = arena_format(places->arena, "%.*s/%.*s", BYTES_ARGS(cwd),
			     BYTES_ARGS(shape));
	return whole ? check_real(places, bytes_str(whole), is_write)
		     : PATH_UNCLEAR;
}

/* is_place: it is written as a path, not as a word that may be a name. */
static enum path_answer check_shape(struct path_places *places,
				    struct bytes shape, bool is_write,
				    bool is_place)
{
	enum path_answer worst = PATH_FINE;
	bool is_absolute = shape.len > 0 && shape.data[0] == '/';
	size_t count = is_absolute ? 1 : places->cwd_count;

	if (shape.len == 0 || !protects(places, is_write))
		return PATH_FINE;
	if (bytes_find(shape, SHELL_ANYTHING, 0) >= 0 || count == 0)
		return PATH_UNCLEAR;
	for (size_t i = 0; i < count; i++) {
		enum path_answer answer = PATH_UNCLEAR;
		struct bytes path;

		if (path_absolute(places->arena, places->cwd[i], shape, &path))
			answer = check_absolute(places, path, is_write,
						is_place);
		if (answer == PATH_FINE)
			answer = check_real(places, path, is_write);
		if (answer == PATH_FINE)
			answer = check_written(places, places->cwd[i], shape,
					       is_write);
		if (answer > worst)
			worst = answer;
	}
	return worst;
}

/* With its %41 undone; false: there is none. */
static bool unescape(struct path_places *places, struct bytes shape,
		     struct bytes *out)
{
	auto_type(buf_release) struct buf text;
	uint8_t byte = 0;
	bool found = false;

	buf_init(&text, SHELL_LINE_MAX);
	for (size_t i = 0; i < shape.len; i++) {
		bool is_escape =
			shape.data[i] == '%' && i + 2 < shape.len &&
			bytes_from_hex(bytes_slice(shape, i + 1, i + 3),
				       &byte) == 0 &&
			byte >= ' ';

		found |= is_escape;
		if (buf_add_byte(&text, is_escape ? byte : shape.data[i]) < 0)
			return false;
		i += is_escape ? 2 : 0;
	}
	*out = arena_copy(places->arena, buf_view(&text));
	return found && out->len == buf_len(&text);
}

static bool is_written_as_path(struct bytes shape)
{
	return bytes_find(shape, '/', 0) >= 0 || bytes_is(shape, "..") ||
	       bytes_find(shape, SHELL_ANYTHING, 0) >= 0;
}

static enum path_answer check(struct path_places *places, struct bytes shape,
			      bool is_write)
{
	enum path_answer answer = check_shape(
		places, shape, is_write, is_write || is_written_as_path(shape));
	struct bytes plain = shape;

	for (int rounds = 0; answer == PATH_FINE && rounds < 3; rounds++) {
		if (!unescape(places, plain, &plain))
			break;
		if (check_shape(places, plain, is_write, true) != PATH_FINE)
			answer = PATH_UNCLEAR;
	}
	return answer;
}

/* ---- words ---- */

/* file:///etc, @/etc (of curl) */
static struct bytes without_scheme(struct bytes shape)
{
	static const struct bytes schemes[] = {
		BYTES_LITERAL("file://localhost/"),
		BYTES_LITERAL("file://127.0.0.1/"), BYTES_LITERAL("file:///"),
		BYTES_LITERAL("file:/")};

	if (shape.len > 1 && shape.data[0] == '@')
		shape = bytes_slice(shape, 1, shape.len);
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (bytes_equal_nocase(bytes_slice(shape, 0, schemes[i].len),
				       schemes[i]))
			return bytes_slice(shape, schemes[i].len - 1,
					   shape.len);
	return shape;
}

/* name@file, name=<file;type=..., @file,file (of curl): behind each such sign.
 */
static enum path_answer check_named(struct path_places *places,
				    struct bytes shape)
{
	enum path_answer worst = PATH_FINE;
	const char *signs = "@<";

	for (size_t i = 0; i < shape.len; i++) {
		enum path_answer answer;
		size_t end = i + 1;

		if (!strchr(signs, shape.data[i]))
			continue;
		signs = "@<,;";
		while (end < shape.len && !strchr(";,", shape.data[end]))
			end++;
		answer = check(places, bytes_slice(shape, i + 1, end), false);
		if (answer > worst)
			worst = answer;
	}
	return worst;
}

static enum path_answer worse(enum path_answer one, enum path_answer other)
{
	return one > other ? one : other;
}

/* curl makes many names of one: file:///{a,b}, file:///[a-z] */
static bool is_many(struct bytes shape)
{
	struct bytes path = without_scheme(shape);

	return path.len < shape.len && shape.data[0] != '@' &&
	       (bytes_find(path, '{', 0) >= 0 || bytes_find(path, '[', 0) >= 0);
}

/* -sTfile: a value behind more letters than one. Only what is hidden counts:
 * most of such are no paths. */
static enum path_answer check_cluster(struct path_places *places,
				      struct bytes shape)
{
	enum path_answer worst = PATH_FINE;

	for (size_t at = 3; at < shape.len && at < CLUSTER_MAX; at++) {
		struct bytes value = bytes_slice(shape, at, shape.len);

		if (shape.data[at - 1] < 'A')
			break;
		for (size_t i = 0; i < places->cwd_count; i++) {
			struct bytes path;

			if (path_absolute(places->arena, places->cwd[i], value,
					  &path))
				worst = worse(worst,
					      check_hidden(places, path));
		}
	}
	return worst;
}

enum path_answer path_of_word(struct path_places *places,
			      const struct shell_word *word)
{
	struct bytes shape = word->shape;
	struct bytes value = shape;
	struct bytes name;
	enum path_answer worst = PATH_FINE;
	bool is_option = shape.len > 1 && shape.data[0] == '-';

	if (is_many(shape) && protects(places, false))
		return PATH_UNCLEAR;
	if (is_option && bytes_find(shape, SHELL_ANYTHING, 0) >= 0)
		return check(places, bytes_slice(shape, 1, shape.len), false);
	if (!is_option)
		worst = check(places, without_scheme(shape), false);
	if (bytes_split(&value, '=', &name))
		worst = worse(worst,
			      check(places, without_scheme(value), false));
	else if (is_option && shape.len > 2 && shape.data[1] != '-')
		worst = worse(
			check(places,
			      without_scheme(bytes_slice(shape, 2, shape.len)),
			      false),
			check_cluster(places, shape));
	return worse(worst, check_named(places, shape));
}

enum path_answer path_of_target(struct path_places *places,
				const struct shell_word *word, bool is_write)
{
	return check(places, word->shape, is_write);
}

void path_change(struct path_places *places, const struct shell_word *word)
{
	size_t count = places->cwd_count;
	struct bytes shape = word ? word->shape : places->home;

	if (shape.len == 0 || has_marks(shape) || bytes_is(shape, "-") ||
	    count * 2 > PATHS_CWD_MAX) {
		places->cwd_count = 0;
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (!path_absolute(places->arena, places->cwd[i], shape,
				   &places->cwd[places->cwd_count++])) {
			places->cwd_count = 0;
			return;
		}
}
