/* The configuration of an OCI image (its specification, "Image
 * Configuration"): what anybody wrote into it. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "sandbox-host/store/settings.h"

#define CONFIG_MAX (4 << 20)
#define DIGITS	   64
#define ARENA_MAX  (1 << 20)

static int invalid(const char *what, struct err *err)
{
	return err_set(err, ERR_INVALID, "the image's configuration: %s", what);
}

/* A text, or nothing: absent, or null. */
static int take_text(const json_t *config, const char *name, struct bytes *out,
		     struct err *err)
{
	const json_t *text = json_object_get(config, name);

	*out = bytes_from(NULL, 0);
	if (!text || json_is_null(text))
		return 0;
	if (!json_is_string(text))
		return err_set(err, ERR_INVALID, "the image's %s: no text",
			       name);
	*out = bytes_from(json_string_value(text), json_string_length(text));
	return 0;
}

/* Append a list of texts to items, which has room for max. */
static int take_list(const json_t *config, const char *name,
		     struct text_item *items, size_t *count, size_t max,
		     struct err *err)
{
	const json_t *list = json_object_get(config, name);
	const json_t *text;
	size_t index;

	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list) || json_array_size(list) > max - *count)
		return err_set(err, ERR_INVALID,
			       "the image's %s: no list of at most %zu texts",
			       name, max);
	json_array_foreach(list, index, text)
	{
		if (!json_is_string(text))
			return err_set(err, ERR_INVALID,
				       "the image's %s: no list of texts",
				       name);
		items[(*count)++].text = bytes_from(json_string_value(text),
						    json_string_length(text));
	}
	return 0;
}

int settings_take(const json_t *config, struct arena *arena,
		  struct image_settings *out, struct err *err)
{
	struct text_item *entrypoint =
		arena_array(arena, IMAGE_ENTRYPOINT_MAX, sizeof(*entrypoint));
	struct text_item *env = arena_array(arena, IMAGE_ENV_MAX, sizeof(*env));
	const json_t *own = json_object_get(config, "config");

	*out = (struct image_settings){.entrypoint = entrypoint, .env = env};
	if (!entrypoint || !env)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	if (!json_is_object(config))
		return invalid("no object", err);
	if (!own || json_is_null(own))
		return 0;
	if (!json_is_object(own))
		return invalid("its config is no object", err);
	if (take_list(own, "Entrypoint", entrypoint, &out->entrypoint_count,
		      IMAGE_ENTRYPOINT_MAX, err) < 0 ||
	    take_list(own, "Cmd", entrypoint, &out->entrypoint_count,
		      IMAGE_ENTRYPOINT_MAX, err) < 0 ||
	    take_list(own, "Env", env, &out->env_count, IMAGE_ENV_MAX, err) <
		    0 ||
	    take_text(own, "WorkingDir", &out->directory, err) < 0 ||
	    take_text(own, "User", &out->user, err) < 0)
		return -1;
	return image_settings_check(out, err);
}

/* A blob of the layout in the current directory, bounded. */
static json_t *load(const char *layout, const char *digest, struct err *err)
{
	auto_type(buf_release) struct buf text;
	char path[256];
	struct stat info;
	auto_fd int fd = -1;
	json_t *loaded;

	buf_init(&text, CONFIG_MAX);
	if (!digest || strlen(digest) != strlen("sha256:") + DIGITS ||
	    strncmp(digest, "sha256:", strlen("sha256:")) != 0 ||
	    strspn(digest + strlen("sha256:"), "0123456789abcdef") != DIGITS) {
		(void)invalid("it has no digest", err);
		return NULL;
	}
	(void)snprintf(path, sizeof(path), "%s/blobs/sha256/%s", layout,
		       digest + strlen("sha256:"));
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
		(void)invalid("it is not there", err);
		return NULL;
	}
	if (file_read(fd, &text, err) < 0)
		return NULL;
	loaded = json_loadb((const char *)buf_view(&text).data, buf_len(&text),
			    JSON_REJECT_DUPLICATES, NULL);
	if (!loaded)
		(void)invalid("no JSON", err);
	return loaded;
}

int settings_keep(const char *layout, const char *digest, struct err *err)
{
	auto_type(arena_release) struct arena arena;
	json_t *manifest = load(layout, digest, err);
	json_t *config = NULL;
	struct image_settings settings;
	int rc = -1;

	arena_init(&arena, ARENA_MAX);
	if (manifest)
		config = load(
			layout,
			json_string_value(json_object_get(
				json_object_get(manifest, "config"), "digest")),
			err);
	if (config && settings_take(config, &arena, &settings, err) == 0)
		rc = image_settings_write(&settings, err);
	json_decref(config);
	json_decref(manifest);
	return rc;
}
