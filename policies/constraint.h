/*
 * The closed list of constraint names: what a refusal can be about. The
 * same name stands in replies, logs, the ledger, docs and tests
 * (docs/POLICY.md has one line each). New refusals get a line here first.
 */
#ifndef POLICIES_CONSTRAINT_H
#define POLICIES_CONSTRAINT_H

#include "common/bytes.h"

/* X(NAME, HTTP status, what it means in one line) */
#define CONSTRAINTS(X)                                                         \
	X(none, 200, "nothing was violated")                                   \
	X(host_not_allowed, 403, "no rule allows this host")                   \
	X(port_not_allowed, 403, "no rule allows this port of the host")       \
	X(method_not_allowed, 403, "no rule allows this method here")          \
	X(path_not_allowed, 403, "no rule allows this path")                   \
	X(query_not_allowed, 403, "no rule allows this query here")            \
	X(header_not_allowed, 403, "no rule allows these header fields here")  \
	X(body_not_allowed, 403, "no rule allows this body here")              \
	X(body_too_large, 413, "the body is larger than a rule can look at")   \
	X(body_unreadable, 415, "the body cannot be read as a rule must")      \
	X(secret_in_body, 403, "the body holds a secret or a token")           \
	X(graphql_not_allowed, 403, "no rule allows this GraphQL operation")   \
	X(websocket_not_allowed, 403, "no rule allows a WebSocket here")       \
	X(websocket_message, 403, "a WebSocket message breaks a rule")         \
	X(approval_pending, 403, "a person must allow this first")             \
	X(approval_denied, 403, "a person has denied this")                    \
	X(script_denied, 403, "a script of the policy denies this request")    \
	X(script_failed, 503, "a script of the policy could not decide")       \
	X(udp_not_allowed, 403, "UDP is not served, but for names")            \
	X(proxy_failed, 502, "the upstream proxy did not connect")             \
	X(denied_by_rule, 403, "a rule denies this request")                   \
	X(address_forbidden, 403, "the name resolves to a forbidden address")  \
	X(scheme_not_allowed, 403, "a credential never travels in the clear")  \
	X(fetch_not_allowed, 403, "the session may not read this repository")  \
	X(push_ref_not_allowed, 403, "the session may not push this ref")      \
	X(push_verb_not_allowed, 403,                                          \
	  "the session may not do this to the ref")                            \
	X(push_not_fast_forward, 403, "the push would rewrite the branch")     \
	X(push_stale, 409, "the ref moved: fetch first")                       \
	X(push_malformed, 400, "the push does not follow the protocol")        \
	X(push_pack_invalid, 400, "the pack is damaged or incomplete")         \
	X(push_path_protected, 403, "the push changes a protected path")       \
	X(push_secret, 403, "the push holds a secret or a token")              \
	X(push_option_not_allowed, 403,                                        \
	  "the session may not push with this option")                         \
	X(push_commit_not_allowed, 403,                                        \
	  "a commit is not as the policy wants it")                            \
	X(push_object_unsound, 400, "an object of the push is unsound")        \
	X(push_too_large, 413, "the push is larger than its limit")            \
	X(git_not_allowed, 403, "this git endpoint is not open")               \
	X(git_dumb_http, 403, "dumb HTTP is not served: use smart HTTP")       \
	X(lfs_malformed, 422, "the request does not follow the LFS API")       \
	X(lfs_not_allowed, 403, "this LFS request is not open")                \
	X(lfs_too_large, 413, "an LFS object or batch is too large")           \
	X(lfs_transfer_unknown, 403,                                           \
	  "no LFS answer opened this transfer, or it is over")                 \
	X(request_malformed, 400, "the request is not strict HTTP/1.1")        \
	X(request_too_large, 431, "the request head is too large")             \
	X(path_ambiguous, 400, "the path can be read in two ways")             \
	X(host_mismatch, 421, "CONNECT, SNI and Host do not agree")            \
	X(method_unknown, 405, "the method is unknown or not served")          \
	X(upgrade_not_supported, 403, "protocol upgrades are not served")      \
	X(protocol_not_allowed, 403, "the protocol cannot be inspected")       \
	X(tls_client_failed, 403, "the client's TLS could not be terminated")  \
	X(sni_missing, 403, "the TLS client named no server")                  \
	X(dns_failed, 502, "the name did not resolve")                         \
	X(connect_failed, 502, "the upstream could not be reached")            \
	X(connect_timeout, 504, "the upstream did not answer in time")         \
	X(tls_upstream_invalid, 502,                                           \
	  "the upstream's certificate is not valid")                           \
	X(response_malformed, 502, "the upstream's answer is not strict HTTP") \
	X(response_timeout, 504, "the upstream stopped answering")             \
	X(upstream_closed, 502, "the upstream closed the connection")          \
	X(credential_unavailable, 502, "the credential could not be had")      \
	X(credential_reflected, 502, "the upstream sent the credential back")  \
	X(placeholder_not_allowed, 403,                                        \
	  "a placeholder stands where it means nothing")                       \
	X(signature_not_supported, 403,                                        \
	  "requests signed in this way are not served")                        \
	X(sign_not_allowed, 403, "the session may not have this signed")       \
	X(lease_expired, 403, "the session has expired")                       \
	X(lease_invalid, 407, "the lease is not this session's")               \
	X(session_revoked, 403, "the session was revoked")                     \
	X(audit_unavailable, 503, "the record could not be made durable")      \
	X(limit_connections, 503, "the session has too many connections")      \
	X(limit_bodies, 503, "the session has too much under inspection")      \
	X(limit_rate, 429, "the session asks too often")                       \
	X(timeout, 408, "the client was too slow")                             \
	X(policy_changed, 503,                                                 \
	  "the session's policy was changed while this was under way")         \
	X(filesystem, 403, "the file system policy forbids it")                \
	X(syscall, 403, "the system call is not open to a sandbox")            \
	X(resource_limit, 403, "a limit of the sandbox was reached")           \
	X(command_not_allowed, 403, "the policy does not allow this command")  \
	X(command_risk, 403, "the command's risk is above what is allowed")    \
	X(command_ambiguous, 403, "the command can be read in several ways")   \
	X(limit_actions, 429, "the session runs commands too often")           \
	X(internal, 500, "a part of the gateway is not available")

enum constraint {
#define X(name, status, text) CONSTRAINT_##name,
	CONSTRAINTS(X)
#undef X
		CONSTRAINT_MAX
};

/* "host_not_allowed". */
const char *constraint_name(enum constraint constraint);
/* "no rule allows this host". */
const char *constraint_text(enum constraint constraint);
unsigned constraint_status(enum constraint constraint);
/* CONSTRAINT_MAX when the name is unknown. */
enum constraint constraint_from_name(struct bytes name);

#endif
