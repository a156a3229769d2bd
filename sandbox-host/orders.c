#include "sandbox-host/orders.h"

#include <string.h>

#include "common/cleanup.h"
#include "common/wire.h"

#define ORDERS_ARENA_MAX (2 * WIRE_MEMFD_MAX)
#define TITLE_MAX	 64

struct orders_variable {
	struct bytes name, value;
};

struct orders_step {
	uint8_t kind;
	uint32_t flags, mode, tree;
	struct bytes source, target, content;
};

/* An empty text is none. */
struct orders {
	struct bytes title;
	const struct orders_variable *env;
	size_t env_count;
	struct bytes root_cwd;
	/* the plan */
	const struct orders_step *steps;
	size_t steps_count;
	bool is_privileged, watches_reads;
	uint32_t uid, gid;
	struct bytes workspace, cwd, layers, image_layers;
	/* its limits */
	uint64_t memory_bytes, processes, disk_bytes, files;
	uint32_t groups;
	bool has_memory, has_processes, is_v1;
	struct bytes program;
};

static const struct wire_field variable_fields[] = {
	WIRE_BYTES(struct orders_variable, name, WIRE_MEMFD_MAX),
	WIRE_BYTES(struct orders_variable, value, WIRE_MEMFD_MAX),
};
static const struct wire_schema variable_schema =
	WIRE_SCHEMA("orders-variable", struct orders_variable, variable_fields);

static const struct wire_field step_fields[] = {
	WIRE_ENUM(struct orders_step, kind, PLAN_KIND_MAX),
	WIRE_U32(struct orders_step, flags),
	WIRE_U32(struct orders_step, mode),
	WIRE_U32(struct orders_step, tree),
	WIRE_BYTES(struct orders_step, source, PATH_MAX),
	WIRE_BYTES(struct orders_step, target, PATH_MAX),
	WIRE_BYTES(struct orders_step, content, WIRE_MEMFD_MAX),
};
static const struct wire_schema step_schema =
	WIRE_SCHEMA("orders-step", struct orders_step, step_fields);

static const struct wire_field orders_fields[] = {
	WIRE_BYTES(struct orders, title, TITLE_MAX),
	WIRE_LIST(struct orders, env, SANDBOX_ENV_MAX, &variable_schema),
	WIRE_BYTES(struct orders, root_cwd, WIRE_MEMFD_MAX),
	WIRE_LIST(struct orders, steps, PLAN_STEPS_MAX, &step_schema),
	WIRE_BOOL(struct orders, is_privileged),
	WIRE_BOOL(struct orders, watches_reads),
	WIRE_U32(struct orders, uid),
	WIRE_U32(struct orders, gid),
	WIRE_BYTES(struct orders, workspace, PATH_MAX),
	WIRE_BYTES(struct orders, cwd, WIRE_MEMFD_MAX),
	WIRE_BYTES(struct orders, layers, PATH_MAX),
	WIRE_BYTES(struct orders, image_layers, PATH_MAX),
	WIRE_U64(struct orders, memory_bytes),
	WIRE_U64(struct orders, processes),
	WIRE_U64(struct orders, disk_bytes),
	WIRE_U64(struct orders, files),
	WIRE_U32(struct orders, groups),
	WIRE_BOOL(struct orders, has_memory),
	WIRE_BOOL(struct orders, has_processes),
	WIRE_BOOL(struct orders, is_v1),
	WIRE_BYTES(struct orders, program, WIRE_MEMFD_MAX),
};
static const struct wire_schema orders_schema =
	WIRE_SCHEMA("orders", struct orders, orders_fields);

/* ---- giving them ---- */

static int gather_lists(const struct init *init, struct arena *arena,
			struct orders *orders, struct err *err)
{
	const struct sandbox_spec *spec = init->spec;
	const struct plan *plan = init->plan;
	struct orders_variable *env =
		arena_array(arena, spec->env_count, sizeof(*env));
	struct orders_step *steps =
		arena_array(arena, plan->step_count, sizeof(*steps));

	if ((spec->env_count && !env) || !steps)
		return err_set(err, ERR_TOO_LARGE, "orders: no memory");
	for (size_t i = 0; i < spec->env_count; i++)
		env[i] =
			(struct orders_variable){bytes_str(spec->env[i].name),
						 bytes_str(spec->env[i].value)};
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct plan_step *step = &plan->steps[i];

		steps[i] = (struct orders_step){
			.kind = (uint8_t)step->kind,
			.flags = step->flags,
			.mode = step->mode,
			.tree = step->tree,
			.source = bytes_str(step->source),
			.target = bytes_str(step->target),
			.content = step->content,
		};
	}
	orders->env = env;
	orders->steps = steps;
	return 0;
}

