#include "policy_of.h"

static const struct {
	const char *host, *service, *region;
} hosts[] = {
	{"sqs.eu-central-1.amazonaws.com", "sqs", "eu-central-1"},
	{"bucket.s3.eu-west-1.amazonaws.com", "s3", "eu-west-1"},
	{"*.s3.eu-west-1.amazonaws.com", "s3", "eu-west-1"},
	{"bucket.s3.amazonaws.com", "s3", "us-east-1"},
	{"iam.amazonaws.com", "iam", "us-east-1"},
	{"ec2.us-gov-west-1.amazonaws.com", "ec2", "us-gov-west-1"},
	{"s3.cn-north-1.amazonaws.com.cn", "s3", "cn-north-1"},
	{"amazonaws.com", NULL, NULL},
	{"*.amazonaws.com", NULL, NULL},
	{"*.eu-west-1.amazonaws.com", NULL, NULL},
	{"eu-west-1.amazonaws.com", NULL, NULL},
	{"s3.eu-west-1.amazonaws.com.example", NULL, NULL},
};

static void credential_reads_service_and_region_of_a_host(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		struct bytes service, region;
		bool is_known = credential_aws_names(bytes_str(hosts[i].host),
						     &service, &region);

		if (is_known != (hosts[i].service != NULL))
			fail_msg("%s", hosts[i].host);
		if (!is_known)
			continue;
		assert_true(bytes_is(service, hosts[i].service));
		assert_true(bytes_is(region, hosts[i].region));
	}
}

static const struct {
	const char *method, *path;
	uint16_t port;
	enum constraint missed;
} requests[] = {
	{"GET", "/v1/a/b", 443, CONSTRAINT_none},
	{"GET", "/v1/a/b", 8443, CONSTRAINT_port_not_allowed},
	{"POST", "/v1/a/b", 443, CONSTRAINT_method_not_allowed},
	{"GET", "/v2/a", 443, CONSTRAINT_path_not_allowed},
};

static void credential_covers_its_ports_methods_and_paths_alone(void **state)
{
	struct buf told;
	struct policy *policy = policy_try(
		"version: 1\ncredentials:\n"
		"  - {name: c, secret: s, attach: bearer, hosts: [a.example], "
		"ports: [443], methods: [GET], paths: ['/v1/**']}\n",
		&told, NULL);

	(void)state;
	assert_non_null(policy);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		assert_int_equal(
			credential_covers(&policy->credentials[0],
					  requests[i].port,
					  bytes_str(requests[i].method),
					  bytes_str(requests[i].path)),
			requests[i].missed);
	policy_free(policy);
	buf_release(&told);
}

static void a_rule_does_not_widen_its_credential(void **state)
{
	struct buf told;
	struct policy *policy = policy_try(
		"version: 1\ncredentials:\n"
		"  - {name: c, secret: s, attach: bearer, hosts: [a.example], "
		"methods: [GET]}\n"
		"network:\n  rules:\n"
		"    - {name: all, hosts: [a.example], credential: c, action: "
		"allow}\n",
		&told, NULL);
	struct request_facts facts = {
		.target = {bytes_str("a.example"), 443},
		.is_tls = true,
		.method = bytes_str("GET"),
		.path = bytes_str("/"),
	};
	struct verdict verdict;

	(void)state;
	assert_non_null(policy);
	verdict = decide_request(policy, &facts, NULL);
	assert_int_equal(verdict.kind, VERDICT_ALLOW);
	assert_true(bytes_is(verdict.credential, "c"));
	facts.method = bytes_str("POST");
	verdict = decide_request(policy, &facts, NULL);
	assert_int_equal(verdict.kind, VERDICT_DENY);
	assert_int_equal(verdict.constraint, CONSTRAINT_method_not_allowed);
	assert_int_equal(verdict.credential.len, 0);
	policy_free(policy);
	buf_release(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(credential_reads_service_and_region_of_a_host),
		cmocka_unit_test(
			credential_covers_its_ports_methods_and_paths_alone),
		cmocka_unit_test(a_rule_does_not_widen_its_credential),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
