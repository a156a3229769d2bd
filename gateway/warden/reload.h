/*
 * A configuration that takes the place of the one that holds, while the
 * gateway runs: all of it, or nothing.
 */
#ifndef GATEWAY_WARDEN_RELOAD_H
#define GATEWAY_WARDEN_RELOAD_H

#include "gateway/warden/warden.h"

#define RELOADS_MAX 100 /* of one gateway: what was before stays in memory */

/* What differs between the two and is read when the gateway starts, as names
 * of gateway.yaml in a list for people; empty: nothing. */
#define RELOAD_NAMES_MAX 256
void reload_fixed(const struct warden_config *old,
		  const struct warden_config *next,
		  char names[RELOAD_NAMES_MAX]);
/* What differs between the two and can be taken, in the same way. */
void reload_taken(const struct warden_config *old,
		  const struct warden_config *next,
		  char names[RELOAD_TEXT_MAX]);
/* Let next (checked, on the heap, taken when this returns 0) hold here and in
 * every process. 0; or -1, and all is as before. */
int warden_reload(struct warden *warden, struct warden_config *next,
		  struct err *err);

#endif
