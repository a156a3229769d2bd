/*
 * What the next gateway is to be started with, and what no command may write
 * meanwhile (gateway/flow/run_config.h).
 */
#ifndef GATEWAY_WARDEN_LEAVE_H
#define GATEWAY_WARDEN_LEAVE_H

#include "gateway/warden/config.h"

/* Does config name no more files than can be left? 0, or -1. */
int leave_check(const struct warden_config *config, struct err *err);
/* Leave in config's run directory what it was read from and what it names. 0,
 * or -1: what was left before is still there. */
int leave_config(const struct config_options *options,
		 const struct warden_config *config, struct err *err);

#endif
