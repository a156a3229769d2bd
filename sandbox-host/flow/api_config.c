#include "sandbox-host/flow/api_config.h"

#include "common/cleanup.h"
#include "policies/policy.h"

static const struct wire_field key_fields[] = {
	WIRE_BYTES(struct api_key, sha256, API_HASH_BYTES),
};
static const struct wire_schema key_schema =
	WIRE_SCHEMA("api-key", struct api_key, key_fields);

static const struct wire_field policy_fields[] = {
	WIRE_TEXT(struct api_policy, name, REQUEST_NAME_MAX),
	WIRE_BYTES(struct api_policy, text, POLICY_TEXT_MAX),
};
static const struct wire_schema policy_schema =
	WIRE_SCHEMA("api-policy", struct api_policy, policy_fields);

static const struct wire_field address_fields[] = {
	WIRE_TEXT(struct text_item, text, API_ADDRESS_MAX),
};
static const struct wire_schema address_schema =
	WIRE_SCHEMA("api-address", struct text_item, address_fields);

static const struct wire_field config_fields[] = {
	WIRE_BYTES(struct api_config, token_key, API_TOKEN_BYTES),
	WIRE_U32(struct api_config, uid),
	WIRE_BOOL(struct api_config, has_tls),
	WIRE_LIST(struct api_config, addresses, API_LISTENERS_MAX,
		  &address_schema),
	WIRE_LIST(struct api_config, keys, API_KEYS_MAX, &key_schema),
	WIRE_LIST(struct api_config, policies, API_POLICIES_MAX,
		  &policy_schema),
};
const struct wire_schema api_config_schema =
	WIRE_SCHEMA("api-config", struct api_config, config_fields);

int api_config_seal(const struct api_config *config, struct err *err)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, API_CONFIG_MAX);
	if (wire_encode(&api_config_schema, config, &out, err) < 0)
		return -1;
	return wire_memfd_seal("sallyport-api", buf_view(&out), err);
}

int api_config_open(int fd, struct api_memory *memory,
		    struct api_config *config, struct err *err)
{
	*memory = (struct api_memory){0};
	arena_init(&memory->arena, API_CONFIG_MAX);
	if (wire_memfd_map(fd, API_CONFIG_MAX, &memory->mapping, err) < 0)
		return -1;
	if (wire_decode(&api_config_schema, memory->mapping, &memory->arena,
			config, err) < 0)
		return -1;
	if (config->token_key.len != API_TOKEN_BYTES)
		return err_set(err, ERR_INVALID, "the tokens' key is short");
	for (size_t i = 0; i < config->keys_count; i++)
		if (config->keys[i].sha256.len != API_HASH_BYTES)
			return err_set(err, ERR_INVALID,
				       "an API key's hash is short");
	return 0;
}

void api_memory_release(struct api_memory *memory)
{
	wire_memfd_unmap(memory->mapping);
	arena_release(&memory->arena);
	*memory = (struct api_memory){0};
}
