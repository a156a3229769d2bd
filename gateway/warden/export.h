/*
 * The files of audit.export: the warden opens them, the ledger writes them.
 */
#ifndef GATEWAY_WARDEN_EXPORT_H
#define GATEWAY_WARDEN_EXPORT_H

#include "gateway/warden/warden.h"

/* Answer with one of audit.export's files, made if need be; or refuse, with
 * why. */
void warden_export_open(struct warden *warden, struct bytes path,
			struct rpc_ticket ticket);

#endif
