/*
 * The files of audit.export: the warden opens them, the ledger writes them.
 */
#ifndef GATEWAY_WARDEN_EXPORT_H
#define GATEWAY_WARDEN_EXPORT_H

#include "gateway/warden/warden.h"

/* Could this file of audit.export be written just now, as far as a look at it
 * or at its directory tells? state: the gateway's, which it makes. 0, or -1:
 * why not. Nothing is made. */
int warden_export_check(struct bytes name, const char *state, struct err *err);
/* Answer with one of audit.export's files, made if need be; or refuse, with
 * why. */
void warden_export_open(struct warden *warden, struct bytes path,
			struct rpc_ticket ticket);

#endif
