#include "policies/settings/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "policies/policy.h"
#include "policies/settings/settings_parts.h"

#define LINE_MAX_BYTES	   2048
#define SETTINGS_ARENA_MAX (16 * 1024 * 1024)

/* ---- what is told ---- */

static void tell(struct settings *settings, const char *kind, const char *where,
		 const char *text)
{
	if (buf_add_format(settings->notes, "%s: %s%s%s%s\n",
			   settings->facts->file, kind, where,
			   where[0] ? ": " : "", text) < 0)
		settings->has_no_room = true;
}

void settings_error(struct settings *settings, const char *where,
		    const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	settings->is_wrong = true;
	tell(settings, "", where, text);
}

void settings_note(struct settings *settings, const char *where,
		   const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tell(settings, "note: ", where, text);
}

/* ---- the policy's text ---- */

void settings_add(struct settings *settings, const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(text) ||
	    buf_add_str(settings->policy, text) < 0)
		settings->has_no_room = true;
}

void settings_add_quoted(struct settings *settings, struct bytes text)
{
	bool has_room = buf_add_byte(settings->policy, '"') == 0;

	for (size_t i = 0; i < text.len && has_room; i++) {
		uint8_t c = text.data[i];

		if (c < ' ' || c == 0x7f) {
			settings_error(settings, "",
				       "a control character in \"%.*s\"",
				       BYTES_ARGS(bytes_slice(text, 0, i)));
			return;
		}
		if (c == '"' || c == '\\')
			has_room = buf_add_byte(settings->policy, '\\') == 0;
		has_room &= buf_add_byte(settings->policy, c) == 0;
	}
	if (!has_room || buf_add_byte(settings->policy, '"') < 0)
		settings->has_no_room = true;
}

struct bytes settings_string(const json_t *list, size_t i)
{
	const json_t *item = json_array_get(list, i);

	return bytes_from(json_string_value(item), json_string_length(item));
}

/* ---- keys ---- */

static const char *join(struct settings *settings, const char *where,
			const char *name)
{
	const char *joined =
		where[0] ? arena_format(&settings->arena, "%s.%s", where, name)
			 : name;

	return joined ? joined : name;
}

static const char *type_name(json_type type)
{
	return type == JSON_OBJECT    ? "an object"
	       : type == JSON_ARRAY   ? "a list of strings"
	       : type == JSON_STRING  ? "a string"
	       : type == JSON_INTEGER ? "a whole number"
				      : "true or false";
}

static bool is_of_type(const json_t *value, json_type type)
{
	if (type == JSON_TRUE)
		return json_is_boolean(value);
	return json_typeof(value) == type;
}

/* Does the value say anything? */
static bool is_set(const json_t *value)
{
	return !json_is_false(value) &&
	       !(json_is_array(value) && json_array_size(value) == 0) &&
	       !(json_is_object(value) && json_object_size(value) == 0);
}

static void check_list(struct settings *settings, const json_t *list,
		       const char *where)
{
	if (json_array_size(list) > SETTINGS_LIST_MAX)
		settings_error(settings, where, "more than %d entries",
			       SETTINGS_LIST_MAX);
}

static void check_value(struct settings *settings, const json_t *value,
			const char *where, const struct settings_key *key)
{
	if (!is_of_type(value, key->type)) {
		settings_error(settings, where, "this must be %s",
			       type_name(key->type));
		return;
	}
	if (key->type == JSON_ARRAY)
		check_list(settings, value, where);
	if (key->refusal && is_set(value))
		settings_error(settings, where, "%s", key->refusal);
	if (key->note && is_set(value))
		settings_note(settings, where, "%s", key->note);
}

static const struct settings_key *
find_key(const char *name, const struct settings_key *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

void settings_check(struct settings *settings, const json_t *object,
		    const char *where, const struct settings_key *keys,
		    size_t count)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)object, name, value)
	{
		const struct settings_key *key = find_key(name, keys, count);

		if (key)
			check_value(settings, value,
				    join(settings, where, name), key);
		else
			settings_error(settings, where, "unknown key \"%.64s\"",
				       name);
	}
	for (size_t i = 0; i < count; i++)
		if (keys[i].is_required &&
		    !json_object_get(object, keys[i].name))
			settings_error(settings, where,
				       "\"%s\" is missing here", keys[i].name);
}

void settings_check_items(struct settings *settings, const json_t *list,
			  const char *where, const struct settings_key *keys,
			  size_t count)
{
	size_t i;
	json_t *item;

	json_array_foreach((json_t *)(uintptr_t)list, i, item)
	{
		const char *at =
			arena_format(&settings->arena, "%s[%zu]", where, i);

		if (json_is_object(item))
			settings_check(settings, item, at ? at : where, keys,
				       count);
		else
			settings_error(settings, at ? at : where,
				       "this must be an object");
	}
}

/* ---- the whole ---- */

static const char not_used[] = "there is no such program or file here";
static const char macos[] = "of another system: without an effect here";

