#include "sandbox-host/plan_parts.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/confine.h"
#include "common/plain.h"
#include "sandbox-host/identity.h"

#define PLAN_BYTES_MAX	 (16 * 1024 * 1024)
#define PLAN_STEPS_FIRST 128
#define LANDLOCK_ABI_MIN 2 /* landlock.h */

int plan_add(struct plan *plan, struct plan_step step, struct err *err)
{
	struct plan_step *steps;
	size_t size = plan->step_size ? plan->step_size * 2 : PLAN_STEPS_FIRST;

	if (plan->step_count == PLAN_STEPS_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "plan: more than %d steps: fewer paths, please",
			       PLAN_STEPS_MAX);
	if (plan->step_count == plan->step_size) {
		steps = arena_array(&plan->arena, size, sizeof(*steps));
		if (!steps)
			return err_set(err, ERR_TOO_LARGE, "plan: no memory");
		if (plan->step_count)
			memcpy(steps, plan->steps,
			       plan->step_count * sizeof(*steps));
		plan->steps = steps;
		plan->step_size = size;
	}
	plan->steps[plan->step_count++] = step;
	return 0;
}

const char *plan_format(struct plan *plan, struct err *err, const char *format,
			...)
{
	char text[2 * PATH_MAX];
	char *copy;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(text)) {
		err_set(err, ERR_TOO_LARGE, "plan: a path is too long");
		return NULL;
	}
	copy = arena_str(&plan->arena, bytes_from(text, (size_t)len));
	if (!copy)
		err_set(err, ERR_TOO_LARGE, "plan: no memory");
	return copy;
}

int plan_copy_link(struct plan *plan, int dir, const char *name,
		   const char *target, struct err *err)
{
	char text[PATH_MAX];
	ssize_t len = readlinkat(dir, name, text, sizeof(text) - 1);
	const char *source;

	if (len < 0)
		return err_system(err, "read the link %s", target);
	text[len] = '\0';
	source = plan_format(plan, err, "%s", text);
	if (!source)
		return -1;
	return plan_add(plan,
			(struct plan_step){.kind = PLAN_LINK,
					   .source = source,
					   .target = target},
			err);
}

void plan_note(struct plan *plan, const char *text)
{
	if (plan->note_count < PLAN_NOTES_MAX)
		plan->notes[plan->note_count++] = text;
}

bool plan_is_within(const char *path, const char *tree)
{
	size_t len = 0;

	/* Asked thousands of times for one plan, and mostly they differ soon.
	 */
	while (tree[len] && path[len] == tree[len])
		len++;
	if (tree[len])
		return tree[1] == '\0';
	return len == 1 || path[len] == '/' || path[len] == '\0';
}

const struct plan_step *plan_covering(const struct plan *plan, const char *path)
{
	const struct plan_step *best = NULL;

	for (size_t i = 0; i < plan->step_count; i++) {
		const struct plan_step *step = &plan->steps[i];

		if (step->kind != PLAN_BIND && step->kind != PLAN_TMPFS &&
		    step->kind != PLAN_PROC && step->kind != PLAN_DEVPTS)
			continue;
		if (plan_is_within(path, step->target) &&
		    (!best || strlen(step->target) >= strlen(best->target)))
			best = step;
	}
	return best;
}

bool plan_is_bound(const struct plan *plan, const char *path)
{
	const struct plan_step *step = plan_covering(plan, path);

	return step && step->kind == PLAN_BIND && !(step->flags & PLAN_INSIDE);
}

bool plan_is_writable(const struct plan *plan, const char *path)
{
	const struct plan_step *step = plan_covering(plan, path);

	return step && step->kind == PLAN_BIND && (step->flags & PLAN_WRITE);
}

bool plan_is_here(const struct plan *plan, const char *path)
{
	const struct plan_step *step = plan_covering(plan, path);

	return step && step->kind == PLAN_BIND && (step->flags & PLAN_WRITE) &&
	       !(step->flags & PLAN_INSIDE) &&
	       !strcmp(step->source, step->target);
}

bool plan_is_hidden(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->step_count; i++)
		if (plan->steps[i].kind == PLAN_HIDE &&
		    plan_is_within(path, plan->steps[i].target))
			return true;
	return false;
}

