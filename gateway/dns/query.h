/*
 * One DNS query, taken apart by glibc's resolver library.
 */
#ifndef GATEWAY_DNS_QUERY_H
#define GATEWAY_DNS_QUERY_H

#include <arpa/nameser.h>
#include <stdbool.h>

#include "common/bytes.h"

struct dns_query {
	uint8_t header[4];	/* id and flags, as sent */
	bool has_question;	/* the next three are set */
	char name[NS_MAXDNAME]; /* as glibc writes it: other than LDH escaped */
	uint16_t type;
	uint16_t class;
	bool has_edns;
};

/* Extended response codes need EDNS (RFC 6891 6.1.3). */
#define DNS_RCODE_BADVERS 16

/* Take the query (untrusted) apart. NS_NOERROR; another rcode to answer
 * with; or -1 when it must not be answered at all. */
int dns_query_parse(struct bytes bytes, struct dns_query *query);

#endif
