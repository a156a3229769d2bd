/*
 * filesystem: what is read and written.
 */
#include "common/cleanup.h"
#include "policies/command/paths.h"
#include "policies/settings/settings_parts.h"

static const struct settings_key keys[] = {
	{"disabled", JSON_TRUE, false, "files are always confined", NULL},
	{"denyRead", JSON_ARRAY, true, NULL, NULL},
	{"allowRead", JSON_ARRAY, false, NULL, NULL},
	{"allowWrite", JSON_ARRAY, true, NULL, NULL},
	{"denyWrite", JSON_ARRAY, true, NULL, NULL},
	{"allowGitConfig", JSON_TRUE, false, NULL,
	 "stricter: .git/config stays protected"},
};

static const json_t *list_of(const struct settings *settings, const char *name)
{
	return json_object_get(settings->filesystem, name);
}

/* ---- paths ---- */

static bool is_glob(struct bytes path)
{
	return bytes_find(path, '*', 0) >= 0 || bytes_find(path, '?', 0) >= 0 ||
	       bytes_find(path, '[', 0) >= 0;
}

/* Two stars at the end mean the directory, a slash nothing. */
static struct bytes trimmed(struct bytes path)
{
	if (bytes_ends_with(path, bytes_str("/**")))
		path.len -= strlen("/**");
	while (path.len > 1 && path.data[path.len - 1] == '/')
		path.len--;
	return path;
}

/* As a policy writes it: from the workspace, which is where srt begins. */
static const char *spelled(struct settings *settings, struct bytes path)
{
	bool is_relative = path.data[0] != '/' && path.data[0] != '~' &&
			   !bytes_is(path, ".") && !bytes_is(path, "..") &&
			   !bytes_starts_with(path, bytes_str("./")) &&
			   !bytes_starts_with(path, bytes_str("../")) &&
			   !bytes_starts_with(path, bytes_str("**/"));
	const char *text =
		arena_format(&settings->arena, "%s%.*s",
			     is_relative ? "./" : "", BYTES_ARGS(path));

	if (!text)
		settings->has_no_room = true;
	return text ? text : ".";
}

static bool absolute(struct settings *settings, struct bytes path,
		     struct bytes *out)
{
	struct bytes base = settings->facts->cwd;

	if (bytes_is(path, "~") || bytes_starts_with(path, bytes_str("~/"))) {
		if (settings->facts->home.len == 0)
			return false;
		base = settings->facts->home;
		path = bytes_slice(path, 1, path.len);
		while (path.len > 0 && path.data[0] == '/')
			path = bytes_slice(path, 1, path.len);
	}
	return path_absolute(&settings->arena, base, path, out);
}

static bool is_at_or_below(struct settings *settings, struct bytes path,
			   struct bytes place)
{
	struct bytes inner, outer;

	if (is_glob(path) || is_glob(place) ||
	    !absolute(settings, path, &inner) ||
	    !absolute(settings, place, &outer))
		return false;
	return outer.len == 1 ||
	       (bytes_starts_with(inner, outer) &&
		(inner.len == outer.len || inner.data[outer.len] == '/'));
}

static bool is_below_any(struct settings *settings, struct bytes path,
			 const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (is_at_or_below(settings, path,
				   trimmed(settings_string(list, i))))
			return true;
	return false;
}

static bool is_above_any(struct settings *settings, struct bytes place,
			 const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (is_at_or_below(settings, trimmed(settings_string(list, i)),
				   place))
			return true;
	return false;
}

/* ---- lists of the policy ---- */

struct list {
	const char *name;
	size_t count;
};

static void add_path(struct settings *settings, struct list *list,
		     struct bytes path)
{
	if (list->count++ == 0)
		settings_add(settings, "  %s:\n", list->name);
	settings_add(settings, "    - ");
	settings_add_quoted(settings, bytes_str(spelled(settings, path)));
	settings_add(settings, "\n");
}

/* Signs of a policy's patterns, which are others in srt. */
static bool has_signs(struct bytes path)
{
	for (size_t i = 0; i < path.len; i++)
		if (strchr("?[{}\\", path.data[i]))
			return true;
	return false;
}

static bool is_sound(struct settings *settings, const char *name,
		     struct bytes path)
{
	if (path.len == 0) {
		settings_error(settings, name, "a path is empty");
		return false;
	}
	if (has_signs(path)) {
		settings_error(settings, name,
			       "\"%.*s\" cannot be enforced: patterns have * "
			       "and ** here",
			       BYTES_ARGS(path));
		return false;
	}
	if (path.data[0] == '~' && path.len > 1 && path.data[1] != '/') {
		settings_error(settings, name,
			       "\"%.*s\": homes of others are not known",
			       BYTES_ARGS(path));
		return false;
	}
	return true;
}

/* With a list of what can be read: does all of a place stay open though its
 * denial would be left out for what is allowed in it? */
