/*
 * Records on their way to the ledger: those of one turn travel together,
 * and those that have no ledger to go to wait, within a bound.
 */
#ifndef GATEWAY_KEEPER_RECORDS_H
#define GATEWAY_KEEPER_RECORDS_H

#include "gateway/keeper/keeper.h"

/* Send what waits, if there is a ledger. */
void keeper_records_flush(struct keeper *keeper);
/* Would some that were told be lost with this process? */
bool keeper_records_are_left(const struct keeper *keeper);
/* A peer came or went: when it is the ledger, what waits goes out. */
void keeper_records_peer_added(struct keeper *keeper,
			       const struct keeper_peer *peer);
void keeper_records_peer_closed(struct keeper *keeper,
				const struct keeper_peer *peer);
/* Forget what waits, and its memory. */
void keeper_records_release(struct keeper *keeper);

#endif