bool plan_has_dots(const char *path)
{
	for (const char *at = path; *at; at++) {
		size_t len = strcspn(at, "/");

		if ((len == 1 && at[0] == '.') ||
		    (len == 2 && at[0] == '.' && at[1] == '.'))
			return true;
		at += len;
		if (!*at)
			break;
	}
	return false;
}

/* text without its leading "./" and trailing slashes; "." becomes "". */
static struct bytes trimmed(const char *text)
{
	size_t len;

	while (text[0] == '.' && text[1] == '/')
		text += 2;
	if (!strcmp(text, "."))
		text++;
	len = strlen(text);
	while (len > 1 && text[len - 1] == '/')
		len--;
	return bytes_from(text, len);
}

/* base, escaped if a glob is to be put behind it. */
static const char *base_of(struct plan *plan, const char *base, bool is_glob,
			   struct err *err)
{
	char text[2 * PATH_MAX + 1];

	if (!is_glob)
		return base;
	glob_escape(bytes_str(base), text);
	return plan_format(plan, err, "%s", text);
}

static const char *resolve(struct plan *plan, const char *text, bool is_glob,
			   struct err *err)
{
	struct bytes path = trimmed(text);
	const char *base = plan->workspace;

	if (plan_has_dots(text +
			  (text[0] == '.' && (text[1] == '/' || !text[1])))) {
		err_set(err, ERR_INVALID, "path %s: no \"..\" here", text);
		return NULL;
	}
	if (path.len && path.data[0] == '/')
		return plan_format(plan, err, "%.*s", BYTES_ARGS(path));
	if (path.len && path.data[0] == '~' &&
	    (path.len == 1 || path.data[1] == '/')) {
		if (!plan->home) {
			err_set(err, ERR_INVALID, "path %s: there is no home",
				text);
			return NULL;
		}
		base = plan->home;
		path = bytes_slice(path, 2, path.len);
	}
	base = base_of(plan, base, is_glob, err);
	if (path.len == 0 || !base)
		return base;
	return plan_format(plan, err, "%s/%.*s", base, BYTES_ARGS(path));
}

const char *plan_path(struct plan *plan, const char *text, struct err *err)
{
	return resolve(plan, text, false, err);
}

struct entries {
	struct plan *plan;
	plan_on_entry *on_entry;
	struct err *err;
};

static int on_expanded(void *owner, struct bytes text)
{
	const struct entries *entries = owner;
	struct plan *plan = entries->plan;
	const char *path = arena_str(&plan->arena, text);
	char *plain;

	if (!path) {
		err_set(entries->err, ERR_TOO_LARGE, "plan: no memory");
		return 1;
	}
	path = resolve(plan, path, true, entries->err);
	if (!path)
		return 1;
	if (glob_is_one(bytes_str(path)))
		return entries->on_entry(plan, path, true, entries->err) < 0;
	plain = arena_alloc(&plan->arena, strlen(path) + 1);
	if (!plain) {
		err_set(entries->err, ERR_TOO_LARGE, "plan: no memory");
		return 1;
	}
	glob_unescape(bytes_str(path), plain);
	return entries->on_entry(plan, plain, false, entries->err) < 0;
}

int plan_each(struct plan *plan, const char *text, plan_on_entry *on_entry,
	      struct err *err)
{
	struct entries entries = {plan, on_entry, err};
	struct glob_fault fault = {0, NULL};
	int rc = glob_check(bytes_str(text), &fault);

	if (rc == 0)
		rc = glob_expand(bytes_str(text), on_expanded, &entries,
				 &fault);
	if (fault.why)
		return err_set(err, ERR_INVALID, "pattern %.128s: %s", text,
			       fault.why);
	return rc ? -1 : 0;
}

const char *plan_real(struct plan *plan, const char *path, bool *failed,
		      struct err *err)
{
	auto_free char *real = realpath(path, NULL);
	const char *copy;

