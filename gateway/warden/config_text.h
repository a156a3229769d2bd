/*
 * gateway.yaml as text to what the warden keeps of it.
 */
#ifndef GATEWAY_WARDEN_CONFIG_TEXT_H
#define GATEWAY_WARDEN_CONFIG_TEXT_H

#include <sys/socket.h>

#include "gateway/warden/config.h"
#include "policies/policy.h"
#include "policies/reader.h"

#define CONFIG_SERVERS_MAX     16
#define CONFIG_HOSTS_MAX       10000
#define CONFIG_SESSIONS_MAX    10000
#define CONFIG_CONNECTIONS_MAX 100000

/* Read text over what stands in config, keeping it in config->arena. False
 * when there is any error; all of them are told in *errors. */
bool config_text_read(struct warden_config *config, struct bytes text,
		      struct policy_errors *errors);

/* The read function of upstream_proxy (config_proxy.c); target is a struct
 * warden_config. */
void config_read_upstream_proxy(struct reader *reader,
				const struct text_node *node, void *target,
				size_t offset);

/* The same of secrets (config_sources.c). */
void config_read_sources(struct reader *reader, const struct text_node *node,
			 void *target, size_t offset);

/* The same of audit (config_audit.c). */
void config_read_audit(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset);

/* "127.0.0.1:3128" or "[::1]:3128" as a socket's address. 0, or -1 when it
 * is none. */
int config_listener_parse(const char *text, struct sockaddr_storage *address);

#endif
