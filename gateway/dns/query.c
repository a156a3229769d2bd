#include "gateway/dns/query.h"

#include <stdio.h>
#include <string.h>

#include "gateway/dns/answer.h"

#define FLAG_RESPONSE 0x80 /* in the third byte */

/* EDNS (RFC 6891): at most one OPT, of version 0. */
static int parse_edns(ns_msg *message, struct dns_query *query)
{
	for (int i = 0; i < ns_msg_count(*message, ns_s_ar); i++) {
		ns_rr record;

		if (ns_parserr(message, ns_s_ar, i, &record) < 0)
			return ns_r_formerr;
		if (ns_rr_type(record) != ns_t_opt)
			continue;
		if (query->has_edns || ns_rr_name(record)[0] != '.')
			return ns_r_formerr;
		query->has_edns = true;
		if ((ns_rr_ttl(record) >> 16 & 0xff) != 0)
			return DNS_RCODE_BADVERS;
	}
	return ns_r_noerror;
}

static int parse_question(ns_msg *message, struct dns_query *query)
{
	ns_rr question;

	if (ns_msg_count(*message, ns_s_qd) != 1 ||
	    ns_msg_count(*message, ns_s_an) != 0 ||
	    ns_msg_count(*message, ns_s_ns) != 0 ||
	    ns_parserr(message, ns_s_qd, 0, &question) < 0)
		return ns_r_formerr;
	(void)snprintf(query->name, sizeof(query->name), "%s",
		       ns_rr_name(question));
	query->type = ns_rr_type(question);
	query->class = ns_rr_class(question);
	query->has_question = true;
	return ns_r_noerror;
}

int dns_query_parse(struct bytes bytes, struct dns_query *query)
{
	ns_msg message;
	int rcode;

	*query = (struct dns_query){0};
	if (bytes.len < NS_HFIXEDSZ || (bytes.data[2] & FLAG_RESPONSE) != 0)
		return -1;
	memcpy(query->header, bytes.data, sizeof(query->header));
	if (bytes.len > DNS_QUERY_MAX ||
	    ns_initparse(bytes.data, (int)bytes.len, &message) < 0)
		return ns_r_formerr;
	if (ns_msg_getflag(message, ns_f_opcode) != ns_o_query)
		return ns_r_notimpl;
	rcode = parse_question(&message, query);
	if (rcode == ns_r_noerror)
		rcode = parse_edns(&message, query);
	if (rcode == ns_r_noerror && query->class != ns_c_in)
		rcode = ns_r_refused;
	return rcode;
}
