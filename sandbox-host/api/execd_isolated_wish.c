/*
 * What a client wants of an isolated session, read from its body.
 */
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/api/execd_isolated.h"

/* ---- workspace ---- */

static bool take_mode(struct exchange *exchange, const json_t *workspace,
		      uint8_t *mode)
{
	static const struct {
		const char *name;
		enum request_mode mode;
	} table[] = {
		{"rw", REQUEST_MODE_WRITE},
		{"overlay", REQUEST_MODE_OVERLAY},
		{"ro", REQUEST_MODE_READ},
	};
	struct bytes name = bytes_str("overlay");

	if (!execd_text(exchange, workspace, "mode", false, &name))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (bytes_is(name, table[i].name)) {
			*mode = (uint8_t)table[i].mode;
			return true;
		}
	return isolated_refuse(
		exchange,
		"workspace.mode must be \"rw\", \"overlay\" or \"ro\"");
}

static bool take_workspace(struct exchange *exchange, const json_t *body,
			   struct host_isolate *wanted)
{
	const json_t *workspace = json_object_get(body, "workspace");

	if (!json_is_object(workspace))
		return isolated_refuse(exchange, "workspace must be an object");
	if (!execd_text(exchange, workspace, "path", true,
			&wanted->workspace) ||
	    !take_mode(exchange, workspace, &wanted->mode))
		return false;
	while (wanted->workspace.len > 1 &&
	       wanted->workspace.data[wanted->workspace.len - 1] == '/')
		wanted->workspace.len--;
	if (wanted->workspace.data[0] == '/' &&
	    wanted->workspace.len <= REQUEST_PATH_MAX)
		return true;
	return isolated_refuse(exchange,
			       "workspace.path must be an absolute path");
}

static bool take_profile(struct exchange *exchange, const json_t *body,
			 struct bytes *profile)
{
	*profile = bytes_str("strict");
	if (!execd_text(exchange, body, "profile", false, profile))
		return false;
	return bytes_is(*profile, "strict") || bytes_is(*profile, "balanced") ||
	       isolated_refuse(exchange,
			       "profile must be \"strict\" or \"balanced\"");
}

/* ---- user ---- */

static bool take_user(struct exchange *exchange, const json_t *body,
		      struct host_isolate *asked)
{
	struct user_wish user = {0};
	struct bytes mode = {0};

	if (!execd_user(exchange, body, &user) ||
	    !execd_text(exchange, body, "uid_mode", false, &mode))
		return false;
	asked->has_uid = user.has_uid;
	asked->has_gid = user.has_gid;
	asked->uid = user.uid;
	asked->gid = user.gid;
	if (mode.len == 0 || bytes_is(mode, "setpriv"))
		return true;
	if (!bytes_is(mode, "userns"))
		return isolated_refuse(
			exchange, "uid_mode must be \"setpriv\" or \"userns\"");
	exchange_fail(exchange, 501, "NOT_SUPPORTED",
		      "uid_mode userns: no sandbox makes user namespaces");
	return false;
}

/* ---- binds ---- */

static bool has_parent(struct bytes path)
{
	struct bytes part;

	while (path.len > 0) {
		(void)bytes_split(&path, '/', &part);
		if (bytes_is(part, ".."))
			return true;
	}
	return false;
}

static bool is_path(struct bytes path)
{
	return path.len > 0 && path.len <= ISOLATED_PATH_MAX &&
	       path.data[0] == '/' && !has_parent(path);
}

static struct bytes without_slashes(struct bytes path)
{
	while (path.len > 1 && path.data[path.len - 1] == '/')
		path.len--;
	return path;
}

static bool read_bind(struct exchange *exchange, const json_t *item,
		      struct isolate_bind *bind)
{
	bool is_there = json_is_object(item);

