#include "policies/explain_rule.h"
#include "policies/pattern.h"

static int add_limit(struct buf *out, const char *before, const char *what,
		     uint64_t bytes)
{
	if (buf_add_format(out, "%s%s ", before, what) < 0)
		return -1;
	return explain_bytes(out, bytes);
}

static int add_limits(const struct push_checks *checks, struct buf *out)
{
	const char *before = "  - At most: ";

	if (checks->pack_bytes_max > 0) {
		if (add_limit(out, before, "a pack of",
			      checks->pack_bytes_max) < 0)
			return -1;
		before = ", ";
	}
	if (checks->file_bytes_max > 0) {
		if (add_limit(out, before, "files of", checks->file_bytes_max) <
		    0)
			return -1;
		before = ", ";
	}
	if (checks->objects_max > 0) {
		if (buf_add_format(out, "%s%llu objects", before,
				   (unsigned long long)checks->objects_max) < 0)
			return -1;
		before = ", ";
	}
	return before[0] == ',' ? buf_add_str(out, ".\n") : 0;
}

static int add_protected(const struct policy_strings *paths, struct buf *out)
{
	if (paths->count == 0)
		return 0;
	if (buf_add_str(out, "  - No commit may change ") < 0 ||
	    explain_list(out, paths) < 0)
		return -1;
	return buf_add_str(out, ".\n");
}

static int add_pattern(const char *what, const struct pattern *pattern,
		       struct buf *out)
{
	if (!pattern)
		return 0;
	return buf_add_format(out,
			      "  - The %s of each commit must match %.*s\n",
			      what, BYTES_ARGS(pattern_text(pattern)));
}

static int add_commits(const struct push_commits *commits, struct buf *out)
{
	if (add_pattern("author", commits->author, out) < 0 ||
	    add_pattern("committer", commits->committer, out) < 0 ||
	    add_pattern("subject", commits->subject, out) < 0 ||
	    add_pattern("message", commits->message, out) < 0)
		return -1;
	if (commits->count_max == 0)
		return 0;
	return buf_add_format(out, "  - At most %llu commits in one push.\n",
			      (unsigned long long)commits->count_max);
}

static int add_options(const struct policy_patterns *options, struct buf *out)
{
	const char *before = "  - With -o, a push may say what matches ";

	for (size_t i = 0; i < options->count; i++) {
		if (buf_add_format(
			    out, "%s%.*s", before,
			    BYTES_ARGS(pattern_text(options->items[i]))) < 0)
			return -1;
		before = " or ";
	}
	return options->count > 0 ? buf_add_str(out, ".\n") : 0;
}

int explain_push(const struct policy_repo *repo, struct buf *out)
{
	struct push_checks checks = push_checks_of(repo);

	if (add_protected(&checks.protect, out) < 0 ||
	    (repo->guard &&
	     add_protected(&repo->guard->checks.protect, out) < 0) ||
	    add_limits(&checks, out) < 0 ||
	    add_commits(&checks.commits, out) < 0 ||
	    (repo->guard &&
	     add_commits(&repo->guard->checks.commits, out) < 0) ||
	    add_options(&repo->options, out) < 0)
		return -1;
	if (!checks.deny_secrets)
		return 0;
	return buf_add_str(out, "  - A push with a secret or a token in it is "
				"refused.\n");
}
