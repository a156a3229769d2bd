#include "policies/push_checks.h"

#include "policies/policy.h"

static uint64_t stricter(uint64_t a, uint64_t b)
{
	if (a == 0 || b == 0)
		return a + b;
	return a < b ? a : b;
}

struct push_checks push_checks_of(const struct policy_repo *repo)
{
	struct push_checks both = repo->checks;
	const struct push_checks *guard;

	if (!repo->guard)
		return both;
	guard = &repo->guard->checks;
	both.pack_bytes_max =
		stricter(both.pack_bytes_max, guard->pack_bytes_max);
	both.objects_max = stricter(both.objects_max, guard->objects_max);
	both.file_bytes_max =
		stricter(both.file_bytes_max, guard->file_bytes_max);
	both.deny_secrets |= guard->deny_secrets;
	return both;
}

bool push_commits_any(const struct push_commits *commits)
{
	return commits->author || commits->committer || commits->subject ||
	       commits->message || commits->count_max > 0;
}

bool push_protects_any(const struct policy_repo *repo)
{
	return repo->checks.protect.count > 0 ||
	       (repo->guard && repo->guard->checks.protect.count > 0);
}

bool push_checks_any(const struct policy_repo *repo)
{
	struct push_checks both = push_checks_of(repo);

	return push_protects_any(repo) || both.pack_bytes_max > 0 ||
	       both.objects_max > 0 || both.file_bytes_max > 0 ||
	       both.deny_secrets || push_commits_any(&both.commits) ||
	       (repo->guard && push_commits_any(&repo->guard->checks.commits));
}
