/*
 * What OpenSSL says, as a struct err.
 */
#ifndef GATEWAY_TLS_LIBRARY_H
#define GATEWAY_TLS_LIBRARY_H

#include "common/err.h"

/* Set ERR_LIBRARY: "what: the newest reason in OpenSSL's queue", which is
 * emptied. Returns -1. */
int tls_library_error(struct err *err, const char *what);

#endif
