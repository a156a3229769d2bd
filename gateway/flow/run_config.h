/*
 * What the gateway of a run directory was started with: its configuration, its
 * state, and the files that the configuration names. It stays there when the
 * gateway is gone: whoever starts the next one in its place starts it with the
 * same, so that an operator's guardrail never goes with the gateway that it
 * was told to; and no command may write what that one will obey. The directory
 * is its owner's alone.
 */
#ifndef GATEWAY_FLOW_RUN_CONFIG_H
#define GATEWAY_FLOW_RUN_CONFIG_H

#include <limits.h>

#include "common/buf.h"
#include "common/err.h"

#define RUN_CONFIG_NAME	     "configuration"
#define RUN_CONFIG_NAMES_MAX 1024

/* The one that is used when none is named. */
#define CONFIG_DEFAULT "/etc/sallyport/gateway.yaml"

/* One that stops gives up its sockets at once, and the directory within this
 * time: the vault has tokens revoked, the ledger writes what is left. */
#define GATEWAY_STOP_MAX_MS 13000

struct run_config {
	char file[PATH_MAX];  /* "": it had none */
	char state[PATH_MAX]; /* "": the one of file, or the default */
	/* Absolute paths of other files that it is told by, in text. */
	const char *names[RUN_CONFIG_NAMES_MAX];
	size_t count;
	struct buf text;
};

/* What is left. */
struct run_config_left {
	const char *file;  /* relative: of where we are; NULL: there is none */
	const char *state; /* NULL: as file says, or by default */
	const struct bytes *names;
	size_t count;
};

/* Leave it in the directory run, for its owner; forget the one before. 0, or
 * -1 (ERR_TOO_LARGE: more than RUN_CONFIG_NAMES_MAX names, or a long path). */
int run_config_leave(const char *run, const struct run_config_left *left,
		     struct err *err);
/* What was left in run, nothing when none was; to be released in any case. 0;
 * or -1, when it can not be told: err says what to do. */
int run_config_read(const char *run, struct run_config *config,
		    struct err *err);
/* The same; -1 as well when its file can not be read. */
int run_config_find(const char *run, struct run_config *config,
		    struct err *err);
void run_config_release(struct run_config *config);

#endif
