#include "policies/lfs.h"

#include "common/cleanup.h"
#include "policies/decide_rule.h"
#include "policies/host.h"
#include "policies/path.h"

#define LOCK_ID_MAX 128

/* ---- the path ---- */

/* What a server that cuts parameters or blanks off would read. */
static struct bytes word_of(struct bytes segment)
{
	static const char *const ends[] = {";", "%3B", "%3F", "%23", "%20"};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		ptrdiff_t at = bytes_find_bytes(segment, bytes_str(ends[i]), 0);

		if (at > 0)
			segment.len = (size_t)at;
	}
	while (segment.len > 1 && segment.data[segment.len - 1] == '.')
		segment.len--;
	return segment;
}

static bool is_word(const char *word, struct bytes segment)
{
	return path_matches_loosely(bytes_str(word), word_of(segment));
}

/* The segment that begins at from; *next is where the one behind it does. */
static struct bytes segment_at(struct bytes path, size_t from, size_t *next)
{
	ptrdiff_t slash = bytes_find(path, '/', from);
	size_t end = slash < 0 ? path.len : (size_t)slash;

	*next = slash < 0 ? path.len : end + 1;
	return bytes_slice(path, from, end);
}

bool lfs_path_split(struct bytes path, struct lfs_path *out)
{
	size_t at = 1;

	while (at < path.len) {
		size_t second_at, rest_at;
		struct bytes first = segment_at(path, at, &second_at);
		struct bytes second = segment_at(path, second_at, &rest_at);
		bool is_lfs = is_word("info", first) && is_word("lfs", second);

		if (at > 1 && (is_lfs || is_word("gitlab-lfs", first))) {
			*out = (struct lfs_path){
				.base = bytes_slice(path, 0, at - 1),
				.rest = bytes_slice(
					path, is_lfs ? rest_at : second_at,
					path.len),
				.is_exact = bytes_is(first, "info") &&
					    bytes_is(second, "lfs"),
				.is_gitlab = bytes_is(first, "gitlab-lfs"),
			};
			return true;
		}
		at = second_at;
	}
	return false;
}

static bool is_lock_id(struct bytes id)
{
	for (size_t i = 0; i < id.len; i++) {
		uint8_t c = id.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= '0' && c <= '9') && c != '-' && c != '_' && c != '.')
			return false;
	}
	return id.len > 0 && id.len <= LOCK_ID_MAX;
}

struct bytes lfs_id_of(const struct lfs_path *path)
{
	struct bytes rest = path->rest;
	struct bytes id;

	(void)bytes_split(&rest, '/', &id);
	(void)bytes_split(&rest, '/', &id);
	return id;
}

static enum lfs_endpoint post_of(const struct lfs_path *path)
{
	static const struct bytes locks = BYTES_LITERAL("locks/");
	static const struct bytes unlock = BYTES_LITERAL("/unlock");

	if (bytes_is(path->rest, "objects/batch"))
		return LFS_BATCH;
	if (bytes_is(path->rest, "locks"))
		return LFS_LOCK;
	if (bytes_is(path->rest, "locks/verify"))
		return LFS_LOCKS_VERIFY;
	if (bytes_starts_with(path->rest, locks) &&
	    bytes_ends_with(path->rest, unlock) &&
	    path->rest.len > locks.len + unlock.len &&
	    is_lock_id(bytes_slice(path->rest, locks.len,
				   path->rest.len - unlock.len)))
		return LFS_UNLOCK;
	return LFS_OTHER;
}

static bool is_transfer(struct bytes rest)
{
	static const struct bytes transfers = BYTES_LITERAL("transfers/");

	return bytes_starts_with(rest, transfers) &&
	       rest.len == transfers.len + LFS_TRANSFER_ID_LEN &&
	       bytes_find(rest, '/', transfers.len) < 0;
}

enum lfs_endpoint lfs_endpoint_of(const struct request_facts *facts,
				  struct lfs_path *out)
{
	if (!lfs_path_split(facts->path, out))
		return LFS_NONE;
	if (!out->is_exact || facts->is_websocket)
		return LFS_OTHER;
	if (bytes_is(facts->method, "GET") && bytes_is(out->rest, "locks"))
		return LFS_LOCKS;
	if (facts->query.len > 0)
		return LFS_OTHER;
	if (is_transfer(out->rest))
		return LFS_TRANSFER;
	return bytes_is(facts->method, "POST") ? post_of(out) : LFS_OTHER;
}

/* ---- decisions ---- */

struct verdict decide_lfs_ref(const struct policy_repo *repo, struct bytes ref)
{
	static const enum push_verb verbs[] = {PUSH_CREATE, PUSH_UPDATE,
					       PUSH_REWRITE};
	struct verdict verdict = {.kind = VERDICT_DENY};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		const struct push_facts facts = {ref, verbs[i]};
		bool needs_proof;

		verdict = decide_push(repo, &facts, &needs_proof);
		if (verdict.kind == VERDICT_ALLOW)
			break;
	}
	return verdict;
}

static bool writes(const struct policy_repo *repo)
{
	return (repo->verbs & ~(unsigned)VERB_DELETE) &&
	       (repo->branches.count || repo->tags.count);
}

bool decide_lfs_writes(const struct policy_repo *repo)
{
	return writes(repo) && (!repo->guard || writes(repo->guard));
}

bool decide_lfs_storage(const struct policy_repo *repo,
			const struct target_facts *target)
{
	if (target->port == repo->port && bytes_equal(target->host, repo->host))
		return true;
	if (target->port != repo->lfs_port)
		return false;
	for (size_t i = 0; i < repo->lfs_hosts.count; i++)
		if (host_matches(repo->lfs_hosts.items[i], target->host))
			return true;
	return false;
}
