#include "sandbox-host/guard.h"

#include <stdlib.h>
#include <string.h>

#include "sandbox-host/plan_parts.h"

/* Which list a step belongs to; NULL: none. */
static struct guard_list *list_of(struct guard *guard,
				  const struct plan_step *step)
{
	if (step->kind == PLAN_GUARD)
		return &guard->kept;
	return step->kind == PLAN_VEIL ? &guard->veiled : NULL;
}

static int take_step(struct guard *guard, const struct plan_step *step,
		     struct err *err)
{
	struct guard_list *list = list_of(guard, step);

	if (step->kind == PLAN_SOCKET)
		guard->sockets[guard->socket_count++] = step->target;
	if (!list)
		return 0;
	if (!(step->flags & PLAN_GLOB))
		return names_add(&list->names, step->target, err);
	return pattern_parse(&list->patterns[list->pattern_count++],
			     step->target, err);
}

static bool make_list(struct guard_list *list, size_t patterns)
{
	list->patterns = calloc(patterns + 1, sizeof(*list->patterns));
	return list->patterns;
}

/* Room for all steps of each kind. */
static int make_room(struct guard *guard, const struct plan *plan,
		     struct err *err)
{
	size_t patterns[2] = {0, 0};
	size_t sockets = 0;

	for (size_t i = 0; i < plan->step_count; i++) {
		const struct plan_step *step = &plan->steps[i];

		sockets += step->kind == PLAN_SOCKET;
		if (list_of(guard, step) && step->flags & PLAN_GLOB)
			patterns[step->kind == PLAN_VEIL]++;
	}
	guard->sockets = calloc(sockets + 1, sizeof(*guard->sockets));
	if (!guard->sockets || !make_list(&guard->kept, patterns[0]) ||
	    !make_list(&guard->veiled, patterns[1]))
		return err_set(err, ERR_TOO_LARGE, "guard: no memory");
	return 0;
}

int guard_open(struct guard *guard, const struct plan *plan, struct err *err)
{
	int rc;

	*guard = (struct guard){.ignore = plan->ignore};
	rc = make_room(guard, plan, err);
	for (size_t i = 0; rc == 0 && i < plan->step_count; i++)
		rc = take_step(guard, &plan->steps[i], err);
	if (rc < 0)
		guard_close(guard);
	return rc;
}

static void release_list(struct guard_list *list)
{
	names_release(&list->names);
	free(list->patterns);
}

void guard_close(struct guard *guard)
{
	release_list(&guard->kept);
	release_list(&guard->veiled);
	free(guard->sockets);
	*guard = (struct guard){0};
}

/* Does the pattern match path or a directory above it? */
static bool pattern_covers(const struct pattern *pattern, const char *path)
{
	char text[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(text))
		return true;
	memcpy(text, path, len + 1);
	while (text[0]) {
		char *slash = strrchr(text, '/');

		if (pattern_matches(pattern, text))
			return true;
		if (!slash)
			break;
		*slash = '\0';
	}
	return false;
}

static bool list_covers(const struct guard_list *list, const char *path)
{
	if (names_cover(&list->names, path))
		return true;
	for (size_t i = 0; i < list->pattern_count; i++)
		if (pattern_covers(&list->patterns[i], path))
			return true;
	return false;
}

bool guard_veils(const struct guard *guard, const char *path, bool is_directory)
{
	return list_covers(&guard->veiled, path) ||
	       (guard->ignore &&
		ignore_covers(guard->ignore, path, is_directory));
}

bool guard_covers(const struct guard *guard, const char *path)
{
	return list_covers(&guard->kept, path) ||
	       guard_veils(guard, path, false);
}

static bool list_is_below(const struct guard_list *list, const char *path)
{
	if (names_are_below(&list->names, path))
		return true;
	for (size_t i = 0; i < list->pattern_count; i++)
		if (plan_is_within(list->patterns[i].base, path))
			return true;
	return false;
}

bool guard_is_above(const struct guard *guard, const char *path)
{
	return list_is_below(&guard->kept, path) ||
	       list_is_below(&guard->veiled, path);
}

bool guard_keeps(const struct guard *guard, const char *from, const char *to)
{
	const struct guard_list *list = &guard->veiled;

	for (size_t i = 0; i < list->pattern_count; i++)
		if (!pattern_keeps(&list->patterns[i], from, to))
			return false;
	return !guard->ignore || ignore_keeps(guard->ignore, from, to);
}

bool guard_allows_socket(const struct guard *guard, const char *path)
{
	for (size_t i = 0; i < guard->socket_count; i++)
		if (!strcmp(guard->sockets[i], path))
			return true;
	return false;
}
