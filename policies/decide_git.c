#include "policies/decide.h"
#include "policies/git_spelling.h"
#include "policies/repo_path.h"

struct bytes repo_path_canonical(struct bytes path)
{
	static const struct bytes git = BYTES_LITERAL(".git");

	if (path.len && path.data[path.len - 1] == '/')
		path.len--;
	if (path.len > git.len + 1 && bytes_ends_with(path, git) &&
	    path.data[path.len - git.len - 1] != '/')
		path.len -= git.len;
	return path;
}

/* Cut suffix from *path; false when it does not end so. */
static bool cut_suffix(struct bytes *path, const char *suffix)
{
	struct bytes end = bytes_str(suffix);

	if (!bytes_ends_with(*path, end))
		return false;
	path->len -= end.len;
	return true;
}

static bool is_hex(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			return false;
	}
	return true;
}

/* objects/info/..., objects/pack/..., objects/<2 hex>/<38 or 62 hex>. */
static bool is_object_path(struct bytes tail)
{
	struct bytes fan;

	if (bytes_starts_with(tail, bytes_str("info/")) ||
	    bytes_starts_with(tail, bytes_str("pack/")))
		return true;
	return bytes_split(&tail, '/', &fan) && fan.len == 2 && is_hex(fan) &&
	       (tail.len == 38 || tail.len == 62) && is_hex(tail);
}

/* gitprotocol-http(5), the dumb protocol: cut what follows the repository. */
static bool cut_dumb(struct bytes *path)
{
	static const struct bytes objects = BYTES_LITERAL("/objects/");
	ptrdiff_t last = -1;
	ptrdiff_t at;

	if (cut_suffix(path, "/HEAD"))
		return true;
	while ((at = bytes_find_bytes(*path, objects, (size_t)(last + 1))) >= 0)
		last = at;
	if (last < 0 || !is_object_path(bytes_slice(
				*path, (size_t)last + objects.len, path->len)))
		return false;
	path->len = (size_t)last;
	return true;
}

static enum git_endpoint advertisement(const struct request_facts *facts)
{
	if (facts->query.len == 0)
		return GIT_DUMB;
	/* Git opens no WebSocket, and its lane speaks none. */
	if (!bytes_is(facts->method, "GET") || facts->is_websocket)
		return GIT_AMBIGUOUS;
	if (bytes_is(facts->query, "service=git-upload-pack"))
		return GIT_ADVERTISE_READ;
	if (bytes_is(facts->query, "service=git-receive-pack"))
		return GIT_ADVERTISE_WRITE;
	return GIT_AMBIGUOUS;
}

static enum git_endpoint service(const struct request_facts *facts,
				 enum git_endpoint endpoint)
{
	if (!bytes_is(facts->method, "POST") || facts->query.len)
		return GIT_AMBIGUOUS;
	return endpoint;
}

enum git_endpoint git_endpoint_of(const struct request_facts *facts,
				  struct bytes *repo_path)
{
	struct bytes path = facts->path;
	enum git_endpoint endpoint;

	*repo_path = bytes_from(NULL, 0);
	if (cut_suffix(&path, "/info/refs"))
		endpoint = advertisement(facts);
	else if (cut_suffix(&path, "/git-upload-pack"))
		endpoint = service(facts, GIT_UPLOAD_PACK);
	else if (cut_suffix(&path, "/git-receive-pack"))
		endpoint = service(facts, GIT_RECEIVE_PACK);
	else if (cut_dumb(&path))
		endpoint = GIT_DUMB;
	else if (git_is_spelled_loosely(facts->path, &path))
		endpoint = GIT_AMBIGUOUS;
	else
		return GIT_NONE;
	path = repo_path_canonical(path);
	if (path.len == 0)
		return GIT_NONE;
	*repo_path = path;
	return endpoint;
}

static bool is_at(const struct policy_repo *repo,
		  const struct target_facts *target)
{
	return repo->port == target->port &&
	       bytes_equal(repo->host, target->host);
}

const struct policy_repo *decide_repo(const struct policy *policy,
				      const struct target_facts *target,
				      struct bytes repo_path)
{
	for (size_t i = 0; i < policy->repo_count; i++) {
		const struct policy_repo *repo = &policy->repos[i];
		bool (*equal)(struct bytes, struct bytes) =
			repo->ignores_case ? bytes_equal_nocase : bytes_equal;

		if (is_at(repo, target) && equal(repo->path, repo_path))
			return repo;
	}
	return NULL;
}

bool decide_host_has_repo(const struct policy *policy,
			  const struct target_facts *target)
{
	for (size_t i = 0; i < policy->repo_count; i++)
		if (is_at(&policy->repos[i], target))
			return true;
	return false;
}

const struct policy_credential *
policy_credential_named(const struct policy *policy, struct bytes name)
{
	for (size_t i = 0; i < policy->credential_count; i++)
		if (bytes_equal(policy->credentials[i].name, name))
			return &policy->credentials[i];
	return NULL;
}
