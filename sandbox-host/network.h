/*
 * The network inside: one loopback device with our two addresses and all
 * routes, so that every connection ends at our listeners in the same
 * namespace. There is no other device and no forwarder. Called in the new
 * network namespace, with its capabilities.
 */
#ifndef SANDBOX_HOST_NETWORK_H
#define SANDBOX_HOST_NETWORK_H

#include "common/err.h"
#include "sandbox-host/sandbox.h"

/* All of it, the same for every sandbox: lo up, SANDBOX_ADDRESS4/6 on it,
 * default routes by it; the listeners, tcp6 -1 when the kernel has no IPv6;
 * the rules. 0, or -1 with all closed. */
int network_make(struct sandbox_listeners *listeners, struct err *err);
/* Load the rules: loopback passes, TCP is redirected to the proxy port,
 * port 53 to the DNS listeners (IPv4), everything else is refused at once.
 * 0, or -1. */
int network_firewall(struct err *err);

void network_close(struct sandbox_listeners *listeners);

#endif
