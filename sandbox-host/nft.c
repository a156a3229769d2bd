#include "sandbox-host/nft.h"

#include <arpa/inet.h>
#include <assert.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#define ANSWER_BYTES 8192

/* ---- messages ---- */

static void message_begin(struct nft_batch *batch, uint16_t type,
			  uint16_t flags, uint8_t family, uint16_t resource)
{
	struct nfgenmsg *general;

	assert(batch->len + NFT_MESSAGE_BYTES <= sizeof(batch->bytes));
	batch->message = mnl_nlmsg_put_header(batch->bytes + batch->len);
	batch->message->nlmsg_type = type;
	batch->message->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	batch->message->nlmsg_seq = ++batch->sequence;
	general = mnl_nlmsg_put_extra_header(batch->message, sizeof(*general));
	*general = (struct nfgenmsg){
		.nfgen_family = family,
		.version = NFNETLINK_V0,
		.res_id = htons(resource),
	};
}

static void message_end(struct nft_batch *batch)
{
	assert(batch->message->nlmsg_len <= NFT_MESSAGE_BYTES);
	batch->len += MNL_ALIGN(batch->message->nlmsg_len);
}

static void table_message_begin(struct nft_batch *batch, uint16_t type,
				uint16_t flags)
{
	message_begin(batch, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type),
		      (uint16_t)(NLM_F_CREATE | flags), NFPROTO_INET, 0);
}

static void put_number(struct nft_batch *batch, uint16_t type, uint32_t number)
{
	mnl_attr_put_u32(batch->message, type, htonl(number));
}

/* struct nft_data: a value. */
static void put_value(struct nft_batch *batch, uint16_t type,
		      struct bytes value)
{
	struct nlattr *nest = mnl_attr_nest_start(batch->message, type);

	mnl_attr_put(batch->message, NFTA_DATA_VALUE, value.len, value.data);
	mnl_attr_nest_end(batch->message, nest);
}

void nft_begin(struct nft_batch *batch, const char *table)
{
	batch->table = table;
	batch->len = 0;
	batch->sequence = 0;
	message_begin(batch, NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC,
		      NFNL_SUBSYS_NFTABLES);
	message_end(batch);
	table_message_begin(batch, NFT_MSG_NEWTABLE, 0);
	mnl_attr_put_strz(batch->message, NFTA_TABLE_NAME, table);
	message_end(batch);
}

void nft_add_chain(struct nft_batch *batch, const struct nft_chain *chain)
{
	struct nlattr *hook;

	table_message_begin(batch, NFT_MSG_NEWCHAIN, 0);
	mnl_attr_put_strz(batch->message, NFTA_CHAIN_TABLE, batch->table);
	mnl_attr_put_strz(batch->message, NFTA_CHAIN_NAME, chain->name);
	hook = mnl_attr_nest_start(batch->message, NFTA_CHAIN_HOOK);
	put_number(batch, NFTA_HOOK_HOOKNUM, chain->hook);
	put_number(batch, NFTA_HOOK_PRIORITY, (uint32_t)chain->priority);
	mnl_attr_nest_end(batch->message, hook);
	put_number(batch, NFTA_CHAIN_POLICY, chain->policy);
	mnl_attr_put_strz(batch->message, NFTA_CHAIN_TYPE, chain->type);
	message_end(batch);
}

/* ---- rules ---- */

void nft_rule_begin(struct nft_batch *batch, const char *chain)
{
	table_message_begin(batch, NFT_MSG_NEWRULE, NLM_F_APPEND);
	mnl_attr_put_strz(batch->message, NFTA_RULE_TABLE, batch->table);
	mnl_attr_put_strz(batch->message, NFTA_RULE_CHAIN, chain);
	batch->expressions =
		mnl_attr_nest_start(batch->message, NFTA_RULE_EXPRESSIONS);
}

void nft_rule_end(struct nft_batch *batch)
{
	mnl_attr_nest_end(batch->message, batch->expressions);
	message_end(batch);
}

struct expression {
	struct nlattr *element, *data;
};

static struct expression begin(struct nft_batch *batch, const char *name)
{
	struct expression expression;

	expression.element =
		mnl_attr_nest_start(batch->message, NFTA_LIST_ELEM);
	mnl_attr_put_strz(batch->message, NFTA_EXPR_NAME, name);
	expression.data = mnl_attr_nest_start(batch->message, NFTA_EXPR_DATA);
	return expression;
}

static void end(struct nft_batch *batch, struct expression expression)
{
	mnl_attr_nest_end(batch->message, expression.data);
	mnl_attr_nest_end(batch->message, expression.element);
}

static void compare(struct nft_batch *batch, uint32_t how, struct bytes value)
{
	struct expression expression = begin(batch, "cmp");

	put_number(batch, NFTA_CMP_SREG, NFT_REG_1);
	put_number(batch, NFTA_CMP_OP, how);
	put_value(batch, NFTA_CMP_DATA, value);
	end(batch, expression);
}

