/*
 * Secrets that the vault does not keep: files and programs of the operator's
 * (source.c, program.c). The warden opens or starts them; it never reads what
 * they hold.
 */
#ifndef GATEWAY_WARDEN_SOURCE_H
#define GATEWAY_WARDEN_SOURCE_H

#include "gateway/warden/warden.h"

/* Could its value be had just now, as far as a look at its file or program
 * tells? 0, or -1: why not. What only its user or unit has is not looked at. */
int warden_source_check(const struct config_source *source, struct err *err);
/* Is it a program that nobody else can change? 0, or -1. */
int warden_program_check(const char *path, struct err *err);

/* Answer with a descriptor that the value of a source is read from: its file,
 * if it is as a secret's must be, or what its program wrote; or refuse, with
 * why. */
void warden_source_open(struct warden *warden, struct bytes name,
			struct rpc_ticket ticket);
/* Start the program of a source; the ticket is answered when it ended. */
void warden_program_start(struct warden *warden,
			  const struct config_source *source,
			  struct rpc_ticket ticket);
/* A process ended: was it a program? */
bool warden_program_ended(struct warden *warden, pid_t pid, int status);

#endif
