#include "common/cleanup.h"
#include "policies/compile_rule.h"

struct websocket_nodes {
	const struct text_node *message, *text, *binary, *secrets;
};

void compile_websocket(struct compile *compile, const struct text_node *node,
		       struct policy_rule *rule)
{
	static const struct reader_field fields[] = {
		{"message", reader_keep,
		 offsetof(struct websocket_nodes, message)},
		{"text", reader_keep, offsetof(struct websocket_nodes, text)},
		{"binary", reader_keep,
		 offsetof(struct websocket_nodes, binary)},
		{"secrets", reader_keep,
		 offsetof(struct websocket_nodes, secrets)},
	};
	struct policy_websocket *websocket =
		arena_alloc(compile->reader.arena, sizeof(*websocket));
	struct websocket_nodes nodes = {0};

	if (!websocket || !reader_map(&compile->reader, node, fields,
				      ARRAY_SIZE(fields), &nodes))
		return;
	/* A guardrail leaves to each policy what it does not speak of. */
	*websocket = (struct policy_websocket){
		.message_max = compile->policy->is_guardrail
				       ? POLICY_WEBSOCKET_MESSAGE_MAX
				       : POLICY_WEBSOCKET_MESSAGE_DEFAULT,
		.allow_binary = compile->policy->is_guardrail};
	if (nodes.message &&
	    reader_size(&compile->reader, nodes.message,
			&websocket->message_max) &&
	    websocket->message_max > POLICY_WEBSOCKET_MESSAGE_MAX)
		(void)reader_error(&compile->reader, nodes.message,
				   "more than %d MiB",
				   POLICY_WEBSOCKET_MESSAGE_MAX >> 20);
	if (nodes.text)
		(void)compile_pattern(compile, nodes.text, &websocket->text);
	if (nodes.binary)
		(void)reader_bool(&compile->reader, nodes.binary,
				  &websocket->allow_binary);
	if (nodes.secrets)
		compile_deny_secrets(compile, nodes.secrets,
				     &websocket->deny_secrets);
	rule->websocket = websocket;
}
