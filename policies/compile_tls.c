#include "common/cleanup.h"
#include "policies/compile.h"
#include "policies/host.h"

struct tls_nodes {
	const struct text_node *inspect, *tunnel;
};

void compile_tls(struct compile *compile, const struct text_node *node)
{
	static const struct reader_field fields[] = {
		{"inspect", reader_keep, offsetof(struct tls_nodes, inspect)},
		{"tunnel", reader_keep, offsetof(struct tls_nodes, tunnel)},
	};
	static const struct choice choices[] = {{"auto", 0}, {"always", 1}};
	struct reader *reader = &compile->reader;
	struct tls_nodes nodes = {NULL, NULL};
	int inspect = 0;

	if (!node ||
	    !reader_map(reader, node, fields, ARRAY_SIZE(fields), &nodes))
		return;
	if (nodes.inspect)
		(void)reader_choice(reader, nodes.inspect, choices,
				    ARRAY_SIZE(choices), &inspect);
	compile->policy->inspect_all = inspect;
	if (nodes.tunnel)
		(void)reader_strings(reader, nodes.tunnel, compile_host_item,
				     &compile->policy->tunnel);
}

bool compile_not_tunnelled(struct compile *compile,
			   const struct text_node *node, struct bytes host,
			   const char *what)
{
	const struct policy_strings *tunnel = &compile->policy->tunnel;

	for (size_t i = 0; i < tunnel->count; i++)
		if (pattern_covers(tunnel->items[i], host) ||
		    pattern_covers(host, tunnel->items[i]))
			return reader_error(
				&compile->reader, node,
				"\"%.*s\" is in network.tls.tunnel, and %s "
				"needs to look inside",
				BYTES_ARGS(host), what);
	return true;
}
