#include "policies/compile.h"

void compile_script(struct compile *compile, const struct text_node *node)
{
	struct policy *policy = compile->policy;

	if (!node || !reader_kind(&compile->reader, node, TEXT_SCALAR))
		return;
	if (node->value.len > POLICY_SCRIPT_MAX) {
		(void)reader_error(&compile->reader, node, "longer than %dKiB",
				   POLICY_SCRIPT_MAX / 1024);
		return;
	}
	policy->script = arena_copy(compile->reader.arena, node->value);
	if (policy->script.len != node->value.len)
		(void)reader_error(&compile->reader, node,
				   "the text is too large to be read");
}
