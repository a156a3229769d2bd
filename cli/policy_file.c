#include "cli/policy_file.h"

#include <stdio.h>
#include <string.h>

#include "cli/file_kind.h"
#include "common/cleanup.h"

#define REPORT_BYTES_MAX (256 * 1024)

struct policy *policy_file_try(const char *path,
			       const struct policy_variables *variables,
			       struct buf *text, struct buf *report,
			       size_t *count)
{
	struct policy_errors errors = {.out = report, .file = path};
	struct policy *policy;
	struct err err;

	buf_init(text, POLICY_TEXT_MAX + 1);
	if (cli_read_file(path, text, &err) < 0) {
		*count = 1;
		(void)buf_add_format(report, "%s\n", err.text);
		return NULL;
	}
	policy = policy_compile(buf_view(text), variables, &errors);
	*count = errors.count;
	if (!policy)
		file_kind_tell(buf_view(text), FILE_KIND_POLICY, path, report);
	return policy;
}

static bool lacks_values(struct bytes report)
{
	static const char words[] = "this session was created without a ";

	return memmem(report.data, report.len, words, sizeof(words) - 1);
}

/* The error stands where the policy says ${session.repo}. */
static void tell_repo(struct bytes repo)
{
	if (repo.len && !bytes_starts_with(repo, bytes_str("https://")))
		(void)fprintf(stderr,
			      "sallyport: --repo %.*s is no https:// URL\n",
			      BYTES_ARGS(repo));
}

struct policy *policy_file_read(const char *path,
				const struct policy_variables *variables,
				struct buf *text)
{
	auto_type(buf_release) struct buf report;
	struct policy *policy;
	size_t count;

	buf_init(&report, REPORT_BYTES_MAX);
	policy = policy_file_try(path, variables, text, &report, &count);
	if (!policy)
		(void)fprintf(stderr, "%.*ssallyport: %s: %zu error%s\n",
			      BYTES_ARGS(buf_view(&report)), path, count,
			      count == 1 ? "" : "s");
	if (!policy && variables)
		tell_repo(variables->repo);
	if (!policy && lacks_values(buf_view(&report)))
		(void)fputs("sallyport: --repo URL and --branch BRANCH say "
			    "what a session has\n",
			    stderr);
	return policy;
}
