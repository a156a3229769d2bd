/*
 * What an isolated session was asked for beside its workspace: which volumes
 * it sees elsewhere, which variables it has, whose user it is, which a command
 * may be asked, too. It gets no more
 * than the sandbox beside which it stands.
 */
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "sandbox-host/identity.h"
#include "sandbox-host/supervisor/parts.h"

#define SHOWN_PATH_MAX 200
#define GLOB_SIGNS     5 /* what is no word in a glob */

/* ---- its user ---- */

int user_check(const struct supervisor *supervisor,
	       const struct user_wish *wish, struct err *err)
{
	struct plan_identity inside;
	struct stat workspace;

	if (!wish->has_uid && !wish->has_gid)
		return 0;
	if (stat(supervisor->workspace, &workspace) < 0)
		return err_system(err, "look at the workspace");
	identity_choose(&inside, &workspace);
	if ((!wish->has_uid || wish->uid == inside.uid) &&
	    (!wish->has_gid || wish->gid == inside.gid))
		return 0;
	return err_set(err, ERR_UNSUPPORTED,
		       "uid and gid: a sandbox has one user, which is %u:%u "
		       "inside",
		       (unsigned)inside.uid, (unsigned)inside.gid);
}

/* ---- binds ---- */

/* What of path is below the directory; false: it is not in it. */
static bool take_below(struct bytes path, struct bytes directory,
		       struct bytes *rest)
{
	while (directory.len > 0 && directory.data[directory.len - 1] == '/')
		directory.len--;
	if (!bytes_starts_with(path, directory) ||
	    (path.len > directory.len && path.data[directory.len] != '/'))
		return false;
	*rest = bytes_slice(path, directory.len, path.len);
	while (rest->len > 0 && rest->data[0] == '/')
		*rest = bytes_slice(*rest, 1, rest->len);
	return true;
}

/* The volume that shows path inside, the deepest one; NULL: none does. */
static const struct volume_request *
volume_of(const struct sandbox_request *request, struct bytes path,
	  struct bytes *rest)
{
	const struct volume_request *found = NULL;

	for (size_t i = 0; i < request->volumes_count; i++) {
		const struct volume_request *volume = &request->volumes[i];
		struct bytes below;

		if ((found && volume->target.len < found->target.len) ||
		    !take_below(path, volume->target, &below))
			continue;
		found = volume;
		*rest = below;
	}
	return found;
}

static bool meet(struct bytes one, struct bytes other)
{
	struct bytes rest;

	return take_below(one, other, &rest) || take_below(other, one, &rest);
}

/* The directory that a glob is of, as far as it is words. */
static struct bytes words_of(struct bytes glob)
{
	size_t len = 0;

	while (len < glob.len && !memchr("*?[{\\", glob.data[len], GLOB_SIGNS))
		len++;
	while (len < glob.len && len > 0 && glob.data[len - 1] != '/')
		len--;
	return bytes_slice(glob, 0, len);
}

/* Does one of the policy's globs mean something there? */
static bool names(const struct supervisor *supervisor,
		  const struct policy_strings *globs, struct bytes directory)
{
	struct bytes workspace = bytes_str(supervisor->workspace);
	struct bytes home = supervisor->request.home;

	for (size_t i = 0; i < globs->count; i++) {
		struct bytes glob = globs->items[i], of = workspace;

		if (glob.data[0] == '/')
			of = words_of(glob);
		else if (glob.data[0] == '~')
			of = home;
		if (of.len > 0 && meet(of, directory))
			return true;
	}
	return false;
}

/* The policy hides and protects by name, which another place has not, nor what
 * a link there leads to. */
static bool is_by_name(const struct supervisor *supervisor,
		       const struct isolate_bind *bind,
		       const struct volume_request *volume)
{
	const struct policy_filesystem *files = &supervisor->policy->filesystem;

	if (bytes_equal(bind->source, volume->target) &&
	    bytes_equal(bind->target, volume->target))
		return false;
	return names(supervisor, &files->hide, volume->target) ||
	       names(supervisor, &files->protect, volume->target);
}

static bool check_bind(const struct supervisor *supervisor,
		       const struct isolate_bind *bind,
		       struct rpc_ticket ticket)
{
	const struct sandbox_request *request = &supervisor->request;
	struct bytes rest;
	const struct volume_request *volume =
		volume_of(request, bind->source, &rest);
	struct bytes shown = bytes_slice(bind->source, 0, SHOWN_PATH_MAX);

