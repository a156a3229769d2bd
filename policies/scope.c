#include "policies/scope.h"

#include "common/cleanup.h"

#include "policies/host.h"
#include "policies/path.h"
#include "policies/placeholder.h"
#include "policies/ref.h"

#define NAME_MAX_LEN 64
#define WORD_MAX_LEN 4096
#define RANGE_LEN    16

/* ---- how it travels ---- */

static const struct wire_field host_fields[] = {
	WIRE_TEXT(struct scope_host, pattern, HOST_NAME_MAX_LEN + 2),
	WIRE_U16(struct scope_host, port),
};
static const struct wire_schema host_schema =
	WIRE_SCHEMA("scope_host", struct scope_host, host_fields);

static const struct wire_field path_fields[] = {
	WIRE_TEXT(struct scope_text, text, PATH_MAX_LEN),
};
static const struct wire_schema path_schema =
	WIRE_SCHEMA("scope_path", struct scope_text, path_fields);

static const struct wire_field text_fields[] = {
	WIRE_TEXT(struct scope_text, text, REF_NAME_MAX),
};
static const struct wire_schema text_schema =
	WIRE_SCHEMA("scope_text", struct scope_text, text_fields);

static const struct wire_field binding_fields[] = {
	WIRE_TEXT(struct scope_binding, name, NAME_MAX_LEN),
	WIRE_TEXT(struct scope_binding, secret, NAME_MAX_LEN),
	WIRE_ENUM(struct scope_binding, attach, ATTACH_MAX),
	WIRE_TEXT(struct scope_binding, username, WORD_MAX_LEN),
	WIRE_ENUM(struct scope_binding, scrub, SCRUB_MAX),
	WIRE_LIST(struct scope_binding, hosts, SCOPE_HOSTS_MAX, &host_schema),
	WIRE_TEXT(struct scope_binding, field, CREDENTIAL_WORD_MAX),
	WIRE_TEXT(struct scope_binding, prefix, CREDENTIAL_WORD_MAX),
	WIRE_TEXT(struct scope_binding, suffix, CREDENTIAL_WORD_MAX),
	WIRE_TEXT(struct scope_binding, region, NAME_MAX_LEN),
	WIRE_TEXT(struct scope_binding, service, NAME_MAX_LEN),
	WIRE_BOOL(struct scope_binding, may_be_unsigned),
	WIRE_LIST(struct scope_binding, methods, POLICY_LIST_MAX, &text_schema),
	WIRE_LIST(struct scope_binding, paths, POLICY_LIST_MAX, &path_schema),
	WIRE_ENUM(struct scope_binding, shape, SHAPE_MAX),
	WIRE_ENUM(struct scope_binding, places, PLACE_MAX),
	WIRE_TEXT(struct scope_binding, placeholder, PLACEHOLDER_TEXT_MAX),
};
static const struct wire_schema binding_schema =
	WIRE_SCHEMA("scope_binding", struct scope_binding, binding_fields);

static const struct wire_field repo_fields[] = {
	WIRE_TEXT(struct scope_repo, host, HOST_NAME_MAX_LEN),
	WIRE_U16(struct scope_repo, port),
	WIRE_TEXT(struct scope_repo, path, PATH_MAX_LEN),
	WIRE_BOOL(struct scope_repo, ignores_case),
	WIRE_TEXT(struct scope_repo, credential, NAME_MAX_LEN),
	WIRE_BOOL(struct scope_repo, read),
	WIRE_ENUM(struct scope_repo, verbs, 2 * VERB_DELETE),
	WIRE_BOOL(struct scope_repo, has_options),
	WIRE_LIST(struct scope_repo, branches, POLICY_LIST_MAX, &text_schema),
	WIRE_LIST(struct scope_repo, tags, POLICY_LIST_MAX, &text_schema),
};
static const struct wire_schema repo_schema =
	WIRE_SCHEMA("scope_repo", struct scope_repo, repo_fields);

static const struct wire_field range_fields[] = {
	WIRE_BYTES(struct scope_range, address, RANGE_LEN),
	WIRE_FIELD(struct scope_range, prefix, WIRE_KIND_U8, 129),
};
static const struct wire_schema range_schema =
	WIRE_SCHEMA("scope_range", struct scope_range, range_fields);

