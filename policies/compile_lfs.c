/*
 * git[].lfs: where the objects of a repository are stored.
 */
#include "common/cleanup.h"
#include "policies/compile.h"

#define LFS_HOSTS_MAX 32

struct lfs_nodes {
	const struct text_node *hosts, *port;
};

/* As GitHub's documents name them. */
static void use_the_forge_s_own(struct policy_repo *repo)
{
	static const struct bytes github[] = {
		BYTES_LITERAL("github-cloud.s3.amazonaws.com"),
		BYTES_LITERAL("github-cloud.githubusercontent.com"),
		BYTES_LITERAL("lfs.github.com"),
	};

	if (bytes_is(repo->host, "github.com") && repo->port == 443)
		repo->lfs_hosts =
			(struct policy_strings){github, ARRAY_SIZE(github)};
}

void compile_lfs(struct compile *compile, const struct text_node *node,
		 struct policy_repo *repo)
{
	static const struct reader_field fields[] = {
		{"hosts", reader_keep, offsetof(struct lfs_nodes, hosts)},
		{"port", reader_keep, offsetof(struct lfs_nodes, port)},
	};
	struct reader *reader = &compile->reader;
	struct lfs_nodes nodes = {NULL, NULL};
	uint64_t port = 443;

	repo->lfs_port = 443;
	if (!node) {
		use_the_forge_s_own(repo);
		return;
	}
	if (!reader_map(reader, node, fields, ARRAY_SIZE(fields), &nodes) ||
	    !reader_require(reader, node, "hosts"))
		return;
	if (nodes.port &&
	    !reader_number(reader, nodes.port, 1, UINT16_MAX, &port))
		return;
	repo->lfs_port = (uint16_t)port;
	if (nodes.hosts->count > LFS_HOSTS_MAX)
		(void)reader_error(reader, nodes.hosts, "more than %d hosts",
				   LFS_HOSTS_MAX);
	else
		(void)reader_strings(reader, nodes.hosts, compile_host_item,
				     &repo->lfs_hosts);
}
