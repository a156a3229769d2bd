/*
 * The names under which addresses are asked back (RFC 1035 3.5, RFC 3596
 * 2.5).
 */
#ifndef GATEWAY_DNS_REVERSE_H
#define GATEWAY_DNS_REVERSE_H

#include <stdbool.h>
#include <sys/socket.h>

#include "common/bytes.h"

/* The address that "4.3.2.1.in-addr.arpa" or "<32 nibbles>.ip6.arpa"
 * (canonical, untrusted) asks for; false when it is neither. */
bool dns_reverse_address(struct bytes name, struct sockaddr_storage *address);

#endif
