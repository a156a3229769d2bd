/*
 * The DNS server of a sandbox, as a function from query to answer: no packet
 * of the sandbox ever reaches a resolver (security C4). Allowed names get
 * synthetic addresses (names.h), others NXDOMAIN with an Extended DNS Error
 * (RFC 8914, code 15 "Blocked") that carries the reason. Queries are read
 * by glibc's resolver library, and names written by it.
 *
 *	A, AAAA          of an allowed name: its address, TTL 60
 *	HTTPS, SVCB      of an allowed name: empty (security B4)
 *	PTR              of a synthetic address: its name
 *	any other type   REFUSED, EDE 15
 *	localhost        127.0.0.1, ::1;  sallyport.internal: the gateway
 */
#ifndef GATEWAY_DNS_ANSWER_H
#define GATEWAY_DNS_ANSWER_H

#include "common/bytes.h"
#include "gateway/dns/names.h"
#include "gateway/flow/limits.h"
#include "policies/verdict.h"

#define DNS_ANSWER_MAX 512 /* fits one datagram of any client */
#define DNS_TTL_SECS   60

/* May the session reach this canonical name, at any port? */
typedef struct verdict dns_decide_fn(struct bytes name, void *owner);
/* How many bits does an allowed name tell that a wildcard alone allows? 0
 * when the policy names it. */
typedef unsigned dns_weigh_fn(struct bytes name, void *owner);

enum dns_budget {
	DNS_NEW_NAMES,
	DNS_WILDCARD_NAMES,
	DNS_WILDCARD_BITS,
	DNS_TABLE, /* of names: it is full */
	DNS_BUDGET_MAX
};
#define DNS_SPENT_MAX 160 /* characters of dns_spent() */

struct dns {
	struct names *names; /* stays the caller's */
	dns_decide_fn *decide;
	void *owner;
	uint64_t minute_ms; /* of the rate: since when */
	uint64_t new_names, wild_names, wild_bits;
	/* Distinct new names that get an address, and of those the ones below
	 * a wildcard, and what they tell (C5): the owner's to set. Without
	 * weigh no name is below one. */
	uint64_t names_per_minute, wild_names_per_minute, wild_bits_per_minute;
	dns_weigh_fn *weigh;
	enum dns_budget spent; /* after a refusal */
};

/* What was asked and answered, for the record. Borrows from this struct and
 * from the verdict. */
struct dns_outcome {
	char name[HOST_NAME_MAX_LEN + 1]; /* canonical, or "" */
	uint16_t type;			  /* ns_type */
	unsigned rcode;
	bool allowed;
	enum constraint constraint;
	struct bytes rule;
	struct bytes reason;
	char spent[DNS_SPENT_MAX + 1]; /* reason may borrow from it */
};

void dns_init(struct dns *dns, struct names *names, dns_decide_fn *decide,
	      void *owner);

/* Answer one query (untrusted). Returns the answer's length in out, or 0
 * when nothing is to be sent (not even a header, or itself an answer).
 * now_ms is monotonic. outcome may not be NULL. */
size_t dns_answer(struct dns *dns, struct bytes query, uint64_t now_ms,
		  uint8_t out[DNS_ANSWER_MAX], struct dns_outcome *outcome);

/* The addresses of an allowed canonical name, given now if it has none. 0, or
 * -1: the minute has had its new names (dns->spent says which), or the table
 * is full. */
int dns_admit(struct dns *dns, struct bytes name, uint64_t now_ms,
	      struct in_addr *ipv4, struct in6_addr *ipv6);
/* When the next minute begins, in milliseconds. */
uint64_t dns_wait_ms(const struct dns *dns, uint64_t now_ms);
/* After such a refusal: which budget is spent, and when there is more. */
void dns_spent(const struct dns *dns, uint64_t now_ms,
	       char out[DNS_SPENT_MAX + 1]);

/* ---- DNS over TCP (RFC 1035 4.2.2): u16 length, then the message ---- */

/* The query at the front of input (untrusted). 1: *query borrows, *used is
 * its length with the prefix; 0: more is needed; -1: too long or empty. */
int dns_tcp_next(struct bytes input, struct bytes *query, size_t *used);
/* The prefix for an answer of len bytes. */
void dns_tcp_prefix(size_t len, uint8_t out[2]);

#endif
