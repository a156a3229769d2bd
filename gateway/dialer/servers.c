#include "gateway/dialer/servers.h"

#include "gateway/dialer/address.h"

#define DNS_PORT 53

/* Split "[v6]:port", "v4:port" or an address alone. */
static int split_port(struct bytes text, struct bytes *host, uint64_t *port)
{
	struct bytes rest = bytes_from(NULL, 0);
	ptrdiff_t colon = bytes_find(text, ':', 0);
	ptrdiff_t bracket = bytes_find(text, ']', 0);

	*host = text;
	*port = DNS_PORT;
	if (text.len > 0 && text.data[0] == '[') {
		if (bracket < 0)
			return -1;
		*host = bytes_slice(text, 1, (size_t)bracket);
		rest = bytes_slice(text, (size_t)bracket + 1, text.len);
	} else if (colon >= 0 && bytes_find(text, ':', (size_t)colon + 1) < 0) {
		*host = bytes_slice(text, 0, (size_t)colon);
		rest = bytes_slice(text, (size_t)colon, text.len);
	}
	if (rest.len == 0)
		return 0;
	if (rest.data[0] != ':' ||
	    bytes_to_u64(bytes_slice(rest, 1, rest.len), 5, port) < 0)
		return -1;
	return *port > 0 && *port <= UINT16_MAX ? 0 : -1;
}

static int write_server(struct bytes text, struct buf *out, struct err *err)
{
	union address address;
	struct bytes host;
	uint64_t port;
	char plain[ADDRESS_TEXT_SIZE];

	if (split_port(text, &host, &port) < 0 ||
	    !address_parse(host, &address))
		return err_set(err, ERR_INVALID,
			       "read dns.servers: %.*s is not an address",
			       BYTES_ARGS(text));
	address_format(&address, plain);
	return buf_add_format(out,
			      address.any.sa_family == AF_INET6 ? "%s[%s]:%u"
								: "%s%s:%u",
			      buf_len(out) ? "," : "", plain, (unsigned)port);
}

int servers_write(const struct gateway_config *config, struct buf *out,
		  struct err *err)
{
	for (size_t i = 0; i < config->dns_servers_count; i++)
		if (write_server(config->dns_servers[i].address, out, err) < 0)
			return -1;
	return 0;
}
