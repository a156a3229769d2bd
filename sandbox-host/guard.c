#include "sandbox-host/guard.h"

#include <stdlib.h>
#include <string.h>

#include "sandbox-host/plan_parts.h"

static int take_step(struct guard *guard, const struct plan_step *step,
		     struct err *err)
{
	if (step->kind == PLAN_SOCKET)
		guard->sockets[guard->socket_count++] = step->target;
	if (step->kind != PLAN_GUARD)
		return 0;
	if (!pattern_is_glob(step->target)) {
		guard->names[guard->name_count++] = step->target;
		return 0;
	}
	return pattern_parse(&guard->patterns[guard->pattern_count++],
			     step->target, err);
}

int guard_open(struct guard *guard, const struct plan *plan, struct err *err)
{
	size_t names = 0;
	size_t patterns = 0;
	size_t sockets = 0;

	*guard = (struct guard){0};
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct plan_step *step = &plan->steps[i];

		sockets += step->kind == PLAN_SOCKET;
		names += step->kind == PLAN_GUARD;
		patterns += step->kind == PLAN_GUARD &&
			    pattern_is_glob(step->target);
	}
	guard->names = calloc(names + 1, sizeof(*guard->names));
	guard->patterns = calloc(patterns + 1, sizeof(*guard->patterns));
	guard->sockets = calloc(sockets + 1, sizeof(*guard->sockets));
	if (!guard->names || !guard->patterns || !guard->sockets) {
		guard_close(guard);
		return err_set(err, ERR_TOO_LARGE, "guard: no memory");
	}
	for (size_t i = 0; i < plan->step_count; i++) {
		if (take_step(guard, &plan->steps[i], err) < 0) {
			guard_close(guard);
			return -1;
		}
	}
	return 0;
}

void guard_close(struct guard *guard)
{
	free(guard->names);
	free(guard->patterns);
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

bool guard_covers(const struct guard *guard, const char *path)
{
	for (size_t i = 0; i < guard->name_count; i++)
		if (plan_is_within(path, guard->names[i]))
			return true;
	for (size_t i = 0; i < guard->pattern_count; i++)
		if (pattern_covers(&guard->patterns[i], path))
			return true;
	return false;
}

bool guard_is_above(const struct guard *guard, const char *path)
{
	for (size_t i = 0; i < guard->name_count; i++)
		if (plan_is_within(guard->names[i], path))
			return true;
	return false;
}

bool guard_allows_socket(const struct guard *guard, const char *path)
{
	for (size_t i = 0; i < guard->socket_count; i++)
		if (!strcmp(guard->sockets[i], path))
			return true;
	return false;
}
