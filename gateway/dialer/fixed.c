#include "gateway/dialer/fixed.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "policies/host.h"

#define HOSTS_BYTES_MAX CONFIG_BYTES_MAX /* decoded */

static int compare_names(struct bytes a, struct bytes b)
{
	if (a.len != b.len)
		return a.len < b.len ? -1 : 1;
	return memcmp(a.data, b.data, a.len);
}

/* Texts lie as they were written. */
static int compare_hosts(const void *one, const void *other)
{
	const struct config_dns_host *a = one, *b = other;
	int order = compare_names(a->name, b->name);

	if (order != 0)
		return order;
	return a->name.data < b->name.data ? -1 : a->name.data > b->name.data;
}

static int check(const struct config_dns_host *host, struct err *err)
{
	union address address;

	if (host->name.len == 0 || host->name.len > HOST_NAME_MAX_LEN)
		return err_set(err, ERR_INVALID,
			       "read dns.hosts: %.*s is not a name",
			       BYTES_ARGS(host->name));
	if (!address_parse(host->address, &address))
		return err_set(err, ERR_INVALID,
			       "read dns.hosts: %.*s is not an address",
			       BYTES_ARGS(host->address));
	return 0;
}

static int copy_all(struct fixed_names *names,
		    const struct config_dns_hosts *read, struct err *err)
{
	for (size_t i = 0; i < read->hosts_count; i++)
		if (check(&read->hosts[i], err) < 0)
			return -1;
	names->hosts = calloc(read->hosts_count, sizeof(*names->hosts));
	if (!names->hosts)
		return err_set(err, ERR_SYSTEM, "read dns.hosts: no memory");
	names->count = read->hosts_count;
	memcpy(names->hosts, read->hosts, names->count * sizeof(*names->hosts));
	qsort(names->hosts, names->count, sizeof(*names->hosts), compare_hosts);
	return 0;
}

int fixed_read(struct fixed_names *names, const struct gateway_config *config,
	       struct err *err)
{
	auto_type(arena_release) struct arena arena;
	struct config_dns_hosts read;

	*names = (struct fixed_names){.count = 0};
	arena_init(&arena, HOSTS_BYTES_MAX);
	if (config->dns_hosts.len == 0)
		return 0;
	if (wire_decode(&config_dns_hosts_schema, config->dns_hosts, &arena,
			&read, err) < 0)
		return -1;
	return read.hosts_count > 0 ? copy_all(names, &read, err) : 0;
}

/* The first of that name, or where it would stand. */
static size_t place_of(const struct fixed_names *names, struct bytes text)
{
	size_t low = 0, high = names->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_names(names->hosts[middle].name, text) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool fixed_find(const struct fixed_names *names, struct bytes text,
		struct resolved *resolved)
{
	size_t first = place_of(names, text);
	union address address;

	if (first == names->count ||
	    !bytes_equal(names->hosts[first].name, text))
		return false;
	*resolved = (struct resolved){.count = 0};
	for (size_t i = first;
	     i < names->count && bytes_equal(names->hosts[i].name, text); i++)
		if (address_parse(names->hosts[i].address, &address))
			resolved_add(resolved, &address);
	return true;
}

void fixed_release(struct fixed_names *names)
{
	free(names->hosts);
	*names = (struct fixed_names){.count = 0};
}
