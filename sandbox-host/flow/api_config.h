/*
 * What sallyport-api is started with, as a sealed memfd: no file is read and
 * nothing is asked for by a process that parses what strangers send. The keys
 * are hashes; the one secret is what tokens are made with.
 */
#ifndef SANDBOX_HOST_FLOW_API_CONFIG_H
#define SANDBOX_HOST_FLOW_API_CONFIG_H

#include "sandbox-host/flow/sandbox_spec.h"

#define API_FD_CHANNEL 3 /* MSG_HOST_* */
#define API_FD_CONFIG  4
#define API_FD_SOCKETS 5 /* listening, as many as there are addresses */

#define API_LISTENERS_MAX 8
#define HOST_ASKS_MAX	  2000 /* of each kind, of one channel, a second */
#define API_KEYS_MAX	  64
#define API_POLICIES_MAX  64
#define API_ADDRESS_MAX	  64
#define API_HASH_BYTES	  32
#define API_TOKEN_BYTES	  32
#define API_CONFIG_MAX	  (8 * 1024 * 1024)
#define API_PEM_MAX	  (128 * 1024)

struct api_key {
	struct bytes sha256;
};
struct api_policy {
	struct bytes name;
	struct bytes text;
};

struct api_config {
	struct bytes token_key;
	uint32_t uid; /* to become, as root; 0: stay */
	bool has_tls; /* it serves once it has MSG_API_CERTIFICATE, by TLS */
	const struct text_item *addresses; /* "127.0.0.1:8080" */
	size_t addresses_count;
	const struct api_key *keys;
	size_t keys_count;
	const struct api_policy *policies; /* that a request may name */
	size_t policies_count;
};
extern const struct wire_schema api_config_schema;

/* Encode and seal. A descriptor, or -1. */
int api_config_seal(const struct api_config *config, struct err *err);

struct api_memory {
	struct bytes mapping;
	struct arena arena;
};
/* Map and decode; fd stays the caller's. 0, or -1; memory is to be released
 * whatever comes of it. */
int api_config_open(int fd, struct api_memory *memory,
		    struct api_config *config, struct err *err);
void api_memory_release(struct api_memory *memory);

#endif
