#include "common/cleanup.h"
#include "policies/compile.h"

static void read_reflection(struct compile *compile,
			    const struct text_node *node,
			    enum policy_scrub *scrub)
{
	static const struct reader_field fields[] = {
		{"on-reflection", reader_keep, 0},
	};
	static const struct choice choices[] = {
		{"cut", SCRUB_CUT},
		{"mask", SCRUB_MASK},
		{"stop", SCRUB_STOP},
	};
	const struct text_node *what = NULL;
	int value;

	if (reader_map(&compile->reader, node, fields, ARRAY_SIZE(fields),
		       &what) &&
	    reader_require(&compile->reader, node, "on-reflection") &&
	    reader_choice(&compile->reader, what, choices, ARRAY_SIZE(choices),
			  &value))
		*scrub = (enum policy_scrub)value;
}

void compile_scrub(struct compile *compile, const struct text_node *node,
		   enum policy_scrub *scrub)
{
	bool is_masked;

	if (node->kind == TEXT_MAP)
		read_reflection(compile, node, scrub);
	else if (reader_bool(&compile->reader, node, &is_masked))
		*scrub = is_masked ? SCRUB_MASK : SCRUB_CUT;
}
