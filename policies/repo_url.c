#include "policies/host.h"
#include "policies/path.h"
#include "policies/repo_path.h"

#define PORT_DIGITS 5

/* Split "host[:port]"; an IPv6 host is in brackets. */
static int parse_authority(struct bytes authority, struct bytes *host,
			   uint16_t *port, struct err *err)
{
	ptrdiff_t bracket = bytes_find(authority, ']', 0);
	ptrdiff_t colon =
		bytes_find(authority, ':', bracket < 0 ? 0 : (size_t)bracket);
	uint64_t number = 443;

	*host = bytes_slice(authority, 0,
			    colon < 0 ? authority.len : (size_t)colon);
	if (colon >= 0 &&
	    (bytes_to_u64(
		     bytes_slice(authority, (size_t)colon + 1, authority.len),
		     PORT_DIGITS, &number) ||
	     number == 0 || number > UINT16_MAX))
		return err_set(err, ERR_INVALID, "the port is not a port");
	*port = (uint16_t)number;
	return 0;
}

static size_t count_segments(struct bytes path)
{
	size_t count = 0;

	for (size_t i = 0; i < path.len; i++)
		count += path.data[i] == '/';
	return count;
}

static int parse_path(struct arena *arena, struct bytes path,
		      struct policy_repo *repo, struct err *err)
{
	if (bytes_find(path, '*', 0) >= 0)
		return err_set(err, ERR_INVALID,
			       "a repository is named whole, without '*'");
	if (path_normalise(arena, path, &path, err))
		return -1;
	repo->path = repo_path_canonical(path);
	repo->ignores_case = bytes_is(repo->host, "github.com");
	if (repo->path.len == 0)
		return err_set(err, ERR_INVALID, "the URL names no repository");
	if (repo->ignores_case && count_segments(repo->path) != 2)
		return err_set(err, ERR_INVALID,
			       "a repository of github.com is "
			       "https://github.com/OWNER/NAME");
	return 0;
}

int repo_url_parse(struct arena *arena, struct bytes url,
		   struct policy_repo *repo, struct err *err)
{
	static const struct bytes scheme = BYTES_LITERAL("https://");
	struct bytes rest = bytes_slice(url, scheme.len, url.len);
	ptrdiff_t slash = bytes_find(rest, '/', 0);
	struct bytes host;

	if (!bytes_starts_with(url, scheme))
		return err_set(err, ERR_INVALID,
			       "a repository is named by its https:// URL");
	if (slash < 0)
		return err_set(err, ERR_INVALID, "the URL names no repository");
	if (bytes_find(url, '?', 0) >= 0 || bytes_find(url, '#', 0) >= 0 ||
	    bytes_find(bytes_slice(rest, 0, (size_t)slash), '@', 0) >= 0)
		return err_set(err, ERR_INVALID,
			       "the URL has more than host, port and path");
	if (parse_authority(bytes_slice(rest, 0, (size_t)slash), &host,
			    &repo->port, err))
		return -1;
	if (bytes_find(host, '*', 0) >= 0)
		return err_set(err, ERR_INVALID,
			       "a repository is named whole, without '*'");
	if (host_pattern(arena, host, &repo->host, err))
		return -1;
	return parse_path(arena, bytes_slice(rest, (size_t)slash, rest.len),
			  repo, err);
}
