#include "sandbox-host/flow/image_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"

static const struct wire_field word_fields[] = {
	WIRE_BYTES(struct text_item, text, IMAGE_TEXT_MAX),
};
static const struct wire_schema word_schema =
	WIRE_SCHEMA("image-word", struct text_item, word_fields);

static const struct wire_field fields[] = {
	WIRE_LIST(struct image_settings, entrypoint, IMAGE_ENTRYPOINT_MAX,
		  &word_schema),
	WIRE_LIST(struct image_settings, env, IMAGE_ENV_MAX, &word_schema),
	WIRE_BYTES(struct image_settings, directory, REQUEST_PATH_MAX),
	WIRE_TEXT(struct image_settings, user, IMAGE_USER_MAX),
};
const struct wire_schema image_settings_schema =
	WIRE_SCHEMA("image-settings", struct image_settings, fields);

static bool is_control(uint8_t byte)
{
	return byte < 0x20 || byte == 0x7f;
}

/* Scripts stand in words, and have lines. */
static bool is_plain(struct bytes text, bool may_have_lines)
{
	for (size_t i = 0; i < text.len; i++)
		if (is_control(text.data[i]) &&
		    !(may_have_lines &&
		      (text.data[i] == '\n' || text.data[i] == '\t')))
			return false;
	return true;
}

static bool has_space(struct bytes text)
{
	return bytes_find(text, ' ', 0) >= 0;
}

static bool is_variable(struct bytes text)
{
	ssize_t equals = bytes_find(text, '=', 0);
	struct bytes name;

	if (equals <= 0)
		return false;
	name = bytes_slice(text, 0, (size_t)equals);
	return wire_is_printable(name) && !has_space(name) &&
	       is_plain(text, true);
}

int image_settings_check(const struct image_settings *settings, struct err *err)
{
	const struct bytes directory = settings->directory;
	const struct bytes user = settings->user;

	for (size_t i = 0; i < settings->entrypoint_count; i++)
		if (!is_plain(settings->entrypoint[i].text, true) ||
		    (i == 0 && settings->entrypoint[i].text.len == 0))
			return err_set(err, ERR_INVALID,
				       "the image's Entrypoint or Cmd: a word "
				       "that none can be");
	for (size_t i = 0; i < settings->env_count; i++)
		if (!is_variable(settings->env[i].text))
			return err_set(err, ERR_INVALID,
				       "the image's Env: not NAME=VALUE, or "
				       "with a control character");
	if (directory.len > 0 &&
	    (directory.data[0] != '/' || !is_plain(directory, false)))
		return err_set(err, ERR_INVALID,
			       "the image's WorkingDir: no absolute path");
	if (!wire_is_printable(user) || has_space(user))
		return err_set(err, ERR_INVALID,
			       "the image's User: no name of a user");
	return 0;
}

int image_settings_write(const struct image_settings *settings, struct err *err)
{
	auto_type(buf_release) struct buf out;
	auto_fd int fd = -1;

	buf_init(&out, IMAGE_SETTINGS_MAX);
	if (image_settings_check(settings, err) < 0 ||
	    wire_encode(&image_settings_schema, settings, &out, err) < 0)
		return -1;
	fd = open(IMAGE_SETTINGS_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		  0600);
	if (fd < 0 || write(fd, buf_view(&out).data, buf_len(&out)) !=
			      (ssize_t)buf_len(&out))
		return err_system(err, "write the image's settings");
	return 0;
}

/* A file and nothing else: the image's own programs had the place. */
static int read_file(const char *path, struct buf *out, struct err *err)
{
	auto_fd int fd =
		open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat info;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &info) < 0)
		return err_system(err, "open the image's settings");
	if (!S_ISREG(info.st_mode))
		return err_set(err, ERR_INVALID,
			       "the image's settings are no file");
	return file_read(fd, out, err);
}

int image_settings_read(const char *path, struct arena *arena,
			struct image_settings *settings, struct err *err)
{
	auto_type(buf_release) struct buf text;
	struct bytes kept;

	*settings = (struct image_settings){0};
	buf_init(&text, IMAGE_SETTINGS_MAX);
	if (read_file(path, &text, err) < 0)
		return -1;
	if (buf_len(&text) == 0)
		return 0;
	kept = arena_copy(arena, buf_view(&text));
	if (kept.len != buf_len(&text))
		return err_set(err, ERR_TOO_LARGE, "no memory");
	return wire_decode(&image_settings_schema, kept, arena, settings, err) <
			       0
		       ? -1
		       : image_settings_check(settings, err);
}
