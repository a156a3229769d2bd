/*
 * "600/1m": so many requests, or bytes, in a time.
 */
#include "common/cleanup.h"
#include "policies/compile.h"

#define REQUESTS_MAX 1000000000

struct rate_nodes {
	const struct text_node *requests, *upload, *download;
};

/* The count before the slash and the time behind it. */
static bool read_quota(struct compile *compile, const struct text_node *node,
		       bool is_bytes, struct policy_quota *quota)
{
	struct reader *reader = &compile->reader;
	struct text_node count;
	struct text_node period;
	struct policy_quota read;

	if (!reader_kind(reader, node, TEXT_SCALAR))
		return false;
	period = count = *node;
	if (!bytes_split(&period.value, '/', &count.value))
		return reader_error(reader, node, "this must be like %s",
				    is_bytes ? "200MiB/1h" : "600/1m");
	period.at += count.value.len + 1 + !node->is_plain;
	if (!(is_bytes ? reader_size(reader, &count, &read.count)
		       : reader_number(reader, &count, 1, REQUESTS_MAX,
				       &read.count)) ||
	    !reader_duration(reader, &period, &read.period_ms))
		return false;
	*quota = read;
	return true;
}

void compile_rate(struct compile *compile, const struct text_node *node,
		  struct policy_rate *rate)
{
	static const struct reader_field fields[] = {
		{"requests", reader_keep,
		 offsetof(struct rate_nodes, requests)},
		{"upload", reader_keep, offsetof(struct rate_nodes, upload)},
		{"download", reader_keep,
		 offsetof(struct rate_nodes, download)},
	};
	struct rate_nodes nodes = {NULL, NULL, NULL};

	if (!node || !reader_map(&compile->reader, node, fields,
				 ARRAY_SIZE(fields), &nodes))
		return;
	if (node->count == 0)
		(void)reader_error(&compile->reader, node,
				   "this must say requests, upload or "
				   "download");
	if (nodes.requests)
		(void)read_quota(compile, nodes.requests, false,
				 &rate->requests);
	if (nodes.upload)
		(void)read_quota(compile, nodes.upload, true, &rate->upload);
	if (nodes.download)
		(void)read_quota(compile, nodes.download, true,
				 &rate->download);
}
