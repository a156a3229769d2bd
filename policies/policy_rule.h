/*
 * One rule of network.rules, as compiled: part of struct policy (policy.h),
 * and as immutable.
 */
#ifndef POLICIES_POLICY_RULE_H
#define POLICIES_POLICY_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

struct policy_strings {
	const struct bytes *items;
	size_t count;
};

enum policy_action { POLICY_DENY, POLICY_ALLOW, POLICY_ASK };

struct pattern; /* policies/pattern.h: a whole-value regex, compiled once */

struct policy_patterns {
	const struct pattern *const *items;
	size_t count;
};

/* "name: regex": every value of that name must match it whole, and there
 * must be one. Header names compare without case. */
struct policy_match {
	struct bytes name;
	const struct pattern *pattern;
};
struct policy_matches {
	const struct policy_match *items;
	size_t count;
};
#define POLICY_MATCHES_MAX 100

/* One entry of body.json: the value at an RFC 6901 pointer. */
enum policy_json_test { JSON_EQUALS, JSON_ONE_OF, JSON_MATCHES, JSON_ABSENT };
struct policy_json {
	struct bytes pointer;
	enum policy_json_test test;
	/* EQUALS, ONE_OF: strings, numbers, true, false, null as JSON writes
	 * them (strings in quotes). */
	struct policy_strings values;
	const struct pattern *pattern; /* MATCHES: strings alone */
};

enum policy_graphql_operation { /* bits */
				POLICY_QUERY = 1,
				POLICY_MUTATION = 2,
				POLICY_SUBSCRIPTION = 4
};
/* Of a node of GitHub's whose id an argument of a root field is (nodes.h):
 * it is that repository, or in it. */
struct policy_node {
	struct bytes argument;	 /* "addComment.input.subjectId" */
	struct bytes repository; /* "owner/name" */
	/* Not empty: it is a pull request from this branch of it. */
	struct bytes head;
};

/* body.graphql: what every operation of the document must be. */
struct policy_graphql {
	unsigned operations;	      /* bits; never 0 */
	struct policy_strings fields; /* root fields, "*" at an end; empty:
					 any */
	/* Values that arguments and variables of root fields must have:
	 * name "createPullRequest.input.headRefName". */
	struct policy_matches arguments;
	struct policy_strings absent;	 /* arguments that must not be given */
	const struct policy_node *nodes; /* asked about before it leaves */
	size_t node_count;
};

/* What a body must be like. A rule with a body needs it whole. */
struct policy_body {
	uint64_t max; /* bytes as sent, and as decoded */
	const struct policy_json *json;
	size_t json_count;
	struct policy_matches form;	 /* application/x-www-form-urlencoded */
	struct policy_matches multipart; /* multipart/form-data, by name */
	bool deny_secrets;
	const struct policy_graphql *graphql; /* NULL: not asked */
};
#define POLICY_BODY_MAX_DEFAULT (1024 * 1024)
#define POLICY_BODY_MAX		(64 * 1024 * 1024)

/* A rule with it allows WebSocket handshakes (a GET); no other does. */
struct policy_websocket {
	uint64_t message_max;	    /* bytes, a whole message */
	const struct pattern *text; /* every text message; NULL: any */
	bool allow_binary;
	bool deny_secrets; /* in any message of the client */
};
#define POLICY_WEBSOCKET_MESSAGE_DEFAULT (1024 * 1024)
#define POLICY_WEBSOCKET_MESSAGE_MAX	 (16 * 1024 * 1024)

/* "600/1m": so many in each period; count 0: no limit. */
struct policy_quota {
	uint64_t count;
	uint64_t period_ms;
};
struct policy_rate {
	struct policy_quota requests, upload, download; /* upload...: bytes */
};

#define PORT_ANY 0 /* where a port stands: every one */

/* One entry of network.rules. An empty list matches everything. */
struct policy_rule {
	struct bytes name;	     /* given, or "rules[3]", "npm/rules[0]" */
	struct policy_strings hosts; /* "a.b", "*.a.b", an address, a range */
	bool has_range;		     /* of addresses, among the hosts */
	const uint16_t *ports;	     /* empty: 443 and 80; or PORT_ANY alone */
	size_t port_count;
	struct policy_strings methods;
	struct policy_strings paths; /* globs on the normalised path */
	struct policy_matches query; /* values percent-decoded */
	struct policy_matches headers;
	const struct policy_body *body;		  /* NULL: not asked */
	const struct policy_websocket *websocket; /* NULL: no WebSocket */
	struct policy_rate rate;
	enum policy_action action;
	uint32_t hold_ms; /* ask: wait so long for an answer */
	struct bytes reason;
	struct bytes credential; /* a binding's name, or empty */
};
#define POLICY_HOLD_DEFAULT_MS 30000
#define POLICY_HOLD_MAX_MS     600000

/* Does the rule ask for more than host and port, so that it may not decide
 * about each request there? */
bool rule_is_conditional(const struct policy_rule *rule);
/* Is there anything about it for which TLS must be terminated? */
bool rule_looks_inside(const struct policy_rule *rule);

#endif
