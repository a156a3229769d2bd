#include "policies/remedy.h"

#include "common/cleanup.h"

static const struct {
	const char *rule, *text;
} by_rule[] = {
	{RULE_WRITE, "write to the workspace, or name the path in "
		     "`filesystem.write`"},
	{RULE_PROTECT, "what stands there acts outside of the sandbox: ask a "
		       "person to change it"},
	{RULE_HIDE, "do without it: the policy hides it"},
	{RULE_SOCKETS, "reach a service by a rule of `network`, or name the "
		       "socket in `filesystem.write`"},
	{RULE_SYSCALLS, "do without it: no policy opens it"},
	{RULE_SET_ID, "leave the set-id bits out"},
	{RULE_SECRETS, "run it again: it is hidden from what begins now"},
	{RULE_MEMORY, "use less, or raise `limits.memory`"},
	{RULE_COUNT, "run fewer at one time, or raise `limits.processes`"},
	{RULE_TIME, "do less at once, or raise `limits.time`"},
	{RULE_DISK, "write less, or raise `limits.disk`"},
};

static const char *const by_constraint[CONSTRAINT_MAX] = {
	[CONSTRAINT_host_not_allowed] =
		"a rule of `network.rules` that names the host opens it",
	[CONSTRAINT_port_not_allowed] =
		"name the port in `ports` of the host's rule",
	[CONSTRAINT_method_not_allowed] =
		"name the method in a rule of the host",
	[CONSTRAINT_path_not_allowed] = "name the path in a rule of the host",
	[CONSTRAINT_query_not_allowed] = "send the query as the rule has it",
	[CONSTRAINT_header_not_allowed] =
		"send the header fields as the rule has them",
	[CONSTRAINT_body_not_allowed] = "send the body as the rule has it",
	[CONSTRAINT_body_too_large] = "send less, or raise the rule's `max`",
	[CONSTRAINT_secret_in_body] =
		"take the secret out; the vault attaches credentials",
	[CONSTRAINT_websocket_not_allowed] =
		"give the host's rule a `websocket`",
	[CONSTRAINT_approval_pending] = "ask a person: sallyport approval list",
	[CONSTRAINT_udp_not_allowed] = "use TCP",
	[CONSTRAINT_address_forbidden] =
		"an exception in `network.addresses.allow` opens it",
	[CONSTRAINT_scheme_not_allowed] = "use https",
	[CONSTRAINT_fetch_not_allowed] = "give the repository `read: true`",
	[CONSTRAINT_push_ref_not_allowed] = "push to the session's own branch",
	[CONSTRAINT_push_not_fast_forward] = "fetch, rebase and push again",
	[CONSTRAINT_push_stale] = "fetch, rebase and push again",
	[CONSTRAINT_push_path_protected] = "leave the protected path as it is",
	[CONSTRAINT_push_secret] = "take the secret out of every commit",
	[CONSTRAINT_git_dumb_http] = "use a git that speaks smart HTTP",
	[CONSTRAINT_limit_rate] = "wait, and ask less often",
	[CONSTRAINT_limit_connections] = "close connections first",
	[CONSTRAINT_tls_client_failed] =
		"trust the session's roots; a client that pins its "
		"certificate needs the host in `network.tls.tunnel`",
	[CONSTRAINT_lease_expired] = "renew the session before it ends",
};

const char *remedy_of(enum constraint constraint, struct bytes rule)
{
	const char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(by_rule); i++)
		if (bytes_is(rule, by_rule[i].rule))
			return by_rule[i].text;
	if (constraint < CONSTRAINT_MAX)
		text = by_constraint[constraint];
	return text ? text : "";
}
