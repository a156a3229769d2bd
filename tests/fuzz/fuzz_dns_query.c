/*
 * A DNS query. Every answer is a well-formed message with the same id, at
 * most DNS_ANSWER_MAX long; an address is given only to a name that was
 * allowed.
 */
#include <arpa/nameser.h>
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/dns/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct verdict decide(struct bytes name, void *owner)
{
	char again[HOST_NAME_MAX_LEN + 1];
	bool *was_allowed = owner;

	assert(host_canonical(name, again) == HOST_NAME);
	assert(bytes_is(name, again));
	*was_allowed = name.len % 2 == 0;
	return (struct verdict){
		.kind = *was_allowed ? VERDICT_ALLOW : VERDICT_DENY,
		.constraint = *was_allowed ? CONSTRAINT_none
					   : CONSTRAINT_host_not_allowed,
		.rule = BYTES_LITERAL("r\xc3\xa9gle"),
		.reason = name,
	};
}

static void check_answer(const uint8_t *answer, size_t len,
			 const struct dns_outcome *outcome)
{
	ns_msg message;
	ns_rr record;

	assert(len <= DNS_ANSWER_MAX);
	assert(ns_initparse(answer, (int)len, &message) == 0);
	assert(ns_msg_getflag(message, ns_f_qr) == 1);
	assert(ns_msg_count(message, ns_s_qd) <= 1);
	assert(ns_msg_count(message, ns_s_an) <= (outcome->allowed ? 1 : 0));
	assert(ns_msg_count(message, ns_s_ns) == 0);
	assert(ns_msg_count(message, ns_s_ar) <= 1);
	for (int i = 0; i < ns_msg_count(message, ns_s_an); i++)
		assert(ns_parserr(&message, ns_s_an, i, &record) == 0);
	for (int i = 0; i < ns_msg_count(message, ns_s_ar); i++)
		assert(ns_parserr(&message, ns_s_ar, i, &record) == 0);
	assert(outcome->allowed == (outcome->rcode == ns_r_noerror));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes query = bytes_from(data, size);
	struct bytes framed;
	bool was_allowed = false;
	struct names *names = names_new();
	struct dns_outcome outcome;
	uint8_t answer[DNS_ANSWER_MAX];
	struct dns dns;
	size_t len, used;

	dns_init(&dns, names, decide, &was_allowed);
	dns.names_per_minute = 600;
	len = dns_answer(&dns, query, 0, answer, &outcome);
	if (len > 0) {
		assert(size >= 12 && answer[0] == data[0] &&
		       answer[1] == data[1]);
		check_answer(answer, len, &outcome);
	}
	assert(names_count(names) == 0 || was_allowed);
	if (dns_tcp_next(query, &framed, &used) == 1)
		assert(used <= size && framed.len + 2 == used);
	names_free(names);
	return 0;
}
