#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <netinet/in.h>

#include "common/cleanup.h"
#include "sandbox-host/network.h"
#include "sandbox-host/nft.h"

#define NAT    "out_nat"
#define FILTER "out_filter"
/* Where a header has its destination. */
#define DADDR4_OFFSET 16
#define DADDR6_OFFSET 24
#define DPORT_OFFSET  2
#define PRIORITY_DNAT -100
#define STATE_BIT(of) (1u << ((of) % IP_CT_IS_REPLY + 1))

enum action { ACCEPT, TO_DNS, TO_PROXY, RESET, REJECT };

/* 0 or NULL: any. */
struct rule {
	const char *chain;
	const char *address; /* destination, of either family */
	size_t prefix;	     /* bytes of it that count; 0: all */
	uint8_t family;	     /* when there is no address */
	uint8_t protocol;
	uint16_t port;
	bool is_known; /* of a connection that was let through */
	enum action action;
};

#define DNS   SANDBOX_DNS_PORT
#define PROXY SANDBOX_PROXY_PORT
#define TCP   .protocol = IPPROTO_TCP
#define UDP   .protocol = IPPROTO_UDP

/*
 * Loopback stays what it is: servers under test listen there. A connection
 * to our own address is an explicit proxy's client and keeps its address.
 * What is refused is refused with an answer, so that nobody waits: QUIC
 * falls back to TCP at once.
 */
static const struct rule rules[] = {
	{NAT, "127.0.0.0", 1, .action = ACCEPT},
	{NAT, "::1", .action = ACCEPT},
	{NAT, SANDBOX_ADDRESS4, TCP, .port = DNS, .action = ACCEPT},
	{NAT, SANDBOX_ADDRESS4, TCP, .port = PROXY, .action = ACCEPT},
	{NAT, SANDBOX_ADDRESS6, TCP, .port = PROXY, .action = ACCEPT},
	{NAT, .family = NFPROTO_IPV4, UDP, .port = DNS, .action = TO_DNS},
	{NAT, .family = NFPROTO_IPV4, TCP, .port = DNS, .action = TO_DNS},
	{NAT, TCP, .action = TO_PROXY},

	{FILTER, .is_known = true, .action = ACCEPT},
	{FILTER, "127.0.0.0", 1, .action = ACCEPT},
	{FILTER, "::1", .action = ACCEPT},
	{FILTER, SANDBOX_ADDRESS4, TCP, .port = DNS, .action = ACCEPT},
	{FILTER, SANDBOX_ADDRESS4, TCP, .port = PROXY, .action = ACCEPT},
	{FILTER, SANDBOX_ADDRESS4, UDP, .port = DNS, .action = ACCEPT},
	{FILTER, SANDBOX_ADDRESS6, TCP, .port = PROXY, .action = ACCEPT},
	{FILTER, TCP, .action = RESET},
	{FILTER, .action = REJECT},
};

static void match_byte(struct nft_batch *batch, uint32_t key, uint8_t byte)
{
	nft_match_meta(batch, key, bytes_from(&byte, 1));
}

static void match_address(struct nft_batch *batch, const struct rule *rule)
{
	uint8_t address[sizeof(struct in6_addr)];
	bool is_v4 = inet_pton(AF_INET, rule->address, address) == 1;
	size_t len = is_v4 ? sizeof(struct in_addr) : sizeof(address);

	if (!is_v4)
		(void)inet_pton(AF_INET6, rule->address, address);
	match_byte(batch, NFT_META_NFPROTO,
		   is_v4 ? NFPROTO_IPV4 : NFPROTO_IPV6);
	nft_match_payload(
		batch, NFT_PAYLOAD_NETWORK_HEADER,
		is_v4 ? DADDR4_OFFSET : DADDR6_OFFSET,
		bytes_from(address, rule->prefix ? rule->prefix : len));
}

static void add_matches(struct nft_batch *batch, const struct rule *rule)
{
	const uint16_t port = htons(rule->port);

	if (rule->is_known)
		nft_match_state(batch, STATE_BIT(IP_CT_ESTABLISHED) |
					       STATE_BIT(IP_CT_RELATED));
	if (rule->address)
		match_address(batch, rule);
	if (rule->family)
		match_byte(batch, NFT_META_NFPROTO, rule->family);
	if (rule->protocol)
		match_byte(batch, NFT_META_L4PROTO, rule->protocol);
	if (rule->port)
		nft_match_payload(batch, NFT_PAYLOAD_TRANSPORT_HEADER,
				  DPORT_OFFSET,
				  bytes_from(&port, sizeof(port)));
}

static void add_action(struct nft_batch *batch, enum action action)
{
	struct in_addr dns;

	switch (action) {
	case ACCEPT:
		nft_do_verdict(batch, NF_ACCEPT);
		break;
	case TO_DNS:
		(void)inet_pton(AF_INET, SANDBOX_ADDRESS4, &dns);
		nft_do_dnat4(batch, bytes_from(&dns, sizeof(dns)));
		break;
	case TO_PROXY:
		nft_do_redirect(batch, PROXY);
		break;
	case RESET:
		nft_do_reject(batch, NFT_REJECT_TCP_RST, 0);
		break;
	case REJECT:
		nft_do_reject(batch, NFT_REJECT_ICMPX_UNREACH,
			      NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
		break;
	}
}

int network_firewall(struct err *err)
{
	static const struct nft_chain chains[] = {
		{NAT, "nat", NF_INET_LOCAL_OUT, PRIORITY_DNAT, NF_ACCEPT},
		{FILTER, "filter", NF_INET_LOCAL_OUT, 0, NF_DROP},
	};
	struct nft_batch batch;

	nft_begin(&batch, "sallyport");
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++)
		nft_add_chain(&batch, &chains[i]);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		nft_rule_begin(&batch, rules[i].chain);
		add_matches(&batch, &rules[i]);
		add_action(&batch, rules[i].action);
		nft_rule_end(&batch);
	}
	return nft_commit(&batch, err);
}
