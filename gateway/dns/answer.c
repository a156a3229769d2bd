#include "gateway/dns/answer.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>

#include "gateway/dns/reply.h"
#include "gateway/dns/reverse.h"
#include "gateway/flow/limits.h"

#define TYPE_SVCB  64 /* RFC 9460 */
#define TYPE_HTTPS 65
#define MINUTE_MS  60000

/* One query on its way to its answer. */
struct turn {
	struct dns *dns;
	const struct dns_query *query;
	struct dns_outcome *outcome;
	struct dns_reply reply;
	uint64_t now_ms;
	struct in_addr ipv4;
	struct in6_addr ipv6;
	char text[DNS_REASON_MAX + 2]; /* one more, to see where it is cut */
};

void dns_init(struct dns *dns, struct names *names, dns_decide_fn *decide,
	      void *owner)
{
	*dns = (struct dns){.names = names, .decide = decide, .owner = owner};
}

/* ---- ways to end a turn ---- */

static void deny(struct turn *turn, unsigned rcode, enum constraint constraint)
{
	struct dns_outcome *outcome = turn->outcome;
	const char *why = constraint_text(constraint);
	int len;

	outcome->allowed = false;
	outcome->constraint = constraint;
	turn->reply.rcode = rcode;
	if (outcome->rule.len > 0)
		len = snprintf(turn->text, sizeof(turn->text),
			       "sallyport: %.*s: %s%s%.*s",
			       BYTES_ARGS(outcome->rule), why,
			       outcome->reason.len > 0 ? ": " : "",
			       BYTES_ARGS(outcome->reason));
	else
		len = snprintf(turn->text, sizeof(turn->text), "sallyport: %s",
			       why);
	if (len > DNS_REASON_MAX)
		len = DNS_REASON_MAX;
	/* Not in the middle of a character. */
	while (len > 0 && ((uint8_t)turn->text[len] & 0xc0) == 0x80)
		len--;
	turn->reply.blocked = bytes_from(turn->text, (size_t)len);
}

/* Answer with one of the turn's two addresses, as the type asks. */
static void give_address(struct turn *turn)
{
	turn->outcome->allowed = true;
	if (turn->query->type == ns_t_a) {
		turn->reply.address = (const uint8_t *)&turn->ipv4;
		turn->reply.address_len = sizeof(turn->ipv4);
	} else if (turn->query->type == ns_t_aaaa) {
		turn->reply.address = turn->ipv6.s6_addr;
		turn->reply.address_len = sizeof(turn->ipv6);
	}
}

static void give_literals(struct turn *turn, const char *ipv4, const char *ipv6)
{
	(void)inet_pton(AF_INET, ipv4, &turn->ipv4);
	(void)inet_pton(AF_INET6, ipv6, &turn->ipv6);
	give_address(turn);
}

/* ---- names ---- */

/* May another new name be given an address this minute? (security C5) */
static bool has_rate(struct dns *dns, struct bytes name, uint64_t now_ms)
{
	unsigned bits;

	dns->spent = DNS_NEW_NAMES;
	if (names_has(dns->names, name))
		return true;
	if (now_ms - dns->minute_ms >= MINUTE_MS) {
		dns->minute_ms = now_ms;
		dns->new_names = dns->wild_names = dns->wild_bits = 0;
	}
	if (dns->new_names >= dns->names_per_minute)
		return false;
	bits = dns->weigh ? dns->weigh(name, dns->owner) : 0;
	if (bits > 0) {
		dns->spent = DNS_WILDCARD_NAMES;
		if (dns->wild_names >= dns->wild_names_per_minute)
			return false;
		dns->spent = DNS_WILDCARD_BITS;
		if (dns->wild_bits + bits > dns->wild_bits_per_minute)
			return false;
		dns->wild_names++;
		dns->wild_bits += bits;
	}
	dns->new_names++;
	return true;
}

int dns_admit(struct dns *dns, struct bytes name, uint64_t now_ms,
	      struct in_addr *ipv4, struct in6_addr *ipv6)
{
	if (!has_rate(dns, name, now_ms))
		return -1;
	dns->spent = DNS_TABLE;
	return names_address(dns->names, name, now_ms, ipv4, ipv6);
}

uint64_t dns_wait_ms(const struct dns *dns, uint64_t now_ms)
{
	uint64_t since = now_ms - dns->minute_ms;

	return since < MINUTE_MS ? MINUTE_MS - since : 0;
}

