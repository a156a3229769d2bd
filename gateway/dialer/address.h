/*
 * An address of an upstream, small enough to keep many.
 */
#ifndef GATEWAY_DIALER_ADDRESS_H
#define GATEWAY_DIALER_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>

#include "common/bytes.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

#define ADDRESS_TEXT_SIZE INET6_ADDRSTRLEN

/* Parse an address literal with inet_pton and nothing else (security C11):
 * no port, no brackets, no zone. False when it is not one. */
bool address_parse(struct bytes text, union address *address);
/* As inet_ntop writes it, without port. */
void address_format(const union address *address, char out[ADDRESS_TEXT_SIZE]);
void address_set_port(union address *address, uint16_t port);
/* Of the sockaddr, for connect(2). */
socklen_t address_len(const union address *address);
/* The same family and the same address, whatever the port. */
bool address_equal(const union address *a, const union address *b);

#endif
