/*
 * The configuration of a gateway, from its command line, its file and the
 * defaults: at the start, and again while it runs (SIGHUP, `config reload`).
 */
#ifndef GATEWAY_WARDEN_CONFIGURE_H
#define GATEWAY_WARDEN_CONFIGURE_H

#include "gateway/warden/warden.h"

/* Read all of it; errors of the file are appended to report. 0, or -1. */
int configure_load(struct config_options *options, struct warden_config *config,
		   struct buf *report, struct err *err);

/* Tell of each secret that could not be had just now, and of each file of
 * audit.export that could not be written. Both may come later: no error. */
void configure_missing(const struct warden_config *config,
		       void (*tell)(const char *text));

/* What became of a configuration that was read again; release it. */
struct configured {
	bool holds;
	char taken[RELOAD_TEXT_MAX]; /* the keys that differed, a list */
	struct err err;		     /* !holds */
	struct buf report;	     /* !holds: the file's errors */
};
/* Let the file hold from now on: all of it, or nothing. What became of it is
 * in the log and on record too. */
void configure_again(struct warden *warden, struct configured *configured);
void configured_release(struct configured *configured);

/* Control's MSG_CONFIG_SHOW and MSG_CONFIG_RELOAD. */
void configure_answer_show(struct warden *warden, struct rpc_ticket ticket);
void configure_answer_reload(struct warden *warden, struct rpc_ticket ticket);

#endif