void dns_spent(const struct dns *dns, uint64_t now_ms,
	       char out[DNS_SPENT_MAX + 1])
{
	const struct {
		const char *what, *key;
		uint64_t most;
	} budgets[DNS_BUDGET_MAX] = {
		[DNS_NEW_NAMES] = {"new names", "dns-names",
				   dns->names_per_minute},
		[DNS_WILDCARD_NAMES] = {"new names below a wildcard",
					"wildcard-names",
					dns->wild_names_per_minute},
		[DNS_WILDCARD_BITS] = {"bits in new names below a wildcard",
				       "wildcard-bits",
				       dns->wild_bits_per_minute},
	};
	uint64_t wait_s = (dns_wait_ms(dns, now_ms) + 999) / 1000;

	if (dns->spent == DNS_TABLE)
		(void)snprintf(out, DNS_SPENT_MAX + 1,
			       "%d names have an address: one makes room that "
			       "nobody asks for in %llu s",
			       NAMES_MAX, NAMES_REST_MS / 1000);
	else
		(void)snprintf(out, DNS_SPENT_MAX + 1,
			       "the %llu %s a minute (network.limits.%s) are "
			       "used up: more in %llu s",
			       (unsigned long long)budgets[dns->spent].most,
			       budgets[dns->spent].what,
			       budgets[dns->spent].key,
			       (unsigned long long)wait_s);
}

static void answer_name(struct turn *turn, struct bytes name)
{
	struct verdict verdict = turn->dns->decide(name, turn->dns->owner);

	turn->outcome->rule = verdict.rule;
	turn->outcome->reason = verdict.reason;
	if (verdict.kind != VERDICT_ALLOW) {
		deny(turn, ns_r_nxdomain, verdict.constraint);
		return;
	}
	if (dns_admit(turn->dns, name, turn->now_ms, &turn->ipv4, &turn->ipv6) <
	    0) {
		dns_spent(turn->dns, turn->now_ms, turn->outcome->spent);
		turn->outcome->reason = bytes_str(turn->outcome->spent);
		deny(turn, ns_r_refused, CONSTRAINT_limit_rate);
		return;
	}
	give_address(turn);
}

/* Names that mean the same in every sandbox (RFC 6761 6.3). */
static bool answer_builtin(struct turn *turn, struct bytes name)
{
	if (bytes_is(name, NAMES_GATEWAY_HOST)) {
		give_literals(turn, NAMES_GATEWAY_IPV4, NAMES_GATEWAY_IPV6);
		return true;
	}
	if (bytes_is(name, "localhost") ||
	    bytes_ends_with(name, bytes_str(".localhost"))) {
		give_literals(turn, "127.0.0.1", "::1");
		return true;
	}
	return false;
}

static void answer_pointer(struct turn *turn, struct bytes name)
{
	struct sockaddr_storage address;
	const void *any = &address;
	struct bytes behind = {0};

	if (dns_reverse_address(name, &address))
		behind = names_behind(turn->dns->names, any, turn->now_ms);
	if (behind.len == 0) {
		deny(turn, ns_r_nxdomain, CONSTRAINT_host_not_allowed);
		return;
	}
	turn->outcome->allowed = true;
	turn->reply.pointer = (const char *)behind.data;
}

static void answer_question(struct turn *turn)
{
	char *canonical = turn->outcome->name;
	struct bytes name = bytes_str(canonical);

	turn->outcome->type = turn->query->type;
	if (host_canonical(bytes_str(turn->query->name), canonical) !=
	    HOST_NAME) {
		canonical[0] = '\0';
		deny(turn, ns_r_nxdomain, CONSTRAINT_host_not_allowed);
		return;
	}
	name = bytes_str(canonical);
	switch (turn->query->type) {
	case ns_t_a:
	case ns_t_aaaa:
	case TYPE_SVCB:
	case TYPE_HTTPS:
		if (!answer_builtin(turn, name))
			answer_name(turn, name);
		break;
	case ns_t_ptr:
		answer_pointer(turn, name);
		break;
	default:
		deny(turn, ns_r_refused, CONSTRAINT_protocol_not_allowed);
		break;
	}
}

size_t dns_answer(struct dns *dns, struct bytes query, uint64_t now_ms,
		  uint8_t out[DNS_ANSWER_MAX], struct dns_outcome *outcome)
{
	struct dns_query parsed;
	int rcode = dns_query_parse(query, &parsed);
	struct turn turn = {
		.dns = dns,
		.query = &parsed,
		.outcome = outcome,
		.now_ms = now_ms,
	};
	size_t len;

	*outcome = (struct dns_outcome){
		.constraint = CONSTRAINT_none,
	};
	if (rcode < 0)
		return 0;
	if (rcode == ns_r_noerror) {
		answer_question(&turn);
	} else {
		turn.reply.rcode = (unsigned)rcode;
		outcome->constraint = CONSTRAINT_request_malformed;
	}
	outcome->rcode = turn.reply.rcode;
	len = dns_reply_write(&turn.reply, &parsed, out);
	assert(len > 0);
	return len;
}

/* ---- TCP ---- */

int dns_tcp_next(struct bytes input, struct bytes *query, size_t *used)
{
	size_t len;

	if (input.len < 2)
		return 0;
	len = (size_t)input.data[0] << 8 | input.data[1];
	if (len == 0 || len > DNS_QUERY_MAX)
		return -1;
	if (input.len < 2 + len)
		return 0;
	*query = bytes_slice(input, 2, 2 + len);
	*used = 2 + len;
	return 1;
}

void dns_tcp_prefix(size_t len, uint8_t out[2])
{
	assert(len <= UINT16_MAX);
	out[0] = (uint8_t)(len >> 8);
	out[1] = (uint8_t)len;
}
