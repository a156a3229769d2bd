/*
 * What host.yaml says about the HTTP API: `listen`, `tls`, `insecure_listen`,
 * `api_keys`, `policies`. Read by config.c.
 */
#ifndef SANDBOX_HOST_DAEMON_CONFIG_API_H
#define SANDBOX_HOST_DAEMON_CONFIG_API_H

#include <sys/socket.h>

#include "policies/reader.h"
#include "sandbox-host/flow/api_config.h"

#define API_NEW_KEY_SIZE 64

struct api_address {
	struct bytes text; /* "127.0.0.1:8080" */
	struct sockaddr_storage address;
	bool is_loopback;
};
struct api_policy_file {
	struct bytes name;
	const char *path;
	size_t at;	   /* where host.yaml says so */
	struct bytes text; /* what was in it */
};

struct host_api {
	struct api_address *listen; /* none: there is no API */
	size_t listen_count;
	bool may_be_insecure;	       /* without TLS on other addresses, too */
	const char *certificate, *key; /* PEM files; NULL: there is no TLS */
	struct api_key *keys;
	size_t keys_count;
	struct api_policy_file policies[API_POLICIES_MAX];
	size_t policies_count;
};

void read_listen(struct reader *reader, const struct text_node *node,
		 void *target, size_t offset);
void read_insecure(struct reader *reader, const struct text_node *node,
		   void *target, size_t offset);
/* tls: {certificate, key} */
void read_tls(struct reader *reader, const struct text_node *node, void *target,
	      size_t offset);
void read_api_keys(struct reader *reader, const struct text_node *node,
		   void *target, size_t offset);
void read_policies(struct reader *reader, const struct text_node *node,
		   void *target, size_t offset);
/* What is wrong with the whole is told where root stands. */
void check_api(struct reader *reader, const struct text_node *root,
	       const struct host_api *api);

/* A new key, and the line for api_keys that lets it in. */
void api_new_key(char key[API_NEW_KEY_SIZE],
		 char line[sizeof("sha256:") + 2 * API_HASH_BYTES]);

#endif