static void load_value(struct nft_batch *batch, struct bytes value)
{
	struct expression expression = begin(batch, "immediate");

	put_number(batch, NFTA_IMMEDIATE_DREG, NFT_REG_1);
	put_value(batch, NFTA_IMMEDIATE_DATA, value);
	end(batch, expression);
}

void nft_match_meta(struct nft_batch *batch, uint32_t key, struct bytes value)
{
	struct expression expression = begin(batch, "meta");

	put_number(batch, NFTA_META_DREG, NFT_REG_1);
	put_number(batch, NFTA_META_KEY, key);
	end(batch, expression);
	compare(batch, NFT_CMP_EQ, value);
}

void nft_match_payload(struct nft_batch *batch, uint32_t base, uint32_t offset,
		       struct bytes value)
{
	struct expression expression = begin(batch, "payload");

	put_number(batch, NFTA_PAYLOAD_DREG, NFT_REG_1);
	put_number(batch, NFTA_PAYLOAD_BASE, base);
	put_number(batch, NFTA_PAYLOAD_OFFSET, offset);
	put_number(batch, NFTA_PAYLOAD_LEN, (uint32_t)value.len);
	end(batch, expression);
	compare(batch, NFT_CMP_EQ, value);
}

void nft_match_state(struct nft_batch *batch, uint32_t states)
{
	const uint32_t none = 0;
	struct expression expression = begin(batch, "ct");

	put_number(batch, NFTA_CT_DREG, NFT_REG_1);
	put_number(batch, NFTA_CT_KEY, NFT_CT_STATE);
	end(batch, expression);
	expression = begin(batch, "bitwise");
	put_number(batch, NFTA_BITWISE_SREG, NFT_REG_1);
	put_number(batch, NFTA_BITWISE_DREG, NFT_REG_1);
	put_number(batch, NFTA_BITWISE_LEN, sizeof(states));
	put_value(batch, NFTA_BITWISE_MASK,
		  bytes_from(&states, sizeof(states)));
	put_value(batch, NFTA_BITWISE_XOR, bytes_from(&none, sizeof(none)));
	end(batch, expression);
	compare(batch, NFT_CMP_NEQ, bytes_from(&none, sizeof(none)));
}

void nft_do_verdict(struct nft_batch *batch, uint32_t verdict)
{
	struct expression expression = begin(batch, "immediate");
	struct nlattr *data, *code;

	put_number(batch, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	data = mnl_attr_nest_start(batch->message, NFTA_IMMEDIATE_DATA);
	code = mnl_attr_nest_start(batch->message, NFTA_DATA_VERDICT);
	put_number(batch, NFTA_VERDICT_CODE, verdict);
	mnl_attr_nest_end(batch->message, code);
	mnl_attr_nest_end(batch->message, data);
	end(batch, expression);
}

void nft_do_redirect(struct nft_batch *batch, uint16_t port)
{
	const uint16_t number = htons(port);
	struct expression expression;

	load_value(batch, bytes_from(&number, sizeof(number)));
	expression = begin(batch, "redir");
	put_number(batch, NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1);
	end(batch, expression);
}

void nft_do_dnat4(struct nft_batch *batch, struct bytes address)
{
	struct expression expression;

	load_value(batch, address);
	expression = begin(batch, "nat");
	put_number(batch, NFTA_NAT_TYPE, NFT_NAT_DNAT);
	put_number(batch, NFTA_NAT_FAMILY, NFPROTO_IPV4);
	put_number(batch, NFTA_NAT_REG_ADDR_MIN, NFT_REG_1);
	end(batch, expression);
}

void nft_do_reject(struct nft_batch *batch, uint32_t type, uint8_t code)
{
	struct expression expression = begin(batch, "reject");

	put_number(batch, NFTA_REJECT_TYPE, type);
	mnl_attr_put_u8(batch->message, NFTA_REJECT_ICMP_CODE, code);
	end(batch, expression);
}

/* ---- the kernel ---- */

static int exchange(struct mnl_socket *socket, const struct nft_batch *batch,
		    struct err *err)
{
	char answer[ANSWER_BYTES];
	ssize_t len;

	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    mnl_socket_sendto(socket, batch->bytes, batch->len) < 0)
		return err_system(err, "firewall: send the rules");
	/* One answer: what failed first, or that the last holds. */
	len = mnl_socket_recvfrom(socket, answer, sizeof(answer));
	if (len < 0 ||
	    mnl_cb_run(answer, (size_t)len, 0, mnl_socket_get_portid(socket),
		       NULL, NULL) < 0)
		return err_system(err, "firewall: load the rules");
	return 0;
}

int nft_commit(struct nft_batch *batch, struct err *err)
{
	struct mnl_socket *socket = mnl_socket_open(NETLINK_NETFILTER);
	int result;

	if (!socket)
		return err_system(err, "firewall: open netlink");
	batch->message->nlmsg_flags |= NLM_F_ACK;
	message_begin(batch, NFNL_MSG_BATCH_END, 0, AF_UNSPEC,
		      NFNL_SUBSYS_NFTABLES);
	message_end(batch);
	result = exchange(socket, batch, err);
	(void)mnl_socket_close(socket);
	return result;
}
