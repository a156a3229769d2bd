#include "gateway/control/terms.h"

#include <string.h>

/* A sandbox that was built ahead hides those of then. */
static void add_secret_files(const struct gateway_config *config,
			     uint8_t out[DIGEST_LEN])
{
	uint8_t before[DIGEST_LEN];

	for (size_t i = 0; i < config->sources_count; i++) {
		if (config->sources[i].kind != SOURCE_FILE &&
		    config->sources[i].kind != SOURCE_CREDENTIAL)
			continue;
		memcpy(before, out, sizeof(before));
		digest_sha256(bytes_from(before, sizeof(before)),
			      config->sources[i].path, out);
	}
}

void terms_of_config(const struct gateway_config *config,
		     uint8_t out[DIGEST_LEN])
{
	struct {
		uint8_t roots[DIGEST_LEN];
		uint32_t connections_max;
		uint32_t has_private_roots;
	} fixed = {
		.connections_max = config->connections_max,
		.has_private_roots = config->has_private_roots,
	};

	/* Of others no program in a session hears. */
	if (config->has_private_roots)
		digest_sha256(config->ca_bundle, bytes_from(NULL, 0),
			      fixed.roots);
	digest_sha256(bytes_from((const uint8_t *)&fixed, sizeof(fixed)),
		      config->guardrail, out);
	add_secret_files(config, out);
}

void terms_write(const uint8_t part[DIGEST_LEN], const struct msg_ca *ca,
		 char out[TERMS_SIZE])
{
	uint8_t whole[DIGEST_LEN];

	digest_sha256(bytes_from(part, DIGEST_LEN), ca->pkcs12, whole);
	bytes_to_hex(bytes_from(whole, sizeof(whole)), out);
}
