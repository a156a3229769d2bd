#include "gateway/edge/law.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "policies/guardrail.h"

#define SCOPE_ARENA_MAX	 (32 * 1024 * 1024)
#define REPORT_BYTES_MAX (16 * 1024)

static int compile(struct law *law, const struct session_package *of,
		   struct err *err)
{
	const struct policy_variables variables = {
		.session_id = of->id,
		.branch = of->branch,
		.repo = of->repo,
		.permissions = of->permissions,
	};
	auto_type(buf_release) struct buf report;
	struct policy_errors errors = {.out = &report, .file = "policy"};

	buf_init(&report, REPORT_BYTES_MAX);
	law->policy = guarded_compile(of->policy_text, of->guardrail_text,
				      &variables, &errors);
	if (!law->policy)
		return err_set(err, ERR_INVALID, "compile policy: %.*s",
			       BYTES_ARGS(buf_view(&report)));
	law->placeholders = placeholders_make(law->policy, of->lease_hash.data);
	if (!law->placeholders)
		return err_set(err, ERR_TOO_LARGE, "placeholders: no memory");
	return scope_from_policy(law->policy, &law->arena, &law->scope, err);
}

struct law *law_new(const struct session_package *of, struct law *before,
		    uint64_t now_ms, struct err *err)
{
	struct law *law = calloc(1, sizeof(*law));

	if (!law) {
		(void)err_system(err, "make law");
		return NULL;
	}
	law->users = 1;
	arena_init(&law->arena, SCOPE_ARENA_MAX);
	if (compile(law, of, err) < 0) {
		law_drop(law);
		return NULL;
	}
	if (rates_init(&law->rates, law->policy, before ? &before->rates : NULL,
		       now_ms) < 0) {
		(void)err_set(err, ERR_TOO_LARGE, "rates: no memory");
		law_drop(law);
		return NULL;
	}
	return law;
}

struct law *law_use(struct law *law)
{
	law->users++;
	return law;
}

void law_drop(struct law *law)
{
	if (!law || --law->users > 0)
		return;
	rates_release(&law->rates);
	arena_release(&law->arena);
	policy_free(law->policy);
	free(law);
}

bool law_same_binding(const struct law *one, const struct law *other,
		      struct bytes name)
{
	const struct scope_binding *a = scope_binding_named(&one->scope, name);
	const struct scope_binding *b =
		scope_binding_named(&other->scope, name);
	uint8_t mark_a[DIGEST_LEN], mark_b[DIGEST_LEN];
	struct err err;

	return a && b && scope_binding_mark(a, mark_a, &err) == 0 &&
	       scope_binding_mark(b, mark_b, &err) == 0 &&
	       memcmp(mark_a, mark_b, DIGEST_LEN) == 0;
}

bool law_same_bindings(const struct law *one, const struct law *other)
{
	for (size_t i = 0; i < one->scope.bindings_count; i++)
		if (!law_same_binding(one, other, one->scope.bindings[i].name))
			return false;
	return true;
}

bool law_same_repo(const struct law *one, const struct law *other,
		   const struct policy_repo *repo)
{
	const struct scope_repo *a =
		scope_repo_at(&one->scope, repo->host, repo->port, repo->path);
	const struct scope_repo *b = scope_repo_at(&other->scope, repo->host,
						   repo->port, repo->path);
	uint8_t mark_a[DIGEST_LEN], mark_b[DIGEST_LEN];
	struct err err;

	return a && b && scope_repo_mark(a, mark_a, &err) == 0 &&
	       scope_repo_mark(b, mark_b, &err) == 0 &&
	       memcmp(mark_a, mark_b, DIGEST_LEN) == 0 &&
	       (repo->credential.len == 0 ||
		law_same_binding(one, other, repo->credential));
}

static bool has_all(const struct scope_range *ranges, size_t count,
		    const struct scope_range *wanted, size_t wanted_count)
{
	for (size_t i = 0; i < wanted_count; i++) {
		size_t at = 0;

		while (at < count &&
		       (ranges[at].prefix != wanted[i].prefix ||
			!bytes_equal(ranges[at].address, wanted[i].address)))
			at++;
		if (at == count)
			return false;
	}
	return true;
}

bool law_narrows_addresses(const struct law *from, const struct law *to)
{
	const struct scope *a = &from->scope, *b = &to->scope;

	return (b->deny_classes & ~a->deny_classes) ||
	       !has_all(a->deny, a->deny_count, b->deny, b->deny_count) ||
	       !has_all(b->allow, b->allow_count, a->allow, a->allow_count);
}