	if (!is_there ||
	    !execd_text(exchange, item, "source", true, &bind->source))
		return is_there ? false
				: isolated_refuse(exchange,
						  "a bind is {source, dest, "
						  "readonly}");
	bind->target = bind->source;
	if (!execd_text(exchange, item, "dest", false, &bind->target) ||
	    !execd_flag(exchange, item, "readonly", &bind->is_read_only))
		return false;
	if (!is_path(bind->source) || !is_path(bind->target))
		return isolated_refuse(exchange,
				       "binds: paths are absolute, without "
				       "\"..\"");
	bind->source = without_slashes(bind->source);
	bind->target = without_slashes(bind->target);
	return true;
}

/* A bind that leads where it comes from, to be written. */
static bool read_writable(struct exchange *exchange, const json_t *item,
			  struct isolate_bind *bind)
{
	struct bytes path =
		bytes_from(json_string_value(item), json_string_length(item));
	const char *copy;

	if (!json_is_string(item) || !is_path(path) ||
	    bytes_find(path, 0, 0) >= 0)
		return isolated_refuse(exchange,
				       "extra_writable is a list of absolute "
				       "paths, without \"..\"");
	copy = arena_str(exchange->arena, path);
	if (!copy) {
		exchange_fail_memory(exchange);
		return false;
	}
	bind->source = bind->target = without_slashes(bytes_str(copy));
	return true;
}

static bool take_list(struct exchange *exchange, const json_t *body,
		      const char *name, size_t max, const json_t **list)
{
	*list = json_object_get(body, name);
	if (*list && json_is_null(*list))
		*list = NULL;
	if (!*list || (json_is_array(*list) && json_array_size(*list) <= max))
		return true;
	exchange_fail(exchange, 400, "INVALID_REQUEST_BODY",
		      "%s is a list of at most %zu", name, max);
	return false;
}

static bool take_binds(struct exchange *exchange, const json_t *body,
		       struct host_isolate *asked)
{
	const json_t *binds, *writable, *item;
	struct isolate_bind *list =
		arena_array(exchange->arena, ISOLATED_BINDS_MAX, sizeof(*list));
	size_t i;

	if (!list) {
		exchange_fail_memory(exchange);
		return false;
	}
	if (!take_list(exchange, body, "binds", ISOLATED_BINDS_MAX, &binds) ||
	    !take_list(exchange, body, "extra_writable",
		       ISOLATED_BINDS_MAX - json_array_size(binds), &writable))
		return false;
	json_array_foreach(binds, i, item)
	{
		if (!read_bind(exchange, item, &list[asked->binds_count++]))
			return false;
	}
	json_array_foreach(writable, i, item)
	{
		if (!read_writable(exchange, item, &list[asked->binds_count++]))
			return false;
	}
	asked->binds = list;
	return true;
}

/* ---- variables ---- */

static bool take_keys(struct exchange *exchange, const json_t *spec,
		      struct host_isolate *asked)
{
	const json_t *keys, *item;
	struct text_item *list;
	size_t i;

	if (!take_list(exchange, spec, "keys", ISOLATED_KEYS_MAX, &keys))
		return false;
	list = arena_array(exchange->arena, json_array_size(keys) + 1,
			   sizeof(*list));
	json_array_foreach(keys, i, item)
	{
		struct bytes key = bytes_from(json_string_value(item),
					      json_string_length(item));

		if (key.len == 0 || key.len > ISOLATED_KEY_MAX)
			return isolated_refuse(exchange,
					       "env_passthrough.keys has names "
					       "of variables");
		if (list)
			list[i].text = arena_copy(exchange->arena, key);
		if (!list || list[i].text.len != key.len) {
			exchange_fail_memory(exchange);
			return false;
		}
	}
	asked->keys = list;
	asked->keys_count = json_array_size(keys);
	return true;
}

static bool take_variables(struct exchange *exchange, const json_t *body,
			   struct host_isolate *asked)
{
	const json_t *spec = json_object_get(body, "env_passthrough");
	struct bytes mode = bytes_str("allow");

