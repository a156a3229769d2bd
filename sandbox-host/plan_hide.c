/* What nobody inside may read: secrets that every host has in known places,
 * what the policy hides, and the host's Unix sockets (a read-only mount does
 * not keep one from being connected to). */
#include "sandbox-host/plan_parts.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/flow/files.h"
#include "sandbox-host/pattern.h"
#include "sandbox-host/walk.h"

#define SOCKETS_MAX	  16384	  /* with a path */
#define SOCKET_LINES_MAX  1048576 /* each channel of ours is two */
#define SOCKET_COLUMNS	  7
#define STRAYS_MAX	  256
#define STRAY_ENTRIES_MAX 1000000 /* of one tree */

static const char *const system_secrets[] = {
	"/etc/shadow",
	"/etc/shadow-",
	"/etc/gshadow",
	"/etc/gshadow-",
	"/etc/sudoers",
	"/etc/sudoers.d",
	"/etc/security/opasswd",
	"/etc/ssl/private",
	"/etc/pki/tls/private",
	"/etc/letsencrypt",
	"/etc/krb5.keytab",
	"/etc/wireguard",
	"/etc/NetworkManager/system-connections",
	"/etc/sallyport",
	"/etc/ssh/ssh_host_*_key",
	"/var/lib/sallyport",
	"/var/lib/docker",
	"/var/lib/containerd",
	"/var/lib/kubelet",
	"/var/lib/systemd/credential.secret",
	"/var/spool/cron",
	"/var/mail",
	"/var/spool/mail",
	"/proc/kallsyms",
	"/proc/kcore",
	"/proc/keys",
	"/proc/key-users",
	"/proc/kmsg",
	"/proc/kpagecount",
	"/proc/kpageflags",
	"/proc/kpagecgroup",
	"/proc/latency_stats",
	"/proc/sched_debug",
	"/proc/scsi",
	"/proc/acpi",
	"/proc/sysrq-trigger",
	"/proc/timer_list",
	"/proc/vmallocinfo",
};

static const char *const home_secrets[] = {
	".ssh",
	".aws",
	".gnupg",
	".azure",
	".docker",
	".kube",
	".netrc",
	".npmrc",
	".pypirc",
	".pgpass",
	".my.cnf",
	".oci",
	".git-credentials",
	".vault-token",
	".password-store",
	".mozilla",
	".bash_history",
	".zsh_history",
	".python_history",
	".node_repl_history",
	".psql_history",
	".cargo/credentials",
	".cargo/credentials.toml",
	".gem/credentials",
	".m2/settings.xml",
	".gradle/gradle.properties",
	".terraform.d/credentials.tfrc.json",
	".claude/.credentials.json",
	".codex/auth.json",
	".gemini/oauth_creds.json",
	".config/gh",
	".config/hub",
	".config/gcloud",
	".config/op",
	".config/git/credentials",
	".config/rclone",
	".config/containers/auth.json",
	".config/google-chrome",
	".config/chromium",
	".config/sallyport",
	".local/share/keyrings",
	".local/share/sallyport",
	".local/state/sallyport",
};

static int add_hide(struct plan *plan, const char *path, struct err *err)
{
	return plan_add(plan,
			(struct plan_step){.kind = PLAN_HIDE, .target = path},
			err);
}

/* The next sandbox looks for it at the same place. */
static int pin_above(struct plan *plan, const char *path, struct err *err)
{
	return plan_is_here(plan, path) ? plan_pin_above(plan, path, err) : 0;
}

static int hide_end(struct plan *plan, const struct plan_end *end,
		    bool may_move, struct err *err)
{
	if (end->closed)
		return plan_refuse_closed(plan, end->closed, err);
	if (!end->exists || !plan_is_bound(plan, end->path))
		return 0;
	if (plan_is_within(plan->workspace, end->path))
		return err_set(err, ERR_INVALID,
			       "hide %s: the workspace would be hidden",
			       end->path);
	if (!may_move && pin_above(plan, end->path, err) < 0)
		return -1;
	return add_hide(plan, end->path, err);
}

int plan_hide_real(struct plan *plan, const char *path, bool is_anywhere,
		   struct err *err)
{
	struct plan_end end;

	if (plan_follow(plan, path, &end, err) < 0)
		return -1;
	return hide_end(plan, &end, is_anywhere && !strcmp(end.path, path),
			err);
}

struct expanded {
	struct plan *plan;
	const struct pattern *pattern;
};

