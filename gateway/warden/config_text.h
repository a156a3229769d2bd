/*
 * gateway.yaml as text to what the warden keeps of it.
 */
#ifndef GATEWAY_WARDEN_CONFIG_TEXT_H
#define GATEWAY_WARDEN_CONFIG_TEXT_H

#include "gateway/warden/config.h"
#include "policies/policy.h"

#define CONFIG_SERVERS_MAX     16
#define CONFIG_HOSTS_MAX       10000
#define CONFIG_SESSIONS_MAX    10000
#define CONFIG_CONNECTIONS_MAX 100000

/* Read text over what stands in config, keeping it in config->arena. False
 * when there is any error; all of them are told in *errors. */
bool config_text_read(struct warden_config *config, struct bytes text,
		      struct policy_errors *errors);

#endif
