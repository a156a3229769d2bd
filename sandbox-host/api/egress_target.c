/*
 * A target of OpenSandbox's rules, and what it is in a policy: a host name,
 * *.name, an address or a range of them, on every port.
 */
#include <netinet/in.h>
#include <string.h>

#include "common/cleanup.h"
#include "policies/host_range.h"
#include "policies/policy.h"
#include "policies/scope.h"
#include "sandbox-host/api/egress.h"

#define CLOSED                                                                 \
	(ADDRESS_PRIVATE | ADDRESS_LINK_LOCAL | ADDRESS_METADATA |             \
	 ADDRESS_LOOPBACK)

const char *egress_target_fault(const char *target)
{
	size_t len = strlen(target);
	uint8_t first[16], last[16];

	if (len == 0 || len > EGRESS_TARGET_MAX)
		return "a target has 1 to 253 characters";
	for (size_t i = 0; i < len; i++)
		if (!((target[i] >= 'a' && target[i] <= 'z') ||
		      (target[i] >= 'A' && target[i] <= 'Z') ||
		      (target[i] >= '0' && target[i] <= '9') ||
		      strchr("-.:*_/", target[i])))
			return "a target is a host name, *.name, an address or "
			       "a range of addresses";
	if (strchr(target, '/') &&
	    host_range_ends(bytes_str(target), first, last) < 0)
		return "a range is an address, '/' and a prefix, with no bit "
		       "set after it";
	return strcmp(target, "*") == 0
		       ? "a target is no bare *: say defaultAction"
		       : NULL;
}

static unsigned class_of(const uint8_t address[16])
{
	struct sockaddr_in6 socket = {.sin6_family = AF_INET6};

	memcpy(&socket.sin6_addr, address, sizeof(socket.sin6_addr));
	return address_class_of((const struct sockaddr *)&socket);
}

const char *egress_rule_fault(const char *action, const char *target)
{
	const char *fault = egress_target_fault(target);
	uint8_t first[16], last[16];

	if (fault || strcmp(action, "allow") != 0 ||
	    host_range_ends(bytes_str(target), first, last) < 0)
		return fault;
	return (class_of(first) & CLOSED) && class_of(first) == class_of(last)
		       ? "private, link-local, metadata and loopback addresses "
			 "can not be allowed here: they stay denied"
		       : NULL;
}

json_t *egress_target_rule(const char *target, const char *action)
{
	return json_pack("{s:[s], s:s, s:s}", "hosts", target, "ports", "any",
			 "action", action);
}

json_t *egress_default_rule(void)
{
	return json_pack("{s:[s, s, s], s:s, s:s}", "hosts", "*", "0.0.0.0/0",
			 "::/0", "ports", "any", "action", "allow");
}

static bool denies(const json_t *rule, const char **target)
{
	const char *action = json_string_value(json_object_get(rule, "action"));
	uint8_t first[16], last[16];

	*target = json_string_value(
		json_array_get(json_object_get(rule, "hosts"), 0));
	return action && *target && !strcmp(action, "deny") &&
	       host_range_ends(bytes_str(*target), first, last) == 0;
}

/* Names lead there, too. */
static json_t *denied_addresses(const json_t *rules)
{
	json_t *list = json_pack("[s, s, s, s]", "private", "link-local",
				 "metadata", "loopback");
	size_t classes = json_array_size(list), i;
	const json_t *rule;
	const char *target;

	json_array_foreach(rules, i, rule)
	{
		if (denies(rule, &target))
			(void)json_array_append_new(list, json_string(target));
	}
	if (json_array_size(list) > classes)
		return list;
	json_decref(list);
	return NULL;
}

json_t *egress_network(json_t *rules)
{
	json_t *network = json_pack("{s:s}", "default", "deny");
	json_t *denied = denied_addresses(rules);

	if (json_array_size(rules) > 0)
		(void)json_object_set(network, "rules", rules);
	if (denied)
		(void)json_object_set_new(network, "addresses",
					  json_pack("{s:o}", "deny", denied));
	json_decref(rules);
	return network;
}
