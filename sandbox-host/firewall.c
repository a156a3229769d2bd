/*
 * The rules as libnftnl builds them: libnftables would parse them from text
 * and read the kernel's tables first, which takes longer than the rest of
 * the network together.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <netinet/in.h>
#include <stdalign.h>

#include "common/cleanup.h"
#include "sandbox-host/network.h"

#define TABLE	      "sallyport"
#define NAT	      "out_nat"
#define FILTER	      "out_filter"
#define PRIORITY_DNAT -100
/* Where a header has its destination. */
#define DADDR4_OFFSET 16
#define DADDR6_OFFSET 24
#define DPORT_OFFSET  2
#define STATE_BIT(of) (1u << ((of) % IP_CT_IS_REPLY + 1))
#define BATCH_BYTES   (32 * 1024)
#define ANSWER_BYTES  8192

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

/* ---- one rule ---- */

/* libnftnl copies what it is given; without memory it gives NULL, and the
 * rule would say less than it should. */
static struct nftnl_expr *add(struct nftnl_rule *rule, const char *name)
{
	struct nftnl_expr *expr = nftnl_expr_alloc(name);

	assert(expr);
	nftnl_rule_add_expr(rule, expr);
	return expr;
}

static void compare(struct nftnl_rule *rule, uint32_t how, const void *value,
		    size_t len)
{
	struct nftnl_expr *expr = add(rule, "cmp");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_CMP_OP, how);
	nftnl_expr_set(expr, NFTNL_EXPR_CMP_DATA, value, (uint32_t)len);
}

static void match_meta(struct nftnl_rule *rule, uint32_t key, uint8_t value)
{
	struct nftnl_expr *expr = add(rule, "meta");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_META_DREG, NFT_REG_1);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_META_KEY, key);
	compare(rule, NFT_CMP_EQ, &value, sizeof(value));
}

static void match_bytes(struct nftnl_rule *rule, uint32_t base, uint32_t offset,
			const void *value, size_t len)
{
	struct nftnl_expr *expr = add(rule, "payload");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_BASE, base);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_LEN, (uint32_t)len);
	compare(rule, NFT_CMP_EQ, value, len);
}

static void match_known(struct nftnl_rule *rule)
{
	const uint32_t none = 0;
	const uint32_t states =
		STATE_BIT(IP_CT_ESTABLISHED) | STATE_BIT(IP_CT_RELATED);
	struct nftnl_expr *expr = add(rule, "ct");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_CT_DREG, NFT_REG_1);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_CT_KEY, NFT_CT_STATE);
	expr = add(rule, "bitwise");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_BITWISE_LEN, sizeof(states));
	nftnl_expr_set(expr, NFTNL_EXPR_BITWISE_MASK, &states, sizeof(states));
	nftnl_expr_set(expr, NFTNL_EXPR_BITWISE_XOR, &none, sizeof(none));
	compare(rule, NFT_CMP_NEQ, &none, sizeof(none));
}

static void match_address(struct nftnl_rule *rule, const char *text,
			  size_t prefix)
{
	uint8_t address[sizeof(struct in6_addr)];
	bool is_v4 = inet_pton(AF_INET, text, address) == 1;
	size_t len = is_v4 ? sizeof(struct in_addr) : sizeof(address);

	if (!is_v4)
		(void)inet_pton(AF_INET6, text, address);
	match_meta(rule, NFT_META_NFPROTO, is_v4 ? NFPROTO_IPV4 : NFPROTO_IPV6);
	match_bytes(rule, NFT_PAYLOAD_NETWORK_HEADER,
		    is_v4 ? DADDR4_OFFSET : DADDR6_OFFSET, address,
		    prefix ? prefix : len);
}

static void add_matches(struct nftnl_rule *rule, const struct rule *from)
{
	const uint16_t port = htons(from->port);

	if (from->is_known)
		match_known(rule);
	if (from->address)
		match_address(rule, from->address, from->prefix);
	if (from->family)
		match_meta(rule, NFT_META_NFPROTO, from->family);
	if (from->protocol)
		match_meta(rule, NFT_META_L4PROTO, from->protocol);
	if (from->port)
		match_bytes(rule, NFT_PAYLOAD_TRANSPORT_HEADER, DPORT_OFFSET,
			    &port, sizeof(port));
}

static void load_value(struct nftnl_rule *rule, const void *value, size_t len)
{
	struct nftnl_expr *expr = add(rule, "immediate");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_IMM_DREG, NFT_REG_1);
	nftnl_expr_set(expr, NFTNL_EXPR_IMM_DATA, value, (uint32_t)len);
}

static void accept_it(struct nftnl_rule *rule)
{
	struct nftnl_expr *expr = add(rule, "immediate");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_IMM_VERDICT, NF_ACCEPT);
}

static void send_to_dns(struct nftnl_rule *rule)
{
	struct in_addr address;
	struct nftnl_expr *expr;

	(void)inet_pton(AF_INET, SANDBOX_ADDRESS4, &address);
	load_value(rule, &address, sizeof(address));
	expr = add(rule, "nat");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_NAT_TYPE, NFT_NAT_DNAT);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_NAT_FAMILY, NFPROTO_IPV4);
	nftnl_expr_set_u32(expr, NFTNL_EXPR_NAT_REG_ADDR_MIN, NFT_REG_1);
}

