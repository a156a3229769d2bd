#include "common/cleanup.h"
#include "gateway/warden/config_text.h"
#include "policies/compile.h"
#include "policies/host.h"

#define PORT_DIGITS	5
#define SECRET_NAME_LEN 128

/* What stands before "://". */
static enum proxy_kind kind_of(struct bytes *url)
{
	static const struct {
		const char *scheme;
		enum proxy_kind kind;
	} rows[] = {
		{"http://", PROXY_HTTP},
		{"socks5://", PROXY_SOCKS5},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!bytes_starts_with(*url, bytes_str(rows[i].scheme)))
			continue;
		*url = bytes_slice(*url, strlen(rows[i].scheme), url->len);
		return rows[i].kind;
	}
	return PROXY_NONE;
}

/* Where the port's colon stands; 0: nowhere. */
static size_t colon_of(struct bytes text)
{
	size_t at = text.len;

	while (at > 0 && text.data[at - 1] != ':' && text.data[at - 1] != ']')
		at--;
	return at > 0 && text.data[at - 1] == ':' ? at - 1 : 0;
}

static void read_url(struct reader *reader, const struct text_node *node,
		     void *target, size_t offset)
{
	struct config_proxy *proxy = target;
	char host[HOST_NAME_MAX_LEN + 1];
	struct bytes rest;
	enum proxy_kind kind;
	uint64_t port;
	size_t colon;

	(void)offset;
	if (!reader_word(reader, node, &rest))
		return;
	kind = kind_of(&rest);
	if (rest.len > 0 && rest.data[rest.len - 1] == '/')
		rest.len--;
	colon = colon_of(rest);
	if (kind == PROXY_NONE || colon == 0 ||
	    host_canonical(bytes_slice(rest, 0, colon), host) == HOST_INVALID ||
	    bytes_to_u64(bytes_slice(rest, colon + 1, rest.len), PORT_DIGITS,
			 &port) < 0 ||
	    port == 0 || port > UINT16_MAX) {
		(void)reader_error(reader, node,
				   "this must be http://HOST:PORT or "
				   "socks5://HOST:PORT; credentials stand in "
				   "a secret");
		return;
	}
	proxy->kind = (uint8_t)kind;
	proxy->host = arena_copy(reader->arena, bytes_str(host));
	proxy->port = (uint16_t)port;
}

static void read_secret(struct reader *reader, const struct text_node *node,
			void *target, size_t offset)
{
	struct config_proxy *proxy = target;

	(void)offset;
	(void)reader_name(reader, node, &proxy->secret);
}

/* One entry: exactly one of the two is set. */
struct except {
	struct bytes name;
	struct policy_range range;
};

static bool read_except(struct reader *reader, const struct text_node *node,
			void *item)
{
	struct except *except = item;
	char canonical[HOST_NAME_MAX_LEN + 1];
	struct bytes word, name;

	if (!reader_word(reader, node, &word))
		return false;
	name = word;
	if (name.len > 0 && name.data[0] == '.')
		name = bytes_slice(name, 1, name.len);
	if (host_canonical(name, canonical) == HOST_NAME) {
		except->name = arena_copy(reader->arena, bytes_str(canonical));
		return true;
	}
	if (bytes_find(word, '*', 0) >= 0) {
		(void)reader_error(reader, node,
				   "a host stands for itself and all below "
				   "it: .corp.example, without a *");
		return false;
	}
	return compile_range_item(reader, node, &except->range);
}

static void keep_except(struct reader *reader, struct config_proxy *proxy,
			const struct except *items, size_t count)
{
	struct config_name *names =
		arena_array(reader->arena, count + 1, sizeof(*names));
	struct config_range *ranges =
		arena_array(reader->arena, count + 1, sizeof(*ranges));

	for (size_t i = 0; names && ranges && i < count; i++) {
		const struct policy_range *range = &items[i].range;

		if (items[i].name.len > 0)
			names[proxy->except_names_count++].name = items[i].name;
		else
			ranges[proxy->except_ranges_count++] =
				(struct config_range){
					bytes_from(range->address,
						   sizeof(range->address)),
					range->prefix,
				};
	}
	proxy->except_names = names;
	proxy->except_ranges = ranges;
}

static void read_no_proxy(struct reader *reader, const struct text_node *node,
			  void *target, size_t offset)
{
	void *items = NULL;
	size_t count = 0;

	(void)offset;
	if (!reader_list(reader, node, sizeof(struct except), read_except,
			 &items, &count))
		return;
	if (count > CONFIG_PROXY_EXCEPT_MAX)
		(void)reader_error(reader, node, "more than %d entries",
				   CONFIG_PROXY_EXCEPT_MAX);
	else
		keep_except(reader, target, items, count);
}

void config_read_upstream_proxy(struct reader *reader,
				const struct text_node *node, void *target,
				size_t offset)
{
	static const struct reader_field fields[] = {
		{"url", read_url, 0},
		{"secret", read_secret, 0},
		{"no_proxy", read_no_proxy, 0},
	};
	struct warden_config *config = target;

	(void)offset;
	if (reader_map(reader, node, fields, ARRAY_SIZE(fields),
		       &config->gateway.proxy))
		(void)reader_require(reader, node, "url");
}
