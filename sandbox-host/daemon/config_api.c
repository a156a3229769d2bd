#include "sandbox-host/daemon/config_api.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "common/digest.h"

#define HASH_PREFIX "sha256:"

/* ---- addresses ---- */

static bool is_v4(struct bytes host, uint16_t port, struct api_address *item)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&item->address;
	char text[INET_ADDRSTRLEN];

	if (host.len == 0 || host.len >= sizeof(text))
		return false;
	memcpy(text, host.data, host.len);
	text[host.len] = '\0';
	if (inet_pton(AF_INET, text, &v4->sin_addr) != 1)
		return false;
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	item->is_loopback = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return true;
}

static bool is_v6(struct bytes host, uint16_t port, struct api_address *item)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&item->address;
	char text[INET6_ADDRSTRLEN];

	if (host.len < 4 || host.len - 2 >= sizeof(text) ||
	    host.data[0] != '[' || host.data[host.len - 1] != ']')
		return false;
	memcpy(text, host.data + 1, host.len - 2);
	text[host.len - 2] = '\0';
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1)
		return false;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	item->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	return true;
}

static bool read_address(struct reader *reader, const struct text_node *node,
			 void *target)
{
	struct api_address *item = target;
	uint64_t port = 0;
	size_t colon;

	if (!reader_word(reader, node, &item->text))
		return false;
	colon = item->text.len;
	while (colon > 0 && item->text.data[colon - 1] != ':')
		colon--;
	if (item->text.len <= API_ADDRESS_MAX && colon > 0 &&
	    bytes_to_u64(bytes_slice(item->text, colon, item->text.len), 5,
			 &port) == 0 &&
	    port > 0 && port <= UINT16_MAX) {
		struct bytes host = bytes_slice(item->text, 0, colon - 1);

		if (is_v4(host, (uint16_t)port, item) ||
		    is_v6(host, (uint16_t)port, item))
			return true;
	}
	return reader_error(reader, node,
			    "this must be an address and a port, like "
			    "127.0.0.1:8080 or [::1]:8080");
}

void read_listen(struct reader *reader, const struct text_node *node,
		 void *target, size_t offset)
{
	struct host_api *api =
		(struct host_api *)(void *)((char *)target + offset);
	void *items;
	size_t count;

	if (!reader_list(reader, node, sizeof(struct api_address), read_address,
			 &items, &count))
		return;
	if (count > API_LISTENERS_MAX) {
		(void)reader_error(reader, node, "at most %d addresses",
				   API_LISTENERS_MAX);
		return;
	}
	api->listen = items;
	api->listen_count = count;
}

void read_insecure(struct reader *reader, const struct text_node *node,
		   void *target, size_t offset)
{
	struct host_api *api =
		(struct host_api *)(void *)((char *)target + offset);

	(void)reader_bool(reader, node, &api->may_be_insecure);
}

/* ---- TLS ---- */

struct tls_nodes {
	const struct text_node *certificate, *key;
};

static const char *read_file_name(struct reader *reader,
				  const struct text_node *node)
{
	struct bytes word;

	if (!reader_word(reader, node, &word))
		return NULL;
	if (word.len > 0 && word.data[0] == '/' && bytes_find(word, 0, 0) < 0)
		return arena_str(reader->arena, word);
	(void)reader_error(reader, node, "this must be an absolute path");
	return NULL;
}

void read_tls(struct reader *reader, const struct text_node *node, void *target,
	      size_t offset)
{
	static const struct reader_field fields[] = {
		{"certificate", reader_keep,
		 offsetof(struct tls_nodes, certificate)},
		{"key", reader_keep, offsetof(struct tls_nodes, key)},
	};
	struct host_api *api =
		(struct host_api *)(void *)((char *)target + offset);
	struct tls_nodes nodes = {0};

	if (!reader_map(reader, node, fields, ARRAY_SIZE(fields), &nodes) ||
	    !reader_require(reader, node, "certificate") ||
	    !reader_require(reader, node, "key"))
		return;
	api->certificate = read_file_name(reader, nodes.certificate);
	api->key = read_file_name(reader, nodes.key);
}

