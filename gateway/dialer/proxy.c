#include "gateway/dialer/proxy.h"

#include <string.h>

#include "gateway/dialer/address.h"

#define ADDRESS_LEN   16
#define MAPPED_LEN    12
#define BITS_PER_BYTE 8

static bool is_or_is_below(struct bytes host, struct bytes name)
{
	if (!bytes_ends_with(host, name))
		return false;
	return host.len == name.len ||
	       host.data[host.len - name.len - 1] == '.';
}

static void widen(const union address *address, uint8_t out[ADDRESS_LEN])
{
	memset(out, 0, ADDRESS_LEN);
	if (address->any.sa_family == AF_INET6) {
		memcpy(out, &address->v6.sin6_addr, ADDRESS_LEN);
		return;
	}
	out[MAPPED_LEN - 2] = out[MAPPED_LEN - 1] = 0xff;
	memcpy(out + MAPPED_LEN, &address->v4.sin_addr,
	       sizeof(address->v4.sin_addr));
}

static bool is_in(const uint8_t address[ADDRESS_LEN],
		  const struct config_range *range)
{
	size_t whole = range->prefix / BITS_PER_BYTE;
	unsigned rest = range->prefix % BITS_PER_BYTE;

	if (range->address.len != ADDRESS_LEN ||
	    memcmp(address, range->address.data, whole) != 0)
		return false;
	return rest == 0 || ((address[whole] ^ range->address.data[whole]) >>
			     (BITS_PER_BYTE - rest)) == 0;
}

static bool is_excepted_name(const struct config_proxy *proxy,
			     struct bytes host)
{
	if (is_or_is_below(host, bytes_str("localhost")))
		return true;
	for (size_t i = 0; i < proxy->except_names_count; i++)
		if (is_or_is_below(host, proxy->except_names[i].name))
			return true;
	return false;
}

static bool is_excepted_address(const struct config_proxy *proxy,
				struct bytes host)
{
	uint8_t address[ADDRESS_LEN];
	union address parsed;

	if (!address_parse(host, &parsed))
		return false;
	widen(&parsed, address);
	for (size_t i = 0; i < proxy->except_ranges_count; i++)
		if (is_in(address, &proxy->except_ranges[i]))
			return true;
	return false;
}

bool proxy_serves(const struct config_proxy *proxy, struct bytes host,
		  enum host_kind kind)
{
	if (!proxy || proxy->kind == PROXY_NONE)
		return false;
	return kind == HOST_NAME ? !is_excepted_name(proxy, host)
				 : !is_excepted_address(proxy, host);
}
