/*
 * One DNS answer, written into a caller's buffer.
 */
#ifndef GATEWAY_DNS_REPLY_H
#define GATEWAY_DNS_REPLY_H

#include "gateway/dns/answer.h"
#include "gateway/dns/query.h"

#define DNS_REASON_MAX 200 /* bytes of an error's text */

struct dns_reply {
	unsigned rcode;
	/* One record of the question's type, or none. */
	const uint8_t *address; /* 4 or 16 bytes, or NULL */
	size_t address_len;
	const char *pointer; /* a PTR's name, or NULL */
	/* Extended DNS Error 15 "Blocked"; sent when the query has EDNS. */
	struct bytes blocked; /* UTF-8, at most DNS_REASON_MAX; or empty */
};

/* Write it. The length; 0 when it does not fit, which is then a bug. */
size_t dns_reply_write(const struct dns_reply *reply,
		       const struct dns_query *query,
		       uint8_t out[DNS_ANSWER_MAX]);

#endif
