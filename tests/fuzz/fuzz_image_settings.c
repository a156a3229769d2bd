/*
 * An OCI image's configuration from anybody: what is taken of it keeps to its
 * bounds, has no control characters, and is the same once it was written and
 * read again.
 */
#include <assert.h>
#include <string.h>

#include "common/cleanup.h"
#include "sandbox-host/store/settings.h"

#define ARENA_MAX (2 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_words(const struct text_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < items[i].text.len; j++)
			assert(items[i].text.data[j] >= ' ' ||
			       items[i].text.data[j] == '\n' ||
			       items[i].text.data[j] == '\t');
}

static void check(const struct image_settings *settings, struct arena *arena)
{
	auto_type(buf_release) struct buf text;
	struct image_settings again;
	struct err err;

	buf_init(&text, IMAGE_SETTINGS_MAX);
	assert(settings->entrypoint_count <= IMAGE_ENTRYPOINT_MAX);
	assert(settings->env_count <= IMAGE_ENV_MAX);
	check_words(settings->entrypoint, settings->entrypoint_count);
	check_words(settings->env, settings->env_count);
	for (size_t i = 0; i < settings->env_count; i++)
		assert(bytes_find(settings->env[i].text, '=', 0) > 0);
	assert(settings->directory.len == 0 ||
	       settings->directory.data[0] == '/');
	/* One that is too long is not kept. */
	if (wire_encode(&image_settings_schema, settings, &text, &err) < 0)
		return;
	assert(wire_decode(&image_settings_schema, buf_view(&text), arena,
			   &again, &err) == 0);
	assert(image_settings_check(&again, &err) == 0);
	assert(again.env_count == settings->env_count);
	assert(again.entrypoint_count == settings->entrypoint_count);
	assert(bytes_equal(again.directory, settings->directory));
	assert(bytes_equal(again.user, settings->user));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	auto_type(arena_release) struct arena arena;
	json_t *config = json_loadb((const char *)data, len,
				    JSON_REJECT_DUPLICATES, NULL);
	struct image_settings settings;
	struct err err;

	arena_init(&arena, ARENA_MAX);
	if (config && settings_take(config, &arena, &settings, &err) == 0)
		check(&settings, &arena);
	json_decref(config);
	return 0;
}