/* Would the pattern match a thing of that name wherever it could be moved? */
static bool is_anywhere(const struct expanded *expanded, const char *path)
{
	const struct plan_step *mount = plan_covering(expanded->plan, path);
	const char *name = strrchr(path, '/') + 1;
	char deeper[NAME_MAX + sizeof("\1/\1/")];
	int len = snprintf(deeper, sizeof(deeper), "\1/\1/%s", name);

	return len > 0 && (size_t)len < sizeof(deeper) && mount &&
	       plan_is_within(mount->target, expanded->pattern->base) &&
	       glob_matches(&expanded->pattern->rest, bytes_str(name)) &&
	       glob_matches(&expanded->pattern->rest, bytes_str(deeper));
}

static int on_path(void *owner, const char *path, struct err *err)
{
	const struct expanded *expanded = owner;

	return plan_hide_real(expanded->plan, path, is_anywhere(expanded, path),
			      err);
}

static int on_closed(void *owner, const char *path, struct err *err)
{
	const struct expanded *expanded = owner;

	return plan_refuse_closed(expanded->plan, path, err);
}

/* *at: the glob as it is where its links lead. */
static int expand(struct plan *plan, const char *glob, const char **at,
		  struct err *err)
{
	struct pattern *pattern = malloc(sizeof(*pattern));
	struct expanded expanded = {plan, pattern};
	int rc;

	if (!pattern)
		return err_set(err, ERR_TOO_LARGE, "hide: no memory");
	rc = plan_follow_glob(plan, glob, pattern, at, err);
	if (rc == 0)
		rc = pattern_expand(pattern, on_path, on_closed, &expanded,
				    err);
	free(pattern);
	return rc;
}

static int hide(struct plan *plan, const char *path, struct err *err)
{
	const char *at;

	return pattern_is_glob(path) ? expand(plan, path, &at, err)
				     : plan_hide_real(plan, path, false, err);
}

/* Where its links lead, *at. */
static int hide_one(struct plan *plan, const char *path, const char **at,
		    struct err *err)
{
	struct plan_end end;

	/* Of a root of its own nothing is known by name here. */
	if (plan_is_of_image(plan, path) && add_hide(plan, path, err) < 0)
		return -1;
	if (plan_follow(plan, path, &end, err) < 0 ||
	    hide_end(plan, &end, false, err) < 0)
		return -1;
	*at = end.path;
	return end.exists ? 0 : pin_above(plan, end.path, err);
}

/* What exists is hidden by a mount; what appears later, or in its place, is
 * the reporter's, which compares what a path leads to. */
static int hide_entry(struct plan *plan, const char *path, bool is_glob,
		      struct err *err)
{
	struct plan_step veil = {.kind = PLAN_VEIL,
				 .flags = is_glob ? PLAN_GLOB : 0,
				 .target = path};
	const char *at;

	if ((is_glob ? expand(plan, path, &at, err)
		     : hide_one(plan, path, &at, err)) < 0 ||
	    plan_add(plan, veil, err) < 0)
		return -1;
	plan->watches_reads = true;
	if (!strcmp(at, path))
		return 0;
	veil.target = at;
	return plan_add(plan, veil, err);
}

