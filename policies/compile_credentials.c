#include "common/cleanup.h"
#include "policies/compile_attach.h"
#include "policies/decide.h"
#include "policies/host.h"

struct credential_nodes {
	const struct text_node *name, *secret, *hosts, *ports, *methods, *paths;
	const struct text_node *placeholder, *scrub;
	struct attach_nodes attach;
};

bool compile_host_item(struct reader *reader, const struct text_node *node,
		       void *item)
{
	struct bytes word;
	struct err err;

	if (!reader_word(reader, node, &word))
		return false;
	if (host_pattern(reader->arena, word, item, &err))
		return reader_error(reader, node, "%s", err.text);
	return true;
}

static bool is_env_name(struct bytes name)
{
	for (size_t i = 0; i < name.len; i++) {
		uint8_t c = name.data[i];
		bool letter = (c >= 'a' && c <= 'z') ||
			      (c >= 'A' && c <= 'Z') || c == '_';

		if (!letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return name.len > 0;
}

bool compile_env_item(struct reader *reader, const struct text_node *node,
		      void *item)
{
	struct bytes word;

	if (!reader_word(reader, node, &word))
		return false;
	if (!is_env_name(word))
		return reader_error(reader, node,
				    "this is not the name of a variable");
	memcpy(item, &word, sizeof(word));
	return true;
}

bool pattern_covers(struct bytes outer, struct bytes inner)
{
	bool is_wild = inner.len && inner.data[0] == '*';

	if (!is_wild)
		return host_matches(outer, inner);
	if (bytes_is(outer, "*"))
		return true;
	return bytes_starts_with(outer, bytes_str("*.")) &&
	       bytes_ends_with(inner, bytes_slice(outer, 1, outer.len));
}

/* ---- one entry ---- */

static bool read_hosts(struct compile *compile, const struct text_node *node,
		       struct policy_credential *credential)
{
	struct policy_strings *hosts = &credential->hosts;

	if (!reader_strings(&compile->reader, node, compile_host_item, hosts))
		return false;
	for (size_t i = 0; i < hosts->count; i++)
		if (bytes_is(hosts->items[i], "*"))
			return reader_error(&compile->reader, node,
					    "a credential does not go to "
					    "every host: list them");
	if (node->count == 0)
		return reader_error(&compile->reader, node,
				    "a credential needs hosts");
	return true;
}

static bool check_unique(struct compile *compile, const struct text_node *node,
			 struct bytes name)
{
	if (policy_credential_named(compile->policy, name))
		return reader_error(&compile->reader, node,
				    "there is a credential \"%.*s\" already",
				    BYTES_ARGS(name));
	return true;
}

static void read_credential(struct compile *compile,
			    const struct text_node *node,
			    struct policy_credential *credential)
{
#define NODE(key, member)                                                      \
	{key, reader_keep, offsetof(struct credential_nodes, member)}
	static const struct reader_field fields[] = {
		NODE("name", name),
		NODE("secret", secret),
		NODE("attach", attach.attach),
		NODE("username", attach.username),
		NODE("header", attach.header),
		NODE("query", attach.query),
		NODE("sigv4", attach.sigv4),
		NODE("hosts", hosts),
		NODE("ports", ports),
		NODE("methods", methods),
		NODE("paths", paths),
		NODE("placeholder", placeholder),
		NODE("scrub", scrub),
	};
#undef NODE
	struct reader *reader = &compile->reader;
	struct credential_nodes nodes = {0};

	if (!reader_map(reader, node, fields, ARRAY_SIZE(fields), &nodes))
		return;
	if (reader_require(reader, node, "name") &&
	    reader_name(reader, nodes.name, &credential->name))
		(void)check_unique(compile, nodes.name, credential->name);
	if (reader_require(reader, node, "secret"))
		(void)reader_name(reader, nodes.secret, &credential->secret);
	if (reader_require(reader, node, "hosts"))
		(void)read_hosts(compile, nodes.hosts, credential);
	compile_ports(compile, nodes.ports, &credential->ports,
		      &credential->port_count);
	compile_methods(compile, nodes.methods, &credential->methods);
	compile_paths(compile, nodes.paths, &credential->paths);
	if (reader_require(reader, node, "attach") &&
	    compile_attach(compile, &nodes.attach, credential) &&
	    nodes.placeholder)
		compile_placeholder(compile, nodes.placeholder, credential);
	else if (credential->attach == ATTACH_PLACEHOLDER)
		(void)reader_require(reader, node, "placeholder");
	if (nodes.scrub)
		compile_scrub(compile, nodes.scrub, &credential->scrub);
}

static bool holds(const struct policy_strings *strings, struct bytes word)
{
	for (size_t i = 0; i < strings->count; i++)
		if (bytes_equal(strings->items[i], word))
			return true;
	return false;
}

/* Who reads the one reads the other, too. The same text may stand for several:
 * which it is the request's credential says. */
static bool is_within(struct bytes one, struct bytes other)
{
	return one.len > 0 && other.len > 0 && one.len != other.len &&
	       (bytes_find_bytes(one, other, 0) >= 0 ||
		bytes_find_bytes(other, one, 0) >= 0);
}

/* A variable holds one placeholder. */
static void check_placeholders(struct compile *compile,
			       const struct text_node *node,
			       const struct policy_credential *added)
{
	const struct policy_credential *other = compile->policy->credentials;

	for (; other < added; other++) {
		if (is_within(other->placeholder_text, added->placeholder_text))
			text_error(&compile->reader.source, node->at,
				   "the placeholder of \"%.*s\" is a part of "
				   "this one's, or this of that",
				   BYTES_ARGS(other->name));
		for (size_t i = 0; i < added->placeholder_env.count; i++)
			if (holds(&other->placeholder_env,
				  added->placeholder_env.items[i]))
				text_error(&compile->reader.source, node->at,
					   "another credential has the "
					   "variable %.*s already",
					   BYTES_ARGS(added->placeholder_env
							      .items[i]));
	}
}

void compile_credentials(struct compile *compile, const struct text_node *node)
{
	struct policy *policy = compile->policy;
	struct policy_credential *array;

	if (!node || !reader_kind(&compile->reader, node, TEXT_LIST))
		return;
	if (node->count > POLICY_BINDINGS_MAX) {
		text_error(&compile->reader.source, node->at,
			   "more than %d credentials", POLICY_BINDINGS_MAX);
		return;
	}
	array = arena_array(compile->reader.arena, node->count, sizeof(*array));
	if (!array) {
		text_error(&compile->reader.source, node->at, "no memory");
		return;
	}
	policy->credentials = array;
	for (const struct text_node *item = node->first; item;
	     item = item->next) {
		struct policy_credential *added =
			&array[policy->credential_count];

		read_credential(compile, item, added);
		check_placeholders(compile, item, added);
		policy->credential_count++;
	}
}

/* ---- who uses them ---- */

bool compile_credential_name(struct compile *compile,
			     const struct text_node *node, struct bytes *name)
{
	const struct policy *policy = compile->policy;
	const char *names[POLICY_BINDINGS_MAX];
	size_t count = 0;
	struct bytes word;

	if (!reader_name(&compile->reader, node, &word))
		return false;
	*name = word;
	if (policy_credential_named(policy, word))
		return true;
	for (size_t i = 0; i < policy->credential_count; i++) {
		const char *known = arena_str(compile->reader.arena,
					      policy->credentials[i].name);

		if (known)
			names[count++] = known;
	}
	return reader_error(&compile->reader, node,
			    "there is no credential \"%.*s\"%s",
			    BYTES_ARGS(word),
			    reader_hint(&compile->reader, word, names, count));
}

bool compile_credential_covers(struct compile *compile,
			       const struct text_node *node,
			       struct bytes credential, struct bytes host)
{
	const struct policy_credential *found =
		policy_credential_named(compile->policy, credential);

	if (!found)
		return true; /* told already */
	for (size_t i = 0; i < found->hosts.count; i++)
		if (pattern_covers(found->hosts.items[i], host))
			return true;
	return reader_error(&compile->reader, node,
			    "the credential \"%.*s\" is not for the host "
			    "\"%.*s\"",
			    BYTES_ARGS(credential), BYTES_ARGS(host));
}
