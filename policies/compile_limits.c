/* limits, and require: what the host must have to hold them. */
#include "common/cleanup.h"
#include "policies/compile.h"

#define PROCESSES_MAX	(1024 * 1024)
#define FILES_MIN	16
#define FILES_MAX	(1024 * 1024)
#define CORES_MAX	1024
#define MILLI		1000
#define MILLI_DIGITS	3
#define LANDLOCK_MAX	99
#define LANDLOCK_PREFIX "landlock-"

/* ---- limits ---- */

static void read_memory(struct reader *reader, const struct text_node *node,
			void *target, size_t offset)
{
	struct policy_limits *limits = target;

	(void)offset;
	(void)reader_size(reader, node, &limits->memory_bytes);
}

static void read_disk(struct reader *reader, const struct text_node *node,
		      void *target, size_t offset)
{
	struct policy_limits *limits = target;

	(void)offset;
	(void)reader_size(reader, node, &limits->disk_bytes);
}

static void read_processes(struct reader *reader, const struct text_node *node,
			   void *target, size_t offset)
{
	struct policy_limits *limits = target;

	(void)offset;
	(void)reader_number(reader, node, 1, PROCESSES_MAX, &limits->processes);
}

static void read_files(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset)
{
	struct policy_limits *limits = target;

	(void)offset;
	(void)reader_number(reader, node, FILES_MIN, FILES_MAX, &limits->files);
}

static void read_time(struct reader *reader, const struct text_node *node,
		      void *target, size_t offset)
{
	struct policy_limits *limits = target;

	(void)offset;
	(void)reader_duration(reader, node, &limits->time_ms);
}

/* "0.25", in thousandths: at most three digits behind the point. */
static bool read_milli(struct bytes word, uint64_t *milli)
{
	ssize_t point = bytes_find(word, '.', 0);
	size_t whole_len = point < 0 ? word.len : (size_t)point;
	struct bytes part =
		point < 0 ? bytes_from(NULL, 0)
			  : bytes_slice(word, whole_len + 1, word.len);
	uint64_t whole, rest = 0;

	if (bytes_to_u64(bytes_slice(word, 0, whole_len), 4, &whole) < 0 ||
	    whole > CORES_MAX)
		return false;
	if (point >= 0 && bytes_to_u64(part, MILLI_DIGITS, &rest) < 0)
		return false;
	for (size_t i = part.len; part.len && i < MILLI_DIGITS; i++)
		rest *= 10;
	*milli = whole * MILLI + rest;
	return true;
}

static void read_cpu(struct reader *reader, const struct text_node *node,
		     void *target, size_t offset)
{
	struct policy_limits *limits = target;
	struct bytes word;
	uint64_t milli = 0;

	(void)offset;
	if (!reader_scalar(reader, node, &word))
		return;
	if (!read_milli(word, &milli) || milli < 10 ||
	    milli > CORES_MAX * MILLI)
		(void)reader_error(reader, node,
				   "this must be a number of cores from 0.01 "
				   "to %d, as in 2 or 0.5",
				   CORES_MAX);
	else
		limits->cpu_milli = milli;
}

void compile_limits(struct compile *compile, const struct text_node *node)
{
	static const struct reader_field fields[] = {
		{"memory", read_memory, 0}, {"processes", read_processes, 0},
		{"time", read_time, 0},	    {"cpu", read_cpu, 0},
		{"disk", read_disk, 0},	    {"files", read_files, 0},
	};

	if (node)
		(void)reader_map(&compile->reader, node, fields,
				 ARRAY_SIZE(fields), &compile->policy->limits);
}

/* ---- require ---- */

enum required {
	REQUIRED_NAMESPACES,
	REQUIRED_NFTABLES,
	REQUIRED_MEMORY,
	REQUIRED_PROCESSES,
	REQUIRED_CPU,
	REQUIRED_DISK,
	REQUIRED_FREEZER
};

static bool read_landlock(struct reader *reader, const struct text_node *node,
			  struct bytes number)
{
	struct policy_require *require = &compile_of(reader)->policy->require;
	uint64_t abi;

	if (bytes_to_u64(number, 2, &abi) < 0 || abi == 0 || abi > LANDLOCK_MAX)
		return reader_error(reader, node,
				    "this must be an ABI of Landlock, as in "
				    "landlock-6");
	if (abi > require->landlock)
		require->landlock = (unsigned)abi;
	return true;
}

/* Where nothing is limited, nothing can be held. */
static bool require_limit(struct reader *reader, const struct text_node *node,
			  uint64_t limit, bool *is_required)
{
	*is_required = true;
	return limit ? true
		     : reader_error(reader, node,
				    "`limits` does not say how much");
}

static bool read_required(struct reader *reader, const struct text_node *node,
			  void *item)
{
	/* Without the first two there is no sandbox anywhere. */
	static const struct choice choices[] = {
		{"user-namespaces", REQUIRED_NAMESPACES},
		{"nftables", REQUIRED_NFTABLES},
		{"limits.memory", REQUIRED_MEMORY},
		{"limits.processes", REQUIRED_PROCESSES},
		{"limits.cpu", REQUIRED_CPU},
		{"limits.disk", REQUIRED_DISK},
		{"freezer", REQUIRED_FREEZER},
	};
	struct policy *policy = compile_of(reader)->policy;
	const struct policy_limits *limits = &policy->limits;
	struct policy_require *require = &policy->require;
	const struct bytes prefix = BYTES_LITERAL(LANDLOCK_PREFIX);
	int which;

	(void)item;
	if (node->kind == TEXT_SCALAR && bytes_starts_with(node->value, prefix))
		return read_landlock(
			reader, node,
			bytes_slice(node->value, prefix.len, node->value.len));
	if (!reader_choice(reader, node, choices, ARRAY_SIZE(choices), &which))
		return false;
	switch ((enum required)which) {
	case REQUIRED_NAMESPACES:
	case REQUIRED_NFTABLES:
		return true;
	case REQUIRED_MEMORY:
		return require_limit(reader, node, limits->memory_bytes,
				     &require->memory);
	case REQUIRED_PROCESSES:
		return require_limit(reader, node, limits->processes,
				     &require->processes);
	case REQUIRED_CPU:
		return require_limit(reader, node, limits->cpu_milli,
				     &require->cpu);
	case REQUIRED_DISK:
		return require_limit(reader, node, limits->disk_bytes,
				     &require->disk);
	case REQUIRED_FREEZER:
		require->freezer = true;
		return true;
	}
	return false;
}

void compile_require(struct compile *compile, const struct text_node *node)
{
	struct policy_strings names;

	if (node)
		(void)reader_strings(&compile->reader, node, read_required,
				     &names);
}
