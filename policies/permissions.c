#include "policies/permissions.h"

#include <stdio.h>

#include "common/cleanup.h"
#include "policies/decide.h"
#include "policies/ref.h"
#include "policies/repo_path.h"

static const struct bytes push = BYTES_LITERAL("push:");
static const struct bytes pull = BYTES_LITERAL("pull:");

static bool is_branch(struct bytes branch)
{
	char ref[REF_NAME_MAX + 1];
	int len = snprintf(ref, sizeof(ref), "refs/heads/%.*s",
			   BYTES_ARGS(branch));

	return len > 0 && (size_t)len < sizeof(ref) &&
	       ref_is_valid(bytes_str(ref)) && bytes_find(branch, '*', 0) < 0 &&
	       bytes_find(branch, 0, 0) < 0;
}

int permission_check(struct bytes permission, struct err *err)
{
	bool is_push = bytes_starts_with(permission, push);

	if (bytes_is(permission, "read:repo"))
		return 0;
	if (!is_push && !bytes_starts_with(permission, pull))
		return err_set(err, ERR_INVALID,
			       "a permission is push:BRANCH, pull:BRANCH or "
			       "read:repo");
	if (!is_branch(bytes_slice(permission, push.len, permission.len)))
		return err_set(err, ERR_INVALID,
			       "push: and pull: name one branch, without "
			       "refs/heads/ and without '*'");
	return 0;
}

/* ---- narrowing ---- */

static bool is_own(const struct policy_repo *repo, struct bytes session_repo,
		   struct arena *arena)
{
	bool (*equal)(struct bytes, struct bytes) =
		repo->ignores_case ? bytes_equal_nocase : bytes_equal;
	struct policy_repo own = {.port = 0};

	return session_repo.len > 0 &&
	       repo_url_parse(arena, session_repo, &own, NULL) == 0 &&
	       own.port == repo->port && bytes_equal(own.host, repo->host) &&
	       equal(own.path, repo->path);
}

static bool is_open(const struct policy_strings *patterns, struct bytes branch)
{
	for (size_t i = 0; i < patterns->count; i++)
		if (ref_matches(patterns->items[i], branch))
			return true;
	return false;
}

/* The branches that the lease names and the policy opens. */
static int narrow_branches(struct bytes permissions, struct arena *arena,
			   struct policy_repo *repo, bool *reads)
{
	struct bytes *items =
		arena_array(arena, PERMISSIONS_MAX, sizeof(*items));
	struct bytes permission;
	size_t count = 0, seen = 0;

	if (!items)
		return -1;
	while (permissions.len > 0) {
		struct bytes branch;

		(void)bytes_split(&permissions, ' ', &permission);
		if (++seen > PERMISSIONS_MAX ||
		    permission_check(permission, NULL) < 0)
			return -1;
		branch = bytes_slice(permission, push.len, permission.len);
		if (!bytes_starts_with(permission, push))
			*reads = true;
		else if (is_open(&repo->branches, branch))
			items[count++] = arena_copy(arena, branch);
		if (permissions.len == 0)
			break;
	}
	repo->branches = (struct policy_strings){items, count};
	return 0;
}

int permissions_narrow(struct bytes permissions, struct bytes session_repo,
		       struct arena *arena, struct policy_repo *repo,
		       struct err *err)
{
	bool reads = false;

	if (permissions.len == 0)
		return 0;
	repo->tags.count = 0;
	if (!is_own(repo, session_repo, arena)) {
		repo->branches.count = 0;
	} else if (narrow_branches(permissions, arena, repo, &reads) < 0) {
		return err_set(err, ERR_INVALID,
			       "the lease's permissions are malformed");
	}
	repo->read = repo->read && reads;
	if (repo->branches.count == 0)
		repo->verbs = 0;
	return 0;
}

/* ---- telling ---- */

static int add(struct buf *out, struct bytes kind, struct bytes what)
{
	if (buf_len(out) > 0 && buf_add_byte(out, ' ') < 0)
		return -1;
	return buf_add(out, kind) < 0 ? -1 : buf_add(out, what);
}

int permissions_write(const struct policy *policy, struct bytes session_repo,
		      struct buf *out)
{
	auto_type(arena_release) struct arena arena;

	arena_init(&arena, 64 * 1024);
	for (size_t i = 0; i < policy->repo_count; i++) {
		const struct policy_repo *repo = &policy->repos[i];

		if (!is_own(repo, session_repo, &arena))
			continue;
		for (size_t j = 0; repo->verbs && j < repo->branches.count; j++)
			if (add(out, push, repo->branches.items[j]) < 0)
				return -1;
		if (repo->read &&
		    add(out, bytes_str("read:"), bytes_str("repo")) < 0)
			return -1;
	}
	return 0;
}
