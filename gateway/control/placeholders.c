#include "gateway/control/placeholders.h"

#include "common/cleanup.h"
#include "policies/placeholder.h"

static int set(json_t *object, struct bytes name, const char *value)
{
	auto_free char *key = bytes_dup(name);

	return key ? json_object_set_new(object, key, json_string(value)) : -1;
}

static int set_all(json_t *object, const struct policy_credential *credential,
		   const uint8_t *lease_hash)
{
	const struct policy_strings *env = &credential->placeholder_env;
	unsigned parts = placeholder_parts(credential->shape);
	char text[PLACEHOLDER_SIZE];

	for (size_t i = 0; i < env->count; i++) {
		(void)placeholder_make(
			lease_hash, credential->name, credential->shape,
			(enum placeholder_part)(i % parts), text);
		if (set(object, env->items[i], text) < 0)
			return -1;
	}
	return 0;
}

json_t *placeholders_json(const struct policy *policy, const char *lease)
{
	json_t *object = json_object();
	uint8_t hash[DIGEST_LEN];

	digest_sha256(bytes_str(lease), bytes_from(NULL, 0), hash);
	for (size_t i = 0; object && i < policy->credential_count; i++)
		if (set_all(object, &policy->credentials[i], hash) < 0) {
			json_decref(object);
			return NULL;
		}
	return object;
}
