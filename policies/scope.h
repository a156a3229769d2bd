/*
 * What a session may reach, as plain data for the keepers (dialer, minter,
 * vault, courier): each holds its own copy and checks every request of an
 * edge against it. Made from the policy by whoever creates the session,
 * travels in the session package (gateway/flow/package.h), decoded by the
 * wire codec; no keeper parses YAML.
 */
#ifndef POLICIES_SCOPE_H
#define POLICIES_SCOPE_H

#include <sys/socket.h>

#include "common/digest.h"
#include "common/wire.h"
#include "policies/policy.h"

#define SCOPE_HOSTS_MAX 65536

struct scope_host {
	struct bytes pattern;
	uint16_t port; /* PORT_ANY: each */
};

struct scope_text {
	struct bytes text;
};

struct scope_binding {
	struct bytes name;
	struct bytes secret;
	uint8_t attach; /* enum policy_attach */
	struct bytes username;
	uint8_t scrub;			/* enum policy_scrub */
	const struct scope_host *hosts; /* exact names or patterns, and port */
	size_t hosts_count;
	/* As in struct policy_credential. */
	struct bytes field, prefix, suffix;
	struct bytes region, service;
	bool may_be_unsigned;
	const struct scope_text *methods;
	size_t methods_count;
	const struct scope_text *paths;
	size_t paths_count;
	uint8_t shape;	/* enum placeholder_shape */
	uint8_t places; /* enum placeholder_place; 0: none is swapped */
	struct bytes placeholder; /* the policy's own; empty: one is made */
};

struct scope_repo {
	struct bytes host;
	uint16_t port;
	struct bytes path;
	bool ignores_case;
	struct bytes credential;
	bool read;
	uint8_t verbs;
	bool has_options; /* some push option may be sent */
	const struct scope_text *branches;
	size_t branches_count;
	const struct scope_text *tags;
	size_t tags_count;
};

struct scope_range {
	struct bytes address; /* 16 bytes */
	uint8_t prefix;
};

struct scope {
	const struct scope_host *hosts; /* of allow rules and repositories */
	size_t hosts_count;
	const struct scope_binding *bindings;
	size_t bindings_count;
	const struct scope_repo *repos;
	size_t repos_count;
	uint32_t deny_classes;
	const struct scope_range *deny;
	size_t deny_count;
	const struct scope_range *allow;
	size_t allow_count;
	/* As in struct policy_sign. */
	bool signs;
	struct bytes sign_secret;
	struct bytes sign_name, sign_email;
};

extern const struct wire_schema scope_schema;

/* What policy lets a session reach. Borrows from policy and arena. 0/-1. */
int scope_from_policy(const struct policy *policy, struct arena *arena,
		      struct scope *scope, struct err *err);

/* host is canonical (host.h). */
bool scope_allows_target(const struct scope *scope, struct bytes host,
			 uint16_t port);
/* Any port. */
bool scope_allows_name(const struct scope *scope, struct bytes host);
/* The class of an address (0: an ordinary public one), and whether this
 * scope lets it be dialled. IPv4-mapped, 6to4 and NAT64 forms count as the
 * IPv4 address inside them. */
unsigned address_class_of(const struct sockaddr *address);
bool scope_allows_address(const struct scope *scope,
			  const struct sockaddr *address);
/* The same of an address that it allows and that is the gateway's host's own,
 * in whatever range: it counts as loopback, and where that is denied only an
 * exception that names it alone (/32, /128) lets it be dialled. */
bool scope_allows_own_address(const struct scope *scope,
			      const struct sockaddr *address);
const struct scope_binding *scope_binding_named(const struct scope *scope,
						struct bytes name);
/* What tells a binding from another of its name: a digest of all of it. Two
 * processes that hold different policies for a moment do not use one's
 * credential for what the other allowed. 0/-1. */
int scope_binding_mark(const struct scope_binding *binding,
		       uint8_t mark[DIGEST_LEN], struct err *err);
/* The same of a repository. */
int scope_repo_mark(const struct scope_repo *repo, uint8_t mark[DIGEST_LEN],
		    struct err *err);
bool scope_binding_allows(const struct scope_binding *binding,
			  struct bytes host, uint16_t port);
/* Its methods and paths alone; path is normalised, without query. */
bool scope_binding_covers(const struct scope_binding *binding,
			  struct bytes method, struct bytes path);
const struct scope_repo *scope_repo_at(const struct scope *scope,
				       struct bytes host, uint16_t port,
				       struct bytes path);
/* May the ref be pushed, with a verb of these bits? For the courier. */
bool scope_repo_allows_ref(const struct scope_repo *repo, struct bytes ref,
			   unsigned verbs);

#endif
