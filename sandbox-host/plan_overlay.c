/* The workspace as an overlay: its layers, and what stands in the way. */
#include "sandbox-host/plan_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "sandbox-host/overlay.h"

#define LINE_BYTES_MAX (8 * 1024 * 1024) /* a line of mountinfo */

static void cleanup_file(FILE **file)
{
	if (*file)
		(void)fclose(*file);
}

/* proc(5): "\040" and its like, undone in place. */
static void unescape(char *text)
{
	char *out = text;

	for (; *text; out++) {
		unsigned value = 0;

		if (text[0] == '\\' && sscanf(text + 1, "%3o", &value) == 1) {
			*out = (char)value;
			text += 4;
		} else {
			*out = *text++;
		}
	}
	*out = '\0';
}

/* The fifth column is the mount point. */
static bool is_mount_below(char *line, const char *path, char **point)
{
	for (unsigned i = 0; line && i < 4; i++) {
		line = strchr(line, ' ');
		line += line != NULL;
	}
	if (!line)
		return false;
	line[strcspn(line, " ")] = '\0';
	unescape(line);
	*point = line;
	return plan_is_within(line, path) && strcmp(line, path) != 0;
}

/* An overlay shows one file system: below a mount there would be what the
 * mount covers. */
static int check_mounts(const char *path, struct err *err)
{
	__attribute__((cleanup(cleanup_file))) FILE *file =
		fopen("/proc/self/mountinfo", "re");
	auto_free char *line = NULL;
	size_t size = 0;
	char *point;

	if (!file)
		return err_system(err, "overlay: read the list of mounts");
	while (getline(&line, &size, file) > 0 && size < LINE_BYTES_MAX)
		if (is_mount_below(line, path, &point))
			return err_set(err, ERR_UNSUPPORTED,
				       "overlay %s: %s is a mount of its own, "
				       "which an overlay does not show",
				       path, point);
	return ferror(file)
		       ? err_system(err, "overlay: read the list of mounts")
		       : 0;
}

/* `write` in the workspace would reach the user's directory after all. */
static int check_write(struct plan *plan, const struct sandbox_spec *spec,
		       struct err *err)
{
	for (size_t i = 0; i < spec->write.count; i++) {
		const char *path = plan_path(plan, spec->write.items[i], err);
		const char *real;
		bool failed;

		if (!path)
			return -1;
		real = plan_real(plan, path, &failed, err);
		if (failed)
			return -1;
		if (real && (plan_is_within(real, plan->workspace) ||
			     plan_is_within(plan->workspace, real)))
			return err_set(err, ERR_INVALID,
				       "write %s: the workspace is an overlay: "
				       "nothing in it or above it is written",
				       path);
	}
	return 0;
}

int plan_overlay(struct plan *plan, const struct sandbox_spec *spec,
		 struct err *err)
{
	const char *changes;
	bool failed;

	if (spec->workspace_mode != SANDBOX_OVERLAY)
		return 0;
	if (!spec->changes || spec->changes[0] != '/')
		return err_set(err, ERR_INVALID,
			       "overlay: no directory for the changes");
	changes = plan_real(plan, spec->changes, &failed, err);
	if (!changes)
		return failed ? -1
			      : err_system(err, "overlay: %s", spec->changes);
	if (plan_is_within(changes, plan->workspace) ||
	    plan_is_within(plan->workspace, changes))
		return err_set(err, ERR_INVALID,
			       "overlay: the changes would be kept in the "
			       "workspace itself: %s",
			       changes);
	plan->layers = plan_format(plan, err, "%s/" OVERLAY_LAYERS, changes);
	if (!plan->layers || check_mounts(plan->workspace, err) < 0)
		return -1;
	return check_write(plan, spec, err);
}