static const struct wire_field scope_fields[] = {
	WIRE_LIST(struct scope, hosts, SCOPE_HOSTS_MAX, &host_schema),
	WIRE_LIST(struct scope, bindings, POLICY_BINDINGS_MAX, &binding_schema),
	WIRE_LIST(struct scope, repos, POLICY_REPOS_MAX, &repo_schema),
	WIRE_FIELD(struct scope, deny_classes, WIRE_KIND_U32,
		   2 * ADDRESS_SPECIAL),
	WIRE_LIST(struct scope, deny, POLICY_LIST_MAX, &range_schema),
	WIRE_LIST(struct scope, allow, POLICY_LIST_MAX, &range_schema),
	WIRE_BOOL(struct scope, signs),
	WIRE_TEXT(struct scope, sign_secret, NAME_MAX_LEN),
	WIRE_TEXT(struct scope, sign_name, SIGN_NAME_MAX),
	WIRE_TEXT(struct scope, sign_email, SIGN_EMAIL_MAX),
};
const struct wire_schema scope_schema =
	WIRE_SCHEMA("scope", struct scope, scope_fields);

/* ---- what it allows ---- */

static bool any_host(const struct scope_host *hosts, size_t count,
		     struct bytes host, uint16_t port)
{
	for (size_t i = 0; i < count; i++)
		if (port != 0 &&
		    (hosts[i].port == port || hosts[i].port == PORT_ANY) &&
		    host_matches(hosts[i].pattern, host))
			return true;
	return false;
}

bool scope_allows_target(const struct scope *scope, struct bytes host,
			 uint16_t port)
{
	return any_host(scope->hosts, scope->hosts_count, host, port);
}

bool scope_allows_name(const struct scope *scope, struct bytes host)
{
	for (size_t i = 0; i < scope->hosts_count; i++)
		if (host_matches(scope->hosts[i].pattern, host))
			return true;
	return false;
}

const struct scope_binding *scope_binding_named(const struct scope *scope,
						struct bytes name)
{
	for (size_t i = 0; i < scope->bindings_count; i++)
		if (bytes_equal(scope->bindings[i].name, name))
			return &scope->bindings[i];
	return NULL;
}

bool scope_binding_allows(const struct scope_binding *binding,
			  struct bytes host, uint16_t port)
{
	return any_host(binding->hosts, binding->hosts_count, host, port);
}

static bool has_method(const struct scope_binding *binding, struct bytes method)
{
	for (size_t i = 0; i < binding->methods_count; i++)
		if (bytes_equal(binding->methods[i].text, method))
			return true;
	return binding->methods_count == 0;
}

bool scope_binding_covers(const struct scope_binding *binding,
			  struct bytes method, struct bytes path)
{
	if (!has_method(binding, method))
		return false;
	for (size_t i = 0; i < binding->paths_count; i++)
		if (path_matches(binding->paths[i].text, path))
			return true;
	return binding->paths_count == 0;
}

const struct scope_repo *scope_repo_at(const struct scope *scope,
				       struct bytes host, uint16_t port,
				       struct bytes path)
{
	for (size_t i = 0; i < scope->repos_count; i++) {
		const struct scope_repo *repo = &scope->repos[i];
		bool (*equal)(struct bytes, struct bytes) =
			repo->ignores_case ? bytes_equal_nocase : bytes_equal;

		if (repo->port == port && bytes_equal(repo->host, host) &&
		    equal(repo->path, path))
			return repo;
	}
	return NULL;
}

static bool any_pattern(const struct scope_text *patterns, size_t count,
			struct bytes name)
{
	for (size_t i = 0; i < count; i++)
		if (ref_matches(patterns[i].text, name))
			return true;
	return false;
}

bool scope_repo_allows_ref(const struct scope_repo *repo, struct bytes ref,
			   unsigned verbs)
{
	static const struct bytes heads = BYTES_LITERAL("refs/heads/");
	static const struct bytes tags = BYTES_LITERAL("refs/tags/");

	if (!verbs || (repo->verbs & verbs) != verbs || !ref_is_valid(ref))
		return false;
	if (bytes_starts_with(ref, heads))
		return any_pattern(repo->branches, repo->branches_count,
				   bytes_slice(ref, heads.len, ref.len));
	return bytes_starts_with(ref, tags) &&
	       any_pattern(repo->tags, repo->tags_count,
			   bytes_slice(ref, tags.len, ref.len));
}

/* As much as a package may hold. */
#define MARKED_BYTES_MAX (8 * 1024 * 1024)

static int mark_of(const struct wire_schema *schema, const void *message,
		   uint8_t mark[DIGEST_LEN], struct err *err)
{
	auto_type(buf_release) struct buf text;

	buf_init(&text, MARKED_BYTES_MAX);
	if (wire_encode(schema, message, &text, err) < 0)
		return -1;
	digest_sha256(buf_view(&text), bytes_from(NULL, 0), mark);
	return 0;
}

int scope_binding_mark(const struct scope_binding *binding,
		       uint8_t mark[DIGEST_LEN], struct err *err)
{
	return mark_of(&binding_schema, binding, mark, err);
}

int scope_repo_mark(const struct scope_repo *repo, uint8_t mark[DIGEST_LEN],
		    struct err *err)
{
	return mark_of(&repo_schema, repo, mark, err);
}
