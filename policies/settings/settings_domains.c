#include <arpa/inet.h>

#include "policies/settings/settings_parts.h"

static bool is_address(struct bytes host)
{
	char text[INET6_ADDRSTRLEN];
	uint8_t out[16];

	if (host.len == 0 || host.len >= sizeof(text))
		return false;
	memcpy(text, host.data, host.len);
	text[host.len] = 0;
	return inet_pton(AF_INET, text, out) == 1 ||
	       inet_pton(AF_INET6, text, out) == 1;
}

static bool read_port(struct bytes text, uint16_t *port)
{
	uint64_t value;

	if (bytes_to_u64(text, 5, &value) < 0 || value == 0 || value > 65535)
		return false;
	*port = (uint16_t)value;
	return true;
}

bool settings_domain_read(struct bytes text, struct settings_domain *domain)
{
	struct bytes rest = text;
	struct bytes host;
	bool has_port;

	*domain = (struct settings_domain){.port = 0};
	if (text.len > 0 && text.data[0] == '[') {
		rest = bytes_slice(text, 1, text.len);
		if (!bytes_split(&rest, ']', &host) ||
		    bytes_find(host, ':', 0) < 0)
			return false;
		has_port = rest.len > 0;
		if (has_port && rest.data[0] != ':')
			return false;
		rest = bytes_slice(rest, 1, rest.len);
	} else {
		has_port = bytes_split(&rest, ':', &host);
	}
	if (host.len == 0 || (has_port && !read_port(rest, &domain->port)))
		return false;
	domain->host = host;
	domain->is_address = is_address(host);
	return true;
}