static void redirect(struct nftnl_rule *rule)
{
	const uint16_t port = htons(PROXY);
	struct nftnl_expr *expr;

	load_value(rule, &port, sizeof(port));
	expr = add(rule, "redir");
	nftnl_expr_set_u32(expr, NFTNL_EXPR_REDIR_REG_PROTO_MIN, NFT_REG_1);
}

static void reject(struct nftnl_rule *rule, uint32_t type, uint8_t code)
{
	struct nftnl_expr *expr = add(rule, "reject");

	nftnl_expr_set_u32(expr, NFTNL_EXPR_REJECT_TYPE, type);
	nftnl_expr_set_u8(expr, NFTNL_EXPR_REJECT_CODE, code);
}

static void add_action(struct nftnl_rule *rule, enum action action)
{
	switch (action) {
	case ACCEPT:
		accept_it(rule);
		break;
	case TO_DNS:
		send_to_dns(rule);
		break;
	case TO_PROXY:
		redirect(rule);
		break;
	case RESET:
		reject(rule, NFT_REJECT_TCP_RST, 0);
		break;
	case REJECT:
		reject(rule, NFT_REJECT_ICMPX_UNREACH,
		       NFT_REJECT_ICMPX_PORT_UNREACH);
		break;
	}
}

/* ---- all of them, in one transaction ---- */

struct batch {
	size_t len;
	uint32_t sequence;
	alignas(8) char bytes[BATCH_BYTES];
};

static struct nlmsghdr *message(struct batch *batch, uint16_t type,
				uint16_t flags)
{
	return nftnl_nlmsg_build_hdr(batch->bytes + batch->len, type,
				     NFPROTO_INET, flags, ++batch->sequence);
}

static void message_end(struct batch *batch, const struct nlmsghdr *header)
{
	batch->len += MNL_ALIGN(header->nlmsg_len);
	assert(batch->len < sizeof(batch->bytes) / 2);
}

static void put_table(struct batch *batch)
{
	struct nlmsghdr *header =
		message(batch, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	struct nftnl_table *table = nftnl_table_alloc();

	assert(table);
	nftnl_table_set_str(table, NFTNL_TABLE_NAME, TABLE);
	nftnl_table_nlmsg_build_payload(header, table);
	nftnl_table_free(table);
	message_end(batch, header);
}

static void put_chain(struct batch *batch, const char *name, const char *type,
		      int priority, uint32_t policy)
{
	struct nlmsghdr *header =
		message(batch, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	struct nftnl_chain *chain = nftnl_chain_alloc();

	assert(chain);
	nftnl_chain_set_str(chain, NFTNL_CHAIN_TABLE, TABLE);
	nftnl_chain_set_str(chain, NFTNL_CHAIN_NAME, name);
	nftnl_chain_set_str(chain, NFTNL_CHAIN_TYPE, type);
	nftnl_chain_set_u32(chain, NFTNL_CHAIN_HOOKNUM, NF_INET_LOCAL_OUT);
	nftnl_chain_set_s32(chain, NFTNL_CHAIN_PRIO, priority);
	nftnl_chain_set_u32(chain, NFTNL_CHAIN_POLICY, policy);
	nftnl_chain_nlmsg_build_payload(header, chain);
	nftnl_chain_free(chain);
	message_end(batch, header);
}

static void put_rule(struct batch *batch, const struct rule *from,
		     uint16_t flags)
{
	struct nlmsghdr *header =
		message(batch, NFT_MSG_NEWRULE,
			(uint16_t)(NLM_F_CREATE | NLM_F_APPEND | flags));
	struct nftnl_rule *rule = nftnl_rule_alloc();

	assert(rule);
	nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, TABLE);
	nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, from->chain);
	add_matches(rule, from);
	add_action(rule, from->action);
	nftnl_rule_nlmsg_build_payload(header, rule);
	nftnl_rule_free(rule);
	message_end(batch, header);
}

static void put_all(struct batch *batch)
{
	size_t last = ARRAY_SIZE(rules) - 1;

	message_end(batch, nftnl_batch_begin(batch->bytes, batch->sequence));
	put_table(batch);
	put_chain(batch, NAT, "nat", PRIORITY_DNAT, NF_ACCEPT);
	put_chain(batch, FILTER, "filter", 0, NF_DROP);
	/* One answer: what failed first, or that the last holds. */
	for (size_t i = 0; i <= last; i++)
		put_rule(batch, &rules[i], i == last ? NLM_F_ACK : 0);
	message_end(batch, nftnl_batch_end(batch->bytes + batch->len,
					   ++batch->sequence));
}

static int commit(struct mnl_socket *socket, const struct batch *batch,
		  struct err *err)
{
	char answer[ANSWER_BYTES];
	ssize_t len;

	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    mnl_socket_sendto(socket, batch->bytes, batch->len) < 0)
		return err_system(err, "firewall: send the rules");
	len = mnl_socket_recvfrom(socket, answer, sizeof(answer));
	if (len < 0 ||
	    mnl_cb_run(answer, (size_t)len, 0, mnl_socket_get_portid(socket),
		       NULL, NULL) < 0)
		return err_system(err, "firewall: load the rules");
	return 0;
}

int network_firewall(struct err *err)
{
	struct mnl_socket *socket = mnl_socket_open(NETLINK_NETFILTER);
	struct batch batch;
	int result;

	if (!socket)
		return err_system(err, "firewall: open netlink");
	batch.len = 0;
	batch.sequence = 0;
	put_all(&batch);
	result = commit(socket, &batch, err);
	(void)mnl_socket_close(socket);
	return result;
}
