#include "common/cleanup.h"
#include "gateway/warden/config_text.h"
#include "policies/host.h"

#define PORT_DIGITS   5
#define HTTPS_PORT    443
#define URL_PREFIX    "https://"
#define GITHUB_API    "https://api.github.com"
#define EXEC_CACHE_MS 60000
#define NUMBER_MAX    (UINT64_MAX / 2)
#define URL_PATH_MAX  2048

/* ---- endpoints ---- */

static bool is_url_byte(uint8_t byte)
{
	return byte > ' ' && byte < 0x7f && byte != '#' && byte != '\\' &&
	       byte != '"';
}

static bool is_url_path(struct bytes path)
{
	for (size_t i = 0; i < path.len; i++)
		if (!is_url_byte(path.data[i]))
			return false;
	return path.len <= URL_PATH_MAX;
}

/* "host", "host:port" or "[address]:port". */
static bool take_authority(struct config_source *source, struct arena *arena,
			   struct bytes authority)
{
	char host[HOST_NAME_MAX_LEN + 1];
	size_t end = authority.len;
	uint64_t port = HTTPS_PORT;

	while (end > 0 && authority.data[end - 1] != ':' &&
	       authority.data[end - 1] != ']')
		end--;
	if (end > 0 && authority.data[end - 1] == ':') {
		if (bytes_to_u64(bytes_slice(authority, end, authority.len),
				 PORT_DIGITS, &port) < 0)
			return false;
		authority = bytes_slice(authority, 0, end - 1);
	}
	if (host_canonical(authority, host) == HOST_INVALID || port == 0 ||
	    port > UINT16_MAX)
		return false;
	source->host = arena_copy(arena, bytes_str(host));
	source->port = (uint16_t)port;
	return true;
}

static bool take_url(struct config_source *source, struct arena *arena,
		     struct bytes url)
{
	ptrdiff_t slash;

	if (!bytes_starts_with(url, bytes_str(URL_PREFIX)))
		return false;
	url = bytes_slice(url, strlen(URL_PREFIX), url.len);
	slash = bytes_find(url, '/', 0);
	source->url_path = slash < 0 ? bytes_from(NULL, 0)
				     : bytes_slice(url, (size_t)slash, url.len);
	return is_url_path(source->url_path) &&
	       take_authority(source, arena,
			      slash < 0 ? url
					: bytes_slice(url, 0, (size_t)slash));
}

static void read_url(struct reader *reader, const struct text_node *node,
		     void *target, size_t offset)
{
	struct bytes url;

	(void)offset;
	if (reader_word(reader, node, &url) &&
	    !take_url(target, reader->arena, url))
		(void)reader_error(reader, node,
				   "this must be an https:// URL without user, "
				   "password and fragment");
}

static void read_api(struct reader *reader, const struct text_node *node,
		     void *target, size_t offset)
{
	struct config_source *source = target;

	read_url(reader, node, target, offset);
	/* What follows begins with a slash. */
	while (source->url_path.len > 0 &&
	       source->url_path.data[source->url_path.len - 1] == '/')
		source->url_path.len--;
	if (bytes_find(source->url_path, '?', 0) >= 0)
		(void)reader_error(reader, node, "this has a query");
}

/* ---- words ---- */

static void read_secret_name(struct reader *reader,
			     const struct text_node *node, void *target,
			     size_t offset)
{
	(void)reader_name(reader, node,
			  (struct bytes *)(void *)((char *)target + offset));
}

static bool is_scope(struct bytes scope)
{
	for (size_t i = 0; i < scope.len; i++)
		if (scope.data[i] < ' ' || scope.data[i] > '~' ||
		    scope.data[i] == '"' || scope.data[i] == '\\')
			return false;
	return scope.len > 0 && scope.len <= SOURCE_SCOPE_MAX;
}

static void read_scope(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset)
{
	struct config_source *source = target;

	(void)offset;
	if (reader_word(reader, node, &source->scope) &&
	    !is_scope(source->scope))
		(void)reader_error(reader, node,
				   "a scope is words with spaces between them, "
				   "of at most %d bytes",
				   SOURCE_SCOPE_MAX);
}

static void read_client_auth(struct reader *reader,
			     const struct text_node *node, void *target,
			     size_t offset)
{
	static const struct choice choices[] = {{"basic", 0}, {"body", 1}};
	struct config_source *source = target;
	int value = 0;

	(void)offset;
	if (reader_choice(reader, node, choices, ARRAY_SIZE(choices), &value))
		source->in_body = value == 1;
}

static void read_number(struct reader *reader, const struct text_node *node,
			void *target, size_t offset)
{
	(void)reader_number(reader, node, 1, NUMBER_MAX,
			    (uint64_t *)(void *)((char *)target + offset));
}

/* ---- what an app's token may do ---- */

