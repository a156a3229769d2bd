#include "sandbox-host/session/spec.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/flow/run_config.h"
#include "policies/glob.h"
#include "sandbox-host/plan.h"
#include "sandbox-host/session/client.h"
#include "sandbox-host/session/dirs.h"
#include "sandbox-host/session/run_env.h"
#include "sandbox-host/session/signing.h"

#define LINKS_MAX	 40 /* the kernel follows no more */
#define OWN_RUN_DIRS_MAX 2

struct names {
	const char **items;
	size_t count;
};

static const char *const *strings_of(struct arena *arena,
				     const struct policy_strings *strings)
{
	const char **items =
		arena_array(arena, strings->count + 1, sizeof(*items));

	for (size_t i = 0; items && i < strings->count; i++)
		items[i] = arena_str(arena, strings->items[i]);
	return items;
}

static struct sandbox_paths paths_of(struct arena *arena,
				     const struct policy_strings *strings)
{
	return (struct sandbox_paths){strings_of(arena, strings),
				      strings->count};
}

bool session_find_name(const char *path, char name[PATH_MAX])
{
	char whole[PATH_MAX] = "", above[PATH_MAX + 1], real[PATH_MAX];
	size_t len;
	int done;

	if (path[0] != '/' && !getcwd(whole, sizeof(whole)))
		return false;
	len = strlen(whole);
	if (len + strlen(path) + 1 >= sizeof(whole))
		return false;
	(void)snprintf(whole + len, sizeof(whole) - len, "%s%s", len ? "/" : "",
		       path);
	len = strlen(whole);
	do {
		while (whole[--len] != '/')
			continue;
		(void)snprintf(above, sizeof(above), "%.*s/", (int)len, whole);
	} while (!realpath(above, real) && len > 0);
	if (plan_has_dots(whole + len))
		return false;
	done = snprintf(name, PATH_MAX, "%s%s",
			strcmp(real, "/") != 0 ? real : "", whole + len);
	return done > 0 && done < PATH_MAX;
}

static const char *glob_of(struct arena *arena, const char *name)
{
	char escaped[2 * PATH_MAX];

	glob_escape(bytes_str(name), escaped);
	return arena_str(arena, bytes_str(escaped));
}

/* Where the link at name leads to: one step. False: it is none. */
static bool follow(const char *name, char next[PATH_MAX])
{
	char target[PATH_MAX];
	ssize_t len = readlink(name, target, sizeof(target) - 1);
	int above = (int)(strrchr(name, '/') - name);
	int done;

	if (len <= 0)
		return false;
	target[len] = '\0';
	done = target[0] == '/' ? snprintf(next, PATH_MAX, "%s", target)
				: snprintf(next, PATH_MAX, "%.*s/%s", above,
					   name, target);
	return done > 0 && done < PATH_MAX;
}

/* The name at path, and each that it leads to where it is a link: wherever
 * that stands, the command may write what it ends at. False: no memory. */
static bool add_names(struct arena *arena, struct names *names,
		      const char *path)
{
	char name[PATH_MAX], next[PATH_MAX];

	for (size_t links = 0; links <= LINKS_MAX; links++) {
		if (!session_find_name(path, name))
			return true;
		names->items[names->count] = glob_of(arena, name);
		if (!names->items[names->count++])
			return false;
		if (!follow(name, next))
			return true;
		path = next;
	}
	return true;
}

/* The policy's list, the policy itself, the gateway's configuration and what
 * that names: the command would change what the next one may do. Nothing of
 * the last two where we would start no gateway. */
static int set_protected(const struct session_spec *from, struct arena *arena,
			 struct sandbox_spec *spec, struct err *err)
{
	const struct policy_strings *listed = &from->policy->filesystem.protect;
	auto_type(run_config_release) struct run_config config = {0};
	struct names names = {0};
	char run[PATH_MAX];
	bool is_fine;

	if (session_run_dir(run, sizeof(run)) == 0)
		(void)run_config_read(run, &config, err);
	names.items = arena_array(
		arena, listed->count + (config.count + 2) * (LINKS_MAX + 1),
		sizeof(*names.items));
	is_fine = names.items != NULL;
	for (size_t i = 0; is_fine && i < listed->count; i++) {
		names.items[names.count] = arena_str(arena, listed->items[i]);
		is_fine = names.items[names.count++] != NULL;
	}
	if (is_fine && from->policy_path)
		is_fine = add_names(arena, &names, from->policy_path);
	if (is_fine && config.file[0])
		is_fine = add_names(arena, &names, config.file);
	for (size_t i = 0; is_fine && i < config.count; i++)
		is_fine = add_names(arena, &names, config.names[i]);
	spec->protect = (struct sandbox_paths){names.items, names.count};
	return is_fine ? 0
		       : err_set(err, ERR_TOO_LARGE,
				 "protect: no memory for the names");
}

/* Where dir really is, once; nothing where it is not there. False: no memory.
 */
static bool add_real(struct arena *arena, const char **items, size_t *count,
		     const char *dir)
{
	char real[PATH_MAX];

	if (!realpath(dir, real))
		return true;
	for (size_t i = 0; i < *count; i++)
		if (!strcmp(items[i], real))
			return true;
	items[*count] = arena_str(arena, bytes_str(real));
	return items[(*count)++] != NULL;
}

