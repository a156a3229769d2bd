#include "gateway/control/terms.h"

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
}

void terms_write(const uint8_t part[DIGEST_LEN], const struct msg_ca *ca,
		 char out[TERMS_SIZE])
{
	uint8_t whole[DIGEST_LEN];

	digest_sha256(bytes_from(part, DIGEST_LEN), ca->pkcs12, whole);
	bytes_to_hex(bytes_from(whole, sizeof(whole)), out);
}
