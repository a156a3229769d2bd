/*
 * What process 1 of a service is told when it was made before anybody knew
 * which sandbox it is for: all of struct init that it then goes by. It comes
 * once, as a sealed memfd, from the process that it was forked from.
 */
#ifndef SANDBOX_HOST_ORDERS_H
#define SANDBOX_HOST_ORDERS_H

#include "sandbox-host/init.h"

/* Of a service's; a descriptor, or -1. */
int orders_seal(const struct init *init, struct err *err);
/* Take them; what they say lives as long as the process. 0, or -1. */
int orders_open(int fd, struct init *init, struct err *err);

#endif