/* Below /tmp anybody can make a thing of that name, a link to anywhere: no
 * gateway of this user's would take that. Root's is not there. */
static bool is_own(const char *dir)
{
	struct stat st;

	return getuid() == 0 || (lstat(dir, &st) == 0 &&
				 (st.st_uid == getuid() || st.st_uid == 0));
}

/* The gateway's own directories: where it runs as the user who runs the
 * sandbox, only this keeps the vault's key from the command, and the sockets
 * that a gateway started later would make. */
static int set_ours(const struct session_spec *from, struct arena *arena,
		    struct sandbox_spec *spec, struct err *err)
{
	const char *state = json_text(from->session, "state");
	const char **items =
		arena_array(arena, 3 + OWN_RUN_DIRS_MAX, sizeof(*items));
	char sockets[PATH_MAX];
	bool is_fine = true;
	size_t count = 0;

	if (!items || state[0] != '/')
		return err_set(err, ERR_INVALID,
			       "hide the gateway's directory '%s'", state);
	items[count++] = state;
	if (from->changes && from->changes[0])
		items[count++] = from->changes;
	if (session_run_dir(sockets, sizeof(sockets)) == 0)
		is_fine = add_real(arena, items, &count, sockets);
	for (size_t n = 0; is_fine && n < OWN_RUN_DIRS_MAX; n++)
		if (session_own_run_dir(n, sockets, sizeof(sockets)) == 0 &&
		    is_own(sockets))
			is_fine = add_real(arena, items, &count, sockets);
	spec->ours = (struct sandbox_paths){items, count};
	return is_fine ? 0 : err_set(err, ERR_TOO_LARGE, "no memory");
}

/* The files that the gateway's secrets stand in, where they really are. */
static int set_secrets(const struct session_spec *from, struct arena *arena,
		       struct sandbox_spec *spec, struct err *err)
{
	const json_t *list = json_object_get(from->session, "secret_files");
	size_t count = json_array_size(list);
	const char **items = arena_array(arena, count + 1, sizeof(*items));
	char name[PATH_MAX];

	for (size_t i = 0; items && i < count; i++) {
		const char *path = json_string_value(json_array_get(list, i));

		if (!path || path[0] != '/' || !session_find_name(path, name))
			return err_set(err, ERR_INVALID,
				       "hide the gateway's secret '%.200s': "
				       "there is no telling where it is",
				       path ? path : "");
		items[i] = arena_str(arena, bytes_str(name));
		if (!items[i])
			return err_set(err, ERR_TOO_LARGE, "no memory");
	}
	if (!items)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	spec->secrets = (struct sandbox_paths){items, count};
	return 0;
}

static struct sandbox_limits limits_of(const struct policy_limits *limits)
{
	return (struct sandbox_limits){
		.memory_bytes = limits->memory_bytes,
		.processes = limits->processes,
		.time_ms = limits->time_ms,
		.cpu_milli = limits->cpu_milli,
		.disk_bytes = limits->disk_bytes,
		.files = limits->files,
	};
}

static struct sandbox_require require_of(const struct policy_require *require)
{
	return (struct sandbox_require){
		.landlock = require->landlock,
		.memory = require->memory,
		.processes = require->processes,
		.cpu = require->cpu,
		.disk = require->disk,
		.freezer = require->freezer,
	};
}

int session_spec_make(const struct session_spec *from, struct arena *arena,
		      struct sandbox_spec *spec, struct err *err)
{
	static const enum sandbox_mode modes[] = {
		[WORKSPACE_WRITE] = SANDBOX_WRITE,
		[WORKSPACE_READ] = SANDBOX_READ,
		[WORKSPACE_OVERLAY] = SANDBOX_OVERLAY,
	};
	const struct policy_filesystem *files = &from->policy->filesystem;
	json_t *signing = json_object_get(from->session, "signing");
	const struct run_env env = {
		.policy = from->policy,
		.placeholders = json_object_get(from->session, "placeholders"),
		.signing = signing,
		.caller = from->caller,
		.image = from->image,
		.image_count = from->image_count,
		.given = from->given,
		.given_count = from->given_count,
	};

	*spec = (struct sandbox_spec){
		.workspace = from->workspace,
		.workspace_mode = modes[files->workspace_mode],
		.changes = from->changes,
		.home = from->home,
		.has_read = files->has_read,
		.read = paths_of(arena, &files->read),
		.write = paths_of(arena, &files->write),
		.hide = paths_of(arena, &files->hide),
		.ignore_files = paths_of(arena, &files->ignore_files),
		.limits = limits_of(&from->policy->limits),
		.require = require_of(&from->policy->require),
		.ignore = from->policy->quiet,
		.ca_pem = bytes_str(json_text(from->session, "ca_pem")),
	};
	if (set_protected(from, arena, spec, err) < 0 ||
	    set_ours(from, arena, spec, err) < 0 ||
	    set_secrets(from, arena, spec, err) < 0)
		return -1;
	if (json_is_object(signing) &&
	    signing_files(signing, arena, spec, err) < 0)
		return -1;
	return run_env_make(&env, arena, spec, err);
}