static const struct settings_key top_keys[] = {
	{"network", JSON_OBJECT, true, NULL, NULL},
	{"filesystem", JSON_OBJECT, true, NULL, NULL},
	{"credentials", JSON_OBJECT, false, NULL, NULL},
	{"ignoreViolations", JSON_OBJECT, false, NULL, NULL},
	{"enableWeakerNestedSandbox", JSON_TRUE, false,
	 "there is no weaker sandbox: in a container give it what "
	 "`sallyport doctor` names",
	 NULL},
	{"enableWeakerNetworkIsolation", JSON_TRUE, false, NULL, macos},
	{"allowAppleEvents", JSON_TRUE, false, NULL, macos},
	{"windows", JSON_OBJECT, false, NULL, macos},
	{"ripgrep", JSON_OBJECT, false, NULL, not_used},
	{"mandatoryDenySearchDepth", JSON_INTEGER, false, NULL,
	 "protected names are protected at every depth"},
	{"allowPty", JSON_TRUE, false, NULL,
	 "a terminal is given when stdin and stdout are one"},
	{"seccomp", JSON_OBJECT, false, NULL, not_used},
	{"bwrapPath", JSON_STRING, false, NULL, not_used},
	{"socatPath", JSON_STRING, false, NULL, not_used},
	{"javaAgentJarPath", JSON_STRING, false, NULL,
	 "Java is told of the proxy by its own properties"},
	{"git", JSON_OBJECT, false, NULL,
	 "files keep their owners inside: git needs no safe directories"},
};

static const json_t *object_of(const json_t *root, const char *name)
{
	const json_t *value = json_object_get(root, name);

	return json_is_object(value) ? value : NULL;
}

static void translate(struct settings *settings, const json_t *root)
{
	settings_check(settings, root, "", top_keys, ARRAY_SIZE(top_keys));
	settings->network = object_of(root, "network");
	settings->filesystem = object_of(root, "filesystem");
	settings->credentials = object_of(root, "credentials");
	settings_add(settings, "version: 1\nname: srt-settings\n");
	/* One that is missing was told; the others have their own errors. */
	if (settings->network)
		settings_network(settings);
	settings_credentials(settings);
	if (settings->filesystem)
		settings_filesystem(settings);
	settings_environment(settings);
	settings->quiet = object_of(root, "ignoreViolations");
	settings_quiet(settings);
}

int settings_translate(struct bytes text, const struct settings_facts *facts,
		       struct buf *policy, struct buf *notes)
{
	struct settings settings = {
		.facts = facts, .policy = policy, .notes = notes};
	json_error_t where;
	json_t *root = NULL;

	if (text.len > SETTINGS_TEXT_MAX) {
		settings_error(&settings, "", "the settings are too long");
		return -1;
	}
	arena_init(&settings.arena, SETTINGS_ARENA_MAX);
	root = json_loadb((const char *)text.data, text.len,
			  JSON_REJECT_DUPLICATES, &where);
	if (!root)
		settings_error(&settings, "", "%d:%d: %s", where.line,
			       where.column, where.text);
	else if (!json_is_object(root))
		settings_error(&settings, "", "this must be an object");
	else
		translate(&settings, root);
	json_decref(root);
	arena_release(&settings.arena);
	if (settings.has_no_room && !settings.is_wrong)
		settings_error(&settings, "", "the settings are too long");
	return settings.is_wrong ? -1 : 0;
}

/* ---- another line, while a command runs ---- */

/* Those lists in `of` become those of `other`. 0, or -1: no memory. */
static int take_domains(json_t *of, const json_t *other)
{
	static const char *const names[] = {"allowedDomains", "deniedDomains",
					    "deniedDomainReasons"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_t *list = json_object_get(other, names[i]);

		if (list ? json_object_set(of, names[i], list) < 0
			 : json_object_get(of, names[i]) &&
				    json_object_del(of, names[i]) < 0)
			return -1;
	}
	return 0;
}

int settings_follow(struct bytes first, struct bytes line,
		    const struct settings_facts *facts, struct buf *policy,
		    struct buf *notes)
{
	auto_type(buf_release) struct buf unused, known;
	json_t *was, *now;
	char *text = NULL;
	int result = -1;

	buf_init(&unused, POLICY_TEXT_MAX);
	buf_init(&known, SETTINGS_NOTES_MAX);
	if (settings_translate(line, facts, &unused, notes) < 0)
		return -1;
	was = json_loadb((const char *)first.data, first.len, 0, NULL);
	now = json_loadb((const char *)line.data, line.len, 0, NULL);
	if (was && now &&
	    take_domains(json_object_get(was, "network"),
			 json_object_get(now, "network")) == 0)
		text = json_dumps(was, JSON_COMPACT);
	if (text)
		result = settings_translate(bytes_str(text), facts, policy,
					    &known);
	free(text);
	json_decref(was);
	json_decref(now);
	return result;
}
