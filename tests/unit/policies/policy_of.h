/*
 * For tests: a policy from a text that must compile, and one-line targets
 * and requests.
 */
#ifndef TESTS_UNIT_POLICIES_POLICY_OF_H
#define TESTS_UNIT_POLICIES_POLICY_OF_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "policies/decide.h"
#include "policies/policy.h"

#define TOLD_MAX (256 * 1024)

/* ${session.*} in tests. */
static const struct policy_variables test_variables = {
	.session_id = BYTES_LITERAL("s-1"),
	.branch = BYTES_LITERAL("agent/42"),
	.repo = BYTES_LITERAL("https://github.com/acme/widgets"),
};

/* Compile; the errors into told (buf_release it). */
static inline struct policy *policy_try(const char *text, struct buf *told,
					size_t *count)
{
	struct policy_errors errors = {.out = told, .file = "p.yaml"};
	struct policy *policy;

	buf_init(told, TOLD_MAX);
	policy = policy_compile(bytes_str(text), &test_variables, &errors);
	if (count)
		*count = errors.count;
	assert_int_equal(policy == NULL, errors.count > 0);
	return policy;
}

static inline struct policy *policy_of(const char *text)
{
	struct buf told;
	struct policy *policy = policy_try(text, &told, NULL);

	if (!policy)
		print_error("%.*s", BYTES_ARGS(buf_view(&told)));
	buf_release(&told);
	assert_non_null(policy);
	return policy;
}

static inline struct target_facts target_of(const char *host, uint16_t port)
{
	return (struct target_facts){bytes_str(host), port};
}

/* "GET https://host/path?query"; the port is the scheme's. */
struct request_line {
	const char *method, *scheme, *host, *path, *query;
};

static inline struct request_facts request_of(struct request_line line)
{
	bool is_tls = strcmp(line.scheme, "https") == 0;

	return (struct request_facts){
		.target = target_of(line.host, is_tls ? 443 : 80),
		.is_tls = is_tls,
		.method = bytes_str(line.method),
		.path = bytes_str(line.path),
		.query = bytes_str(line.query),
	};
}

#endif
