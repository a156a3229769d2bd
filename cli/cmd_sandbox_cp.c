/*
 * sallyport sandbox cp: files and directories into a sandbox and out of it,
 * with the meaning that cp -r and docker cp give to their two paths.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/copy.h"

/* One side: of a sandbox when it has an id. */
struct side {
	struct bytes id;
	char path[REQUEST_PATH_MAX + 1];
	bool is_contents; /* it ended with "/.": what is in it */
	bool has_slash;	  /* it ended with '/': a directory */
	bool exists, is_directory;
};

void copy_say(const char *path, const char *why)
{
	char text[PATH_MAX + 256];

	(void)snprintf(text, sizeof(text), "%s: left out: %s", path, why);
	cli_clean(text);
	(void)fprintf(stderr, "sallyport: %s\n", text);
}

/* ID:PATH; a local path with a colon is written ./PATH. */
static int parse_side(const char *text, struct side *side)
{
	const char *colon = strchr(text, ':');
	const char *slash = strchr(text, '/');
	size_t len;

	*side = (struct side){0};
	if (colon && (!slash || colon < slash)) {
		side->id = bytes_from(text, (size_t)(colon - text));
		text = colon + 1;
	}
	len = strlen(text);
	if (len == 0 || len > REQUEST_PATH_MAX ||
	    (colon == text - 1 && side->id.len == 0))
		return -1;
	memcpy(side->path, text, len + 1);
	side->is_contents = !strcmp(side->path, ".") ||
			    (len > 1 && !strcmp(side->path + len - 2, "/."));
	if (side->is_contents && len > 1)
		side->path[len -= 1] = '\0';
	side->has_slash = side->path[len - 1] == '/';
	while (len > 1 && side->path[len - 1] == '/')
		side->path[--len] = '\0';
	return 0;
}

static int look_inside(struct files *files, struct side *side, struct err *err)
{
	char path[REQUEST_PATH_MAX + 3];
	struct file_shown shown;

	if (files_show(files, side->path, &shown, err) < 0)
		return err->code == ERR_MISSING ? 0 : -1;
	side->exists = true;
	side->is_directory = shown.type == FILE_DIRECTORY;
	if (shown.type != FILE_SYMLINK)
		return 0;
	/* Is what it leads to one? */
	(void)snprintf(path, sizeof(path), "%s/.", side->path);
	if (strlen(path) <= REQUEST_PATH_MAX &&
	    files_show(files, path, &shown, err) == 0)
		side->is_directory = shown.type == FILE_DIRECTORY;
	return 0;
}

static int look(struct files *files, struct side *side, struct err *err)
{
	struct stat st;

	if (side->id.len > 0)
		return look_inside(files, side, err);
	side->exists = stat(side->path, &st) == 0;
	side->is_directory = side->exists && S_ISDIR(st.st_mode);
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* A name of this host's was given wrongly: as any command says it. */
static enum err_code missing_on(const struct side *side)
{
	return side->id.len > 0 ? ERR_MISSING : ERR_INVALID;
}

/* The whole name of what is made. */
static int set_target(const struct side *from, struct side *to, struct err *err)
{
	const char *name = base_name(from->path);
	size_t end = strlen(to->path);
	int len;

	if (!from->exists)
		return err_set(err, missing_on(from),
			       "%s: there is no such file", from->path);
	if (from->id.len == 0 &&
	    faccessat(AT_FDCWD, from->path, R_OK, AT_EACCESS) < 0)
		return err_set(err, ERR_INVALID, "open %s: %s", from->path,
			       strerror(errno));
	if (to->exists && !to->is_directory && from->is_directory)
		return err_set(err, ERR_INVALID,
			       "%s is there, and no directory", to->path);
	if (!to->is_directory && to->has_slash && !from->is_directory)
		return err_set(err, missing_on(to),
			       "%s: there is no such directory", to->path);
	if (!to->is_directory || (from->is_directory && from->is_contents))
		return 0;
	if (!strcmp(name, "/") || !strcmp(name, ".."))
		return err_set(err, ERR_INVALID, "%s has no name of its own",
			       from->path);
	len = snprintf(to->path + end, sizeof(to->path) - end, "%s%s",
		       end > 0 && to->path[end - 1] == '/' ? "" : "/", name);
	return len < 0 || (size_t)len >= sizeof(to->path) - end
		       ? err_set(err, ERR_TOO_LARGE, "the path is too long")
		       : 0;
}

static int copy(struct files *files, struct side *from, struct side *to)
{
	struct err err = {0};
	bool is_whole = true;
	int result = -1;

	if (look(files, from, &err) == 0 && look(files, to, &err) == 0 &&
	    set_target(from, to, &err) == 0)
		result = to->id.len > 0 ? copy_in(files, from->path, to->path,
						  &is_whole, &err)
					: copy_out(files, from->path, to->path,
						   &is_whole, &err);
	if (result < 0) {
		cli_clean(err.text);
		return cli_fail_err(&err);
	}
	return is_whole ? EXIT_OK : EXIT_FAILED;
}

int cmd_sandbox_cp(struct cli *cli)
{
	struct files files;
	struct side from, to;
	int code;

	if (arguments_words(cli, 2, 2) < 0)
		return cli_usage(cli);
	if (parse_side(cli->argv[optind], &from) < 0 ||
	    parse_side(cli->argv[optind + 1], &to) < 0 ||
	    (from.id.len > 0) == (to.id.len > 0)) {
		(void)cli_wrong(cli, "of SOURCE and TARGET one must be "
				     "ID:PATH, of a sandbox");
		return cli_usage(cli);
	}
	code = files_open(&files, from.id.len > 0 ? from.id : to.id);
	if (code == EXIT_OK)
		code = copy(&files, &from, &to);
	files_close(&files);
	return code;
}