int orders_seal(const struct init *init, struct err *err)
{
	const struct plan *plan = init->plan;
	const struct limits *limits = init->limits;
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf out;
	struct orders orders = {
		.title = bytes_str(init->title),
		.env_count = init->spec->env_count,
		.root_cwd = bytes_str(init->spec->root.cwd),
		.steps_count = plan->step_count,
		.is_privileged = plan->identity.is_privileged,
		.watches_reads = plan->watches_reads,
		.uid = plan->identity.uid,
		.gid = plan->identity.gid,
		.workspace = bytes_str(plan->workspace),
		.cwd = bytes_str(plan->cwd),
		.layers = bytes_str(plan->layers),
		.image_layers = bytes_str(plan->image_layers),
		.memory_bytes = limits->wanted.memory_bytes,
		.processes = limits->wanted.processes,
		.disk_bytes = limits->wanted.disk_bytes,
		.files = limits->wanted.files,
		.groups = limits->group_count,
		.has_memory = limits->has_memory,
		.has_processes = limits->has_processes,
		.is_v1 = limits->is_v1,
		.program = bytes_from(init->program->code,
				      init->program->len *
					      sizeof(*init->program->code)),
	};

	arena_init(&arena, ORDERS_ARENA_MAX);
	buf_init(&out, WIRE_MEMFD_MAX);
	if (gather_lists(init, &arena, &orders, err) < 0 ||
	    wire_encode(&orders_schema, &orders, &out, err) < 0)
		return -1;
	return wire_memfd_seal("sallyport-orders", buf_view(&out), err);
}

/* ---- taking them ---- */

/* All of it in one place, for the life of the process. */
struct taken {
	struct arena arena;
	struct sandbox_spec spec;
	struct plan plan;
	struct limits limits;
	struct seccomp_program program;
};

/* NULL for none. *failed is set where there is no memory. */
static const char *text_of(struct arena *arena, struct bytes text, bool *failed)
{
	const char *copy = text.len ? arena_str(arena, text) : NULL;

	*failed |= text.len && !copy;
	return copy;
}

static bool take_spec(struct taken *taken, const struct orders *orders)
{
	struct sandbox_variable *env =
		arena_array(&taken->arena, orders->env_count, sizeof(*env));
	bool failed = orders->env_count && !env;

	for (size_t i = 0; !failed && i < orders->env_count; i++) {
		env[i].name =
			text_of(&taken->arena, orders->env[i].name, &failed);
		/* A variable may be empty. */
		env[i].value = arena_str(&taken->arena, orders->env[i].value);
		failed |= !env[i].value;
	}
	taken->spec.env = env;
	taken->spec.env_count = orders->env_count;
	taken->spec.is_service = true;
	taken->spec.root.cwd =
		text_of(&taken->arena, orders->root_cwd, &failed);
	return !failed;
}

static bool take_plan(struct taken *taken, const struct orders *orders)
{
	struct arena *arena = &taken->arena;
	struct plan *plan = &taken->plan;
	bool failed = false;

	plan->steps =
		arena_array(arena, orders->steps_count, sizeof(*plan->steps));
	plan->step_count = plan->steps ? orders->steps_count : 0;
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct orders_step *step = &orders->steps[i];

		plan->steps[i] = (struct plan_step){
			.kind = (enum plan_kind)step->kind,
			.flags = step->flags,
			.mode = step->mode,
			.tree = step->tree,
			.source = text_of(arena, step->source, &failed),
			.target = text_of(arena, step->target, &failed),
			.content = step->content,
		};
	}
	plan->identity = (struct plan_identity){orders->is_privileged,
						orders->uid, orders->gid};
	plan->watches_reads = orders->watches_reads;
	plan->workspace = text_of(arena, orders->workspace, &failed);
	plan->cwd = text_of(arena, orders->cwd, &failed);
	plan->layers = text_of(arena, orders->layers, &failed);
	plan->image_layers = text_of(arena, orders->image_layers, &failed);
	return plan->steps && !failed;
}

static void take_limits(struct limits *limits, const struct orders *orders)
{
	limits->wanted = (struct sandbox_limits){
		.memory_bytes = orders->memory_bytes,
		.processes = orders->processes,
		.disk_bytes = orders->disk_bytes,
		.files = orders->files,
	};
	limits->group_count = orders->groups;
	limits->has_memory = orders->has_memory;
	limits->has_processes = orders->has_processes;
	limits->is_v1 = orders->is_v1;
}

static bool take_program(struct taken *taken, const struct orders *orders)
{
	struct sock_filter *code =
		arena_alloc(&taken->arena, orders->program.len);

	if (!code)
		return false;
	memcpy(code, orders->program.data, orders->program.len);
	taken->program.code = code;
	taken->program.len =
		(unsigned short)(orders->program.len / sizeof(*code));
	return true;
}

int orders_open(int fd, struct init *init, struct err *err)
{
	static struct taken taken;
	struct orders orders;
	struct bytes view;

	arena_init(&taken.arena, ORDERS_ARENA_MAX);
	if (wire_memfd_map(fd, WIRE_MEMFD_MAX, &view, err) < 0 ||
	    wire_decode(&orders_schema, view, &taken.arena, &orders, err) < 0)
		return -1;
	if (!take_spec(&taken, &orders) || !take_plan(&taken, &orders) ||
	    !take_program(&taken, &orders))
		return err_set(err, ERR_TOO_LARGE, "orders: no memory");
	take_limits(&taken.limits, &orders);
	taken.spec.agent = init->agent;
	if (init->title && strlen(init->title) == orders.title.len)
		memcpy(init->title, orders.title.data, orders.title.len);
	init->spec = &taken.spec;
	init->plan = &taken.plan;
	init->limits = &taken.limits;
	init->program = &taken.program;
	return 0;
}