/* /proc inside is a new one: its files are hidden without looking. */
static int hide_known(struct plan *plan, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_secrets); i++) {
		const char *path = system_secrets[i];
		bool is_proc = plan_is_within(path, "/proc");

		if ((is_proc ? add_hide(plan, path, err)
			     : hide(plan, path, err)) < 0)
			return -1;
	}
	for (size_t i = 0; plan->home && i < ARRAY_SIZE(home_secrets); i++) {
		char path[PATH_MAX];
		int len = snprintf(path, sizeof(path), "%s/%s", plan->home,
				   home_secrets[i]);

		if (len < 0 || (size_t)len >= sizeof(path))
			return err_set(err, ERR_TOO_LARGE, "hide: long home");
		if (plan_is_bound(plan, path) &&
		    plan_hide_real(plan, path, false, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_below_hidden(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct plan_step *step = &plan->steps[i];

		if (step->kind == PLAN_HIDE && strcmp(step->target, path) &&
		    plan_is_within(path, step->target))
			return true;
	}
	return false;
}

/* Could the command read a file there that only its owner may? A privileged
 * caller's is another user, but in trees whose owners are mapped. */
static bool has_owners(const struct plan *plan, const char *path)
{
	return !plan->identity.is_privileged || plan_is_writable(plan, path) ||
	       plan_is_within(path, plan->workspace);
}

/* A file that another is put in place of, as keys are renewed, takes the mount
 * over it away: the next one is the reporter's to hide. */
static int hide_ours(struct plan *plan, const char *path, struct err *err)
{
	bool failed;
	const char *real = plan_real(plan, path, &failed, err);
	struct stat st;

	if (failed)
		return -1;
	if (real && stat(real, &st) == 0 && S_ISREG(st.st_mode) &&
	    plan_is_bound(plan, real) && has_owners(plan, real) &&
	    !is_below_hidden(plan, real))
		return hide_entry(plan, path, false, err);
	return plan_hide_real(plan, path, false, err);
}

/* Can it be seen at that name, or will it once it is there? */
static bool is_shown(const struct plan *plan, const char *path)
{
	return plan_is_bound(plan, path) && has_owners(plan, path) &&
	       !is_below_hidden(plan, path);
}

/* Its file may come later, and others in its place: whatever has that name is
 * hidden, and what a link of that name leads to. */
static int hide_secret(struct plan *plan, const char *path, struct err *err)
{
	bool failed;
	const char *real = plan_real(plan, path, &failed, err);

	if (failed)
		return -1;
	if (is_shown(plan, path) || (real && is_shown(plan, real)))
		return hide_entry(plan, path, false, err);
	return plan_hide_real(plan, path, false, err);
}

static int hide_plain(struct plan *plan, const char *path, bool is_glob,
		      struct err *err)
{
	return is_glob ? 0 : hide_entry(plan, path, false, err);
}

static int hide_glob(struct plan *plan, const char *path, bool is_glob,
		     struct err *err)
{
	return is_glob ? hide_entry(plan, path, true, err) : 0;
}

static int hide_each(struct plan *plan, const struct sandbox_paths *paths,
		     plan_on_entry *on_entry, struct err *err)
{
	for (size_t i = 0; i < paths->count; i++)
		if (plan_each(plan, paths->items[i], on_entry, err) < 0)
			return -1;
	return 0;
}

/* What is named goes first: it may be a directory that is closed. */
int plan_hides(struct plan *plan, const struct sandbox_spec *spec,
	       struct err *err)
{
	if (hide_each(plan, &spec->hide, hide_plain, err) < 0 ||
	    hide_known(plan, err) < 0)
		return -1;
	for (size_t i = 0; i < spec->ours.count; i++)
		if (hide_ours(plan, spec->ours.items[i], err) < 0)
			return -1;
	for (size_t i = 0; i < spec->secrets.count; i++)
		if (hide_secret(plan, spec->secrets.items[i], err) < 0)
			return -1;
	return hide_each(plan, &spec->hide, hide_glob, err);
}

static bool is_named_socket(const struct plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->step_count; i++)
		if (plan->steps[i].kind == PLAN_SOCKET &&
		    !strcmp(plan->steps[i].target, path))
			return true;
	return false;
}

/* A volume shows it at another place. */
static int hide_in_volumes(struct plan *plan, const char *real, struct err *err)
{
	size_t count = plan->step_count;

	for (size_t i = 0; i < count; i++) {
		const struct plan_step *step = &plan->steps[i];
		const char *path;

		if (step->kind != PLAN_BIND ||
		    (step->flags & (PLAN_INSIDE | PLAN_DEVICE)) ||
		    !strcmp(step->source, step->target) ||
		    !plan_is_within(real, step->source))
			continue;
		path = plan_format(plan, err, "%s%s", step->target,
				   real + strlen(step->source));
		if (!path || add_hide(plan, path, err) < 0)
			return -1;
	}
	return 0;
}

/* The name in a line of /proc/net/unix, behind seven columns; NULL: none. */
static const char *socket_name(char *line)
{
	char *at = line;

	line[strcspn(line, "\n")] = '\0';
	for (int column = 0; column < SOCKET_COLUMNS; column++) {
		at += strspn(at, " ");
		at += strcspn(at, " ");
	}
	return *at == ' ' && at[1] ? at + 1 : NULL;
}

static int hide_socket(struct plan *plan, const char *path, bool has_volumes,
		       struct err *err)
{
	bool failed;
	const char *real;

	if (!has_volumes && !plan_is_bound(plan, path))
		return 0;
	real = plan_real(plan, path, &failed, err);
	if (failed)
		return -1;
	if (!real)
		return plan_hide_real(plan, path, false, err);
	if (has_volumes && hide_in_volumes(plan, real, err) < 0)
		return -1;
	if (!plan_is_bound(plan, real) || is_named_socket(plan, real))
		return 0;
	return pin_above(plan, real, err) < 0 ? -1 : add_hide(plan, real, err);
}

/* ---- sockets that were bound by a name alone ---- */

/* Of those, and of such as were bound through a descriptor of their directory,
 * the host says what they are called, not where they are. */
struct strays {
	struct plan *plan;
	const char *names[STRAYS_MAX];
	size_t count;
	bool has_more; /* any name may be one */
	bool has_volumes;
};

static bool is_bound_apart(const char *path)
{
	return path[0] != '/' || plan_is_within(path, "/proc") ||
	       plan_is_within(path, "/dev/fd");
}

/* Each sandbox of a service has one, in a directory that is hidden: they are no
 * reason to look through a workspace. */
static bool is_of_a_supervisor(const char *path)
{
	return plan_is_within(path, "/proc/self/fd") &&
	       !strcmp(strrchr(path, '/'), "/" FILE_SOCKET);
}

static int add_stray(struct strays *strays, const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	const char *name =
		plan_format(strays->plan, err, "%s", slash ? slash + 1 : path);

	if (!name)
		return -1;
	if (strays->count == STRAYS_MAX)
		strays->has_more = true;
	else
		strays->names[strays->count++] = name;
	return 0;
}

static bool is_stray(const struct strays *strays, const char *name)
{
	for (size_t i = 0; i < strays->count; i++)
		if (!strcmp(strays->names[i], name))
			return true;
	return strays->has_more;
}

static enum walk_answer on_stray(void *owner, const struct walk_entry *entry,
				 struct err *err)
{
	struct strays *strays = owner;
	struct stat st;

	if (entry->is_directory)
		return WALK_INTO;
	if (!is_stray(strays, entry->name) || lstat(entry->path, &st) < 0 ||
	    !S_ISSOCK(st.st_mode) || plan_is_hidden(strays->plan, entry->path))
		return WALK_SKIP;
	return hide_socket(strays->plan, entry->path, strays->has_volumes,
			   err) < 0
		       ? WALK_FAIL
		       : WALK_SKIP;
}

static int on_stray_closed(void *owner, const char *path, struct err *err)
{
	const struct strays *strays = owner;

	return plan_refuse_closed(strays->plan, path, err);
}

/* Where the reporter alone would keep them away, with a race to be won: through
 * an overlay none is reached. */
static bool may_have_strays(const struct plan_step *step)
{
	return step->kind == PLAN_BIND && (step->flags & PLAN_WRITE) &&
	       !(step->flags & (PLAN_DEVICE | PLAN_INSIDE | PLAN_OVERLAY));
}

static int hide_strays(struct strays *strays, struct err *err)
{
	size_t count = strays->plan->step_count;
	bool is_cut = false;

	for (size_t i = 0; strays->count && i < count; i++) {
		const struct plan_step step = strays->plan->steps[i];
		struct walk walk = {.entries_max = STRAY_ENTRIES_MAX,
				    .depth_max = WALK_DEPTH_MAX,
				    .on_entry = on_stray,
				    .on_closed = on_stray_closed,
				    .owner = strays};

		if (!may_have_strays(&step))
			continue;
		if (walk_tree(&walk, step.source, err) < 0)
			return -1;
		is_cut |= walk.is_cut;
	}
	if (is_cut)
		plan_note(strays->plan, "the workspace is large: sockets of "
					"the host deep inside it may answer");
	return 0;
}

int plan_sockets(struct plan *plan, const struct sandbox_spec *spec,
		 struct err *err)
{
	FILE *file = fopen("/proc/net/unix", "re");
	struct strays strays = {.plan = plan,
				.has_volumes = spec->volume_count > 0};
	char line[PATH_MAX];
	size_t lines = 0;
	size_t count = 0;
	int rc = 0;

	if (!file)
		return err_system(err, "hide: read /proc/net/unix");
	while (rc == 0 && fgets(line, sizeof(line), file)) {
		const char *path = socket_name(line);

		if (path && path[0] == '@')
			path = NULL;

		if (lines++ == SOCKET_LINES_MAX ||
		    (path && count++ == SOCKETS_MAX))
			rc = err_set(err, ERR_TOO_LARGE,
				     "hide: the host has too many sockets");
		else if (path && is_of_a_supervisor(path))
			continue;
		else if (path && is_bound_apart(path))
			rc = add_stray(&strays, path, err);
		else if (path)
			rc = hide_socket(plan, path, strays.has_volumes, err);
	}
	(void)fclose(file);
	return rc < 0 ? -1 : hide_strays(&strays, err);
}
