#include "policies/compile_attach.h"

#include "common/cleanup.h"
#include "policies/placeholder.h"

/* ---- what a kind takes ---- */

struct header_nodes {
	const struct text_node *name, *format;
};

struct sigv4_nodes {
	const struct text_node *region, *service, *payload;
};

static bool is_word(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] <= 0x20 || text.data[i] > 0x7e)
			return false;
	return text.len > 0 && text.len <= CREDENTIAL_WORD_MAX;
}

static bool is_line(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] < 0x20 || text.data[i] > 0x7e)
			return false;
	return text.len <= CREDENTIAL_WORD_MAX;
}

static bool read_word(struct reader *reader, const struct text_node *node,
		      struct bytes *word)
{
	if (!reader_word(reader, node, word))
		return false;
	if (!is_word(*word))
		return reader_error(reader, node,
				    "this must be 1 to %d printable "
				    "characters, without blanks",
				    CREDENTIAL_WORD_MAX);
	return true;
}

/* "token %s": what stands before and after the secret. */
static bool read_format(struct reader *reader, const struct text_node *node,
			struct policy_credential *credential)
{
	struct bytes text;
	ptrdiff_t at;

	if (!reader_word(reader, node, &text))
		return false;
	at = bytes_find_bytes(text, bytes_str("%s"), 0);
	if (at < 0 || bytes_find(text, '%', (size_t)at + 1) >= 0 ||
	    bytes_find(text, '%', 0) != at || !is_line(text))
		return reader_error(reader, node,
				    "a format is a line of text with one %%s "
				    "in it, for the secret");
	credential->prefix = bytes_slice(text, 0, (size_t)at);
	credential->suffix = bytes_slice(text, (size_t)at + 2, text.len);
	return true;
}

static bool read_header(struct reader *reader, const struct text_node *node,
			struct policy_credential *credential)
{
	static const struct reader_field fields[] = {
		{"name", reader_keep, offsetof(struct header_nodes, name)},
		{"format", reader_keep, offsetof(struct header_nodes, format)},
	};
	struct header_nodes nodes = {NULL, NULL};
	const char *fault;

	if (!reader_map(reader, node, fields, ARRAY_SIZE(fields), &nodes) ||
	    !reader_require(reader, node, "name") ||
	    !read_word(reader, nodes.name, &credential->field))
		return false;
	if (!compile_is_header(credential->field))
		return reader_error(reader, nodes.name,
				    "this is no header's name");
	fault = credential_header_fault(credential->field);
	if (fault)
		return reader_error(reader, nodes.name, "%s", fault);
	return !nodes.format || read_format(reader, nodes.format, credential);
}

static bool read_query(struct reader *reader, const struct text_node *node,
		       struct policy_credential *credential)
{
	static const struct reader_field fields[] = {{"name", reader_keep, 0}};
	const struct text_node *name = NULL;

	return reader_map(reader, node, fields, ARRAY_SIZE(fields), &name) &&
	       reader_require(reader, node, "name") &&
	       read_word(reader, name, &credential->field);
}

static bool read_payload(struct reader *reader, const struct text_node *node,
			 struct policy_credential *credential)
{
	static const struct choice choices[] = {{"signed", 0}, {"unsigned", 1}};
	int value;

	if (!reader_choice(reader, node, choices, ARRAY_SIZE(choices), &value))
		return false;
	credential->may_be_unsigned = value == 1;
	return true;
}

static bool read_sigv4(struct reader *reader, const struct text_node *node,
		       struct policy_credential *credential)
{
	static const struct reader_field fields[] = {
		{"region", reader_keep, offsetof(struct sigv4_nodes, region)},
		{"service", reader_keep, offsetof(struct sigv4_nodes, service)},
		{"payload", reader_keep, offsetof(struct sigv4_nodes, payload)},
	};
	struct sigv4_nodes nodes = {NULL, NULL, NULL};

	if (!reader_map(reader, node, fields, ARRAY_SIZE(fields), &nodes))
		return false;
	if (nodes.region &&
	    !reader_name(reader, nodes.region, &credential->region))
		return false;
	if (nodes.service &&
	    !reader_name(reader, nodes.service, &credential->service))
		return false;
	return !nodes.payload ||
	       read_payload(reader, nodes.payload, credential);
}

