#include "gateway/flow/messages_tokens.h"

#define NAME_MAX_LEN	   128
#define REPOSITORY_LEN_MAX 256

static const struct wire_field ref_fields[] = {
	WIRE_TEXT(struct msg_source_ref, name, NAME_MAX_LEN),
};
const struct wire_schema msg_source_ref_schema =
	WIRE_SCHEMA("source-ref", struct msg_source_ref, ref_fields);

static const struct wire_field permission_fields[] = {
	WIRE_TEXT(struct source_permission, name, 64),
	WIRE_BOOL(struct source_permission, write),
};
static const struct wire_schema permission_schema =
	WIRE_SCHEMA("permission", struct source_permission, permission_fields);

static const struct wire_field exchange_fields[] = {
	WIRE_TEXT(struct msg_exchange, name, NAME_MAX_LEN),
	WIRE_BYTES(struct msg_exchange, proof, EXCHANGE_VALUE_MAX),
	WIRE_BYTES(struct msg_exchange, refresh, EXCHANGE_VALUE_MAX),
	WIRE_TEXT(struct msg_exchange, repository, REPOSITORY_LEN_MAX),
	WIRE_LIST(struct msg_exchange, permissions, SOURCE_PERMISSIONS_MAX,
		  &permission_schema),
};
const struct wire_schema msg_exchange_schema =
	WIRE_SCHEMA("exchange", struct msg_exchange, exchange_fields);

static const struct wire_field exchanged_fields[] = {
	WIRE_BYTES(struct msg_exchanged, token, EXCHANGE_VALUE_MAX),
	WIRE_BYTES(struct msg_exchanged, refresh, EXCHANGE_VALUE_MAX),
	WIRE_U64(struct msg_exchanged, lifetime_ms),
};
const struct wire_schema msg_exchanged_schema =
	WIRE_SCHEMA("exchanged", struct msg_exchanged, exchanged_fields);

static const struct wire_field token_end_fields[] = {
	WIRE_TEXT(struct msg_token_end, name, NAME_MAX_LEN),
	WIRE_BYTES(struct msg_token_end, token, EXCHANGE_VALUE_MAX),
};
const struct wire_schema msg_token_end_schema =
	WIRE_SCHEMA("token-end", struct msg_token_end, token_end_fields);

static const struct wire_field source_entry_fields[] = {
	WIRE_TEXT(struct msg_source_entry, name, NAME_MAX_LEN),
	WIRE_ENUM(struct msg_source_entry, kind, SOURCE_KIND_MAX),
	WIRE_ENUM(struct msg_source_entry, state, SOURCE_STATE_MAX),
	WIRE_U32(struct msg_source_entry, held),
	WIRE_U64(struct msg_source_entry, until_ms),
	WIRE_TEXT(struct msg_source_entry, why, SOURCE_WHY_MAX),
};
static const struct wire_schema source_entry_schema = WIRE_SCHEMA(
	"source-entry", struct msg_source_entry, source_entry_fields);

static const struct wire_field source_list_fields[] = {
	WIRE_LIST(struct msg_source_list, sources, SOURCES_MAX,
		  &source_entry_schema),
};
const struct wire_schema msg_source_list_schema =
	WIRE_SCHEMA("source-list", struct msg_source_list, source_list_fields);
