#include "policies/command/paths.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "policies/command/meet.h"

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

/* A pattern of the policy in its absolute form. */
static bool absolute_pattern(struct path_places *places, struct bytes pattern,
			     struct bytes *absolute)
{
	static const struct bytes root = BYTES_LITERAL("/");
	struct bytes base = places->workspace;

	if (bytes_is(pattern, "~") ||
	    bytes_starts_with(pattern, bytes_str("~/"))) {
		if (places->home.len == 0)
			return false;
		base = places->home;
		pattern = bytes_slice(pattern, 1, pattern.len);
		while (pattern.len > 0 && pattern.data[0] == '/')
			pattern = bytes_slice(pattern, 1, pattern.len);
	} else if (bytes_starts_with(pattern, bytes_str("**/"))) {
		base = root;
	}
	return path_absolute(places->arena, base, pattern, absolute);
}

/* ---- what is hidden ---- */

/* Is the path, or a directory that it is in, one of the pattern's? */
static enum path_answer meets(struct path_places *places, struct bytes hide,
			      struct bytes path)
{
	for (size_t end = 1; end <= path.len; end++) {
		struct bytes head = bytes_slice(path, 0, end);

		if (end < path.len && path.data[end] != '/')
			continue;
		places->work += (hide.len + 1) * (end + 1);
		if (places->work > PATHS_WORK_MAX)
			return PATH_UNCLEAR;
		if (patterns_meet(hide, head))
			return has_marks(head) ? PATH_UNCLEAR : PATH_HIDDEN;
	}
	return PATH_FINE;
}

/* The absolute patterns, once. False: one of them cannot be had. */
static bool find_hidden(struct path_places *places)
{
	const struct policy_strings *hide = &places->policy->filesystem.hide;
	struct bytes *all;

	if (places->hidden)
		return true;
	all = arena_array(places->arena, hide->count, sizeof(*all));
	for (size_t i = 0; all && i < hide->count; i++)
		if (!absolute_pattern(places, hide->items[i], &all[i]))
			return false;
	places->hidden = all;
	return all;
}

static enum path_answer check_hidden(struct path_places *places,
				     struct bytes path)
{
	size_t count = places->policy->filesystem.hide.count;
	enum path_answer worst = PATH_FINE;

	if (count == 0)
		return PATH_FINE;
	if (!find_hidden(places))
		return PATH_UNCLEAR;
	for (size_t i = 0; i < count; i++) {
		enum path_answer answer =
			meets(places, places->hidden[i], path);

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

static enum path_answer check_absolute(struct path_places *places,
				       struct bytes path, bool is_write,
				       bool is_place)
{
	enum path_answer answer = check_hidden(places, path);
	struct bytes head = plain_head(path);

	if (answer != PATH_FINE || !is_place)
		return answer;
	return may_read(places, head) && (!is_write || may_write(places, head))
		       ? PATH_FINE
		       : PATH_OUTSIDE;
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
		BYTES_LITERAL("file://localhost/"), BYTES_LITERAL("file:///"),
		BYTES_LITERAL("file:/")};

	if (shape.len > 1 && shape.data[0] == '@')
		shape = bytes_slice(shape, 1, shape.len);
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (bytes_starts_with(shape, schemes[i]))
			return bytes_slice(shape, schemes[i].len - 1,
					   shape.len);
	return shape;
}

enum path_answer path_of_word(struct path_places *places,
			      const struct shell_word *word)
{
	struct bytes shape = word->shape;
	struct bytes value = shape;
	struct bytes name;
	enum path_answer worst = PATH_FINE;
	bool is_option = shape.len > 1 && shape.data[0] == '-';

	if (is_option && bytes_find(shape, SHELL_ANYTHING, 0) >= 0)
		return check(places, bytes_slice(shape, 1, shape.len), false);
	if (!is_option)
		worst = check(places, without_scheme(shape), false);
	if (bytes_split(&value, '=', &name)) {
		enum path_answer answer =
			check(places, without_scheme(value), false);

		if (answer > worst)
			worst = answer;
	} else if (is_option && shape.len > 2 && shape.data[1] != '-') {
		worst = check(places,
			      without_scheme(bytes_slice(shape, 2, shape.len)),
			      false);
	}
	return worst;
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
