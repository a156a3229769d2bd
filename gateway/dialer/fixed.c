/* What found no room has no hh.tbl then. */
#define HASH_NONFATAL_OOM 1

#include "gateway/dialer/fixed.h"

#include <stdlib.h>
#include <uthash.h>
#include <utlist.h>

#include "policies/host.h"

/* The cases of uthash's function fall through on purpose. */
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"

/* One name with one address; more of the same name hang on the first. */
struct fixed_name {
	UT_hash_handle hh;
	union address address;
	struct fixed_name *next;
};

static struct fixed_name *find(struct fixed_name *table, struct bytes text)
{
	struct fixed_name *name;

	HASH_FIND(hh, table, text.data, text.len, name);
	return name;
}

static int add(struct fixed_name **table, const struct config_dns_host *host,
	       struct err *err)
{
	struct fixed_name *first = find(*table, host->name), *head = *table;
	struct fixed_name *name = calloc(1, sizeof(*name));

	if (!name)
		return err_set(err, ERR_SYSTEM, "read dns.hosts: no memory");
	if (!address_parse(host->address, &name->address)) {
		free(name);
		return err_set(err, ERR_INVALID,
			       "read dns.hosts: %.*s is not an address",
			       BYTES_ARGS(host->address));
	}
	if (first) {
		LL_APPEND(first, name);
		return 0;
	}
	HASH_ADD_KEYPTR(hh, head, host->name.data, host->name.len, name);
	if (!name->hh.tbl) {
		free(name);
		return err_set(err, ERR_SYSTEM, "read dns.hosts: no memory");
	}
	*table = head;
	return 0;
}

int fixed_add_all(struct fixed_name **table,
		  const struct gateway_config *config, struct err *err)
{
	for (size_t i = 0; i < config->dns_hosts_count; i++) {
		const struct config_dns_host *host = &config->dns_hosts[i];

		if (host->name.len == 0 || host->name.len > HOST_NAME_MAX_LEN)
			return err_set(err, ERR_INVALID,
				       "read dns.hosts: %.*s is not a name",
				       BYTES_ARGS(host->name));
		if (add(table, host, err) < 0)
			return -1;
	}
	return 0;
}

bool fixed_find(struct fixed_name *table, struct bytes text,
		struct resolved *resolved)
{
	const struct fixed_name *name = find(table, text);

	if (!name)
		return false;
	*resolved = (struct resolved){.count = 0};
	for (; name; name = name->next)
		resolved_add(resolved, &name->address);
	return true;
}

void fixed_free(struct fixed_name *table)
{
	struct fixed_name *name, *next;

	HASH_ITER (hh, table, name, next) {
		HASH_DEL(table, name);
		while (name) {
			struct fixed_name *more = name->next;

			free(name);
			name = more;
		}
	}
}