	if (!spec || json_is_null(spec))
		return true;
	if (!json_is_object(spec))
		return isolated_refuse(exchange,
				       "env_passthrough is {mode, keys}");
	if (!execd_text(exchange, spec, "mode", false, &mode))
		return false;
	if (!bytes_is(mode, "allow") && !bytes_is(mode, "deny"))
		return isolated_refuse(exchange, "env_passthrough.mode must be "
						 "\"allow\" or \"deny\"");
	asked->env =
		bytes_is(mode, "allow") ? ISOLATE_ENV_ALLOW : ISOLATE_ENV_DENY;
	return take_keys(exchange, spec, asked);
}

/* ---- all of it ---- */

static const char *mode_name(uint8_t mode)
{
	if (mode == REQUEST_MODE_OVERLAY)
		return "overlay";
	return mode == REQUEST_MODE_WRITE ? "rw" : "ro";
}

/* In the arena; empty: no memory. */
static struct bytes dump(struct exchange *exchange, const json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT);
	struct bytes copy = {0};

	if (text)
		copy = arena_copy(exchange->arena, bytes_str(text));
	free(text);
	return copy;
}

/* As a client is told: what it said, and what holds where it said nothing. As
 * much of it as there is room for is known to whoever serves after us. */
static bool set_echo(struct exchange *exchange, const json_t *body,
		     struct isolated_wish *wish)
{
	static const char *const as_given[] = {
		"binds", "extra_writable", "env_passthrough", "uid",
		"gid",	 "workspace"};
	json_t *echo = json_pack(
		"{s:s%, s:{s:s%, s:s}, s:b, s:s, s:I}", "profile",
		(const char *)wish->profile.data, wish->profile.len,
		"workspace", "path", (const char *)wish->asked.workspace.data,
		wish->asked.workspace.len, "mode", mode_name(wish->asked.mode),
		"share_net", !wish->asked.is_offline, "uid_mode", "setpriv",
		"idle_timeout_seconds", (json_int_t)wish->idle_s);

	for (size_t i = 0; echo && i < ARRAY_SIZE(as_given); i++) {
		json_t *value = json_object_get(body, as_given[i]);

		if (value && !json_is_null(value) &&
		    !json_object_get(echo, as_given[i]))
			(void)json_object_set(echo, as_given[i], value);
	}
	wish->echo = wish->asked.note = dump(exchange, echo);
	for (size_t i = 0; wish->asked.note.len > REQUEST_NOTE_MAX &&
			   i < ARRAY_SIZE(as_given);
	     i++) {
		(void)json_object_del(echo, as_given[i]);
		wish->asked.note = dump(exchange, echo);
	}
	json_decref(echo);
	if (wish->asked.note.len > 0)
		return true;
	exchange_fail_memory(exchange);
	return false;
}

bool isolated_take_wish(struct exchange *exchange, const json_t *body,
			struct isolated_wish *wish)
{
	bool has_network = false;

	wish->idle_s = ISOLATED_IDLE_S;
	if (!take_workspace(exchange, body, &wish->asked) ||
	    !take_profile(exchange, body, &wish->profile) ||
	    !execd_flag(exchange, body, "share_net", &has_network) ||
	    !execd_number(exchange, body, "idle_timeout_seconds",
			  ISOLATED_IDLE_MAX_S, &wish->idle_s) ||
	    !take_user(exchange, body, &wish->asked) ||
	    !take_binds(exchange, body, &wish->asked) ||
	    !take_variables(exchange, body, &wish->asked))
		return false;
	wish->asked.id = exchange->sandbox;
	wish->asked.is_offline = !has_network;
	if (wish->idle_s > 0)
		wish->asked.expires_ms = clock_wall_ms() + wish->idle_s * 1000 +
					 ISOLATED_GRACE_MS;
	return set_echo(exchange, body, wish);
}
