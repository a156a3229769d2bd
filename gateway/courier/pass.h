/*
 * What upstream said on its way back to the edge: searched for the leg's
 * credential, held back where it may go on, and passed in LEG_DATA frames.
 */
#ifndef GATEWAY_COURIER_PASS_H
#define GATEWAY_COURIER_PASS_H

#include "gateway/courier/courier.h"

/* What upstream said, of which leg->passed bytes have passed. */
struct buf *leg_said(struct leg *leg);
/* Pass on what upstream sent, and may pass. */
void pass_back(struct leg *leg);
/* Upstream says no more: let go what was held back, or close the leg. */
void pass_rest(struct leg *leg);
/* Wait until upstream is quiet; the leg's timer, when it is. */
void pass_wait(struct leg *leg);
void pass_quiet(void *owner);
/* The response has ended: forget what must not come back. */
void pass_forget(struct leg *leg);

#endif
