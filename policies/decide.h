/*
 * Decisions: pure functions of an immutable policy and facts. First match
 * decides, top to bottom: the guardrail (guardrail.h), which everything must
 * pass as well; `git` for the endpoints of its repositories, then
 * network.rules, then the presets' rules, then the default (deny).
 */
#ifndef POLICIES_DECIDE_H
#define POLICIES_DECIDE_H

#include "common/buf.h"
#include "policies/facts.h"
#include "policies/policy.h"
#include "policies/verdict.h"

/* May a connection to this host and port be opened at all (some request on
 * it could be allowed)? verdict.inspect says whether TLS must be terminated:
 * when any rule that could decide here has methods, paths or a credential,
 * when a repository lives here, unless `tunnel` lists the host (a host that
 * is both is an error of the policy). trace may be NULL; else one line a
 * step is appended. */
struct verdict decide_target(const struct policy *policy,
			     const struct target_facts *facts,
			     struct buf *trace);

/* Is the host one of network.tls.tunnel? */
bool decide_is_tunnel(const struct policy *policy, struct bytes host);

/* May this request pass, and with which credential? Requests of a
 * repository's git endpoints are the git lane's: decide_repo() first. */
struct verdict decide_request(const struct policy *policy,
			      const struct request_facts *facts,
			      struct buf *trace);

/* Which git endpoint is this? */
enum git_endpoint {
	GIT_NONE,	     /* not one */
	GIT_ADVERTISE_READ,  /* GET info/refs?service=git-upload-pack */
	GIT_ADVERTISE_WRITE, /* GET info/refs?service=git-receive-pack */
	GIT_UPLOAD_PACK,     /* POST git-upload-pack */
	GIT_RECEIVE_PACK,    /* POST git-receive-pack */
	GIT_DUMB,	     /* info/refs without service, objects/..., HEAD */
	GIT_AMBIGUOUS,	     /* e.g. two services, another spelling */
	GIT_ENDPOINT_MAX
};
/* The endpoint, and in *repo_path the canonical repository path ("/o/r":
 * one trailing ".git" and trailing slash dropped), borrowing from facts. */
enum git_endpoint git_endpoint_of(const struct request_facts *facts,
				  struct bytes *repo_path);

/* The repository of this policy at host, port and canonical path, or NULL.
 * Owner and name compare without case where the forge does (github.com). */
const struct policy_repo *decide_repo(const struct policy *policy,
				      const struct target_facts *target,
				      struct bytes repo_path);
/* Does any repository of the policy live on this host and port? */
bool decide_host_has_repo(const struct policy *policy,
			  const struct target_facts *target);

/* May the session read it, as far as `git` says? */
struct verdict decide_fetch(const struct policy_repo *repo);

/* May this update be made? For PUSH_UPDATE: allowed when fast-forward or
 * rewrite is; *needs_proof is set when only a fast-forward is, so somebody
 * must prove it (then ask again with the proven verb). */
struct verdict decide_push(const struct policy_repo *repo,
			   const struct push_facts *facts, bool *needs_proof);

/* Must a branch that moves be proven to move forward? Then packs are looked
 * at, whatever the rules for their content. */
bool decide_proves_moves(const struct policy_repo *repo);

/* May a push of the repository have this option (git push -o)? */
bool decide_push_option(const struct policy_repo *repo, struct bytes option);

/* The binding of that name, or NULL. */
const struct policy_credential *
policy_credential_named(const struct policy *policy, struct bytes name);

#endif
