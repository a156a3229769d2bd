#include "sandbox-host/network.h"

#include <nftables/libnftables.h>
#include <string.h>

#define STRING(text)	   #text
#define TO_STRING(literal) STRING(literal)
#define PROXY_PORT	   TO_STRING(SANDBOX_PROXY_PORT)

/*
 * Loopback stays what it is: servers under test listen there. A connection
 * to our own address is an explicit proxy's client and keeps its address.
 * What is refused is refused with an answer, so that nobody waits: QUIC
 * falls back to TCP at once.
 */
static const char rules[] =
	"table inet sallyport {\n"
	" chain out_nat {\n"
	"  type nat hook output priority -100; policy accept;\n"
	"  ip daddr 127.0.0.0/8 accept\n"
	"  ip6 daddr ::1 accept\n"
	"  ip daddr " SANDBOX_ADDRESS4 " tcp dport { 53, " PROXY_PORT
	" } accept\n"
	"  ip6 daddr " SANDBOX_ADDRESS6 " tcp dport " PROXY_PORT " accept\n"
	"  meta nfproto ipv4 udp dport 53 dnat ip to " SANDBOX_ADDRESS4 "\n"
	"  meta nfproto ipv4 tcp dport 53 dnat ip to " SANDBOX_ADDRESS4 "\n"
	"  meta l4proto tcp redirect to :" PROXY_PORT "\n"
	" }\n"
	" chain out_filter {\n"
	"  type filter hook output priority 0; policy drop;\n"
	"  ct state established,related accept\n"
	"  ip daddr 127.0.0.0/8 accept\n"
	"  ip6 daddr ::1 accept\n"
	"  ip daddr " SANDBOX_ADDRESS4 " tcp dport { 53, " PROXY_PORT
	" } accept\n"
	"  ip daddr " SANDBOX_ADDRESS4 " udp dport 53 accept\n"
	"  ip6 daddr " SANDBOX_ADDRESS6 " tcp dport " PROXY_PORT " accept\n"
	"  meta l4proto tcp reject with tcp reset\n"
	"  reject with icmpx admin-prohibited\n"
	" }\n"
	"}\n";

int network_firewall(struct err *err)
{
	struct nft_ctx *nft = nft_ctx_new(NFT_CTX_DEFAULT);
	int rc = 0;

	if (!nft)
		return err_set(err, ERR_LIBRARY, "firewall: no nftables here");
	(void)nft_ctx_buffer_error(nft);
	(void)nft_ctx_buffer_output(nft);
	if (nft_run_cmd_from_buffer(nft, rules) != 0)
		rc = err_set(err, ERR_LIBRARY, "firewall: load the rules: %s",
			     nft_ctx_get_error_buffer(nft));
	nft_ctx_free(nft);
	return rc;
}