/* ---- keys ---- */

static bool read_key(struct reader *reader, const struct text_node *node,
		     void *target)
{
	const size_t prefix = sizeof(HASH_PREFIX) - 1;
	struct api_key *key = target;
	struct bytes word;
	uint8_t *hash = arena_alloc(reader->arena, API_HASH_BYTES);

	if (!reader_word(reader, node, &word))
		return false;
	if (!hash || word.len != prefix + 2 * API_HASH_BYTES ||
	    !bytes_is(bytes_slice(word, 0, prefix), HASH_PREFIX) ||
	    bytes_from_hex(bytes_slice(word, prefix, word.len), hash) < 0)
		return reader_error(reader, node,
				    "this must be sha256: and 64 hex digits, "
				    "as sallyport-host --new-key prints them");
	key->sha256 = bytes_from(hash, API_HASH_BYTES);
	return true;
}

void read_api_keys(struct reader *reader, const struct text_node *node,
		   void *target, size_t offset)
{
	struct host_api *api =
		(struct host_api *)(void *)((char *)target + offset);
	void *items;
	size_t count;

	if (!reader_list(reader, node, sizeof(struct api_key), read_key, &items,
			 &count))
		return;
	if (count > API_KEYS_MAX) {
		(void)reader_error(reader, node, "at most %d keys",
				   API_KEYS_MAX);
		return;
	}
	api->keys = items;
	api->keys_count = count;
}

void api_new_key(char key[API_NEW_KEY_SIZE],
		 char line[sizeof(HASH_PREFIX) + 2 * API_HASH_BYTES])
{
	uint8_t hash[DIGEST_LEN];
	char hex[2 * DIGEST_LEN + 1], one[27], other[27];

	random_id(one);
	random_id(other);
	(void)snprintf(key, API_NEW_KEY_SIZE, "sp_%s%s", one, other);
	digest_sha256(bytes_str(key), bytes_from(NULL, 0), hash);
	bytes_to_hex(bytes_from(hash, sizeof(hash)), hex);
	(void)snprintf(line, sizeof(HASH_PREFIX) + 2 * API_HASH_BYTES,
		       HASH_PREFIX "%s", hex);
}

/* ---- policies that a request may name ---- */

void read_policies(struct reader *reader, const struct text_node *node,
		   void *target, size_t offset)
{
	struct host_api *api =
		(struct host_api *)(void *)((char *)target + offset);
	struct bytes word;

	if (!reader_kind(reader, node, TEXT_MAP))
		return;
	for (const struct text_node *item = node->first; item;
	     item = item->next) {
		struct api_policy_file *file =
			&api->policies[api->policies_count];

		if (!reader_word(reader, item, &word))
			continue;
		if (api->policies_count == API_POLICIES_MAX ||
		    item->key.len > REQUEST_NAME_MAX || word.len == 0 ||
		    word.data[0] != '/') {
			(void)reader_error(reader, item,
					   "at most %d names of at most %d "
					   "bytes, each with an absolute path",
					   API_POLICIES_MAX, REQUEST_NAME_MAX);
			continue;
		}
		file->name = arena_copy(reader->arena, item->key);
		file->path = arena_str(reader->arena, word);
		file->at = item->at;
		api->policies_count += file->path != NULL;
	}
}

void check_api(struct reader *reader, const struct text_node *root,
	       const struct host_api *api)
{
	const struct text_node *listen = text_child(root, "listen");

	if (api->listen_count == 0)
		return;
	if (api->keys_count == 0)
		(void)reader_error(reader, listen,
				   "there are no api_keys: nobody could ask "
				   "(sallyport-host --new-key makes one)");
	for (size_t i = 0; i < api->listen_count; i++)
		if (!api->listen[i].is_loopback && !api->may_be_insecure &&
		    !api->certificate)
			(void)reader_error(
				reader, listen,
				"%.*s is not loopback, and there is no TLS: "
				"say tls: {certificate, key}, let a proxy with "
				"TLS stand before it, or say insecure_listen: "
				"true",
				BYTES_ARGS(api->listen[i].text));
}
