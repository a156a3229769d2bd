#include "sandbox-host/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox-host/plan.h"

void base_text(const struct base *base, char text[BASE_TEXT_MAX])
{
	(void)snprintf(text, BASE_TEXT_MAX,
		       "%" PRIu32 ":%" PRIu32 ":%d:%" PRIu64, base->uid,
		       base->gid, base->has_read, base->tmpfs_bytes);
}

int base_parse(const char *text, struct base *base)
{
	int has_read;
	char end;

	if (sscanf(text, "%" SCNu32 ":%" SCNu32 ":%d:%" SCNu64 "%c", &base->uid,
		   &base->gid, &has_read, &base->tmpfs_bytes, &end) != 4)
		return -1;
	base->has_read = has_read;
	return 0;
}

static bool is_text(const char *one, const char *other)
{
	return one && other ? !strcmp(one, other) : one == other;
}

static bool is_step(const struct plan_step *one, const struct plan_step *other)
{
	return one->kind == other->kind && one->flags == other->flags &&
	       one->mode == other->mode && one->tree == other->tree &&
	       is_text(one->source, other->source) &&
	       is_text(one->target, other->target) &&
	       bytes_equal(one->content, other->content);
}

bool base_begins(const struct plan *first, const struct plan *plan)
{
	const struct plan_identity *one = &first->identity;
	const struct plan_identity *other = &plan->identity;

	if (one->is_privileged != other->is_privileged ||
	    one->uid != other->uid || one->gid != other->gid ||
	    first->step_count > plan->step_count)
		return false;
	for (size_t i = 0; i < first->step_count; i++)
		if (!is_step(&first->steps[i], &plan->steps[i]))
			return false;
	return true;
}

static struct base_shown look_at(const struct plan_step *step)
{
	struct stat st;

	if (step->kind != PLAN_BIND || stat(step->source, &st) < 0)
		return (struct base_shown){0};
	return (struct base_shown){st.st_dev, st.st_ino};
}

void base_look(const struct plan *plan, struct base_shown *shown)
{
	for (size_t i = 0; i < plan->step_count; i++)
		shown[i] = look_at(&plan->steps[i]);
}

bool base_is_shown(const struct plan *plan, const struct base_shown *shown)
{
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct base_shown now = look_at(&plan->steps[i]);

		if (now.device != shown[i].device ||
		    now.inode != shown[i].inode)
			return false;
	}
	return true;
}
