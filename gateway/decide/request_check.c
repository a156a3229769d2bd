#include "gateway/decide/request_check.h"

#include "gateway/decide/target_check.h"

bool request_is_for(const struct request *request, const struct target *target)
{
	char host[HOST_NAME_MAX_LEN + 1];
	uint16_t port = request->port;

	if (port == 0)
		port = target_default_port(target->scheme);
	if (port != target->port)
		return false;
	/* A canonical name is its own canonical form. */
	if (target->kind == HOST_NAME && bytes_is(request->host, target->host))
		return true;
	return host_canonical(request->host, host) == target->kind &&
	       bytes_equal(bytes_str(host), bytes_str(target->host));
}

static bool has_body(const struct request *request)
{
	return request->framing != FRAMING_NONE &&
	       !(request->framing == FRAMING_LENGTH && request->body_len == 0);
}

struct request_facts request_facts_of(const struct target *target,
				      const struct request *request)
{
	return (struct request_facts){
		.target = target_facts_of(target),
		.is_tls = target->scheme == SCHEME_HTTPS,
		.method = request->method,
		.path = request->path,
		.query = request->query,
		.fields = &request->fields,
		.has_body = has_body(request),
		.is_websocket = request->is_websocket,
	};
}

/* No rule says so: it holds for every policy. */
static struct verdict deny(enum constraint constraint)
{
	static const struct bytes rule = BYTES_LITERAL("gateway");

	return (struct verdict){
		.kind = VERDICT_DENY,
		.constraint = constraint,
		.rule = rule,
	};
}

struct verdict request_check(const struct policy *policy,
			     const struct target *target,
			     const struct request *request)
{
	struct request_facts facts = request_facts_of(target, request);

	if (request->form == FORM_AUTHORITY)
		return deny(CONSTRAINT_method_unknown);
	if (!request_is_for(request, target))
		return deny(CONSTRAINT_host_mismatch);
	return decide_request(policy, &facts, NULL);
}
