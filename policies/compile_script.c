#include "policies/compile.h"

void compile_script(struct compile *compile, const struct text_node *node)
{
	struct policy *policy = compile->policy;
	struct bytes text;

	if (!node || !reader_lines(&compile->reader, node, &text))
		return;
	if (text.len > POLICY_SCRIPT_MAX) {
		(void)reader_error(&compile->reader, node, "longer than %dKiB",
				   POLICY_SCRIPT_MAX / 1024);
		return;
	}
	policy->script = arena_copy(compile->reader.arena, text);
	if (policy->script.len != text.len)
		(void)reader_error(&compile->reader, node,
				   "the text is too large to be read");
}
