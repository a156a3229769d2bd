/*
 * sallyport sandbox diff, commit, discard: what an overlay workspace kept.
 * Names, links and texts were chosen inside: what is printed is cleaned.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/text_diff.h"
#include "common/base64.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/utf8.h"
#include "sandbox-host/overlay.h"
#include "sandbox-host/session/changes.h"

#define DIFF_BYTES_MAX (64 * 1024 * 1024)

static const char *kind_of(const struct overlay_change *change)
{
	static const char *const words[] = {"added", "changed", "deleted"};

	return words[change->kind];
}

static const char *type_of(const struct overlay_change *change)
{
	static const char *const words[] = {"file", "directory", "link",
					    "other"};

	return words[change->type];
}

/* What could not be done with an overlay, as an exit code. */
static int fail(const struct err *err)
{
	return err->code == ERR_DENIED
		       ? cli_fail(EXIT_CONFLICT, "%s", err->text)
		       : cli_fail_err(err);
}

/* ---- diff ---- */

struct listing {
	json_t *changes;
	struct buf texts; /* diffs, one after the other */
};

/* A text of the sandbox's; where it is no UTF-8, its bytes beside it. */
static void put_text(json_t *row, const char *key, const char *text)
{
	char bytes_key[32];
	auto_free char *coded = NULL;
	auto_free char *shown = NULL;
	size_t len = strlen(text);

	if (utf8_valid_len(bytes_str(text)) == len) {
		(void)json_object_set_new(row, key, json_string(text));
		return;
	}
	coded = malloc(BASE64_LEN(len) + 1);
	shown = strdup(text);
	if (!coded || !shown)
		return;
	base64_encode(bytes_str(text), coded);
	for (char *at = shown; *at; at++)
		*at = (unsigned char)*at < 0x80 ? *at : '?';
	snprintf(bytes_key, sizeof(bytes_key), "%s_base64", key);
	(void)json_object_set_new(row, key, json_string(shown));
	(void)json_object_set_new(row, bytes_key, json_string(coded));
}

static void put_mode(json_t *row, const char *key, const struct stat *st)
{
	char text[8];

	if (!st)
		return;
	snprintf(text, sizeof(text), "%04o", (unsigned)st->st_mode & 07777);
	(void)json_object_set_new(row, key, json_string(text));
}

static void put_target(json_t *row, const struct overlay_change *change)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(change->after_dir, change->name, target,
				 sizeof(target) - 1);

	if (len < 0)
		return;
	target[len] = '\0';
	put_text(row, "target", target);
}

static int add_diff(struct listing *listing, json_t *row,
		    const struct overlay_change *change, struct err *err)
{
	bool has_before = change->before && S_ISREG(change->before->st_mode);
	auto_fd int before = has_before ? overlay_open_before(change) : -1;
	auto_fd int after = change->after ? overlay_open_after(change) : -1;
	size_t from = buf_len(&listing->texts);
	struct bytes text;

	if ((has_before && before < 0) || (change->after && after < 0)) {
		(void)json_object_set_new(row, "diff", json_null());
		return 0;
	}
	if (text_diff(before, after, change->path, &listing->texts, err) < 0)
		return -1;
	text = buf_view(&listing->texts);
	text = bytes_slice(text, from, text.len);
	(void)json_object_set_new(
		row, "diff",
		utf8_valid_len(text) == text.len
			? json_stringn((const char *)text.data, text.len)
			: json_null());
	return 0;
}

static enum overlay_answer
on_change(void *owner, const struct overlay_change *change, struct err *err)
{
	struct listing *listing = owner;
	json_t *row = json_object();

	(void)json_array_append_new(listing->changes, row);
	(void)json_object_set_new(row, "kind", json_string(kind_of(change)));
	(void)json_object_set_new(row, "type", json_string(type_of(change)));
	put_text(row, "path", change->path);
	put_mode(row, "mode_before", change->before);
	put_mode(row, "mode", change->after);
	if (change->after && change->type == OVERLAY_LINK)
		put_target(row, change);
	if (change->type == OVERLAY_FILE &&
	    add_diff(listing, row, change, err) < 0)
		return OVERLAY_FAIL;
	return OVERLAY_GO_ON;
}

/* A line of a text, whose tabs are its own. */
static void print_line(struct bytes text)
{
	auto_free char *line = bytes_dup(text);

	if (!line)
		return;
	for (char *at = isatty(STDOUT_FILENO) ? line : NULL; at;) {
		char *tab = strchr(at, '\t');

		if (tab)
			*tab = '\0';
		cli_clean(at);
		if (tab)
			*tab++ = '\t';
		at = tab;
	}
	(void)puts(line);
}

