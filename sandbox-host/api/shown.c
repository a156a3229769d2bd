#include "sandbox-host/api/shown.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/utf8.h"

static const struct bytes replacement = BYTES_LITERAL("\xef\xbf\xbd");

json_t *shown_text(struct bytes text)
{
	auto_type(buf_release) struct buf out = {0};
	struct bytes valid;
	size_t len = utf8_valid_len(text);

	if (len == text.len)
		return json_stringn(len ? (const char *)text.data : "", len);
	buf_init(&out, text.len * replacement.len);
	while (text.len > 0) {
		len = utf8_valid_len(text);
		if (buf_add(&out, bytes_slice(text, 0, len)) < 0 ||
		    (len < text.len && buf_add(&out, replacement) < 0))
			return NULL;
		text = bytes_slice(text, len + (len < text.len), text.len);
	}
	valid = buf_view(&out);
	return json_stringn((const char *)valid.data, valid.len);
}

json_t *shown_time(uint64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE];

	if (wall_ms == 0)
		return json_null();
	clock_format(wall_ms, text);
	return json_string(text);
}

static json_t *status_of(const struct host_sandbox *sandbox)
{
	json_t *status =
		json_pack("{s:s, s:o}", "state",
			  host_state_name((enum host_state)sandbox->state),
			  "lastTransitionAt", shown_time(sandbox->changed_ms));

	if (status && sandbox->reason.len)
		(void)json_object_set_new(status, "reason",
					  shown_text(sandbox->reason));
	if (status && sandbox->message.len)
		(void)json_object_set_new(status, "message",
					  shown_text(sandbox->message));
	return status;
}

static json_t *entrypoint_of(const struct host_sandbox *sandbox)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sandbox->entrypoint_count; i++)
		(void)json_array_append_new(
			list, shown_text(sandbox->entrypoint[i].text));
	return list;
}

static json_t *metadata_of(const struct host_sandbox *sandbox)
{
	json_t *map = json_object();

	for (size_t i = 0; map && i < sandbox->metadata_count; i++) {
		const struct text_pair *pair = &sandbox->metadata[i];
		auto_free char *key = bytes_dup(pair->name);

		if (key)
			(void)json_object_set_new(map, key,
						  shown_text(pair->value));
	}
	return map;
}

/* What the request said (spec.c); one that the command line made has none. */
static void add_note(json_t *shown, const struct host_sandbox *sandbox,
		     bool has_image)
{
	static const char *const always[] = {"platform", "extensions"};
	static const char *const made_from[] = {"image", "snapshotId"};
	json_t *note = json_loadb((const char *)sandbox->note.data,
				  sandbox->note.len, 0, NULL);
	bool has_any = false;

	for (size_t i = 0; i < ARRAY_SIZE(always); i++) {
		json_t *value = json_object_get(note, always[i]);

		if (json_is_object(value))
			(void)json_object_set(shown, always[i], value);
	}
	for (size_t i = 0; has_image && i < ARRAY_SIZE(made_from); i++) {
		json_t *value = json_object_get(note, made_from[i]);

		if (!value || json_is_null(value))
			continue;
		has_any = true;
		(void)json_object_set(shown, made_from[i], value);
	}
	if (has_image && !has_any)
		(void)json_object_set_new(shown, "image",
					  json_pack("{s:s}", "uri", "host"));
	json_decref(note);
}

json_t *shown_sandbox(const struct host_sandbox *sandbox, bool has_image)
{
	json_t *shown = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o}", "id", shown_text(sandbox->id),
		"status", status_of(sandbox), "metadata", metadata_of(sandbox),
		"entrypoint", entrypoint_of(sandbox), "createdAt",
		shown_time(sandbox->created_ms), "expiresAt",
		shown_time(sandbox->expires_ms));

	if (shown)
		add_note(shown, sandbox, has_image);
	return shown;
}
