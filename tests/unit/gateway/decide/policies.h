/*
 * For the tests of decisions: a small policy, made by hand so that they do
 * not depend on the compiler of the language.
 */
#ifndef TESTS_UNIT_GATEWAY_DECIDE_POLICIES_H
#define TESTS_UNIT_GATEWAY_DECIDE_POLICIES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/decide/request_check.h"
#include "gateway/decide/target_check.h"

static inline const struct policy *small_policy(void)
{
	static const uint16_t odd_port[] = {8443};
	static struct policy_rule rules[3];
	static struct policy_strings api, paths, reads, all, posts;
	static struct bytes items[8];
	static struct policy policy;

	items[0] = bytes_str("api.example.com");
	items[1] = bytes_str("/repos/acme/**");
	items[2] = bytes_str("GET");
	items[3] = bytes_str("HEAD");
	items[4] = bytes_str("*.cdn.example.net");
	items[5] = bytes_str("POST");
	api = (struct policy_strings){&items[0], 1};
	paths = (struct policy_strings){&items[1], 1};
	reads = (struct policy_strings){&items[2], 2};
	all = (struct policy_strings){&items[4], 1};
	posts = (struct policy_strings){&items[5], 1};
	rules[0] = (struct policy_rule){
		.name = bytes_str("no-posts"),
		.hosts = api,
		.methods = posts,
		.action = POLICY_DENY,
		.reason = bytes_str("this session only reads"),
	};
	rules[1] = (struct policy_rule){
		.name = bytes_str("read-acme"),
		.hosts = api,
		.methods = reads,
		.paths = paths,
		.action = POLICY_ALLOW,
		.credential = bytes_str("github"),
	};
	rules[2] = (struct policy_rule){
		.name = bytes_str("cdn"),
		.hosts = all,
		.ports = odd_port,
		.port_count = 1,
		.action = POLICY_ALLOW,
	};
	policy = (struct policy){.rules = rules, .rule_count = 3};
	return &policy;
}

static inline struct target target_at(const char *host, uint16_t port,
				      enum target_scheme scheme)
{
	struct target target;

	assert_int_equal(target_named(bytes_str(host), port, scheme, &target),
			 0);
	return target;
}

static inline struct request request_for(const char *method, const char *host,
					 const char *path)
{
	return (struct request){
		.method = bytes_str(method),
		.form = FORM_ORIGIN,
		.host = bytes_str(host),
		.path = bytes_str(path),
	};
}

#endif