	*failed = false;
	if (!real && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return NULL;
	if (!real) {
		*failed = true;
		err_system(err, "resolve %s", path);
		return NULL;
	}
	copy = plan_format(plan, err, "%s", real);
	*failed = !copy;
	return copy;
}

/* Places that are ours inside, or no place for a user's tree. */
static bool is_reserved(const char *path)
{
	static const char *const reserved[] = {"/proc", "/sys", "/dev",
					       SANDBOX_FILES};

	if (!strncmp(path, "/dev/shm/", strlen("/dev/shm/")))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		if (plan_is_within(path, reserved[i]))
			return true;
	return !strcmp(path, "/") || !strcmp(path, "/run") ||
	       !strcmp(path, "/old");
}

static int plan_places(struct plan *plan, const struct sandbox_spec *spec,
		       struct err *err)
{
	bool failed;
	struct stat st;

	plan->workspace = plan_real(plan, spec->workspace, &failed, err);
	if (!plan->workspace)
		return failed ? -1
			      : err_system(err, "workspace %s",
					   spec->workspace);
	if (stat(plan->workspace, &st) < 0)
		return err_system(err, "workspace %s", plan->workspace);
	if (!S_ISDIR(st.st_mode) || is_reserved(plan->workspace))
		return err_set(err, ERR_INVALID,
			       "workspace %s: not a directory to work in: "
			       "name another",
			       plan->workspace);
	/* A command could let itself read again what we can not look through.
	 */
	if (access(plan->workspace, X_OK) < 0 ||
	    (st.st_uid == geteuid() && access(plan->workspace, R_OK) < 0))
		return err_system(err, "workspace %s", plan->workspace);
	identity_choose(&plan->identity, &st);
	plan->cwd = spec->cwd ? plan_format(plan, err, "%s", spec->cwd)
			      : plan->workspace;
	if (!plan->cwd)
		return -1;
	if (!spec->home || spec->home[0] != '/' || !strcmp(spec->home, "/"))
		return 0;
	plan->home = plan_real(plan, spec->home, &failed, err);
	if (failed)
		return -1;
	/* A home that does not exist (a service account's) is none. */
	if (plan->home && is_reserved(plan->home))
		plan->home = NULL;
	return 0;
}

static int plan_check(const struct sandbox_spec *spec, struct err *err)
{
	const struct sandbox_paths *lists[] = {
		&spec->read,	&spec->write,	&spec->hide,	    &spec->ours,
		&spec->secrets, &spec->protect, &spec->ignore_files};

	if (!spec->is_service &&
	    (!spec->argv || !spec->argv[0] || !spec->argv[0][0]))
		return err_set(err, ERR_INVALID, "sandbox: no command");
	if (!spec->workspace || spec->workspace[0] != '/')
		return err_set(err, ERR_INVALID,
			       "sandbox: the workspace is no absolute path");
	if (spec->env_count > SANDBOX_ENV_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "sandbox: more than %d variables",
			       SANDBOX_ENV_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (lists[i]->count > SANDBOX_PATHS_MAX)
			return err_set(err, ERR_TOO_LARGE,
				       "sandbox: more than %d paths in a list",
				       SANDBOX_PATHS_MAX);
	return 0;
}

static int plan_begin(struct plan *plan, const struct sandbox_spec *spec,
		      struct err *err)
{
	const struct plan_step steps[] = {
		{.kind = PLAN_NAMESPACES,
		 .target = "user mount pid net ipc uts cgroup"},
		{.kind = PLAN_ADDRESS,
		 .target = SANDBOX_ADDRESS4 " " SANDBOX_ADDRESS6},
		{.kind = PLAN_LISTEN, .target = "tcp4 tcp6 dns-udp dns-tcp"},
		{.kind = PLAN_FIREWALL,
		 .target = "tcp -> proxy, port 53 -> dns, the rest rejected"},
		{.kind = PLAN_MAP},
		{.kind = PLAN_CGROUP},
		{.kind = PLAN_HOSTNAME,
		 .target = spec->hostname ? spec->hostname : SANDBOX_HOSTNAME},
		{.kind = PLAN_ROOT, .target = "/", .mode = 0755},
	};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (plan_add(plan, steps[i], err) < 0)
			return -1;
	return 0;
}

/* What the command's process gives up, last thing before its exec. */
static int plan_confinement(struct plan *plan, const struct sandbox_spec *spec,
			    struct err *err)
{
	size_t count = plan->step_count;
	int rc = plan_add(plan, (struct plan_step){.kind = PLAN_CAPABILITIES},
			  err);

	if (confine_landlock_abi() < LANDLOCK_ABI_MIN)
		plan_note(plan, "this kernel has no Landlock: mounts alone "
				"keep the file system");
	if (rc == 0)
		rc = plan_add(plan,
			      (struct plan_step){.kind = PLAN_LANDLOCK,
						 .target = "/"},
			      err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct plan_step *step = &plan->steps[i];
		bool is_writable =
			(step->kind == PLAN_BIND &&
			 (step->flags & PLAN_WRITE) &&
			 !(step->flags & PLAN_DEVICE)) ||
			(step->kind == PLAN_TMPFS && (step->mode & S_IWUSR) &&
			 strcmp(step->target, SANDBOX_FILES) != 0);

		if (is_writable)
			rc = plan_add(
				plan,
				(struct plan_step){.kind = PLAN_LANDLOCK,
						   .flags = PLAN_WRITE,
						   .target = step->target},
				err);
	}
	if (rc == 0)
		rc = plan_add(plan,
			      (struct plan_step){.kind = PLAN_LANDLOCK,
						 .flags = PLAN_WRITE,
						 .target = "/dev"},
			      err);
	if (rc == 0)
		rc = plan_add(plan, (struct plan_step){.kind = PLAN_SECCOMP},
			      err);
	if (rc == 0)
		rc = plan_add(
			plan,
			(struct plan_step){.kind = PLAN_EXEC,
					   .source = plan->cwd,
					   .target = spec->is_service
							     ? "(service)"
							     : spec->argv[0]},
			err);
	return rc;
}

static int plan_end(struct plan *plan, struct err *err)
{
	static const struct plan_step steps[] = {
		{.kind = PLAN_DETACH, .target = "/old"},
		{.kind = PLAN_SEAL, .target = "/"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (plan_add(plan, steps[i], err) < 0)
			return -1;
	return 0;
}

/* What all sandboxes of one base (base.h) begin with. */
static int plan_first(struct plan *plan, const struct sandbox_spec *spec,
		      struct err *err)
{
	if (plan_begin(plan, spec, err) < 0 || plan_system(plan, spec, err) < 0)
		return -1;
	return plan_devices(plan, spec, err);
}

int sandbox_plan_base(const struct base *base, struct plan *plan,
		      struct err *err)
{
	const struct sandbox_spec spec = {.has_read = base->has_read};
	const struct stat workspace = {.st_uid = base->uid,
				       .st_gid = base->gid};

	*plan = (struct plan){0};
	arena_init(&plan->arena, PLAN_BYTES_MAX);
	identity_choose(&plan->identity, &workspace);
	if (plan_first(plan, &spec, err) == 0)
		return 0;
	plan_release(plan);
	return -1;
}

int sandbox_plan(const struct sandbox_spec *spec, struct plan *plan,
		 struct err *err)
{
	*plan = (struct plan){0};
	arena_init(&plan->arena, PLAN_BYTES_MAX);
	if (plan_check(spec, err) < 0 || plan_places(plan, spec, err) < 0 ||
	    plan_first(plan, spec, err) < 0 || plan_home(plan, spec, err) < 0 ||
	    plan_files(plan, spec, err) < 0 ||
	    plan_trees(plan, spec, err) < 0 ||
	    plan_hides(plan, spec, err) < 0 ||
	    plan_ignores(plan, spec, err) < 0 ||
	    plan_sockets(plan, spec, err) < 0 ||
	    plan_protections(plan, spec, err) < 0 ||
	    plan_links(plan, err) < 0 || plan_end(plan, err) < 0 ||
	    plan_confinement(plan, spec, err) < 0) {
		/* A command before may have chosen names that are in it, and a
		 * person's terminal shows them. */
		if (err)
			plain_text(err->text);
		plan_release(plan);
		return -1;
	}
	return 0;
}

void plan_release(struct plan *plan)
{
	if (plan->ignore)
		ignore_release(plan->ignore);
	arena_release(&plan->arena);
	*plan = (struct plan){.arena = plan->arena};
}
