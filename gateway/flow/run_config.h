/*
 * Which configuration the gateway of a run directory was started with. It
 * stays there when the gateway is gone: whoever starts the next one in its
 * place starts it with the same, so that an operator's guardrail never goes
 * with the gateway that it was told to. The directory is its owner's alone.
 */
#ifndef GATEWAY_FLOW_RUN_CONFIG_H
#define GATEWAY_FLOW_RUN_CONFIG_H

#include <limits.h>

#include "common/err.h"

#define RUN_CONFIG_NAME "configuration"

/* The one that is used when none is named. */
#define CONFIG_DEFAULT "/etc/sallyport/gateway.yaml"

/* One that stops gives up its sockets at once, and the directory within this
 * time: the vault has tokens revoked, the ledger writes what is left. */
#define GATEWAY_STOP_MAX_MS 13000

/* Leave the path of file (relative: of where we are) in the directory run, for
 * its owner; NULL: forget the one before. 0, or -1. */
int run_config_leave(const char *run, const char *file, struct err *err);
/* The path that was left in run, "" when none was. 0; or -1, when it can not be
 * told: err says what to do. */
int run_config_read(const char *run, char file[PATH_MAX], struct err *err);
/* The same; -1 as well when the file it names can not be read. */
int run_config_find(const char *run, char file[PATH_MAX], struct err *err);

#endif
