#include "gateway/decide/target_check.h"

#define PORT_HTTP  80
#define PORT_HTTPS 443

struct target_facts target_facts_of(const struct target *target)
{
	return (struct target_facts){
		.host = bytes_str(target->host),
		.port = target->port,
	};
}

struct verdict target_check(const struct policy *policy,
			    const struct target *target)
{
	struct target_facts facts = target_facts_of(target);

	return decide_target(policy, &facts, NULL);
}

uint16_t target_default_port(enum target_scheme scheme)
{
	switch (scheme) {
	case SCHEME_HTTP:
		return PORT_HTTP;
	case SCHEME_HTTPS:
		return PORT_HTTPS;
	case SCHEME_TCP:
		break;
	}
	return 0;
}

int target_named(struct bytes host, uint16_t port, enum target_scheme scheme,
		 struct target *target)
{
	*target = (struct target){
		.port = port ? port : target_default_port(scheme),
		.scheme = scheme,
	};
	target->kind = host_canonical(host, target->host);
	return target->kind == HOST_INVALID || target->port == 0 ? -1 : 0;
}
