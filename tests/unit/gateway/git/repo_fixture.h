/* A repository of a policy, as tests need it. */
#ifndef TESTS_UNIT_GATEWAY_GIT_REPO_FIXTURE_H
#define TESTS_UNIT_GATEWAY_GIT_REPO_FIXTURE_H

#include "policies/policy.h"

/* Branch agent/42 only. */
static inline struct policy_repo fixture_repo(unsigned verbs)
{
	static const struct bytes branches[] = {BYTES_LITERAL("agent/42")};

	return (struct policy_repo){
		.url = BYTES_LITERAL("https://git.example/acme/widgets"),
		.host = BYTES_LITERAL("git.example"),
		.port = 443,
		.path = BYTES_LITERAL("/acme/widgets"),
		.read = true,
		.branches = {branches, 1},
		.verbs = verbs,
	};
}

#define OID_ZERO "0000000000000000000000000000000000000000"
#define OID_A	 "1111111111111111111111111111111111111111"
#define OID_B	 "2222222222222222222222222222222222222222"
#define OID_C	 "33333333333333333333333333333333333333ab"
#define OID_ZERO_256                                                           \
	"0000000000000000000000000000000000000000000000000000000000000000"
#define OID_A_256                                                              \
	"1111111111111111111111111111111111111111111111111111111111111111"

#endif