/* What neither the policy nor a host says cannot be signed for. */
static bool check_sigv4(struct reader *reader, const struct text_node *node,
			const struct policy_credential *credential)
{
	struct bytes service, region;

	if (credential->region.len && credential->service.len)
		return true;
	for (size_t i = 0; i < credential->hosts.count; i++)
		if (!credential_aws_names(credential->hosts.items[i], &service,
					  &region))
			return reader_error(
				reader, node,
				"\"%.*s\" does not say for which service and "
				"region to sign: say sigv4: {region: ..., "
				"service: ...}",
				BYTES_ARGS(credential->hosts.items[i]));
	return true;
}

static bool read_username(struct reader *reader, const struct text_node *node,
			  struct policy_credential *credential)
{
	if (!reader_word(reader, node, &credential->username))
		return false;
	if (bytes_find(credential->username, ':', 0) >= 0)
		return reader_error(reader, node, "a user name holds no ':'");
	return true;
}

/* ---- attach ---- */

/* What a kind needs or takes of its own. */
struct kind {
	enum policy_attach attach;
	const struct text_node *node;
	bool is_needed;
	bool (*read)(struct reader *reader, const struct text_node *node,
		     struct policy_credential *credential);
};

static bool read_kind(struct reader *reader, const struct text_node *attach,
		      const struct kind *kind,
		      struct policy_credential *credential)
{
	static const char *const keys[ATTACH_MAX] = {
		[ATTACH_BASIC] = "username",
		[ATTACH_HEADER] = "header",
		[ATTACH_QUERY] = "query",
		[ATTACH_SIGV4] = "sigv4",
	};
	const char *word =
		kind->attach == ATTACH_BASIC ? "basic" : keys[kind->attach];

	if (credential->attach != kind->attach) {
		if (!kind->node)
			return true;
		return reader_error(reader, kind->node,
				    "only %s takes a \"%s\"", word,
				    keys[kind->attach]);
	}
	if (kind->node)
		return kind->read(reader, kind->node, credential);
	if (!kind->is_needed)
		return true;
	return reader_error(reader, attach, "%s needs a \"%s\"", word,
			    keys[kind->attach]);
}

bool compile_attach(struct compile *compile, const struct attach_nodes *nodes,
		    struct policy_credential *credential)
{
	static const struct choice choices[] = {
		{"bearer", ATTACH_BEARER}, {"basic", ATTACH_BASIC},
		{"github", ATTACH_GITHUB}, {"certificate", ATTACH_CERTIFICATE},
		{"header", ATTACH_HEADER}, {"query", ATTACH_QUERY},
		{"sigv4", ATTACH_SIGV4},   {"placeholder", ATTACH_PLACEHOLDER},
	};
	const struct kind kinds[] = {
		{ATTACH_BASIC, nodes->username, true, read_username},
		{ATTACH_HEADER, nodes->header, true, read_header},
		{ATTACH_QUERY, nodes->query, true, read_query},
		{ATTACH_SIGV4, nodes->sigv4, false, read_sigv4},
	};
	struct reader *reader = &compile->reader;
	int attach;

	if (!reader_choice(reader, nodes->attach, choices, ARRAY_SIZE(choices),
			   &attach))
		return false;
	credential->attach = (enum policy_attach)attach;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!read_kind(reader, nodes->attach, &kinds[i], credential))
			return false;
	return credential->attach != ATTACH_SIGV4 ||
	       check_sigv4(reader, nodes->attach, credential);
}

/* ---- placeholder ---- */

struct placeholder_nodes {
	const struct text_node *env, *shape, *in, *text;
};

static bool place_item(struct reader *reader, const struct text_node *node,
		       void *item)
{
	static const struct choice choices[] = {
		{"header", PLACE_HEADER}, {"basic", PLACE_BASIC},
		{"query", PLACE_QUERY},	  {"path", PLACE_PATH},
		{"body", PLACE_BODY},
	};

	return reader_choice(reader, node, choices, ARRAY_SIZE(choices), item);
}

