#include "cli/file_kind.h"

#include <string.h>

#include "common/cleanup.h"
#include "policies/text.h"

#define TREE_BYTES_MAX (64 * 1024 * 1024)
#define KEYS_MAX       12

/* Keys that no other kind has at its top. */
static const char *const keys[FILE_KIND_MAX][KEYS_MAX] = {
	[FILE_KIND_POLICY] = {"version", "name", "extends", "network",
			      "credentials", "git", "filesystem", "commands",
			      "require", "ignore-violations", "environment"},
	[FILE_KIND_GATEWAY] = {"state", "dns", "upstream_proxy", "secrets",
			       "audit"},
	[FILE_KIND_HOST] = {"workspaces", "gateway", "default_policy",
			    "uid_range", "images", "volumes", "pool",
			    "insecure_listen", "api_keys", "policies"},
};

static bool has_key(const struct text_node *root, enum file_kind kind)
{
	for (size_t i = 0; i < KEYS_MAX && keys[kind][i]; i++)
		if (text_child(root, keys[kind][i]))
			return true;
	return false;
}

/* As `network: {allowedDomains}`, which no policy has. */
static bool is_settings(const struct text_node *root)
{
	static const char *const inner[][2] = {
		{"network", "allowedDomains"},
		{"network", "deniedDomains"},
		{"filesystem", "denyRead"},
		{"filesystem", "allowWrite"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(inner); i++) {
		const struct text_node *outer = text_child(root, inner[i][0]);

		if (outer && outer->kind == TEXT_MAP &&
		    text_child(outer, inner[i][1]))
			return true;
	}
	return false;
}

enum file_kind file_kind_of(struct bytes text)
{
	auto_type(arena_release) struct arena trees;
	struct policy_errors errors = {.file = ""};
	const struct text_source source = {text, "", &errors};
	const struct text_node *root;
	enum file_kind found = FILE_KIND_NONE;

	arena_init(&trees, TREE_BYTES_MAX);
	root = text_parse(&source, &trees);
	if (!root || root->kind != TEXT_MAP)
		return FILE_KIND_NONE;
	if (is_settings(root))
		return FILE_KIND_SETTINGS;
	for (enum file_kind kind = FILE_KIND_POLICY; kind < FILE_KIND_SETTINGS;
	     kind++) {
		if (!has_key(root, kind))
			continue;
		if (found != FILE_KIND_NONE)
			return FILE_KIND_NONE;
		found = kind;
	}
	return found;
}

bool file_kind_is_object(struct bytes text)
{
	size_t at = 0;

	while (at < text.len && strchr(" \t\r\n", text.data[at]))
		at++;
	return at < text.len && text.data[at] == '{';
}

void file_kind_tell(struct bytes text, enum file_kind wanted, const char *path,
		    struct buf *out)
{
	static const struct {
		const char *name, *check;
	} kinds[FILE_KIND_MAX] = {
		[FILE_KIND_POLICY] = {"a policy", "policy check"},
		[FILE_KIND_GATEWAY] = {"a gateway.yaml",
				       "config check --gateway"},
		[FILE_KIND_HOST] = {"a host.yaml", "config check --host"},
		[FILE_KIND_SETTINGS] = {"settings of sandbox-runtime",
					"config check --settings"},
	};
	enum file_kind kind = file_kind_of(text);

	if (kind != FILE_KIND_NONE && kind != wanted)
		(void)buf_add_format(
			out, "%s: this looks like %s: sallyport %s %s\n", path,
			kinds[kind].name, kinds[kind].check, path);
}
