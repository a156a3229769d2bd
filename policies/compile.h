/*
 * Tree to policy: what the sections share. One file a section; each tells
 * its errors through the reader and leaves what it read in the policy.
 */
#ifndef POLICIES_COMPILE_H
#define POLICIES_COMPILE_H

#include "policies/policy.h"
#include "policies/reader.h"

/* What ${github.*} stands for: of the first repository of github.com in
 * `git`. Empty: there is none. */
struct compile_github {
	struct bytes owner;
	struct bytes repo;
	struct bytes credential;
};

struct compile {
	struct reader reader; /* of the text that is being read */
	struct arena *trees;  /* trees live here, until all is compiled */
	struct policy *policy;
	const struct policy_variables *variables;
	struct compile_github github; /* once `git` is compiled */
	bool is_check;		      /* variables are placeholders */
	/* Whose rules are read: a preset's or the guardrail's; empty: the
	 * policy's. */
	struct bytes preset;
};

static inline struct compile *compile_of(struct reader *reader)
{
	return reader->owner;
}

/* Sections; node may be NULL: the section is not there. Credentials come
 * first, then network.tls, git, network's rules with those of `extends`. */
void compile_credentials(struct compile *compile, const struct text_node *node);
void compile_tls(struct compile *compile, const struct text_node *node);
void compile_network_limits(struct compile *compile,
			    const struct text_node *node);
void compile_addresses(struct compile *compile, const struct text_node *node);
void compile_git(struct compile *compile, const struct text_node *node);
/* git[].push.protect, secrets and limits. */
void compile_push_options(struct compile *compile, const struct text_node *node,
			  struct policy_patterns *options);
void compile_push_commits(struct compile *compile, const struct text_node *node,
			  struct push_commits *commits);
void compile_push_secrets(struct compile *compile, const struct text_node *node,
			  struct push_checks *checks);
void compile_push_protect(struct compile *compile, const struct text_node *node,
			  struct push_checks *checks);
void compile_push_limits(struct compile *compile, const struct text_node *node,
			 struct push_checks *checks);
/* git[].push.sign of a repository. */
void compile_sign(struct compile *compile, const struct text_node *node,
		  struct policy_repo *repo);
/* All repositories are read: is any left that signs? A key that is also a
 * credential's secret is an error where node, the whole of `git`, stands. */
void compile_sign_settle(struct compile *compile, const struct text_node *node);
/* credentials[].scrub. */
void compile_scrub(struct compile *compile, const struct text_node *node,
		   enum policy_scrub *scrub);
/* git[].lfs; node may be NULL. */
void compile_lfs(struct compile *compile, const struct text_node *node,
		 struct policy_repo *repo);
void compile_rules(struct compile *compile, const struct text_node *rules,
		   const struct text_node *extends);
void compile_filesystem(struct compile *compile, const struct text_node *node);
void compile_commands(struct compile *compile, const struct text_node *node);
void compile_limits(struct compile *compile, const struct text_node *node);
/* ignore-violations. */
void compile_quiet(struct compile *compile, const struct text_node *node);
/* After limits. */
void compile_require(struct compile *compile, const struct text_node *node);
void compile_environment(struct compile *compile, const struct text_node *node);

/* Where a variable's value goes: as it is, or escaped for a path or for a
 * regular expression. */
enum expand_use { EXPAND_TEXT, EXPAND_PATH, EXPAND_PATTERN, EXPAND_USE_MAX };
/* A scalar with its variables replaced; a value with a '*' in it is an error,
 * as is a branch that is none. */
bool compile_expand(struct compile *compile, const struct text_node *node,
		    enum expand_use use, struct bytes *text);

/* Has every variable that stands in text a value? Else one error where node
 * stands, in the name of what. */
bool compile_has_values(struct compile *compile, const struct text_node *node,
			const char *what, struct bytes text);

/* A regular expression (pattern.h), its variables taken literally. */
bool compile_pattern(struct compile *compile, const struct text_node *node,
		     const struct pattern **pattern);
/* Zeroed room for one item of that size for each name in node, a map of 1 to
 * POLICY_MATCHES_MAX; NULL: an error was told. */
void *compile_named(struct compile *compile, const struct text_node *node,
		    size_t size);
/* A map of names to regular expressions; is_header: of header fields. */
void compile_matches(struct compile *compile, const struct text_node *node,
		     bool is_header, struct policy_matches *matches);

/* body.graphql.nodes. */
void compile_nodes(struct compile *compile, const struct text_node *node,
		   struct policy_graphql *graphql);
/* Is it like field.argument, or field.argument.member and deeper? */
bool compile_is_argument(struct bytes name);

/* A rule's body. NULL when an error was told. */
const struct policy_body *compile_body(struct compile *compile,
				       const struct text_node *node);
/* body.json. */
/* secrets: deny */
void compile_deny_secrets(struct compile *compile, const struct text_node *node,
			  bool *deny);
void compile_json(struct compile *compile, const struct text_node *node,
		  struct policy_body *body);
/* Of a rule or of the session; node may be NULL. */
void compile_rate(struct compile *compile, const struct text_node *node,
		  struct policy_rate *rate);
/* network.script; node may be NULL. */
void compile_script(struct compile *compile, const struct text_node *node);

/* A reader_item_fn: a host pattern, in its canonical form. */
bool compile_host_item(struct reader *reader, const struct text_node *node,
		       void *item);
/* A reader_item_fn: an address or a range as a struct policy_range. */
bool compile_range_item(struct reader *reader, const struct text_node *node,
			void *item);
/* A reader_item_fn: the name of an environment variable. */
bool compile_env_item(struct reader *reader, const struct text_node *node,
		      void *item);

/* Lists of a rule or a credential; node may be NULL, an empty list is an
 * error. */
void compile_ports(struct compile *compile, const struct text_node *node,
		   const uint16_t **ports, size_t *count);
void compile_methods(struct compile *compile, const struct text_node *node,
		     struct policy_strings *methods);
void compile_paths(struct compile *compile, const struct text_node *node,
		   struct policy_strings *paths);
/* Is it a header's name (RFC 9110 5.1)? */
bool compile_is_header(struct bytes name);

/* Is all that inner matches matched by outer? Canonical patterns. */
bool pattern_covers(struct bytes outer, struct bytes inner);

/* The name of a credential that is there; an error else. */
bool compile_credential_name(struct compile *compile,
			     const struct text_node *node, struct bytes *name);
/* Is the host one of the credential's? Else an error where node stands. */
bool compile_credential_covers(struct compile *compile,
			       const struct text_node *node,
			       struct bytes credential, struct bytes host);

/* Is the host in network.tls.tunnel? Then an error where node stands, since
 * `what` needs to look inside. */
bool compile_not_tunnelled(struct compile *compile,
			   const struct text_node *node, struct bytes host,
			   const char *what);

#endif
