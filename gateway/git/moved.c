#include "gateway/git/moved.h"

#include <stdio.h>

#include "common/cleanup.h"
#include "policies/repo_path.h"

#define HTTPS_PORT 443

bool git_is_redirect(unsigned status)
{
	return status == 301 || status == 302 || status == 303 ||
	       status == 307 || status == 308;
}

/* A host's URL; the path as it is. */
static struct bytes url_at(struct bytes host, bool is_v6, uint16_t port,
			   struct bytes path, struct arena *arena)
{
	char suffix[8] = "";

	if (port != HTTPS_PORT)
		(void)snprintf(suffix, sizeof(suffix), ":%u", port);
	return bytes_str(arena_format(
		arena, "https://%s%.*s%s%s%.*s", is_v6 ? "[" : "",
		BYTES_ARGS(host), is_v6 ? "]" : "", suffix, BYTES_ARGS(path)));
}

/* Empty: none of a repository's endpoints is asked for there. */
static struct bytes without_endpoint(struct bytes url)
{
	static const char *const ends[] = {"/info/refs", "/git-upload-pack",
					   "/git-receive-pack"};
	ptrdiff_t lfs = bytes_find_bytes(url, bytes_str("/info/lfs/"), 0);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (bytes_ends_with(url, bytes_str(ends[i])))
			return bytes_slice(url, 0, url.len - strlen(ends[i]));
	return bytes_slice(url, 0, lfs < 0 ? 0 : (size_t)lfs);
}

int git_moved_to(struct bytes location, const struct target *from,
		 struct arena *arena, struct policy_repo *repo)
{
	struct bytes rest = location;
	struct bytes url;
	struct err err;

	*repo = (struct policy_repo){.port = 0};
	(void)bytes_split(&rest, '?', &url);
	url = without_endpoint(url);
	/* A path alone is one of the host that was asked (RFC 3986 4.2). */
	if (bytes_starts_with(url, bytes_str("/")) &&
	    !bytes_starts_with(url, bytes_str("//")))
		url = url_at(bytes_str(from->host), from->kind == HOST_IPV6,
			     from->port, url, arena);
	if (repo_url_parse(arena, url, repo, &err) < 0)
		return -1;
	repo->url = url_at(repo->host, bytes_find(repo->host, ':', 0) >= 0,
			   repo->port, repo->path, arena);
	return repo->url.len ? 0 : -1;
}
