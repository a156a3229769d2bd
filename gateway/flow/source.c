#include "gateway/flow/source.h"

#include "policies/host.h"

#define NAME_MAX_LEN 128
#define PATH_LEN_MAX 4096

static const struct wire_field word_fields[] = {
	WIRE_TEXT(struct source_word, text, SOURCE_WORD_MAX),
};
static const struct wire_schema word_schema =
	WIRE_SCHEMA("source-word", struct source_word, word_fields);

static const struct wire_field permission_fields[] = {
	WIRE_TEXT(struct source_permission, name, 64),
	WIRE_BOOL(struct source_permission, write),
};
static const struct wire_schema permission_schema = WIRE_SCHEMA(
	"source-permission", struct source_permission, permission_fields);

static const struct wire_field source_fields[] = {
	WIRE_TEXT(struct config_source, name, NAME_MAX_LEN),
	WIRE_ENUM(struct config_source, kind, SOURCE_KIND_MAX),
	WIRE_TEXT(struct config_source, path, PATH_LEN_MAX),
	WIRE_LIST(struct config_source, words, SOURCE_WORDS_MAX, &word_schema),
	WIRE_U64(struct config_source, cache_ms),
	WIRE_U32(struct config_source, timeout_ms),
	WIRE_TEXT(struct config_source, host, HOST_NAME_MAX_LEN),
	WIRE_U16(struct config_source, port),
	WIRE_TEXT(struct config_source, url_path, PATH_LEN_MAX),
	WIRE_TEXT(struct config_source, client, NAME_MAX_LEN),
	WIRE_TEXT(struct config_source, refresh, NAME_MAX_LEN),
	WIRE_TEXT(struct config_source, scope, SOURCE_SCOPE_MAX),
	WIRE_BOOL(struct config_source, in_body),
	WIRE_U64(struct config_source, app),
	WIRE_U64(struct config_source, installation),
	WIRE_LIST(struct config_source, permissions, SOURCE_PERMISSIONS_MAX,
		  &permission_schema),
};
const struct wire_schema config_source_schema =
	WIRE_SCHEMA("config-source", struct config_source, source_fields);
