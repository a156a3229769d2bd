/*
 * The file: paths with a zero between two of them. First that of the
 * configuration, then that of the state, either of which may be empty, then
 * the names. One path alone is what gateways left that knew no more.
 */
#include "gateway/flow/run_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"

#define NEXT_NAME RUN_CONFIG_NAME ".next"
#define TEXT_MAX  ((RUN_CONFIG_NAMES_MAX + 2) * PATH_MAX)

/* ---- leave ---- */

static int too_large(const char *what, struct err *err)
{
	return err_set(err, ERR_TOO_LARGE, "%s: the path is too long", what);
}

static int add_file(struct buf *out, const char *file, struct err *err)
{
	char here[PATH_MAX] = "";

	if (file[0] != '/' && !getcwd(here, sizeof(here)))
		return err_system(err, "tell where we are");
	if (strlen(here) + strlen(file) + 1 >= PATH_MAX)
		return too_large(file, err);
	return buf_add_format(out, "%s%s%s", here, here[0] ? "/" : "", file) < 0
		       ? too_large(file, err)
		       : 0;
}

static int add_all(struct buf *out, const struct run_config_left *left,
		   struct err *err)
{
	if (left->count > RUN_CONFIG_NAMES_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "the configuration names more than %d files",
			       RUN_CONFIG_NAMES_MAX);
	if (left->file && add_file(out, left->file, err) < 0)
		return -1;
	if (!left->state && left->count == 0)
		return 0;
	if (buf_add_byte(out, 0) < 0 ||
	    (left->state && buf_add_str(out, left->state) < 0))
		return too_large("state", err);
	for (size_t i = 0; i < left->count; i++) {
		if (left->names[i].len >= PATH_MAX ||
		    buf_add_byte(out, 0) < 0 ||
		    buf_add(out, left->names[i]) < 0)
			return too_large("a file of the configuration", err);
	}
	return 0;
}

static int write_next(int dir, struct bytes text, struct err *err)
{
	auto_fd int fd = openat(
		dir, NEXT_NAME,
		O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_system(err, "open " NEXT_NAME);
	return write(fd, text.data, text.len) != (ssize_t)text.len
		       ? err_system(err, "write " NEXT_NAME)
		       : 0;
}

int run_config_leave(const char *run, const struct run_config_left *left,
		     struct err *err)
{
	auto_fd int dir = open(run, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_type(buf_release) struct buf text;

	buf_init(&text, TEXT_MAX);
	if (dir < 0)
		return err_system(err, "open %s", run);
	if (add_all(&text, left, err) < 0)
		return -1;
	if (buf_len(&text) == 0)
		return unlinkat(dir, RUN_CONFIG_NAME, 0) < 0 && errno != ENOENT
			       ? err_system(err, "remove %s/" RUN_CONFIG_NAME,
					    run)
			       : 0;
	if (write_next(dir, buf_view(&text), err) < 0)
		return err_prefix(err, "%s", run);
	if (renameat(dir, NEXT_NAME, dir, RUN_CONFIG_NAME) < 0)
		return err_system(err, "rename %s/" NEXT_NAME, run);
	return 0;
}

/* ---- find ---- */

static int refuse(const char *run, const char *what, struct err *err)
{
	return err_set(
		err, ERR_INVALID,
		"no gateway runs, and none is started in place of the "
		"one that ran: its configuration %s: start "
		"sallyport-gateway with it, or remove %s/" RUN_CONFIG_NAME
		" to have one with the default",
		what, run);
}

/* Nobody else may have put it there, where the directory was once open. */
static bool is_ours(int fd)
{
	struct stat info;

	return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
	       (info.st_uid == geteuid() || info.st_uid == 0) &&
	       !(info.st_mode & (S_IWGRP | S_IWOTH));
}

static bool is_path(const char *text)
{
	return text[0] == '/' && strlen(text) < PATH_MAX;
}

/* Its text, whose last path is ended by a zero as well. */
static bool take_paths(struct run_config *config, const char *text, size_t len)
{
	const char *end = text + len;
	size_t number = 0;

	for (; text <= end; text += strlen(text) + 1, number++) {
		if (number > 1 &&
		    (config->count == RUN_CONFIG_NAMES_MAX || !is_path(text)))
			return false;
		if (number > 1)
			config->names[config->count++] = text;
		else if (text[0] && !is_path(text))
			return false;
		else
			(void)snprintf(number ? config->state : config->file,
				       PATH_MAX, "%s", text);
	}
	return config->file[0] || config->state[0];
}

int run_config_read(const char *run, struct run_config *config, struct err *err)
{
	char name[PATH_MAX];
	auto_fd int fd = -1;

	config->file[0] = config->state[0] = '\0';
	config->count = 0;
	buf_init(&config->text, TEXT_MAX);
	(void)snprintf(name, sizeof(name), "%s/" RUN_CONFIG_NAME, run);
	fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd >= 0 && is_ours(fd) && file_read(fd, &config->text, err) == 0 &&
	    buf_str(&config->text) &&
	    take_paths(config, buf_str(&config->text), buf_len(&config->text)))
		return 0;
	config->file[0] = config->state[0] = '\0';
	config->count = 0;
	return refuse(run, "can not be told", err);
}

int run_config_find(const char *run, struct run_config *config, struct err *err)
{
	char what[PATH_MAX + ERR_TEXT_MAX];

	if (run_config_read(run, config, err) < 0)
		return -1;
	if (!config->file[0] || access(config->file, R_OK) == 0)
		return 0;
	(void)snprintf(what, sizeof(what), "%s can not be read (%s)",
		       config->file, strerror(errno));
	return refuse(run, what, err);
}

void run_config_release(struct run_config *config)
{
	buf_release(&config->text);
}