/* What GitHub calls them: repository permissions that an agent's work may
 * need. `workflows` is none of them, nor is what rules the repository. */
static const char *const permission_names[] = {
	"actions",	 "artifact_metadata", "attestations", "checks",
	"contents",	 "deployments",	      "discussions",  "issues",
	"merge_queues",	 "metadata",	      "packages",     "pages",
	"pull_requests", "security_events",   "statuses",
};

static bool read_permission(struct reader *reader, const struct text_node *node,
			    struct source_permission *permission)
{
	static const struct choice levels[] = {{"read", 0}, {"write", 1}};
	const struct text_node key = {
		.kind = TEXT_SCALAR, .at = node->key_at, .value = node->key};
	int write = 0;
	size_t i = 0;

	while (i < ARRAY_SIZE(permission_names) &&
	       !bytes_is(node->key, permission_names[i]))
		i++;
	if (i == ARRAY_SIZE(permission_names))
		return reader_error(
			reader, &key,
			"no permission that a token of ours may have%s",
			reader_hint(reader, node->key, permission_names,
				    ARRAY_SIZE(permission_names)));
	if (!reader_choice(reader, node, levels, ARRAY_SIZE(levels), &write))
		return false;
	permission->name = bytes_str(permission_names[i]);
	permission->write = write == 1;
	return true;
}

static void read_permissions(struct reader *reader,
			     const struct text_node *node, void *target,
			     size_t offset)
{
	struct config_source *source = target;
	struct source_permission *items;
	size_t count = 0;

	(void)offset;
	if (!reader_kind(reader, node, TEXT_MAP))
		return;
	items = arena_array(reader->arena, node->count + 1, sizeof(*items));
	if (!items || node->count > SOURCE_PERMISSIONS_MAX) {
		(void)reader_error(reader, node, "too many permissions");
		return;
	}
	for (const struct text_node *item = node->first; item;
	     item = item->next)
		if (read_permission(reader, item, &items[count]))
			count++;
	source->permissions = items;
	source->permissions_count = count;
}

/* ---- the kinds ---- */

static void read_file(struct reader *reader, const struct text_node *node,
		      void *target, size_t offset)
{
	struct config_source *source = target;

	(void)offset;
	source->kind = SOURCE_FILE;
	if (reader_word(reader, node, &source->path) &&
	    (source->path.len < 2 || source->path.data[0] != '/'))
		(void)reader_error(reader, node,
				   "this must be an absolute path");
}

static void read_credential(struct reader *reader, const struct text_node *node,
			    void *target, size_t offset)
{
	struct config_source *source = target;

	(void)offset;
	source->kind = SOURCE_CREDENTIAL;
	if (reader_name(reader, node, &source->path) &&
	    (source->path.data[0] == '.' ||
	     bytes_starts_with(source->path, bytes_str("sallyport-vault-key"))))
		(void)reader_error(reader, node,
				   "this is no credential for a secret");
}

static bool read_word_item(struct reader *reader, const struct text_node *node,
			   void *item)
{
	struct source_word *word = item;
	struct bytes text;
	char *copy;

	if (!reader_word(reader, node, &text))
		return false;
	/* As execve(2) wants it. */
	copy = arena_str(reader->arena, text);
	if (!copy || text.len > SOURCE_WORD_MAX)
		return reader_error(reader, node, "this is too long");
	word->text = bytes_str(copy);
	return true;
}

static void read_exec(struct reader *reader, const struct text_node *node,
		      void *target, size_t offset)
{
	struct config_source *source = target;
	void *items = NULL;
	size_t count = 0;

	(void)offset;
	source->kind = SOURCE_EXEC;
	if (!reader_list(reader, node, sizeof(struct source_word),
			 read_word_item, &items, &count))
		return;
	source->words = items;
	source->words_count = count;
	if (count == 0 || count > SOURCE_WORDS_MAX ||
	    source->words[0].text.len < 2 ||
	    source->words[0].text.data[0] != '/')
		(void)reader_error(reader, node,
				   "this must be an absolute path of a program "
				   "and at most %d arguments",
				   SOURCE_WORDS_MAX - 1);
}

static void read_oauth2(struct reader *reader, const struct text_node *node,
			void *target, size_t offset)
{
	static const struct reader_field fields[] = {
		{"token_url", read_url, 0},
		{"client", read_secret_name,
		 offsetof(struct config_source, client)},
		{"client_auth", read_client_auth, 0},
		{"refresh_token", read_secret_name,
		 offsetof(struct config_source, refresh)},
		{"scope", read_scope, 0},
	};
	struct config_source *source = target;

	(void)offset;
	source->kind = SOURCE_OAUTH2;
	if (!reader_map(reader, node, fields, ARRAY_SIZE(fields), target) ||
	    !reader_require(reader, node, "token_url") ||
	    !reader_require(reader, node, "client"))
		return;
	if (source->host.len > 0 && source->url_path.len == 0)
		source->url_path = bytes_str("/");
}

