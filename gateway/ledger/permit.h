/*
 * Who may say what: an edge parses what the sandbox sends, a dialer what name
 * servers send. A captured process must not forge what only others can know,
 * and an edge not speak for another session.
 */
#ifndef GATEWAY_LEDGER_PERMIT_H
#define GATEWAY_LEDGER_PERMIT_H

#include "gateway/flow/messages.h"

/* Why a process of that role may not say these records (untrusted); NULL
 * when it may. */
const char *permit_check(enum role role, const struct msg_records *records);

#endif