static bool stays_open(struct settings *settings, struct bytes path)
{
	static const struct bytes here = BYTES_LITERAL(".");
	static const char *const system_places[] = {
		"/usr",	  "/bin", "/sbin", "/lib", "/lib32",
		"/lib64", "/etc", "/proc", "/dev", "/sys"};

	for (size_t i = 0; i < ARRAY_SIZE(system_places); i++)
		if (is_at_or_below(settings, path, bytes_str(system_places[i])))
			return true;
	return is_at_or_below(settings, path, here) ||
	       is_below_any(settings, path, list_of(settings, "allowWrite"));
}

static void add_hidden(struct settings *settings, bool is_list)
{
	const json_t *denied = list_of(settings, "denyRead");
	const json_t *allowed = list_of(settings, "allowRead");
	const json_t *files = json_object_get(settings->credentials, "files");
	struct list list = {"hide", 0};

	for (size_t i = 0; i < json_array_size(denied); i++) {
		struct bytes path = trimmed(settings_string(denied, i));

		if (!is_sound(settings, "filesystem.denyRead", path))
			continue;
		if (!is_list || !is_above_any(settings, path, allowed))
			add_path(settings, &list, path);
		else if (stays_open(settings, path))
			settings_error(settings, "filesystem.denyRead",
				       "\"%.*s\" cannot be enforced: it is a "
				       "part of what stays readable, and "
				       "allowRead opens a part of it",
				       BYTES_ARGS(path));
	}
	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *file = json_array_get(files, i);
		const json_t *path = json_object_get(file, "path");
		const char *mode =
			json_string_value(json_object_get(file, "mode"));
		struct bytes text = trimmed(bytes_from(
			json_string_value(path), json_string_length(path)));

		if (!is_sound(settings, "credentials.files", text))
			continue;
		add_path(settings, &list, text);
		if (mode && !strcmp(mode, "mask"))
			settings_note(settings, "credentials.files",
				      "stricter: %.*s is hidden, not masked",
				      BYTES_ARGS(text));
	}
}

/* Of those that may be written; the workspace is no entry. */
static void add_written(struct settings *settings)
{
	const json_t *written = list_of(settings, "allowWrite");
	struct list list = {"write", 0};

	for (size_t i = 0; i < json_array_size(written); i++) {
		struct bytes path = trimmed(settings_string(written, i));

		if (!is_sound(settings, "filesystem.allowWrite", path) ||
		    bytes_is(path, "."))
			continue;
		if (is_glob(path))
			settings_note(settings, "filesystem.allowWrite",
				      "%.*s is skipped: only paths can be "
				      "opened for writing",
				      BYTES_ARGS(path));
		else
			add_path(settings, &list, path);
	}
}

static void add_protected(struct settings *settings)
{
	const json_t *denied = list_of(settings, "denyWrite");
	struct list list = {"protect", 0};

	for (size_t i = 0; i < json_array_size(denied); i++) {
		struct bytes path = trimmed(settings_string(denied, i));

		if (is_sound(settings, "filesystem.denyWrite", path))
			add_path(settings, &list, path);
	}
}

/* denyRead with allowRead inside it: then what can be read is listed. */
static bool needs_list(struct settings *settings)
{
	const json_t *denied = list_of(settings, "denyRead");
	const json_t *allowed = list_of(settings, "allowRead");

	for (size_t i = 0; i < json_array_size(allowed); i++)
		if (is_below_any(settings, trimmed(settings_string(allowed, i)),
				 denied))
			return true;
	return false;
}

static void add_read(struct settings *settings)
{
	const json_t *allowed = list_of(settings, "allowRead");
	struct list list = {"read", 0};

	for (size_t i = 0; i < json_array_size(allowed); i++) {
		struct bytes path = trimmed(settings_string(allowed, i));

		if (!is_sound(settings, "filesystem.allowRead", path))
			continue;
		if (is_glob(path))
			settings_note(settings, "filesystem.allowRead",
				      "stricter: %.*s is skipped: only paths "
				      "can be opened again",
				      BYTES_ARGS(path));
		else
			add_path(settings, &list, path);
	}
	settings_note(settings, "filesystem.denyRead",
		      "stricter: with allowRead inside it, only the system's "
		      "directories, what allowRead and allowWrite name and the "
		      "current directory can be read");
}

void settings_filesystem(struct settings *settings)
{
	static const struct bytes here = BYTES_LITERAL(".");
	bool is_list;

	settings_check(settings, settings->filesystem, "filesystem", keys,
		       ARRAY_SIZE(keys));
	is_list = needs_list(settings);
	settings_add(
		settings, "filesystem:\n  workspace: {path: ., mode: %s}\n",
		is_below_any(settings, here, list_of(settings, "allowWrite"))
			? "write"
			: "read");
	if (is_list)
		add_read(settings);
	add_written(settings);
	add_hidden(settings, is_list);
	add_protected(settings);
}