static void read_github_app(struct reader *reader, const struct text_node *node,
			    void *target, size_t offset)
{
	static const struct reader_field fields[] = {
		{"app", read_number, offsetof(struct config_source, app)},
		{"installation", read_number,
		 offsetof(struct config_source, installation)},
		{"key", read_secret_name,
		 offsetof(struct config_source, client)},
		{"api", read_api, 0},
		{"permissions", read_permissions, 0},
	};
	struct config_source *source = target;

	(void)offset;
	source->kind = SOURCE_GITHUB_APP;
	(void)take_url(source, reader->arena, bytes_str(GITHUB_API));
	if (reader_map(reader, node, fields, ARRAY_SIZE(fields), target) &&
	    reader_require(reader, node, "app") &&
	    reader_require(reader, node, "installation"))
		(void)reader_require(reader, node, "key");
}

/* ---- a source ---- */

static void read_cache(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset)
{
	struct config_source *source = target;

	(void)offset;
	if (reader_duration(reader, node, &source->cache_ms) &&
	    source->cache_ms > SOURCE_CACHE_MAX_MS)
		(void)reader_error(reader, node, "at most 24h");
}

static void read_timeout(struct reader *reader, const struct text_node *node,
			 void *target, size_t offset)
{
	struct config_source *source = target;
	uint64_t ms = 0;

	(void)offset;
	if (!reader_duration(reader, node, &ms))
		return;
	if (ms > SOURCE_TIMEOUT_MAX_MS)
		(void)reader_error(reader, node, "at most %ds",
				   SOURCE_TIMEOUT_MAX_MS / 1000);
	else
		source->timeout_ms = (uint32_t)ms;
}

static const char *const kind_names[] = {
	"file", "credential", "exec", "oauth2", "github_app",
};

static bool has_key(const struct text_node *map, const char *key)
{
	for (const struct text_node *item = map->first; item; item = item->next)
		if (bytes_is(item->key, key))
			return true;
	return false;
}

/* Exactly one kind; `cache` and `timeout` are a program's. */
static bool check_keys(struct reader *reader, const struct text_node *node)
{
	unsigned kinds = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++)
		kinds += has_key(node, kind_names[i]);
	if (kinds != 1)
		return reader_error(reader, node,
				    "a secret comes from one of %s",
				    reader_words(reader, kind_names,
						 ARRAY_SIZE(kind_names)));
	if (!has_key(node, "exec") &&
	    (has_key(node, "cache") || has_key(node, "timeout")))
		return reader_error(reader, node,
				    "cache and timeout belong to exec");
	return true;
}

static bool read_source(struct reader *reader, const struct text_node *node,
			struct config_source *source)
{
	static const struct reader_field fields[] = {
		{"file", read_file, 0},
		{"credential", read_credential, 0},
		{"exec", read_exec, 0},
		{"cache", read_cache, 0},
		{"timeout", read_timeout, 0},
		{"oauth2", read_oauth2, 0},
		{"github_app", read_github_app, 0},
	};
	const struct text_node key = {
		.kind = TEXT_SCALAR, .at = node->key_at, .value = node->key};

	*source = (struct config_source){.cache_ms = EXEC_CACHE_MS,
					 .timeout_ms = SOURCE_TIMEOUT_MS};
	return reader_name(reader, &key, &source->name) &&
	       reader_map(reader, node, fields, ARRAY_SIZE(fields), source) &&
	       check_keys(reader, node);
}

/* What a token is bought with is kept by the vault itself. */
static void check_material(struct reader *reader, const struct text_node *node,
			   const struct gateway_config *config)
{
	for (size_t i = 0; i < config->sources_count; i++) {
		const struct config_source *source = &config->sources[i];

		if (gateway_config_source(config, source->client) ||
		    gateway_config_source(config, source->refresh))
			(void)reader_error(
				reader, node,
				"%.*s is bought with a secret that does not "
				"stand in the vault itself",
				BYTES_ARGS(source->name));
	}
}

void config_read_sources(struct reader *reader, const struct text_node *node,
			 void *target, size_t offset)
{
	struct warden_config *config = target;
	struct config_source *sources;
	size_t count = 0;

	(void)offset;
	if (!reader_kind(reader, node, TEXT_MAP))
		return;
	sources = arena_array(reader->arena, node->count + 1, sizeof(*sources));
	if (!sources || node->count > SOURCES_MAX) {
		(void)reader_error(reader, node, "more than %d secrets",
				   SOURCES_MAX);
		return;
	}
	for (const struct text_node *item = node->first; item;
	     item = item->next)
		if (read_source(reader, item, &sources[count]))
			count++;
	config->gateway.sources = sources;
	config->gateway.sources_count = count;
	check_material(reader, node, &config->gateway);
}
