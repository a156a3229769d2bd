/*
 * The filter's rules as data (seccomp_rules.c). Tests of one rule hold
 * together; rules of one call are alternatives; a rule without tests covers
 * the whole call.
 */
#ifndef SANDBOX_HOST_SECCOMP_RULES_H
#define SANDBOX_HOST_SECCOMP_RULES_H

#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>

#define SECCOMP_TESTS_MAX 2

struct seccomp_rule {
	const char *name; /* NULL: by .number */
	int number;
	uint32_t action;
	unsigned test_count;
	struct scmp_arg_cmp tests[SECCOMP_TESTS_MAX];
};

extern const struct seccomp_rule seccomp_rules[];
extern const size_t seccomp_rule_count;
/* Added where names are hidden that may yet appear. */
extern const struct seccomp_rule seccomp_read_rules[];
extern const size_t seccomp_read_rule_count;

#endif
