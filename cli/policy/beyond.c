#include "cli/policy/beyond.h"

#include <arpa/inet.h>

#include "common/cleanup.h"
#include "gateway/decide/name_check.h"
#include "gateway/decide/request_check.h"
#include "gateway/decide/target_check.h"
#include "gateway/http/head.h"
#include "gateway/http/write.h"
#include "policies/host.h"
#include "policies/scope.h"

#define SCOPE_ARENA_MAX (32 * 1024 * 1024)

struct verdict beyond_refuse(enum constraint constraint, struct bytes why)
{
	return (struct verdict){
		.kind = VERDICT_DENY,
		.constraint = constraint,
		.rule = bytes_str("gateway"),
		.reason = why,
	};
}

/* A handshake is asked for in words of our own. */
static bool is_left_out(const struct request_facts *facts, struct bytes name)
{
	return facts->is_websocket && (bytes_is_nocase(name, "Connection") ||
				       bytes_is_nocase(name, "Upgrade"));
}

static int add_fields(const struct request_facts *facts,
		      const struct fields *headers, struct buf *out)
{
	for (size_t i = 0; i < headers->count; i++) {
		const struct field *field = &headers->items[i];

		if (!is_left_out(facts, field->name) &&
		    write_field(out, field->name, field->value) < 0)
			return -1;
	}
	if (facts->is_websocket &&
	    buf_add_str(out, "Connection: Upgrade\r\n"
			     "Upgrade: websocket\r\n") < 0)
		return -1;
	return write_end(out);
}

static int write_head(const struct request_facts *facts,
		      const struct target *target, const struct fields *headers,
		      struct buf *out)
{
	if (buf_add_format(out, "%.*s %.*s%s%.*s HTTP/1.1\r\n",
			   BYTES_ARGS(facts->method), BYTES_ARGS(facts->path),
			   facts->query.len ? "?" : "",
			   BYTES_ARGS(facts->query)) < 0)
		return -1;
	if (!fields_find(headers, "Host") &&
	    buf_add_format(out,
			   target->kind == HOST_IPV6 ? "Host: [%s]:%u\r\n"
						     : "Host: %s:%u\r\n",
			   target->host, target->port) < 0)
		return -1;
	return add_fields(facts, headers, out);
}

static struct verdict read_head(struct request_facts *facts,
				const struct fields *headers,
				struct arena *arena)
{
	struct request *request = arena_alloc(arena, sizeof(*request));
	auto_type(buf_release) struct buf head;
	struct target target;
	struct http_fault fault = {CONSTRAINT_request_too_large,
				   "the head is longer than its bound"};
	struct bytes unused;
	struct guard guard;

	buf_init(&head, 2 * HEAD_BYTES_MAX);
	guard_init(&guard, GUARD_REQUEST);
	if (!request ||
	    target_named(facts->target.host, facts->target.port,
			 facts->is_tls ? SCHEME_HTTPS : SCHEME_HTTP,
			 &target) < 0 ||
	    write_head(facts, &target, headers, &head) < 0 ||
	    head_take_request(arena, &guard, &head, request, &unused, &fault) !=
		    GUARD_COMPLETE)
		return beyond_refuse(fault.constraint, bytes_str(fault.reason));
	if (!request_is_for(request, &target))
		return beyond_refuse(CONSTRAINT_host_mismatch,
				     bytes_from(NULL, 0));
	facts->fields = &request->fields;
	return (struct verdict){.kind = VERDICT_ALLOW};
}

bool beyond_is_request(struct request_facts *facts,
		       const struct fields *headers, struct arena *arena,
		       struct verdict *verdict)
{
	/* A blank would end it. */
	*verdict =
		facts->query.len && !http_is_target(facts->query)
			? beyond_refuse(CONSTRAINT_request_malformed,
					bytes_str("the query has bytes that it "
						  "may not have: escape them"))
			: read_head(facts, headers, arena);
	return verdict->kind == VERDICT_ALLOW;
}

/* A canonical literal. */
static void take_literal(struct bytes host, enum host_kind kind,
			 struct sockaddr_storage *out)
{
	char text[HOST_NAME_MAX_LEN + 1] = "";
	void *any = out;
	struct sockaddr_in *ipv4 = any;
	struct sockaddr_in6 *ipv6 = any;

	*out = (struct sockaddr_storage){0};
	memcpy(text, host.data, host.len);
	if (kind == HOST_IPV4) {
		ipv4->sin_family = AF_INET;
		(void)inet_pton(AF_INET, text, &ipv4->sin_addr);
	} else {
		ipv6->sin6_family = AF_INET6;
		(void)inet_pton(AF_INET6, text, &ipv6->sin6_addr);
	}
}

static struct verdict check_address(const struct policy *policy,
				    struct bytes host, enum host_kind kind,
				    struct verdict verdict, struct arena *arena)
{
	auto_type(arena_release) struct arena room;
	struct sockaddr_storage address;
	const void *any = &address;
	struct scope scope;
	struct err err;

	arena_init(&room, SCOPE_ARENA_MAX);
	if (scope_from_policy(policy, &room, &scope, &err) < 0)
		return beyond_refuse(CONSTRAINT_internal,
				     arena_copy(arena, bytes_str(err.text)));
	take_literal(host, kind, &address);
	return scope_allows_address(&scope, any)
		       ? verdict
		       : beyond_refuse(CONSTRAINT_address_forbidden,
				       bytes_str("network.addresses does not "
						 "let it be dialled"));
}

struct verdict beyond_rules(const struct policy *policy,
			    const struct request_facts *facts,
			    struct verdict verdict, struct arena *arena)
{
	char canonical[HOST_NAME_MAX_LEN + 1];
	struct bytes host = facts->target.host;
	enum host_kind kind = host_canonical(host, canonical);
	const char *fault;

	if (verdict.kind == VERDICT_DENY)
		return verdict;
	if (kind != HOST_NAME)
		return check_address(policy, bytes_str(canonical), kind,
				     verdict, arena);
	fault = name_fault(policy, host);
	return fault ? beyond_refuse(CONSTRAINT_host_not_allowed,
				     bytes_str(fault))
		     : verdict;
}
