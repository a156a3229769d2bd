#include "common/cleanup.h"
#include "policies/compile.h"

/* ---- limits ---- */

static void read_bytes(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset)
{
	uint64_t *to = (void *)((uint8_t *)target + offset);
	uint64_t value;

	if (!reader_size(reader, node, &value))
		return;
	if (value > PUSH_LIMIT_BYTES_MAX)
		(void)reader_error(
			reader, node,
			"a pack that is looked at has at most 512MiB");
	else
		*to = value;
}

static void read_objects(struct reader *reader, const struct text_node *node,
			 void *target, size_t offset)
{
	uint64_t *to = (void *)((uint8_t *)target + offset);

	(void)reader_number(reader, node, 1, PUSH_LIMIT_OBJECTS_MAX, to);
}

void compile_push_limits(struct compile *compile, const struct text_node *node,
			 struct push_checks *checks)
{
	static const struct reader_field fields[] = {
		{"pack", read_bytes,
		 offsetof(struct push_checks, pack_bytes_max)},
		{"objects", read_objects,
		 offsetof(struct push_checks, objects_max)},
		{"file", read_bytes,
		 offsetof(struct push_checks, file_bytes_max)},
	};

	(void)reader_map(&compile->reader, node, fields, ARRAY_SIZE(fields),
			 checks);
}
