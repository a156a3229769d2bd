/*
 * What packcheck is told of the policy, to look at a push's content.
 */
#include "common/cleanup.h"
#include "gateway/edge/git_lane.h"
#include "gateway/edge/placeholders.h"
#include "policies/inspect/prints.h"
#include "policies/inspect/secrets.h"
#include "policies/pattern.h"

/* limit 0: none. */
static uint64_t or_less(uint64_t max, uint64_t limit)
{
	return limit > 0 && limit < max ? limit : max;
}

struct git_pack_bounds git_pack_bounds(const struct policy_repo *repo)
{
	const struct push_checks checks = push_checks_of(repo);

	return (struct git_pack_bounds){
		.bytes_max =
			or_less(PUSH_CHECK_BYTES_MAX, checks.pack_bytes_max),
		.objects_max = or_less(PUSH_OBJECTS_MAX, checks.objects_max),
	};
}

static int add_paths(struct git_work *work, const struct policy_strings *paths)
{
	struct msg_pack_path *room = work->protect;
	size_t count = work->proof.protect_count;

	if (count + paths->count > 2 * PUSH_PROTECT_MAX)
		return -1;
	for (size_t i = 0; i < paths->count; i++)
		room[count++].path = paths->items[i];
	work->proof.protect = room;
	work->proof.protect_count = count;
	return 0;
}

static struct bytes text_of(const struct pattern *pattern)
{
	return pattern ? pattern_text(pattern) : bytes_from(NULL, 0);
}

static void add_commits(struct git_work *work,
			const struct push_commits *commits)
{
	if (!push_commits_any(commits))
		return;
	work->commit_rules[work->proof.commits_count++] =
		(struct msg_pack_commits){
			.author = text_of(commits->author),
			.committer = text_of(commits->committer),
			.subject = text_of(commits->subject),
			.message = text_of(commits->message),
			.count_max = commits->count_max,
		};
	work->proof.commits = work->commit_rules;
}

/* The session's placeholders. */
static size_t add_exempt(const struct edge *edge,
			 struct msg_pack_exempt exempt[PACK_EXEMPT_MAX])
{
	const struct placeholders *all = edge->law->placeholders;

	_Static_assert(PACK_EXEMPT_MAX >= SECRET_EXEMPT_MAX &&
			       PACK_EXEMPT_TEXT_MAX >= PLACEHOLDER_SIZE,
		       "every placeholder fits");
	for (size_t i = 0; i < all->texts_count; i++)
		exempt[i].text = all->texts[i];
	return all->texts_count;
}

/* The fingerprints of the session's own secrets, where it has any. */
static int tell_secrets(struct conn *conn)
{
	const struct edge *edge = conn->edge;
	struct msg_pack_exempt exempt[PACK_EXEMPT_MAX];
	auto_type(buf_release) struct buf prints;
	struct msg_pack_secrets message = {
		.exempt_digest = bytes_from(edge->lease_hash, DIGEST_LEN),
		.exempt = exempt,
		.exempt_count = add_exempt(edge, exempt),
	};
	struct err err;

	buf_init(&prints, PRINTS_BYTES_MAX);
	if (!edge->own.prints && own_secrets_are_wanted(edge)) {
		conn_refuse(conn, CONSTRAINT_internal,
			    "the session's own secrets are not known yet");
		return -1;
	}
	if (edge->own.prints && prints_write(edge->own.prints, &prints) < 0) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return -1;
	}
	message.prints = buf_view(&prints);
	if (rpc_tell(conn->git->packcheck, MSG_PACK_SECRETS,
		     &msg_pack_secrets_schema, &message, -1, &err) == 0)
		return 0;
	conn_refuse(conn, CONSTRAINT_internal, "%s", err.text);
	return -1;
}

int git_ask_content(struct conn *conn)
{
	struct git_work *work = conn->git;
	const struct policy_repo *repo = work->repo;
	const struct push_checks checks = push_checks_of(repo);
	struct git_pack_bounds bounds = git_pack_bounds(repo);

	work->proof.objects_max = bounds.objects_max;
	work->proof.bytes_max = bounds.bytes_max;
	work->proof.file_bytes_max = checks.file_bytes_max;
	work->proof.deny_secrets = checks.deny_secrets;
	work->proof.protect_count = 0;
	work->proof.commits_count = 0;
	add_commits(work, &repo->checks.commits);
	if (repo->guard)
		add_commits(work, &repo->guard->checks.commits);
	if (add_paths(work, &repo->checks.protect) < 0 ||
	    (repo->guard &&
	     add_paths(work, &repo->guard->checks.protect) < 0)) {
		conn_refuse(conn, CONSTRAINT_internal,
			    "too many protected paths");
		return -1;
	}
	return checks.deny_secrets ? tell_secrets(conn) : 0;
}

static const char *look_at(struct secret_scan *scan, struct bytes text)
{
	(void)secret_scan_feed(scan, text);
	return secret_scan_end(scan);
}

/* The other refs' names upstream has already. */
static const char *find_secret(struct secret_scan *scan,
			       const struct push *push)
{
	const char *found = NULL;

	for (size_t i = 0; i < push->update_count && !found; i++)
		if (push->updates[i].verb == PUSH_CREATE)
			found = look_at(scan, push->updates[i].ref);
	for (size_t i = 0; i < push->option_count && !found; i++)
		found = look_at(scan, push->options[i]);
	return found;
}

static bool has_names(const struct push *push)
{
	for (size_t i = 0; i < push->update_count; i++)
		if (push->updates[i].verb == PUSH_CREATE)
			return true;
	return push->option_count > 0;
}

int git_look_at_names(struct conn *conn)
{
	const struct git_work *work = conn->git;
	const struct push *push = &work->commands.push;
	struct secret_scan *scan;
	const char *found;

	if (!push_checks_of(work->repo).deny_secrets || !has_names(push))
		return 0;
	scan = own_secrets_scan(conn);
	if (!scan)
		return -1;
	found = find_secret(scan, push);
	secret_scan_close(scan);
	if (!found)
		return 0;
	conn_refuse(conn, CONSTRAINT_push_secret,
		    "the name of a ref, or an option, holds: %s", found);
	return -1;
}
