/*
 * Where a name leads, link by link. A link that can be replaced inside would
 * lead elsewhere for the next sandbox, which would then look for what is
 * hidden or protected where it is not: each link on the way is held.
 */
#include "sandbox-host/plan_parts.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox-host/pattern.h"

#define LINKS_MAX 40 /* the kernel's own bound (path_resolution(7)) */

/* Of the plan's arena: too large to be made anew for each name. */
struct way {
	struct plan *plan;
	const char *text; /* all of it, as it was asked for */
	unsigned links;
	char at[PATH_MAX];   /* no link in it; "" is the root */
	char rest[PATH_MAX]; /* what is still to be followed */
	char name[PATH_MAX];
	char target[2 * PATH_MAX]; /* of a link, and the rest */
};

static int too_long(const struct way *way, struct err *err)
{
	return err_set(err, ERR_TOO_LARGE, "resolve %.256s: a long path",
		       way->text);
}

/* What is mounted from the host at its own place has no link in its path. */
static int begin(struct way *way, const char *text, struct err *err)
{
	const struct plan_step *step = plan_covering(way->plan, text);
	size_t len = 0;

	way->text = text;
	way->links = 0;
	if (step && step->kind == PLAN_BIND && !(step->flags & PLAN_INSIDE) &&
	    !strcmp(step->source, step->target))
		len = strlen(step->target);
	if (strlen(text) >= sizeof(way->rest))
		return too_long(way, err);
	memcpy(way->at, text, len);
	way->at[len] = '\0';
	memcpy(way->rest, text + len, strlen(text + len) + 1);
	return 0;
}

static void leave(struct way *way)
{
	char *name = strrchr(way->at, '/');

	if (name)
		*name = '\0';
}

/* Put name behind what was followed. */
static int enter(struct way *way, const char *name, size_t name_len,
		 struct err *err)
{
	size_t len = strlen(way->at);

	if (len + 1 + name_len >= sizeof(way->at))
		return too_long(way, err);
	way->at[len] = '/';
	memcpy(way->at + len + 1, name, name_len);
	way->at[len + 1 + name_len] = '\0';
	return 0;
}

/* at can not be seen. What is below it goes by name alone. */
static int miss(struct way *way, struct plan_end *end, struct err *err)
{
	const char *name = strrchr(way->at, '/');

	if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
		return err_system(err, "resolve %s", way->text);
	end->exists = false;
	if (errno != EACCES)
		return 0;
	end->closed = plan_format(way->plan, err, "%.*s", (int)(name - way->at),
				  way->at);
	return end->closed ? 0 : -1;
}

/* at is a link: go on with where it leads. One of /proc may not say. */
static int follow_link(struct way *way, struct plan_end *end, struct err *err)
{
	char *target = way->target;
	ssize_t len = readlink(way->at, target, PATH_MAX - 1);
	size_t rest = strlen(way->rest);

	if (len < 0)
		return miss(way, end, err);
	if (way->links++ == LINKS_MAX)
		return err_set(err, ERR_INVALID,
			       "resolve %s: more than %d links", way->text,
			       LINKS_MAX);
	if ((size_t)len + 1 + rest >= sizeof(way->rest))
		return too_long(way, err);
	target[len] = '/';
	memcpy(target + len + 1, way->rest, rest + 1);
	memcpy(way->rest, target, (size_t)len + 1 + rest + 1);
	if (target[0] == '/')
		way->at[0] = '\0';
	else
		leave(way);
	return 0;
}

/* Take the next name off the rest. NULL: there is none. */
static const char *next_name(struct way *way)
{
	char *name = way->name;
	size_t skip = strspn(way->rest, "/");
	size_t len = strcspn(way->rest + skip, "/");

	memcpy(name, way->rest + skip, len);
	name[len] = '\0';
	memmove(way->rest, way->rest + skip + len,
		strlen(way->rest + skip + len) + 1);
	return len ? name : NULL;
}

/* Keep dir and those above it in their places. */
static int pin_up_to(struct plan *plan, const char *dir, struct err *err)
{
	const char *path = plan_format(plan, err, "%s/-", dir);

	if (!path)
		return -1;
	return plan_is_here(plan, dir) ? plan_pin_above(plan, path, err) : 0;
}

/* "..": without the directory that is left, the way would end there. */
static int leave_held(struct way *way, const struct plan_end *end,
		      struct err *err)
{
	if (end->exists && pin_up_to(way->plan, way->at, err) < 0)
		return -1;
	leave(way);
	return 0;
}

static int follow_name(struct way *way, const char *name, struct plan_end *end,
		       struct err *err)
{
	struct stat st;

	if (!strcmp(name, "."))
		return 0;
	if (!strcmp(name, ".."))
		return leave_held(way, end, err);
	if (enter(way, name, strlen(name), err) < 0)
		return -1;
	if (!end->exists)
		return 0;
	if (lstat(way->at, &st) < 0)
		return miss(way, end, err);
	if (!S_ISLNK(st.st_mode))
		return 0;
	return plan_hold_link(way->plan, way->at, err) < 0
		       ? -1
		       : follow_link(way, end, err);
}

static struct way *room_of(struct plan *plan, struct err *err)
{
	if (!plan->way)
		plan->way = arena_alloc(&plan->arena, sizeof(*plan->way));
	if (plan->way)
		plan->way->plan = plan;
	else
		(void)err_set(err, ERR_TOO_LARGE, "plan: no memory");
	return plan->way;
}

int plan_follow(struct plan *plan, const char *path, struct plan_end *end,
		struct err *err)
{
	struct way *way = room_of(plan, err);
	const char *name;
	int rc = way ? begin(way, path, err) : -1;

	*end = (struct plan_end){.exists = true};
	while (rc == 0 && (name = next_name(way)))
		rc = follow_name(way, name, end, err);
	if (rc < 0)
		return -1;
	end->path =
		arena_str(&plan->arena, bytes_str(way->at[0] ? way->at : "/"));
	return end->path ? 0 : err_set(err, ERR_TOO_LARGE, "plan: no memory");
}

/* glob, with where its base leads for the base. */
static const char *glob_below(struct plan *plan, const char *base,
			      const char *rest, struct err *err)
{
	char escaped[2 * PATH_MAX + 1];

	glob_escape(bytes_str(base), escaped);
	return plan_format(plan, err, "%s/%s",
			   strcmp(escaped, "/") ? escaped : "", rest);
}

int plan_follow_glob(struct plan *plan, const char *glob,
		     struct pattern *pattern, const char **at, struct err *err)
{
	struct plan_end end;

	*at = glob;
	if (pattern_parse(pattern, glob, err) < 0 ||
	    plan_follow(plan, pattern->base, &end, err) < 0 ||
	    (end.closed && plan_refuse_closed(plan, end.closed, err) < 0) ||
	    pin_up_to(plan, end.path, err) < 0)
		return -1;
	if (!strcmp(end.path, pattern->base))
		return 0;
	*at = glob_below(plan, end.path, glob + pattern->rest_at, err);
	return *at ? pattern_parse(pattern, *at, err) : -1;
}
