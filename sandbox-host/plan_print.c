#include "sandbox-host/plan.h"

#include "common/cleanup.h"

static const struct {
	enum plan_stage stage;
	const char *text;
} kinds[] = {
#define X(name, who, words) [PLAN_##name] = {PLAN_BY_##who, words},
	PLAN_KINDS(X)
#undef X
};

enum plan_stage plan_stage_of(enum plan_kind kind)
{
	return kinds[kind].stage;
}

static void print_map(const struct plan *plan, FILE *out)
{
	const struct plan_identity *identity = &plan->identity;

	if (identity->is_privileged)
		fprintf(out, " uid %u to a host uid of its own",
			(unsigned)identity->uid);
	else
		fprintf(out, " uid %u to itself", (unsigned)identity->uid);
}

static void print_paths(const struct plan_step *step, FILE *out)
{
	if (step->target)
		fprintf(out, " %s", step->target);
	if (step->kind == PLAN_LINK)
		fprintf(out, " -> %s", step->source);
	else if (step->source && step->target)
		fprintf(out, " from %s", step->source);
	if (step->content.len)
		fprintf(out, " +%zu bytes", step->content.len);
}

static void print_flags(const struct plan_step *step, FILE *out)
{
	bool is_mount = step->kind == PLAN_BIND || step->kind == PLAN_LANDLOCK;

	if (is_mount)
		fprintf(out,
			step->flags & PLAN_WRITE ? " writable" : " read-only");
	if (step->flags & PLAN_OVERLAY)
		fprintf(out, " overlay");
	if (step->flags & PLAN_IDMAP)
		fprintf(out, " id-mapped");
	if (step->mode)
		fprintf(out, " %04o", step->mode);
}

void sandbox_plan_print(const struct plan *plan, FILE *out)
{
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct plan_step *step = &plan->steps[i];

		fputs(kinds[step->kind].text, out);
		if (step->kind == PLAN_MAP)
			print_map(plan, out);
		print_paths(step, out);
		print_flags(step, out);
		fputc('\n', out);
	}
}
