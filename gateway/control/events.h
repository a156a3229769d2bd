/*
 * GET /v1/events: rows as the ledger stores them, to any number of streams.
 * Control's one channel follows the ledger once for all. A stream that
 * cannot take more is left behind, without memory of ours, and catches up
 * by questions from where it stands; no row is lost, none comes twice.
 */
#ifndef GATEWAY_CONTROL_EVENTS_H
#define GATEWAY_CONTROL_EVENTS_H

#include "gateway/control/conn.h"

/* The ledger told of new rows. */
void events_tell(struct control *control, const struct msg_ledger_rows *rows);
/* Another ledger is there: go on following, if anybody listens. */
void events_ledger_came(struct control *control);

#endif