static void print_changes(const json_t *value)
{
	size_t index;
	json_t *row;

	json_array_foreach(json_object_get(value, "changes"), index, row)
	{
		bool is_directory =
			!strcmp(json_text(row, "type"), "directory");
		bool is_link = !strcmp(json_text(row, "type"), "link");
		auto_free char *path = strdup(json_text(row, "path"));
		auto_free char *target = strdup(json_text(row, "target"));

		if (!path || !target)
			return;
		cli_clean(path);
		cli_clean(target);
		(void)printf("%-8s %s%s%s%s\n", json_text(row, "kind"), path,
			     is_directory ? "/" : "",
			     is_link && target[0] ? " -> " : "", target);
	}
}

static void print_texts(const struct buf *texts)
{
	struct bytes left = buf_view(texts);
	struct bytes line;

	if (left.len)
		(void)putchar('\n');
	while (left.len) {
		(void)bytes_split(&left, '\n', &line);
		print_line(line);
	}
}

static int show(struct cli *cli, const char *id, struct overlay *overlay,
		struct err *err)
{
	struct listing listing = {.changes = json_array()};
	char started[CLOCK_TEXT_SIZE];
	json_t *value = json_object();
	int code;

	buf_init(&listing.texts, DIFF_BYTES_MAX);
	clock_format((uint64_t)overlay_started(overlay) * 1000, started);
	(void)json_object_set_new(value, "id", json_string(id));
	put_text(value, "workspace", overlay_workspace(overlay));
	(void)json_object_set_new(value, "started", json_string(started));
	(void)json_object_set(value, "changes", listing.changes);
	code = overlay_each(overlay, on_change, &listing, err) < 0
		       ? fail(err)
		       : cli_print(cli, value, print_changes);
	if (code == EXIT_OK && !cli->json)
		print_texts(&listing.texts);
	json_decref(listing.changes);
	json_decref(value);
	buf_release(&listing.texts);
	return code;
}

/* ---- diff without an id: what is kept ---- */

static void print_kept(const json_t *value)
{
	size_t index;
	json_t *row;

	(void)printf("%-28s %-24s %s\n", "ID", "STARTED", "WORKSPACE");
	json_array_foreach(json_object_get(value, "kept"), index, row)
	{
		auto_free char *path = strdup(json_text(row, "workspace"));

		if (!path)
			return;
		cli_clean(path);
		(void)printf("%-28s %-24s %s\n", json_text(row, "id"),
			     json_text(row, "started"), path);
	}
}

static void add_kept(json_t *kept, const char *root, const char *id)
{
	char dir[2 * PATH_MAX], started[CLOCK_TEXT_SIZE];
	struct err err = {0};
	struct overlay *overlay;
	json_t *row;

	snprintf(dir, sizeof(dir), "%s/%s", root, id);
	overlay = overlay_open(dir, OVERLAY_LOOK, &err);
	if (!overlay && err.code == ERR_MISSING)
		return;
	row = json_object();
	(void)json_array_append_new(kept, row);
	put_text(row, "id", id);
	if (!overlay) {
		(void)json_object_set_new(row, "fault", json_string(err.text));
		return;
	}
	clock_format((uint64_t)overlay_started(overlay) * 1000, started);
	put_text(row, "workspace", overlay_workspace(overlay));
	(void)json_object_set_new(row, "started", json_string(started));
	overlay_close(overlay);
}