	if (!volume)
		rpc_refuse(ticket, HOST_REFUSED_UNSUPPORTED,
			   "%.*s is in no volume of the sandbox: of its files "
			   "an isolated session shares volumes and the "
			   "workspace alone",
			   BYTES_ARGS(shown));
	else if (volume->is_read_only && !bind->is_read_only)
		rpc_refuse(ticket, HOST_REFUSED_FORBIDDEN,
			   "%.*s is in a volume that the sandbox may only read",
			   BYTES_ARGS(shown));
	else if (is_by_name(supervisor, bind, volume))
		rpc_refuse(ticket, HOST_REFUSED_FORBIDDEN,
			   "%.*s is in a volume of which the policy hides or "
			   "protects names: it has no other place",
			   BYTES_ARGS(shown));
	else
		return true;
	return false;
}

bool isolate_check_binds(const struct supervisor *supervisor,
			 const struct host_isolate *asked,
			 struct rpc_ticket ticket)
{
	const struct sandbox_request *request = &supervisor->request;

	for (size_t i = 0; i < asked->binds_count; i++)
		if (!check_bind(supervisor, &asked->binds[i], ticket))
			return false;
	if (request->volumes_count + asked->binds_count <= REQUEST_VOLUMES_MAX)
		return true;
	rpc_refuse(ticket, HOST_REFUSED_INVALID,
		   "volumes and binds are at most %d", REQUEST_VOLUMES_MAX);
	return false;
}

/* A link that somebody put into a volume leads out of no more than what that
 * volume shows. */
static void add_bind(const struct sandbox_request *from,
		     const struct isolate_bind *bind,
		     struct volume_request *volumes, size_t *count)
{
	struct bytes rest = {0};
	const struct volume_request *volume =
		volume_of(from, bind->source, &rest);

	for (size_t i = 0; i < *count; i++)
		if (bytes_equal(volumes[i].target, bind->target) &&
		    bytes_equal(bind->source, bind->target)) {
			volumes[i].is_read_only |= bind->is_read_only;
			return;
		}
	volumes[(*count)++] = (struct volume_request){
		.source = volume->source,
		.sub_path = volume->sub_path,
		.below = rest,
		.target = bind->target,
		.is_read_only = bind->is_read_only,
	};
}

static int add_binds(const struct supervisor *supervisor,
		     const struct host_isolate *asked, struct arena *arena,
		     struct sandbox_request *request)
{
	const struct sandbox_request *from = &supervisor->request;
	size_t count = from->volumes_count;
	struct volume_request *volumes = arena_array(
		arena, count + asked->binds_count + 1, sizeof(*volumes));

	if (!volumes)
		return -1;
	for (size_t i = 0; i < count; i++)
		volumes[i] = from->volumes[i];
	for (size_t i = 0; i < asked->binds_count; i++)
		add_bind(from, &asked->binds[i], volumes, &count);
	request->volumes = volumes;
	request->volumes_count = count;
	return 0;
}

/* ---- variables ---- */

static bool is_key(const struct host_isolate *asked, struct bytes variable)
{
	struct bytes name;

	(void)bytes_split(&variable, '=', &name);
	for (size_t i = 0; i < asked->keys_count; i++)
		if (bytes_equal(asked->keys[i].text, name))
			return true;
	return false;
}

static int keep_variables(const struct host_isolate *asked, struct arena *arena,
			  struct sandbox_request *request)
{
	struct text_item *env =
		arena_array(arena, request->env_count + 1, sizeof(*env));
	size_t count = 0;

	if (!env)
		return -1;
	for (size_t i = 0; i < request->env_count; i++)
		if (is_key(asked, request->env[i].text) ==
		    (asked->env == ISOLATE_ENV_ALLOW))
			env[count++] = request->env[i];
	request->env = env;
	request->env_count = count;
	return 0;
}

int isolate_narrow(const struct supervisor *supervisor,
		   const struct host_isolate *asked, struct arena *arena,
		   struct sandbox_request *request, struct err *err)
{
	int result = 0;

	if (asked->binds_count > 0)
		result = add_binds(supervisor, asked, arena, request);
	if (result == 0 && asked->env != ISOLATE_ENV_ALL)
		result = keep_variables(asked, arena, request);
	return result < 0 ? err_set(err, ERR_TOO_LARGE, "no memory") : 0;
}