static void read_places(struct reader *reader, const struct text_node *node,
			struct policy_credential *credential)
{
	void *items = NULL;
	size_t count = 0;

	if (!reader_list(reader, node, sizeof(int), place_item, &items, &count))
		return;
	/* One that means nothing was told in its place. */
	if (count < node->count)
		return;
	credential->places = 0;
	for (size_t i = 0; i < count; i++)
		credential->places |= (unsigned)((int *)items)[i];
	if (credential->places == 0)
		(void)reader_error(reader, node, "an empty list: say where");
	else if (credential->attach == ATTACH_SIGV4 ||
		 credential->attach == ATTACH_CERTIFICATE)
		(void)reader_error(reader, node,
				   "a secret of this kind is never sent");
}

static void read_shape(struct reader *reader, const struct text_node *node,
		       struct policy_credential *credential)
{
	static const struct choice choices[] = {
		{"opaque", SHAPE_OPAQUE}, {"github", SHAPE_GITHUB},
		{"npm", SHAPE_NPM},	  {"jwt", SHAPE_JWT},
		{"aws", SHAPE_AWS},
	};
	int shape;

	if (!reader_choice(reader, node, choices, ARRAY_SIZE(choices), &shape))
		return;
	credential->shape = (enum placeholder_shape)shape;
	if ((credential->shape == SHAPE_AWS) !=
	    (credential->attach == ATTACH_SIGV4))
		(void)reader_error(reader, node,
				   "sigv4 alone has the shape \"aws\", and no "
				   "other");
}

/* One of the policy's own stands in no variable of ours. */
static bool read_text(struct reader *reader,
		      const struct placeholder_nodes *nodes,
		      struct policy_credential *credential)
{
	const char *fault;

	if (nodes->env || nodes->shape)
		return reader_error(reader,
				    nodes->env ? nodes->env : nodes->shape,
				    "a \"text\" of your own has no variables "
				    "and no shape");
	if (credential->attach == ATTACH_SIGV4 ||
	    credential->attach == ATTACH_CERTIFICATE)
		return reader_error(reader, nodes->text,
				    "a secret of this kind is never sent");
	if (!reader_word(reader, nodes->text, &credential->placeholder_text))
		return false;
	fault = placeholder_text_fault(credential->placeholder_text);
	return !fault || reader_error(reader, nodes->text, "%s", fault);
}

static void read_env(struct reader *reader, const struct text_node *node,
		     struct policy_credential *credential)
{
	if (reader_strings(reader, node, compile_env_item,
			   &credential->placeholder_env) &&
	    credential->shape == SHAPE_AWS &&
	    credential->placeholder_env.count != 2)
		(void)reader_error(reader, node,
				   "two variables: for the access key's id, "
				   "and for its secret");
}

void compile_placeholder(struct compile *compile, const struct text_node *node,
			 struct policy_credential *credential)
{
	static const struct reader_field fields[] = {
		{"env", reader_keep, offsetof(struct placeholder_nodes, env)},
		{"shape", reader_keep,
		 offsetof(struct placeholder_nodes, shape)},
		{"in", reader_keep, offsetof(struct placeholder_nodes, in)},
		{"text", reader_keep, offsetof(struct placeholder_nodes, text)},
	};
	struct placeholder_nodes nodes = {NULL, NULL, NULL, NULL};
	struct reader *reader = &compile->reader;
	enum policy_attach attach = credential->attach;

	if (!reader_map(reader, node, fields, ARRAY_SIZE(fields), &nodes) ||
	    (!nodes.text && !reader_require(reader, node, "env")))
		return;
	credential->shape = attach == ATTACH_GITHUB  ? SHAPE_GITHUB
			    : attach == ATTACH_SIGV4 ? SHAPE_AWS
						     : SHAPE_OPAQUE;
	if (attach != ATTACH_SIGV4 && attach != ATTACH_CERTIFICATE)
		credential->places = PLACE_HEADER | PLACE_BASIC;
	if (nodes.shape)
		read_shape(reader, nodes.shape, credential);
	if (nodes.in)
		read_places(reader, nodes.in, credential);
	if (nodes.text)
		(void)read_text(reader, &nodes, credential);
	else
		read_env(reader, nodes.env, credential);
}
