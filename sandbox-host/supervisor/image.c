/* What an image says of itself (flow/image_settings.h): the request's own wins
 * over it, and what can not be kept is told. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "sandbox-host/environment.h"
#include "sandbox-host/identity.h"
#include "sandbox-host/supervisor/parts.h"

#define ID_DIGITS 10

int image_read(struct supervisor *supervisor, struct err *err)
{
	const char *path = supervisor->options.image_settings;

	return path ? image_settings_read(path, &supervisor->arena,
					  &supervisor->image.says, err)
		    : 0;
}

/* Nobody listens while the sandbox is built. */
static int note(struct supervisor *supervisor, const char *before,
		const char *what, struct err *err)
{
	const char *text =
		arena_format(&supervisor->arena, "%s%s", before, what);

	assert(supervisor->image.note_count < IMAGE_NOTES_MAX);
	if (!text)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	supervisor->image.notes[supervisor->image.note_count++] = text;
	return 0;
}

void image_tell(struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->image.note_count; i++)
		events_add(supervisor, "image", supervisor->image.notes[i]);
}

/* ---- variables ---- */

/* One that is somebody's else to say is left out. */
static bool is_taken(const struct supervisor *supervisor, const char *name,
		     struct buf *dropped)
{
	if (!strcmp(name, "HOME") && supervisor->request.home.len)
		return false;
	if (!environment_is_secret(name))
		return true;
	/* One that there is no room for is dropped as well. */
	if (buf_len(dropped) > 0)
		(void)buf_add_str(dropped, ", ");
	(void)buf_add_str(dropped, name);
	return false;
}

int image_variables(struct supervisor *supervisor,
		    const struct sandbox_variable **list, size_t *count,
		    struct err *err)
{
	const struct image_settings *image = &supervisor->image.says;
	struct arena *arena = &supervisor->arena;
	struct sandbox_variable *items =
		arena_array(arena, image->env_count + 1, sizeof(*items));
	auto_type(buf_release) struct buf dropped;

	buf_init(&dropped, HOST_EVENT_MAX / 2);
	*list = items;
	*count = 0;
	for (size_t i = 0; items && i < image->env_count; i++) {
		char *name = arena_str(arena, image->env[i].text);
		char *equals = name ? strchr(name, '=') : NULL;

		if (!equals)
			return err_set(err, ERR_TOO_LARGE, "no memory");
		*equals = '\0';
		if (is_taken(supervisor, name, &dropped))
			items[(*count)++] =
				(struct sandbox_variable){name, equals + 1};
	}
	if (!items)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	if (buf_len(&dropped) == 0)
		return 0;
	return note(supervisor,
		    "variables of the image that look like credentials are "
		    "not set: ",
		    buf_str(&dropped), err);
}

/* ---- directory and user ---- */

/* "root" and numbers alone mean the same in every image. */
static bool is_id(struct bytes text, uint64_t id)
{
	uint64_t number;

	if (bytes_is(text, "root"))
		return id == 0;
	return bytes_to_u64(text, ID_DIGITS, &number) == 0 && number == id;
}

static int note_user(struct supervisor *supervisor, struct err *err)
{
	struct bytes rest = supervisor->image.says.user;
	struct plan_identity inside;
	char before[64];
	struct bytes user;
	const char *text;
	struct stat info;
	bool has_group;

	if (rest.len == 0)
		return 0;
	if (stat(supervisor->workspace, &info) < 0)
		return err_system(err, "look at the workspace");
	identity_choose(&inside, &info);
	has_group = bytes_split(&rest, ':', &user);
	if (is_id(user, inside.uid) && (!has_group || is_id(rest, inside.gid)))
		return 0;
	text = arena_str(&supervisor->arena, supervisor->image.says.user);
	(void)snprintf(before, sizeof(before),
		       "commands run as user %u, and not as the image's: ",
		       (unsigned)inside.uid);
	return note(supervisor, before, text ? text : "", err);
}

/* A workspace that was named is where the work is. "/" is what images have
 * that say nothing. */
static bool has_directory(const struct supervisor *supervisor)
{
	const struct bytes directory = supervisor->image.says.directory;

	return directory.len > 0 && !bytes_is(directory, "/") &&
	       supervisor->owns_workspace;
}

int image_spec(struct supervisor *supervisor, struct sandbox_spec *spec,
	       struct err *err)
{
	const char *directory =
		arena_str(&supervisor->arena, supervisor->image.says.directory);

	if (!directory)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	/* Whether it will be there is known inside alone, and paths are judged
	 * from where a command begins. */
	if (has_directory(supervisor) && !supervisor->policy->commands.is_set)
		spec->root.cwd = directory;
	/* Whether it will be there is known inside alone, and paths are judged
	 * from where a command begins. */
	else if (has_directory(supervisor) &&
		 note(supervisor,
		      "commands, which the policy judges, begin in the "
		      "workspace, and not in the image's ",
		      directory, err) < 0)
		return -1;
	return note_user(supervisor, err);
}

struct exec_request image_entrypoint(const struct supervisor *supervisor)
{
	const struct sandbox_request *request = &supervisor->request;
	const struct image_settings *image = &supervisor->image.says;

	if (supervisor->options.is_ahead)
		return (struct exec_request){0};
	if (request->entrypoint_count > 0)
		return (struct exec_request){.argv = request->entrypoint,
					     .argv_count =
						     request->entrypoint_count};
	if (request->is_isolated)
		return (struct exec_request){0};
	return (struct exec_request){.argv = image->entrypoint,
				     .argv_count = image->entrypoint_count};
}
