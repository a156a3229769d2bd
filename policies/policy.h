/*
 * The policy language as a pure library: text in, policy out; facts in,
 * verdict out. No file, socket or clock. A policy is immutable; all of it
 * lives in one arena and is freed with it.
 *
 * text --(text.h: libfyaml, errors with caret)--> tree
 * tree --(compile.h: every key known, every value checked)--> struct policy
 * policy + facts --(decide.h: first match, default deny)--> verdict
 */
#ifndef POLICIES_POLICY_H
#define POLICIES_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/bytes.h"
#include "common/err.h"
#include "policies/network_limits.h"
#include "policies/policy_commands.h"
#include "policies/policy_credential.h"
#include "policies/policy_rule.h"
#include "policies/push_checks.h"
#include "policies/sign_rule.h"

/* Of a command that names none: the workspace writable, no network. */
#define POLICY_DEFAULT_TEXT "version: 1\nname: default\n"

#define POLICY_TEXT_MAX	    (1024 * 1024)
#define POLICY_RULES_MAX    10000
#define POLICY_LIST_MAX	    10000 /* hosts, paths, methods... of one rule */
#define POLICY_ERRORS_MAX   50	  /* told at once */
#define POLICY_BINDINGS_MAX 64
#define POLICY_REPOS_MAX    64
#define POLICY_SCRIPT_MAX   (64 * 1024)

enum policy_verbs { /* bits */
		    VERB_CREATE = 1,
		    VERB_FAST_FORWARD = 2,
		    VERB_REWRITE = 4,
		    VERB_DELETE = 8
};

struct policy_repo {
	struct bytes url;  /* as written */
	struct bytes host; /* canonical */
	uint16_t port;
	struct bytes path; /* canonical: "/acme/widgets", no .git, no slash */
	bool ignores_case; /* GitHub: owner and name ignore case */
	struct bytes credential;
	bool read;
	struct policy_strings branches; /* patterns without refs/heads/ */
	struct policy_strings tags;	/* patterns without refs/tags/ */
	unsigned verbs;
	struct policy_patterns options; /* of git push -o; none: none */
	struct push_checks checks;
	bool signs; /* its commits and tags: policy.sign */
	/* Where its LFS objects may be stored, beside the forge itself. */
	struct policy_strings lfs_hosts;
	uint16_t lfs_port;
	/* The guardrail's word on the same repository; NULL: none. */
	const struct policy_repo *guard;
};

enum policy_workspace_mode {
	WORKSPACE_WRITE,
	WORKSPACE_READ,
	WORKSPACE_OVERLAY
};

struct policy_filesystem {
	struct bytes workspace; /* path, "." by default */
	enum policy_workspace_mode workspace_mode;
	bool has_read; /* `read` was given: an allow-list */
	struct policy_strings read, write;
	struct policy_strings hide, protect; /* globs (glob.h) */
	struct policy_strings ignore_files;  /* names */
};

struct policy_limits {
	uint64_t memory_bytes; /* 0: none */
	uint64_t processes;
	uint64_t time_ms;
	uint64_t cpu_milli; /* thousandths of a core */
	uint64_t disk_bytes;
	uint64_t files; /* open ones, of one process */
};

/* What the host must have, or there is no sandbox. */
struct policy_require {
	unsigned landlock; /* at least this ABI; 0: none */
	/* A cgroup holds it, not each process alone. */
	bool memory, processes, cpu;
	bool disk;    /* of an overlay: all that it keeps */
	bool freezer; /* it can be paused */
};

struct policy_pair {
	struct bytes name, value;
};

struct policy_environment {
	struct policy_strings pass;
	const struct policy_pair *set;
	size_t set_count;
};

struct policy_range {
	uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint8_t prefix;	     /* 0..128 */
};

enum address_class { /* bits; all four are denied unless `deny` is given */
		     ADDRESS_PRIVATE = 1,
		     ADDRESS_LINK_LOCAL = 2,
		     ADDRESS_METADATA = 4,
		     ADDRESS_LOOPBACK = 8,
		     ADDRESS_SPECIAL = 16 /* multicast, reserved,
					     unspecified...: always */
};

struct policy_addresses {
	unsigned deny_classes;
	const struct policy_range *deny; /* CIDRs in `deny` */
	size_t deny_count;
	const struct policy_range *allow; /* exceptions */
	size_t allow_count;
};

struct rule_index;

struct policy {
	struct arena arena;
	struct bytes name;
	bool is_guardrail;	  /* it only narrows (guardrail.h) */
	struct policy *guardrail; /* what narrows this one; NULL: nothing */
	const struct policy_rule *rules; /* own rules, then the presets' */
	size_t rule_count;
	const struct rule_index *index; /* of the rules; NULL: none */
	enum policy_action fallback;	/* network.default: DENY or ASK */
	struct policy_rate rate;	/* of the session: network.rate */
	struct network_limits network_limits;
	struct bytes script; /* Lua: network.script; empty: none */
	bool inspect_all;    /* tls.inspect: always (else auto) */
	struct policy_strings tunnel;
	struct policy_addresses addresses;
	const struct policy_credential *credentials;
	size_t credential_count;
	const struct policy_repo *repos;
	size_t repo_count;
	struct policy_sign sign; /* of the repositories that sign */
	struct policy_filesystem filesystem;
	struct policy_commands commands;
	struct policy_limits limits;
	struct policy_require require;
	struct policy_strings quiet; /* ignore-violations (quiet.h) */
	struct policy_environment environment;
};

/* What ${session.*} stands for. Empty values: using the variable is an
 * error. */
struct policy_variables {
	struct bytes session_id; /* ${session.id} */
	struct bytes branch;	 /* ${session.branch} */
	struct bytes repo;	 /* ${session.repo}: an https URL */
	/* What the lease is bounded by (permissions.h); empty: nothing. */
	struct bytes permissions;
};

/* All that is wrong with a text, as people read it: file:line:col, the
 * line, a caret, "did you mean". */
struct policy_errors {
	struct buf *out;  /* appended to; may be NULL */
	const char *file; /* how to call the text */
	size_t count;	  /* set: how many errors there are */
};

/* Compile text (untrusted: <= POLICY_TEXT_MAX bytes of YAML 1.2). NULL when
 * there is any error; all of them are told in *errors. Free with
 * policy_free(). variables may be NULL for checking a text alone: then
 * ${session.*} stands for a placeholder value. */
struct policy *policy_compile(struct bytes text,
			      const struct policy_variables *variables,
			      struct policy_errors *errors);
void policy_free(struct policy *policy);

#endif