static int list(struct cli *cli)
{
	char root[PATH_MAX];
	struct err err = {0};
	struct dirent **entries = NULL;
	json_t *value, *kept;
	int code, count;

	if (changes_root(root, &err) < 0)
		return cli_fail_err(&err);
	count = scandir(root, &entries, NULL, alphasort);
	if (count < 0) {
		(void)err_system(&err, "read %s", root);
		return cli_fail_err(&err);
	}
	value = json_object();
	kept = json_array();
	(void)json_object_set_new(value, "kept", kept);
	for (int i = 0; i < count; i++) {
		if (entries[i]->d_name[0] != '.')
			add_kept(kept, root, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	code = cli_print(cli, value, print_kept);
	json_decref(value);
	return code;
}

static struct overlay *open_kept(const char *id, enum overlay_use use,
				 struct err *err)
{
	char dir[PATH_MAX];
	struct overlay *overlay;

	if (changes_path(id, dir, err) < 0)
		return NULL;
	overlay = overlay_open(dir, use, err);
	if (!overlay)
		(void)err_prefix(err, "%s", id);
	return overlay;
}

int cmd_sandbox_diff(struct cli *cli)
{
	struct err err = {0};
	struct overlay *overlay;
	int code;

	if (arguments_words(cli, 0, 1) < 0)
		return cli_usage(cli);
	if (optind == cli->argc)
		return list(cli);
	overlay = open_kept(cli->argv[optind], OVERLAY_LOOK, &err);
	if (!overlay)
		return fail(&err);
	code = show(cli, cli->argv[optind], overlay, &err);
	overlay_close(overlay);
	return code;
}

/* ---- commit ---- */

struct committing {
	json_t *outcomes;
};

static void on_outcome(void *owner, enum overlay_outcome outcome,
		       const struct overlay_change *change, const char *reason)
{
	static const char *const words[] = {"applied", "refused", "conflict"};
	struct committing *committing = owner;
	json_t *row = json_object();

	(void)json_array_append_new(committing->outcomes, row);
	(void)json_object_set_new(row, "outcome", json_string(words[outcome]));
	(void)json_object_set_new(row, "kind", json_string(kind_of(change)));
	(void)json_object_set_new(row, "type", json_string(type_of(change)));
	put_text(row, "path", change->path);
	if (reason)
		(void)json_object_set_new(row, "reason", json_string(reason));
}

static void print_outcomes(const json_t *value)
{
	size_t index;
	json_t *row;

	json_array_foreach(json_object_get(value, "outcomes"), index, row)
	{
		const char *reason = json_text(row, "reason");
		auto_free char *path = strdup(json_text(row, "path"));

		if (!path)
			return;
		cli_clean(path);
		(void)fprintf(reason[0] ? stderr : stdout, "%-8s %-8s %s%s%s\n",
			      json_text(row, "outcome"), json_text(row, "kind"),
			      path, reason[0] ? ": " : "", reason);
	}
}

/* A path as it was given, below the workspace. NULL: it is not. */
static char *below(char *path, const char *workspace)
{
	size_t len = strlen(workspace);

	if (!strncmp(path, workspace, len) && path[len] == '/')
		path += len + 1;
	while (path[0] == '.' && path[1] == '/')
		path += 2;
	for (len = strlen(path); len && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	return path[0] == '/' || !path[0] ? NULL : path;
}

static enum overlay_answer
note(void *owner, const struct overlay_change *change, struct err *err)
{
	bool *is_left = owner;

	(void)change;
	(void)err;
	*is_left = true;
	return OVERLAY_SKIP_BELOW;
}

/* Nothing of what was kept is missing in the workspace: no need to keep it.
 */
static int discard_if_done(struct overlay *overlay, struct err *err)
{
	bool is_left = false;

	if (overlay_each(overlay, note, &is_left, err) < 0)
		return -1;
	return is_left ? 0 : overlay_discard(overlay, err);
}

static int commit(struct cli *cli, struct overlay *overlay,
		  struct overlay_wish *wish, struct err *err)
{
	struct committing committing = {.outcomes = json_array()};
	json_t *value = json_object();
	struct overlay_result result;
	int rc, code;

	wish->on_outcome = on_outcome;
	wish->owner = &committing;
	rc = overlay_commit(overlay, wish, &result, err);
	if (rc == 0 && !result.conflicts)
		rc = discard_if_done(overlay, err);
	(void)json_object_set_new(value, "outcomes", committing.outcomes);
	code = cli_print(cli, value, print_outcomes);
	json_decref(value);
	if (rc < 0)
		return fail(err);
	if (result.conflicts)
		return cli_fail(EXIT_CONFLICT,
				"nothing was committed: the workspace changed "
				"meanwhile (--force commits over it)");
	if (result.refused)
		return cli_fail(EXIT_NOT_PERMITTED,
				"what was refused is kept: look at it, then "
				"discard it");
	return code;
}

static int parse_commit(struct cli *cli, struct overlay_wish *wish)
{
	static const struct option table[] = {
		{"force", no_argument, NULL, 'f'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		if (option != 'f')
			return -1;
		wish->is_forced = true;
	}
	return arguments_count(cli, 1, INT_MAX);
}

int cmd_sandbox_commit(struct cli *cli)
{
	struct overlay_wish wish = {0};
	struct err err = {0};
	struct overlay *overlay;
	int code = EXIT_OK;

	if (parse_commit(cli, &wish) < 0)
		return cli_usage(cli);
	overlay = open_kept(cli->argv[optind], OVERLAY_OWN, &err);
	if (!overlay)
		return fail(&err);
	wish.paths = (const char *const *)cli->argv + optind + 1;
	for (int i = optind + 1; code == EXIT_OK && i < cli->argc; i++) {
		char *path = below(cli->argv[i], overlay_workspace(overlay));

		if (!path)
			code = cli_fail(EXIT_USAGE,
					"%s: not below the workspace",
					cli->argv[i]);
		cli->argv[i] = path ? path : cli->argv[i];
	}
	if (code == EXIT_OK)
		code = commit(cli, overlay, &wish, &err);
	overlay_close(overlay);
	return code;
}

/* ---- discard ---- */

int cmd_sandbox_discard(struct cli *cli)
{
	struct err err = {0};
	struct overlay *overlay;
	int rc;

	if (arguments_words(cli, 1, 1) < 0)
		return cli_usage(cli);
	overlay = open_kept(cli->argv[optind], OVERLAY_DROP, &err);
	if (!overlay)
		return fail(&err);
	rc = overlay_discard(overlay, &err);
	overlay_close(overlay);
	return rc < 0 ? fail(&err) : EXIT_OK;
}
