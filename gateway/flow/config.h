/*
 * The gateway's configuration as its processes get it: decided by the
 * warden from gateway.yaml, plain data, in a sealed memfd (ROLE_FD_CONFIG).
 */
#ifndef GATEWAY_FLOW_CONFIG_H
#define GATEWAY_FLOW_CONFIG_H

#include "gateway/flow/source.h"

#define CONFIG_BYTES_MAX	   (4 * 1024 * 1024)
#define CONFIG_PROXY_LISTENERS_MAX 8
#define CONFIG_PROXY_EXCEPT_MAX	   1024
#define CONFIG_EXPORTS_MAX	   4
#define CONFIG_EXPORT_PATH_MAX	   1024

struct config_dns_server {
	struct bytes address; /* "10.0.0.53" or "10.0.0.53:5353", "[::1]:53" */
};

struct config_dns_host {
	struct bytes name;    /* canonical */
	struct bytes address; /* an address literal */
};
struct config_dns_hosts {
	const struct config_dns_host *hosts;
	size_t hosts_count;
};
extern const struct wire_schema config_dns_hosts_schema;

struct config_listener {
	struct bytes address; /* "127.0.0.1:3128", "[::1]:3128" */
};

/* How an upstream is reached: not directly but by this proxy, unless its
 * name or address is among the exceptions. */
enum proxy_kind {
	PROXY_NONE,
	PROXY_HTTP,   /* CONNECT, for every target (RFC 9110 9.3.6) */
	PROXY_SOCKS5, /* RFC 1928, with user and password of RFC 1929 */
	PROXY_KIND_MAX
};
struct config_name {
	struct bytes name; /* canonical: that host, and every one below it */
};
struct config_range {
	struct bytes address; /* 16 bytes; IPv4 as an IPv4-mapped one */
	uint8_t prefix;	      /* 0..128 */
};
struct config_proxy {
	uint8_t kind; /* enum proxy_kind */
	struct bytes host;
	uint16_t port;
	struct bytes secret; /* "user:password" in the vault; empty: none */
	const struct config_name *except_names;
	size_t except_names_count;
	const struct config_range *except_ranges; /* of address literals */
	size_t except_ranges_count;
};

/* A file that the ledger's rows are appended to. */
struct config_export {
	struct bytes path; /* absolute */
};

struct gateway_config {
	const struct config_dns_server *dns_servers; /* none: resolv.conf's */
	size_t dns_servers_count;
	/* Answered without DNS: a struct config_dns_hosts, encoded, since only
	 * the dialer needs it and there may be thousands. Empty: none. */
	struct bytes dns_hosts;
	const struct config_listener *proxy_listeners; /* none: no door */
	size_t proxy_listeners_count;
	struct config_proxy proxy;
	const struct config_source *sources; /* of secrets */
	size_t sources_count;
	struct bytes ca_bundle; /* PEM, the roots for upstream TLS */
	bool has_private_roots; /* the operator named the bundle: sandboxes
				   trust it as well */
	struct bytes guardrail; /* its text, checked; empty: there is none */
	bool tls13_only;	/* upstream: tls.min is "1.3" (else 1.2) */
	struct bytes state;	/* path of the warden's own directory: what a
				   sandbox of the same user must not see */
	uint32_t sessions_max;
	uint32_t connections_max; /* of one session */
	uint64_t audit_retain_ms; /* the ledger's rows; 0: for ever */
	const struct config_export *audit_exports;
	size_t audit_exports_count;
	uint32_t uid_base; /* when root: a process is this plus its role;
				     0: no change of user */
};

extern const struct wire_schema gateway_config_schema;

/* Map and decode ROLE_FD_CONFIG. The arena keeps lists; the mapping stays
 * for the life of the process. 0, or -1. */
int gateway_config_load(int fd, struct arena *arena,
			struct gateway_config *config, struct err *err);

/* The source of that name, or NULL: the vault keeps such a secret itself. */
const struct config_source *
gateway_config_source(const struct gateway_config *config, struct bytes name);
/* Do upstreams have to show TLS another way? */
bool gateway_config_tls_differs(const struct gateway_config *a,
				const struct gateway_config *b);
/* Is any token bought? */
bool gateway_config_buys(const struct gateway_config *config);

#endif
